"""What a command imports, and what it says where an extra is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typed_commands
from click.testing import CliRunner

from hawb.cli import extra, main
from hawb.cli.extra import MODULES, TAKEN, Taken

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def test_an_answer_in_text_or_json_imports_nothing_of_an_extra(tmp_path: Path) -> None:
    """Though all of them are installed here."""
    typed = typed_commands.ANSWERS
    asked = json.dumps([one.filled(tmp_path) for one in typed])
    program = [sys.executable, typed_commands.__file__]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    played = subprocess.run(program, input=asked, capture_output=True, text=True, check=True, env=environment,
                            timeout=typed_commands.PATIENCE_S)  # fmt: skip
    for one, found in zip(typed, json.loads(played.stdout), strict=True):
        assert found["crash"] is None and found["status"] == one.status, (one.words, found)
        assert found["imported"] == [], one.words
        assert found["out"]


def test_every_command_is_typed_by_somebody() -> None:
    assert {one.words.split()[0] for one in typed_commands.EVERY} == main.commands.keys()


def test_what_is_taken_is_an_option_of_its_command_and_an_extra_of_the_project() -> None:
    options = {command.name: {parameter.name for parameter in command.params} for command in main.commands.values()}
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
    assert line == (f"{taken} takes the extra `{taken.extra}`, of which {MODULES[taken.extra][0]} is not installed: "
                    f"pip install 'hawb[{taken.extra}]'")  # fmt: skip
