"""The same input gives the same bytes under any environment of the process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import typed_commands
from conftest import LONG
from samples import of_the_day
from typed_commands import ROOT

SCENARIOS = sorted((ROOT / "data" / "scenarios").glob("*.yaml"))
LOGS = [ROOT / "data" / "logs" / name for name in (
    "3.10/when-synced-is-not-a-guarantee", "3.10/quorum-leader-killed", "3.10-json/alarm-blocks-publishers",
)]  # fmt: skip
MANY = 40 if LONG else 13
"""The number of scenarios that are played."""
COMMANDS = [
    *(["run", *more, str(file)] for file in SCENARIOS[:: len(SCENARIOS) // MANY][:MANY] for more in (["--json"], [])),
    *(["incident", *more, str(folder)] for folder in LOGS for more in (["--json"], [], ["--events"])),
]
STARTED = {
    "another hash seed and zone": ((), {"PYTHONHASHSEED": "12345", "TZ": "Asia/Kathmandu"}),
    "C": ((), {"PYTHONHASHSEED": "1", "LC_ALL": "C", "LANG": "C", "TZ": "America/St_Johns"}),
    "tr_TR": ((), {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "TZ": ":Europe/Istanbul"}),
    "-O": (("-O",), {}),
    "-X dev -W error": (("-X", "dev", "-W", "error"), {}),
}


def answers(options: Sequence[str], settings: dict[str, str]) -> list[tuple]:
    """Play the commands in one process and return (status, output, standard error) of each."""
    environment = {name: value for name, value in os.environ.items() if name not in ("LC_ALL", "LANG", "HAWB_LANGUAGE")}
    environment |= {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0", "TZ": "UTC", "LANG": "C.UTF-8"} | settings
    program = [sys.executable, *options, typed_commands.__file__]
    played = subprocess.run(program, input=json.dumps(COMMANDS), capture_output=True, text=True, env=environment,
                            timeout=typed_commands.PATIENCE_S, encoding="utf-8")  # fmt: skip
    assert played.returncode == 0, played.stderr
    found = json.loads(played.stdout)
    assert not [one["crash"] for one in found if one["crash"]]
    return [(one["status"], one["out"], one["err"]) for one in found]


@pytest.fixture(scope="module")
def plain() -> list[tuple]:
    """Return the answers of a process with default settings."""
    return answers((), {})


@pytest.mark.full
@pytest.mark.parametrize("started", of_the_day(STARTED, 2))
def test_the_same_input_gives_the_same_bytes(started: str, plain: list[tuple]):
    assert len(COMMANDS) == 2 * MANY + 9 and all(out for _, out, _ in plain)
    assert Path(LOGS[0]).is_dir()
    for words, one, other in zip(COMMANDS, plain, answers(*STARTED[started]), strict=True):
        assert one == other, words
