"""Play tries in this process, and report the promises that each breaks.

`python player.py` reads one try a line and writes one result a line. It limits each try: CPU seconds, after which the
process is killed, and memory beyond what the process used before. The parent process counts its end as a find.
"""

from __future__ import annotations

import base64
import contextlib
import faulthandler
import json
import os
import resource
import signal
import sys
import tempfile
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from tries import COMMANDS, OUTPUT, STDIN, Try, as_seeded, drawn

from hawb.cli import main

STATUSES = {0, 1, 2, 3}
SECONDS, MEMORY = 20, 2**30
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGING = {
    "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.chown", "os.truncate",
}  # fmt: skip
STARTING = {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "os.system"}
CACHES = [Path.home() / ".cache", Path.home() / ".config" / "matplotlib"]
"""Folders in which hawb keeps compiled functions, and matplotlib its list of fonts."""
CONTROL = {"Cc", "Zl", "Zp", "Cs"}


class Started(BaseException):
    """Raised when a command is about to start another program, which ends a try."""


class Watch:
    """Record, while `on`, what a command must not do: change files outside its folder, or connect. Refuse to start
    other programs."""

    def __init__(self) -> None:
        self.on: Path | None = None
        self.seen: list[str] = []
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note an event of Python's."""
        if self.on is None:
            return
        if event in STARTING:
            raise Started
        if event == "socket.connect":
            self.seen.append(f"connects to {arguments[1]}")
        elif (event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING) or event in CHANGING:
            self._check(event, arguments[0])

    def _check(self, event: str, file: Any) -> None:
        if isinstance(file, str | bytes | os.PathLike):
            place = os.path.realpath(os.fsdecode(file))
            if place != os.devnull and not any(map(Path(place).is_relative_to, (self.on, *CACHES))):
                self.seen.append(f"{event} outside its folder: {place}")

    @contextlib.contextmanager
    def watching(self, folder: Path) -> Iterator[list[str]]:
        """Give what is seen meanwhile."""
        self.on, self.seen = folder, []
        try:
            yield self.seen
        finally:
            self.on = None


WATCH = Watch()


def audited(_words: list[str], _given: bytes) -> tuple[int, str, str]:
    """Play what a task of Spark does for each cluster of an audit."""
    from hawb.study.audit_rows import audited
    from hawb.study.fleet import clusters

    faults = [refused["given"] for one in clusters([Path()]) for row in audited(one)[1].to_pylist()
              for refused in row["refused"] if refused["accepted"] == "this is a bug in hawb"]  # fmt: skip
    return (70 if faults else 0), "", " ".join(faults)


def command(words: list[str], given: bytes) -> tuple[int, str, str]:
    """Play a command; return its exit status and what it printed to both streams."""
    with warnings.catch_warnings(action="ignore"):
        try:
            found = CliRunner().invoke(main, words, input=given, color=True)
        except Started:
            return 0, "", ""
    return found.exit_code, found.stdout_bytes.decode("utf-8", "replace"), found.stderr_bytes.decode("utf-8", "replace")


def play(one: Try, folder: Path) -> tuple[int, list[str]]:
    """Play a try in an empty folder; return its exit status, and what it has broken: nothing where all is well."""
    files = {name: content for name, content in one.files.items() if name != STDIN}
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    aside = folder / ".aside"
    aside.mkdir()
    environment = {"TMPDIR": str(aside), "HAWB_TRACEBACK": "1", "COLUMNS": "100"}
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    tempfile.tempdir = None
    try:
        with contextlib.chdir(folder), WATCH.watching(folder) as seen:
            plays: Callable[..., tuple[int, str, str]] = audited if one.command == "audited" else command
            status, printed, said = plays(list(one.words), one.files.get(STDIN, b""))
    finally:
        tempfile.tempdir = None
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
    wrong = list(dict.fromkeys(seen))
    if status not in STATUSES or "Traceback" in said:
        wrong.append(f"exit status {status}: {_place(said)}")
    for stream, text in (("an answer", printed), ("a message", said)):
        marks = [mark for mark in sorted(set(text)) if mark not in "\n\t" and unicodedata.category(mark) in CONTROL]
        wrong += [f"prints {stream} with U+{ord(mark):04X}" for mark in marks]
    return status, wrong + _left(folder, files, aside)


def _place(said: str) -> str:
    """Return a fault's place and kind, which tell it from other faults."""
    lines = [line for line in said.strip().splitlines() if not line.startswith(" ")]
    return next((line[:160] for line in reversed(lines) if line.startswith("hawb failed")), said.strip()[-160:])


def _left(folder: Path, files: dict[str, bytes], aside: Path) -> list[str]:
    there = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    wrong = [f"writes {name}" for name in there if name not in files and not name.startswith(OUTPUT)]
    wrong += [f"changes {name}" for name, content in files.items()
              if name not in there or there[name].read_bytes() != content]  # fmt: skip
    return wrong + [f"leaves the folder {folder.name}" for folder in aside.iterdir() if folder.is_dir()]


def limit() -> None:
    """Give the try that begins its seconds and its memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, resource.RLIM_INFINITY))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)


def unlimited() -> None:
    """End the limits of a try."""
    signal.setitimer(signal.ITIMER_PROF, 0)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def in_folder(one: Try) -> tuple[int, list[str]]:
    """As `play`, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="hawb-attack-") as folder:
        return play(one, Path(os.path.realpath(folder)))


def own_numbers() -> bytes:
    """Return a file of one's own numbers, as hawb writes it."""
    files = [str(file) for file in Path(__file__).parents[2].glob("data/real/definitions.json")]
    return CliRunner().invoke(main, ["import", *files, "--numbers", "-"]).stdout_bytes


def as_text(one: Try) -> str:
    """Return a try as a line of JSON."""
    files = {name: base64.b64encode(content).decode() for name, content in one.files.items()}
    return json.dumps({"words": one.words, "files": files})


def of_text(line: str) -> Try:
    """Return the try of a line."""
    read = json.loads(line)
    return Try(tuple(read["words"]), {name: base64.b64decode(content) for name, content in read["files"].items()})


def serve() -> None:
    """Play the tries of standard input, and write a line for each: its command, exit status and what it has broken."""
    faulthandler.register(signal.SIGPROF, all_threads=False, chain=True)
    answers = os.fdopen(os.dup(1), "w")
    numbers = own_numbers()
    warm: set[str] = set()
    for line in sys.stdin:
        one = drawn(int(line), numbers) if line.strip().isdecimal() else of_text(line)
        if one.command not in warm and one.command in COMMANDS:  # what it imports is not taken from a try's memory
            warm.add(one.command)
            for seeded in as_seeded(one.command, numbers)[:2]:
                in_folder(seeded)
        limit()
        try:
            status, wrong = in_folder(one)
        finally:
            unlimited()
        answers.write(json.dumps((one.command, status, wrong)) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve()
