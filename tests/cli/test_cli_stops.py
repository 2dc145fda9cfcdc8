"""Commands stopped by a signal at any moment end with one line and leave nothing behind."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LONG
from stopped_commands import ROOT, Ended, stopped

STORY = "data/scenarios/unsynchronised-mirror-promoted.yaml"
REAL = "data/real/definitions.json data/real/api-queues.json data/real/api-nodes.json"
COMMANDS = {
    f"run {STORY} --report {{to}}/page.html": 119_000,
    f"lint {REAL} --report {{to}}/page.html": 145_000,
    f"explore {STORY} --operations 0 -o {{to}}/story.yaml": 101_000,
    f"safe {REAL} -o {{to}}/page.html": 1_042_000,
    f"migrate {REAL} -o {{to}}/plan": 160_000,
    f"upgrade {STORY} --runbook {{to}}/book.md --gantt {{to}}/plan.svg -o {{to}}/page.html": 762_000,
    "incident data/logs/4.3/wide-partition-4-3 -o {to}/page.html": 2_477_000,
}
"""Commands, and about how many calls each makes from its first import to its end."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
DRAWN = random.Random(17)
FEW = [
    (f"run {STORY} --report {{to}}/page.html", signal.SIGINT, 300),
    (f"run {STORY} --report {{to}}/page.html", signal.SIGTERM, 60_000),
    (f"explore {STORY} --operations 0 -o {{to}}/story.yaml", signal.SIGHUP, 90_000),
]
MANY = [
    (words, SIGNALS[DRAWN.randrange(3)], DRAWN.randrange(1, calls))
    for words, calls in COMMANDS.items()
    for _ in range(max(2, (1_000_000 if LONG else 400_000) // calls))
]
"""At least two moments of each command, and more of one that makes few calls."""


def named(value: object) -> str | None:
    return value.split()[0] if isinstance(value, str) else None


def check_nothing_is_left(ended: Ended, number: int, to: Path) -> None:
    """Check the status, the one line, and that no process, temporary file or half of an answer is left."""
    assert ended.status == 128 + number, ended
    lines = ended.err.splitlines()
    assert lines and lines[-1].partition(";")[0] == "stopped" and len(lines) <= 3, ended.err
    assert "Traceback" not in ended.err
    assert (ended.processes, ended.files) == ([], [])
    assert not [file for file in to.rglob("*") if file.name.startswith(".")]
    for page in to.glob("*.html"):
        assert page.read_text("utf-8").rstrip().endswith("</html>")


@pytest.mark.parametrize(("words", "number", "calls"), FEW, ids=named)
def test_a_stopped_command_leaves_nothing_behind(words: str, number: int, calls: int, tmp_path: Path):
    ended = stopped(words.format(to=tmp_path).split(), number, calls, tmp_path, group=number == signal.SIGINT)
    check_nothing_is_left(ended, number, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize(("words", "number", "calls"), MANY, ids=named)
def test_a_stopped_command_leaves_nothing_behind_at_drawn_moments(words: str, number: int, calls: int, tmp_path: Path):
    check_nothing_is_left(stopped(words.format(to=tmp_path).split(), number, calls, tmp_path), number, tmp_path)


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path):
    """`nohup` relies on this."""
    page = tmp_path / "page.html"
    program = ("import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN);"
               "from hawb import process\n"
               "with process.listening(): os.kill(os.getpid(), signal.SIGHUP); print('goes on')")  # fmt: skip
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr, page.exists()) == ("goes on\n", "", False)


SWALLOWED = """
import os, signal
from hawb import process

class Dropped:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)

with process.listening():
    process.folder()
    Dropped()
    print("goes on")
"""


def test_a_stop_ends_the_process_where_python_drops_exceptions(tmp_path: Path):
    ran = subprocess.run([sys.executable, "-c", SWALLOWED], cwd=ROOT, capture_output=True, text=True,
                         env={"TMPDIR": str(tmp_path), "PATH": ""})  # fmt: skip
    assert (ran.returncode, ran.stdout, ran.stderr) == (143, "", "stopped\n")
    assert not list(tmp_path.iterdir())


ORPHANS = """
import os, signal, subprocess, sys
from hawb import process

with process.listening():
    process.adopt_orphans()
    shell = subprocess.run(["sh", "-c", "trap '' TERM HUP INT; sleep 600 >/dev/null 2>&1 & echo $!"],
                           stdout=subprocess.PIPE, text=True)
    print(shell.stdout, end="", flush=True)
    os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to another process than the first")
def test_orphans_of_started_processes_end_too():
    ran = subprocess.run([sys.executable, "-c", ORPHANS], cwd=ROOT, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (130, "stopped\n")
    assert not Path("/proc", ran.stdout.strip()).exists()
