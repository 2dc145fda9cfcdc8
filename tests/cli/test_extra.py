"""What a command imports, and what it says where an extra is missing."""

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
    """What came of commands that one process plays, one after the other."""
    asked = json.dumps([one.filled(to) for one in typed])
    program = [sys.executable, typed_commands.__file__]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(program, input=asked, capture_output=True, text=True, check=True, env=environment,
                          timeout=typed_commands.PATIENCE_S)  # fmt: skip
    return json.loads(done.stdout)


@pytest.mark.full
def test_an_answer_in_text_or_json_imports_nothing_of_an_extra_and_reaches_nobody(tmp_path: Path) -> None:
    """Though all of them are installed here."""
    typed = typed_commands.ANSWERS
    for one, found in zip(typed, played(typed, tmp_path), strict=True):
        assert found["crash"] is None and found["status"] == one.status, (one.words, found)
        assert found["imported"] == [], one.words
        assert found["reached"] == [], one.words
        assert found["out"]


@pytest.mark.full
def test_only_spark_and_what_asks_a_cluster_opens_a_socket(tmp_path: Path) -> None:
    """What starts Spark is left out, and the lab, which is served."""
    typed = [one for one in typed_commands.WRITTEN if not one.slow]
    for one, found in zip(typed, played(typed, tmp_path), strict=True):
        asks = "--live" in one.words or "--api" in one.words
        assert found["crash"] is None and found["status"] == one.status, (one.words, found)
        assert bool(found["reached"]) == asks, (one.words, found["reached"])


def test_every_command_is_typed_by_somebody() -> None:
    assert {one.words.split()[0] for one in typed_commands.EVERY} == every_command().keys()


def test_what_is_taken_is_an_option_of_its_command_and_an_extra_of_the_project() -> None:
    options = {command.name: {parameter.name for parameter in command.params} for command in every_command().values()}
    for taken in TAKEN:
        assert taken.option is None or taken.option in options[taken.command], taken
        assert set(MODULES[taken.extra]) <= {line.split(">")[0] for line in EXTRAS[taken.extra]}, taken


@pytest.mark.parametrize("taken", TAKEN, ids=str)
def test_a_missing_extra_is_said_in_one_line_before_anything_is_done(
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
