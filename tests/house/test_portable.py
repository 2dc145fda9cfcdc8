"""Portability to Windows and macOS, checked on Linux: types for each platform, file names, encodings, and commands run
without the modules that Windows lacks."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typed_commands
from typed_commands import ANSWERS

import hawb

HAWB = Path(hawb.__file__).parent
ROOT = HAWB.parent
SHIPPED = ("hawb", "data", "notebooks", "tests", "benchmarks")
LINUX_ALONE = {f"hawb/broker/{name}.py" for name in ("cluster", "namespaces", "nodes", "roots", "slow_links")}
"""What drives a real cluster in network namespaces, and is refused elsewhere in a sentence (`hawb.broker.real`)."""

LONGEST_PATH = 120
"""Windows has 260 characters for a path, of which a folder of the user's takes its part."""
FORBIDDEN = re.compile(r'[<>:"|?*\\\x00-\x1f]|[ .]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', re.IGNORECASE)
"""What no name may have on Windows, and the names that are devices there."""
MODE = re.compile("[rwax][bt+]*")
BINARY = {".gz", ".png", ".gif", ".mo", ".parquet", ".pyc"}
LACKING = ("fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty")
"""Modules that Python has not on Windows."""

OF_WINDOWS = """\
import builtins, json, os, signal, sys
import typed_commands
brought = builtins.__import__
def without(name, globals=None, *more, **named):
    if name in {lacking!r} and (globals or {{}}).get("__name__", "").startswith("hawb"):
        raise ModuleNotFoundError(name)
    return brought(name, globals, *more, **named)
builtins.__import__ = without
import hawb.cli
for name in ("fork", "geteuid", "getuid", "killpg", "setsid", "O_NONBLOCK"):
    delattr(os, name)
for name in ("SIGHUP", "SIGKILL", "SIGALRM"):
    delattr(signal, name)
json.dump(typed_commands.play(json.load(sys.stdin)), sys.stdout)
"""
SPAWNED = """\
import multiprocessing, sys
if __name__ == "__main__":
    from pathlib import Path
    from hawb.site.build import build
    multiprocessing.set_start_method("spawn")
    build(Path(sys.argv[1]), sys.argv[2:], languages=("en",))
"""


def files() -> list[Path]:
    """Return the paths of the shipped files."""
    found = subprocess.run(["git", "ls-files", "-z", *SHIPPED], cwd=ROOT, capture_output=True, text=True, check=True)
    return [Path(name) for name in found.stdout.split("\0") if name]


@pytest.mark.full
@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_code_uses_only_what_python_has_on_each_platform(platform: str):
    ty = [Path(sys.executable).with_name("ty"), "check", "--python", sys.prefix, "--python-platform", platform]
    ty = [*ty, "--output-format", "concise", "hawb"]
    output = subprocess.run(ty, cwd=ROOT, capture_output=True, text=True).stdout
    wrong = [line for line in output.splitlines() if ": error[" in line]
    assert output and not [line for line in wrong if line.partition(":")[0] not in LINUX_ALONE]
    assert wrong or platform == "darwin"


def texts_without_encoding(file: Path) -> Iterator[int]:
    """Yield the lines that read or write a text file in the default encoding of the system."""
    for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(call, ast.Call):
            name = getattr(call.func, "attr", "") or f"{getattr(call.func, 'id', '')}()"
            values = [*call.args, *(each.value for each in call.keywords)]
            given = {each.value for each in values if isinstance(each, ast.Constant) and isinstance(each.value, str)}
            modes = "".join(filter(MODE.fullmatch, given))
            opened = name == "open()" or (name in ("open", "fdopen") and modes)
            if (name in ("read_text", "write_text") or (opened and "b" not in modes)) and "utf-8" not in given:
                yield call.lineno


@pytest.mark.full
def test_text_files_are_opened_with_an_explicit_encoding():
    sources = [file for file in sorted(HAWB.rglob("*.py")) if file.relative_to(ROOT).as_posix() not in LINUX_ALONE]
    assert [f"{file.name}:{line}" for file in sources for line in texts_without_encoding(file)] == []


def test_every_file_can_be_checked_out_on_windows():
    names = files()
    assert {name.as_posix() for name in names if len(name.as_posix()) > LONGEST_PATH} == set()
    assert {name for name in names if any(map(FORBIDDEN.search, name.parts)) or not str(name).isascii()} == set()
    assert len({name.as_posix().casefold() for name in names}) == len(names)
    assert [name for name in names if (ROOT / name).is_symlink()] == []


def test_text_files_have_unix_line_ends():
    assert "* text=auto eol=lf" in (ROOT / ".gitattributes").read_text(encoding="utf-8").splitlines()
    assert [name for name in files() if name.suffix not in BINARY and b"\r\n" in (ROOT / name).read_bytes()] == []


@pytest.mark.full
def test_commands_work_without_the_modules_that_windows_lacks(tmp_path: Path):
    commands = [typed.filled(tmp_path) for typed in ANSWERS]
    commands.append(["fuzz", "--on", "model", "--count", "1", "--replays", "0", "--out", str(tmp_path / "fuzz")])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(typed_commands.__file__).parent)])}
    ran = subprocess.run(
        [sys.executable, "-c", OF_WINDOWS.format(lacking=LACKING)], input=json.dumps(commands),
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    assert [one["crash"] for one in answer] == [None] * len(commands)
    assert [one["status"] for one in answer] == [*(typed.status for typed in ANSWERS), 0]


@pytest.mark.full
def test_spawned_processes_play_stories(tmp_path: Path):
    program = tmp_path / "a site.py"
    program.write_text(SPAWNED, encoding="utf-8")
    names = ["unsynchronised-mirror-promoted", "promotion-table-kill"]
    ran = subprocess.run(
        [sys.executable, program, tmp_path / "a site", *names], env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert {file.stem for file in (tmp_path / "a site" / "stories").glob("*.html")} == set(names)
