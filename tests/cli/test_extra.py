"""Imports of commands, and the message if an extra is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
import typed_commands
from click.testing import CliRunner
from typed_commands import Typed

from hawb.cli import every_command, extra, main
from hawb.cli.extra import MODULES, TAKEN, Taken

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def played(typed: Sequence[Typed], to: Path) -> list[dict]:
    """Return the results of commands that one process plays in sequence."""
    asked = json.dumps([one.filled(to) for one in typed])
    program = [sys.executable, typed_commands.__file__]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(program, input=asked, capture_output=True, text=True, check=True, env=environment,
                          timeout=typed_commands.PATIENCE_S)  # fmt: skip
    return json.loads(done.stdout)


@pytest.mark.full
def test_text_and_json_answers_import_no_extra_and_open_no_socket(tmp_path: Path) -> None:
    """All extras are installed here."""
    typed = typed_commands.ANSWERS
    for one, found in zip(typed, played(typed, tmp_path), strict=True):
        assert found["crash"] is None and found["status"] == one.status, (one.words, found)
        assert found["imported"] == [], one.words
        assert found["reached"] == [], one.words
        assert found["out"]


@pytest.mark.full
def test_only_spark_and_live_commands_open_a_socket(tmp_path: Path) -> None:
    """Commands that start Spark or serve the lab are left out."""
    typed = [one for one in typed_commands.WRITTEN if not one.slow]
    for one, found in zip(typed, played(typed, tmp_path), strict=True):
        asks = "--live" in one.words or "--api" in one.words
        assert found["crash"] is None and found["status"] == one.status, (one.words, found)
        assert bool(found["reached"]) == asks, (one.words, found["reached"])


def test_every_command_is_tested() -> None:
    assert {one.words.split()[0] for one in typed_commands.EVERY} == every_command().keys()


def test_listed_extras_and_options_exist() -> None:
    options = {command.name: {parameter.name for parameter in command.params} for command in every_command().values()}
    for taken in TAKEN:
        assert taken.option is None or taken.option in options[taken.command], taken
        assert set(MODULES[taken.extra]) <= {line.split(">")[0] for line in EXTRAS[taken.extra]}, taken


@pytest.mark.parametrize("taken", TAKEN, ids=str)
def test_missing_extra_is_reported_in_one_line_before_any_work(
    taken: Taken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extra, "find_spec", lambda module: None if module == MODULES[taken.extra][0] else "there")
    typed = [one for one in typed_commands.EVERY if taken.extra in one.extras and one.words.startswith(taken.command)]
    words = next(one for one in typed if taken.option in (None, "output") or f"--{taken.option}" in one.words)
    result = CliRunner().invoke(main, words.filled(tmp_path))
    assert (result.exit_code, result.stdout, [*tmp_path.iterdir()]) == (2, "", [])
    [line] = result.stderr.splitlines()
    assert line == (f"{taken} needs the extra `{taken.extra}` ({MODULES[taken.extra][0]} is not installed): "
                    f"pip install 'hawb[{taken.extra}]'")  # fmt: skip
