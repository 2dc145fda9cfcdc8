"""`hawb incident` as a user meets it."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from kept_logs import DATA

from hawb.cli import main

STORY = DATA / "logs" / "3.10" / "partition-autoheal"


def hawb(*arguments: object):
    return CliRunner().invoke(main, ["incident", *map(str, arguments)], catch_exceptions=False)


def test_it_tells_what_happened():
    result = hawb(STORY)
    assert result.exit_code == 0
    assert result.stdout.partition(" ")[2].startswith("events in 3 files, by n1@10.77.0.1")
    assert "guest" not in result.stdout


def test_json_has_no_client_unless_asked_for():
    plain, asked = hawb(STORY, "--json"), hawb(STORY, "--json", "--clients")
    assert "guest" not in plain.stdout and "guest" in asked.stdout
    assert {event["kind"] for event in json.loads(plain.stdout)["events"]} >= {"node_up", "mirror_added"}


@pytest.mark.parametrize(
    ("given", "told"),
    [(["none.log"], "none.log"), (["."], "no log"), ([".", "--zone", "Nowhere/No"], "no zone"), ([], "Missing")],
)
def test_what_cannot_be_read_is_refused(tmp_path, monkeypatch, given, told):
    monkeypatch.chdir(tmp_path)
    result = hawb(*given)
    assert result.exit_code == 2
    assert told in result.stderr


def test_times_without_a_zone_are_of_the_one_that_is_told(tmp_path):
    file = tmp_path / "rabbit@a.log"
    file.write_text("2026-07-01 12:00:00.000 [info] <0.1.0> RabbitMQ is asked to stop...\n")
    told = json.loads(hawb(file, "--zone", "Europe/Stockholm", "--json").stdout)
    assert told["events"][0]["at_us"] == 1_782_900_000_000_000
