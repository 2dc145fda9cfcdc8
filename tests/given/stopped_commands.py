"""A command that sends itself a signal at a moment that is counted, not timed: after so many calls of functions, from
the first line that hawb has on, so that its imports count as well.

As a program: NUMBER of the signal, CALLS, and the words behind `hawb`. With 0 calls it counts them, and writes how many
there were to the file that is named by HAWB_CALLS.
"""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Ended(NamedTuple):
    """The end of a command: status, output, and processes and temporary files left behind."""

    status: int
    out: str
    err: str
    processes: list[str]
    files: list[str]


def stopped(
    words: list[str], number: int, calls: int, to: Path, patience_s: int = 540, *, group: bool = False
) -> Ended:  # fmt: skip
    """Play a command that a signal stops after so many calls, with a temporary folder of its own below `to`.

    The signal goes to the process, or to its whole `group`, as a terminal's Ctrl-C does.
    """
    aside = to / "tmp"
    aside.mkdir(parents=True, exist_ok=True)
    program = [sys.executable, __file__, str(number), str(calls), *words]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(aside), "HAWB_CALLS": str(to / "calls"),
                                "HAWB_GROUP": str(int(group))}  # fmt: skip
    ran = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=patience_s, cwd=ROOT,
                         start_new_session=True)  # fmt: skip
    files = sorted(str(file.relative_to(aside)) for file in aside.rglob("*"))
    return Ended(ran.returncode, ran.stdout, ran.stderr, processes(str(aside)), files)


def processes(mark: str) -> list[str]:
    """Return the command lines of processes whose environment has a text."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (place / "environ").read_bytes():
                found.append((place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def main() -> None:
    """Play the command."""
    number, after = int(sys.argv[1]), int(sys.argv[2])
    sys.argv[:] = ["hawb", *sys.argv[3:]]
    sys.path[0] = str(ROOT)
    counted = 0
    process = os.getpid()

    def count(frame: object, event: str, _: object) -> None:
        nonlocal counted
        if event == "call":
            counted += 1
            if counted == after and os.getpid() == process:
                sys.setprofile(None)
                (os.killpg if os.environ["HAWB_GROUP"] == "1" else os.kill)(process, number)

    from hawb import process as listens

    with listens.listening():
        sys.setprofile(count)
        try:
            runpy.run_module("hawb", run_name="__main__", alter_sys=True)
        finally:
            sys.setprofile(None)
            if not after:
                Path(os.environ["HAWB_CALLS"]).write_text(str(counted), encoding="utf-8")


if __name__ == "__main__":
    main()
