"""JSON Schemas: as kept, as the code makes them, and as the commands answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from answered_reports import audited_summary, estimate, searched_for
from click.testing import CliRunner
from inventories import FILES, ROOT
from json_schemas import validate
from jsonschema import Draft202012Validator, ValidationError
from kept_logs import STORIES as KEPT_LOGS

from hawb.cli import every_command, main
from hawb.views import schemas
from hawb.views.planning.exploration import plain_answer
from hawb.views.study import audit

SCENARIOS = ROOT / "data" / "scenarios"
STORIES = (
    "unsynchronised-mirror-promoted", "quorum-steady-clients", "khepri-minority-drained", "partition-of-one-link",
    "alarm-blocks-publishers", "refused-policies",
)  # fmt: skip


def answer(*arguments: object) -> Any:
    result = CliRunner().invoke(main, [*map(str, arguments), "--json"], catch_exceptions=False)
    assert result.exit_code in (0, 1, 3), result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("command", schemas.COMMANDS)
def test_what_is_kept_is_what_the_code_makes(command: str):
    """After a change: python -m hawb.views.schemas."""
    assert json.loads(schemas.kept(command)) == schemas.schema(command)


@pytest.mark.parametrize("command", schemas.COMMANDS)
def test_each_is_a_schema_with_its_version_in_its_name(command: str):
    told = json.loads(schemas.kept(command))
    Draft202012Validator.check_schema(told)
    assert told["$id"] == f"urn:hawb:schema:{schemas.VERSION}:{command}"


def test_every_command_that_answers_with_json_has_one():
    with_json = {
        name for name, command in every_command().items() if any("--json" in option.opts for option in command.params)
    }
    assert with_json == {*schemas.COMMANDS} == {file.stem for file in schemas.FOLDER.iterdir()}


def test_the_command_prints_what_is_kept():
    result = CliRunner().invoke(main, ["schema", "safe"])
    assert (result.exit_code, result.stdout) == (0, schemas.kept("safe"))


@pytest.mark.parametrize("name", STORIES)
def test_outcomes(name: str):
    validate("run", answer("run", SCENARIOS / f"{name}.yaml"))


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("safe", ()),
        ("lint", ()),
        ("migrate", ("--to", "4.3")),
        ("upgrade", ("--wait", "none")),
        ("upgrade", ("--full-stop",)),
        ("upgrade", ("--to", "3.13", "--from", "3.10", "--wait", "none")),
    ],
)
def test_answers_about_a_real_cluster(command: str, options: tuple):
    validate(command, answer(command, *FILES[:3], *options))


def test_an_upgrade_by_own_times(tmp_path):
    file = tmp_path / "own.yaml"
    for draws in ("", "draws: [{timing: {start_s: 7}}, {timing: {start_s: 12}}]\n"):
        file.write_text(f"numbers: ours\nenvironment: {{timing: {{start_s: 9}}}}\n{draws}"
                        "sources: {environment: 'measured: by hand'}\n")  # fmt: skip
        told = answer("upgrade", *FILES[:3], "--wait", "none", "--numbers", str(file))
        validate("upgrade", told)
        assert (told["own_times"]["within"] is None) == (not draws)


def test_searches():
    validate("explore", json.loads(json.dumps(plain_answer(*searched_for()))))


def test_logs():
    validate("incident", answer("incident", KEPT_LOGS[0], "--events", "--clients"))
    validate("incident", answer("incident", KEPT_LOGS[0]))


def test_rates():
    validate("rates", answer("rates", KEPT_LOGS[0].parent))


def test_audits():
    validate("audit", audit.plain(audited_summary()))


def test_estimates():
    validate("study", [estimate("plain"), estimate("better", "publish_down_s", -3.0, -1.0)])


def test_a_key_that_nobody_told_of_is_found():
    told = answer("lint", SCENARIOS / f"{STORIES[0]}.yaml")
    told[0]["findings"][0]["colour"] = "red"
    with pytest.raises(ValidationError, match="colour"):
        validate("lint", told)
