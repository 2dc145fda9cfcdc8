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


def test_it_answers_first_and_tells_what_happened_and_what_would_have_kept_the_messages():
    result = hawb(DATA / "logs" / "3.10" / "wide-partition-pause-if-all-down")
    assert result.exit_code == 0
    told = [result.stdout.index(one) for one in (
        "! Yes, but messages of all.00, ", "What to do", "What happened", "What became of messages",
        "What would have kept them: all.00", "Where the rules would have gone another way", "What is assumed",
    )]  # fmt: skip
    assert told == sorted(told) and told[0] == 0
    assert "guest" not in result.stdout


def test_events_are_told_one_by_one():
    result = hawb(STORY, "--events")
    assert result.stdout.partition(" ")[2].startswith("events in 3 files, by n1@10.77.0.1")
    assert "guest" not in result.stdout


def test_json_has_no_client_unless_asked_for():
    plain, asked = hawb(STORY, "--json"), hawb(STORY, "--events", "--json", "--clients")
    assert "guest" not in plain.stdout and "guest" in asked.stdout
    assert {event["kind"] for event in json.loads(plain.stdout)["events"]} >= {"node_up", "mirror_added"}
    assert json.loads(plain.stdout)["verdict"]["answer"] == "but"


def test_exports_beside_logs_are_known_and_say_what_there_was(tmp_path):
    """Where the queue stood before, as a listing has it: it is its messages that are in danger then."""
    listing = [{"name": "orders", "vhost": "/", "durable": True, "auto_delete": False, "messages": 10, "arguments": {},
                "node": "n1@10.77.0.1", "slave_nodes": ["n2@10.77.0.2", "n3@10.77.0.3"], "type": "classic",
                "synchronised_slave_nodes": ["n2@10.77.0.2", "n3@10.77.0.3"], "state": "running"}]  # fmt: skip
    (tmp_path / "told").write_text(json.dumps(listing))
    told = json.loads(hawb(tmp_path / "told", STORY, "--json").stdout)
    assert "no_listing" not in {doubt["kind"] for doubt in told["doubts"]}
    assert [queue["messages"] for queue in told["scenario"]["queues"]] == [10]


def test_exports_of_after_say_what_there_is(tmp_path):
    """Beside those of before, which say what there was: what clients did in between follows."""
    listing = {"name": "orders", "vhost": "/", "durable": True, "auto_delete": False, "arguments": {},
               "type": "classic", "state": "running",
               "node": "n1@10.77.0.1", "slave_nodes": ["n2@10.77.0.2", "n3@10.77.0.3"],
               "synchronised_slave_nodes": ["n2@10.77.0.2", "n3@10.77.0.3"]}  # fmt: skip
    for name, messages in (("before", 10), ("after", 12)):
        (tmp_path / name).write_text(json.dumps([listing | {"messages": messages}]))
    told = json.loads(hawb(tmp_path / "before", STORY, "--after", tmp_path / "after", "--json").stdout)
    assert [queue["kept"] for queue in told["losses"]] == [12]
    assert "depth_listed" in {doubt["kind"] for doubt in told["doubts"]}


def test_the_page_and_the_scenario_are_written_and_the_scenario_can_be_played(tmp_path):
    result = hawb(STORY, "-o", tmp_path / "told.html", "--scenario", tmp_path / "story.yaml")
    assert result.exit_code == 0
    assert "<h1>Are all messages still there?</h1>" in (tmp_path / "told.html").read_text(encoding="utf-8")
    played = CliRunner().invoke(main, ["run", str(tmp_path / "story.yaml")])
    assert played.exit_code == 0
    assert hawb(STORY, "--scenario", "-").stdout == (tmp_path / "story.yaml").read_text(encoding="utf-8")


def test_a_story_in_which_nothing_happens_is_no_scenario(tmp_path):
    (tmp_path / "rabbit@a.log").write_text("2026-07-01 12:00:00.000 [info] <0.1.0> node 'rabbit@b' up\n")
    result = hawb(tmp_path, "--scenario", "-")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is none" in result.stderr


@pytest.mark.parametrize(
    ("given", "told"),
    [(["none.log"], "none.log"), (["."], "no log"), ([".", "--zone", "Nowhere/No"], "no zone"), ([], "Missing"),
     ([".", "--clients"], "--events"), (["export.json"], "no log")],
)
def test_what_cannot_be_read_is_refused(tmp_path, monkeypatch, given, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "export.json").write_text('{"queues": []}')
    result = hawb(*given)
    assert result.exit_code == 2
    assert told in result.stderr


def test_times_without_a_zone_are_of_the_one_that_is_told(tmp_path):
    file = tmp_path / "rabbit@a.log"
    file.write_text("2026-07-01 12:00:00.000 [info] <0.1.0> RabbitMQ is asked to stop...\n")
    told = json.loads(hawb(file, "--events", "--zone", "Europe/Stockholm", "--json").stdout)
    assert told["events"][0]["at_us"] == 1_782_900_000_000_000
