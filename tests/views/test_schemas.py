"""JSON Schemas: the stored ones agree with the code and with the output of the commands."""

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
def test_stored_schema_is_up_to_date(command: str):
    """After a change: python -m hawb.views.schemas."""
    assert json.loads(schemas.kept(command)) == schemas.schema(command)


@pytest.mark.parametrize("command", schemas.COMMANDS)
def test_schema_is_valid_and_has_its_version_in_its_name(command: str):
    decoded = json.loads(schemas.kept(command))
    Draft202012Validator.check_schema(decoded)
    assert decoded["$id"] == f"urn:hawb:schema:{schemas.VERSION}:{command}"


def test_every_command_with_json_output_has_a_schema():
    with_json = {
        name for name, command in every_command().items() if any("--json" in option.opts for option in command.params)
    }
    assert with_json == {*schemas.COMMANDS} == {file.stem for file in schemas.FOLDER.iterdir()}


def test_schema_command_prints_the_stored_schema():
    result = CliRunner().invoke(main, ["schema", "safe"])
    assert (result.exit_code, result.stdout) == (0, schemas.kept("safe"))


@pytest.mark.parametrize("name", STORIES)
def test_outcomes_match_the_schema(name: str):
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
def test_answers_about_a_real_cluster_match_the_schema(command: str, options: tuple):
    validate(command, answer(command, *FILES[:3], *options))


def test_upgrade_with_own_times_matches_the_schema(tmp_path):
    file = tmp_path / "own.yaml"
    for draws in ("", "draws: [{timing: {start_s: 7}}, {timing: {start_s: 12}}]\n"):
        file.write_text(f"numbers: ours\nenvironment: {{timing: {{start_s: 9}}}}\n{draws}"
                        "sources: {environment: 'measured: by hand'}\n")  # fmt: skip
        result = answer("upgrade", *FILES[:3], "--wait", "none", "--numbers", str(file))
        validate("upgrade", result)
        assert (result["own_times"]["within"] is None) == (not draws)


def test_searches_match_the_schema():
    validate("explore", json.loads(json.dumps(plain_answer(*searched_for()))))


def test_incidents_match_the_schema():
    validate("incident", answer("incident", KEPT_LOGS[0], "--events", "--clients"))
    validate("incident", answer("incident", KEPT_LOGS[0]))


def test_rates_match_the_schema():
    validate("rates", answer("rates", KEPT_LOGS[0].parent))


def test_audits_match_the_schema():
    validate("audit", audit.plain(audited_summary()))


def test_estimates_match_the_schema():
    validate("study", [estimate("plain"), estimate("better", "publish_down_s", -3.0, -1.0)])


def test_undocumented_key_is_detected():
    result = answer("lint", SCENARIOS / f"{STORIES[0]}.yaml")
    result[0]["findings"][0]["colour"] = "red"
    with pytest.raises(ValidationError, match="colour"):
        validate("lint", result)
