"""Failing commands end with one line and exit status 2 (cannot read or write) or 70 (internal error)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from hawb.cli.exits import SOFTWARE, VARIABLE
from hawb.cli.files import Refusing

ROOT = Path(__file__).parents[2]
STORY = ROOT / "data" / "scenarios" / "unsynchronised-mirror-promoted.yaml"
NO_ROOM = "standard output: No space left on device"
CLOSED = "standard output: Bad file descriptor"


@pytest.mark.parametrize(("typed", "line"), [
    (f"run {STORY} >/dev/full", NO_ROOM), ("--help >/dev/full", NO_ROOM), (f"run --json {STORY} >&-", CLOSED),
    ("run - <&-", "standard input: the file cannot be read: Bad file descriptor"),
    ("run none.yaml <&- >&- 2>&-", ""), ("run none.yaml 2>/dev/full", ""),
])  # fmt: skip
def test_unusable_stream_gives_one_line_and_exit_status_2(typed: str, line: str):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    words = ["sh", "-c", f'"{sys.executable}" -m hawb.cli {typed}']
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", line and f"{line}\n")


def failing(fault: BaseException, **environment: str) -> Result:
    """Run a command that fails with this exception."""

    @click.group(cls=Refusing)
    def group() -> None:
        pass

    @group.command()
    def fails() -> None:
        raise fault

    return CliRunner().invoke(group, ["fails"], env=environment)


@pytest.mark.parametrize("fault", [
    IndexError("amqp://user:secret@host"), OSError(111, "Connection refused"), RecursionError(), MemoryError(),
])  # fmt: skip
def test_internal_error_gives_one_line_and_where_to_report_it(fault: Exception):
    result = failing(fault)
    assert (result.exit_code, result.stdout) == (SOFTWARE, "")
    [line] = result.stderr.splitlines()
    assert line.startswith(f"hawb failed: {type(fault).__name__} in test_exits.py:")
    assert "report" in line and f"{VARIABLE}=1" in line and "secret" not in line


def test_the_traceback_is_shown_on_request():
    result = failing(IndexError("what was it"), **{VARIABLE: "1"})
    assert result.exit_code == SOFTWARE
    assert "Traceback" in result.stderr and "IndexError: what was it" in result.stderr


def test_file_of_an_os_error_is_named():
    result = failing(PermissionError(13, "Permission denied", "a\u2028b"))
    assert (result.exit_code, result.stderr) == (2, "a\\u2028b: Permission denied\n")


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), SystemExit(143), SystemExit(3)])
def test_stop_is_no_internal_error(stop: BaseException):
    result = failing(stop)
    assert result.exit_code == (stop.code if isinstance(stop, SystemExit) else 1)
    assert "hawb failed" not in result.stderr
