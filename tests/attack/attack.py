"""Run commands with randomly changed inputs: `python tests/attack/attack.py --seconds 3600`.

Tries are numbered and reproducible: a run begins with `--first` and prints where to continue. A try that breaks a
promise (`player.play`) is a find: it is shrunk as long as it breaks the same promise, and stored as a folder below
`--keep` with its files and its `command`. Once the bug is fixed, move the folder to `tests/attack/kept`, which
`make test` plays each time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import select
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import player
from tries import COMMANDS, Try, drawn

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).parent / "kept"
WORDS = "command"
"""The name of the file with a find's words."""
ANSWERED = (0, 1, 3)
HANGS_S = 300
"""Seconds without an answer, whatever the process does, after which a try is given up."""
MOST_SHRINKING = 150
"""Tries for which a find is made smaller."""


class Player:
    """A process that plays tries. It is restarted when it ends."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self.numbers = player.own_numbers()

    def play(self, one: int | Try) -> tuple[str, int | None, list[str]]:
        """Play a try, or the one with a number; return its command, exit status and what it has broken."""
        process = self._process = self._process or self._started()
        process.stdin.write(f"{one if isinstance(one, int) else player.as_text(one)}\n")
        process.stdin.flush()
        if select.select([process.stdout], [], [], HANGS_S)[0] and (line := process.stdout.readline()):
            return json.loads(line)
        self.end()
        ended = process.returncode
        reason = f"takes more than {player.SECONDS} s" if ended == -signal.SIGPROF else f"ends the process: {ended}"
        return self.drawn(one).command, None, [reason]

    def drawn(self, one: int | Try) -> Try:
        """Return a try by its number."""
        return drawn(one, self.numbers) if isinstance(one, int) else one

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.stdin.close()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process.stdout.close()
            self._process = None

    @staticmethod
    def _started() -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([sys.executable, player.__file__], text=True, env=environment, **streams)


@dataclass
class Found:
    """Count the tries of each command and those not refused. Keep the first try for each kind of find."""

    tries: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    finds: dict[tuple[str, str], Try] = field(default_factory=dict)

    def summary(self) -> str:
        """Return the tries by command, and a line for each find."""
        counts = ", ".join(f"{one} {self.tries[one]} ({self.answered[one]} answered)" for one in COMMANDS)
        lines = [f"{' '.join(one.words)}: {wrong}" for (_, wrong), one in self.finds.items()]
        return "\n".join([f"{self.tries.total()} tries: {counts}; {len(lines)} finds", *lines])


def attack(first: int, count: int, seconds: float, result: Callable[[str], object] = lambda text: None) -> Found:
    """Play `count` tries from a number on, but no longer than so many seconds."""
    found, playing, end = Found(), Player(), time.monotonic() + seconds
    for number in range(first, first + count):
        if time.monotonic() > end:
            break
        name, status, wrong = playing.play(number)
        found.tries[name] += 1
        found.answered[name] += status in ANSWERED
        for one in wrong:
            if (name, one) not in found.finds:
                found.finds[name, one] = playing.drawn(number)
                result(f"{number}: {name}: {one}")
    playing.end()
    return found


def smaller(one: Try, wrong: str, playing: Player) -> Try:
    """Return a try with as little of its files as breaks the same."""
    left = MOST_SHRINKING

    def still(files: Mapping[str, bytes]) -> bool:
        nonlocal left
        left -= 1
        return wrong in playing.play(Try(one.words, files))[2]

    files = dict(one.files)
    for name in files:
        for pieces in _ways(files[name]):
            size = max(1, len(pieces) // 2)
            while size and left > 0:
                start = 0
                while start < len(pieces) and left > 0:
                    fewer = pieces[:start] + pieces[start + size :]
                    if still({**files, name: b"".join(fewer)}):
                        pieces = fewer
                    else:
                        start += size
                size //= 2
            files[name] = b"".join(pieces)
    return Try(one.words, files)


def _ways(content: bytes) -> Iterator[list[bytes]]:
    yield content.splitlines(keepends=True)
    if len(content) < 200:
        yield [bytes([one]) for one in content]


def keep(one: Try, folder: Path) -> Path:
    """Write a try as a folder of its own below `folder`."""
    digest = hashlib.sha256(player.as_text(one).encode()).hexdigest()[:8]
    place = folder / f"{one.command}-{digest}"
    for name, content in one.files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    (place / WORDS).write_text(f"{shlex.join(one.words)}\n", encoding="utf-8")
    return place


def kept(folder: Path) -> Try:
    """Return the try that was kept as a folder."""
    files = {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    words = shlex.split(files.pop(WORDS).decode())
    return Try(tuple(words), files)


def main() -> int:
    """Attack for a time, keep what is found, and return 1 if anything was."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("HAWB_ATTACK_S", 30)))
    parser.add_argument("--first", type=int, default=time.time_ns() // 10**6, help="number of the first try")
    parser.add_argument("--count", type=int, default=10**9, help="tries at most")
    parser.add_argument("--keep", type=Path, default=ROOT / "build" / "attack", help="folder for finds")
    asked = parser.parse_args()
    found = attack(asked.first, asked.count, asked.seconds, lambda text: print(text, flush=True))
    print(f"{found.summary()}\nto go on: --first {asked.first + found.tries.total()}")
    playing = Player()
    for (_, wrong), one in found.finds.items():
        print(f"kept {keep(smaller(one, wrong, playing), asked.keep)}: {wrong}", flush=True)
    playing.end()
    return 1 if found.finds else 0


if __name__ == "__main__":
    sys.exit(main())
