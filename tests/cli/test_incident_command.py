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


def test_answer_comes_first_then_events_and_prevention():
    result = hawb(DATA / "logs" / "3.10" / "wide-partition-pause-if-all-down")
    assert result.exit_code == 3
    found = [result.stdout.index(one) for one in (
        "? Cannot tell: messages of all.0", "What to do", "What happened", "What happened to messages",
        "What would have kept the messages of all.00", "Where the logs differ from RabbitMQ's rules", "What is assumed",
    )]  # fmt: skip
    assert found == sorted(found)
    assert "guest" not in result.stdout


def test_events_are_listed_one_by_one():
    result = hawb(STORY, "--events")
    assert result.stdout.partition(" ")[2].startswith("events in 3 files, by n1@10.77.0.1")
    assert "guest" not in result.stdout


def test_json_has_clients_only_on_request():
    plain, asked = hawb(STORY, "--json"), hawb(STORY, "--events", "--json", "--clients")
    assert "guest" not in plain.stdout and "guest" in asked.stdout
    assert {event["kind"] for event in json.loads(plain.stdout)["events"]} >= {"node_up", "mirror_added"}
    assert json.loads(plain.stdout)["verdict"]["answer"] == "unknown"


def test_exports_from_before_give_the_initial_queues(tmp_path):
    """The listing gives the place of the queue, so its messages count as at risk."""
    listing = [{"name": "orders", "vhost": "/", "durable": True, "auto_delete": False, "messages": 10, "arguments": {},
                "node": "n1@10.77.0.1", "slave_nodes": ["n2@10.77.0.2", "n3@10.77.0.3"], "type": "classic",
                "synchronised_slave_nodes": ["n2@10.77.0.2", "n3@10.77.0.3"], "state": "running"}]  # fmt: skip
    (tmp_path / "told").write_text(json.dumps(listing))
    answer = json.loads(hawb(tmp_path / "told", STORY, "--json").stdout)
    assert "no_listing" not in {doubt["kind"] for doubt in answer["doubts"]}
    assert [queue["messages"] for queue in answer["scenario"]["queues"]] == [10]


def test_exports_from_after_give_the_final_queues(tmp_path):
    """Together with those from before they show what clients did in between."""
    listing = {"name": "orders", "vhost": "/", "durable": True, "auto_delete": False, "arguments": {},
               "type": "classic", "state": "running",
               "node": "n1@10.77.0.1", "slave_nodes": ["n2@10.77.0.2", "n3@10.77.0.3"],
               "synchronised_slave_nodes": ["n2@10.77.0.2", "n3@10.77.0.3"]}  # fmt: skip
    for name, messages in (("before", 10), ("after", 12)):
        (tmp_path / name).write_text(json.dumps([listing | {"messages": messages}]))
    answer = json.loads(hawb(tmp_path / "before", STORY, "--after", tmp_path / "after", "--json").stdout)
    assert [queue["kept"] for queue in answer["losses"]] == [12]
    assert "depth_listed" in {doubt["kind"] for doubt in answer["doubts"]}


def test_page_and_playable_scenario_are_written(tmp_path):
    result = hawb(STORY, "-o", tmp_path / "told.html", "--scenario", tmp_path / "story.yaml")
    assert result.exit_code == 3
    question = "<h1>Does the cluster still have all messages, and does everything work?</h1>"
    assert question in (tmp_path / "told.html").read_text(encoding="utf-8")
    played = CliRunner().invoke(main, ["run", str(tmp_path / "story.yaml")])
    assert played.exit_code == 0
    assert hawb(STORY, "--scenario", "-").stdout == (tmp_path / "story.yaml").read_text(encoding="utf-8")


def test_story_without_events_is_no_scenario(tmp_path):
    (tmp_path / "rabbit@a.log").write_text("2026-07-01 12:00:00.000 [info] <0.1.0> node 'rabbit@b' up\n")
    result = hawb(tmp_path, "--scenario", "-")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no scenario to write" in result.stderr


@pytest.mark.parametrize(
    ("given", "expected"),
    [(["none.log"], "none.log"), (["."], "no log"), ([".", "--zone", "Nowhere/No"], "not a time zone"), ([], "Missing"),
     ([".", "--clients"], "--events"), (["export.json"], "no log")],
)
def test_unreadable_input_is_refused(tmp_path, monkeypatch, given, expected):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "export.json").write_text('{"queues": []}')
    result = hawb(*given)
    assert result.exit_code == 2
    assert expected in result.stderr


def test_times_without_a_zone_use_the_given_zone(tmp_path):
    file = tmp_path / "rabbit@a.log"
    file.write_text("2026-07-01 12:00:00.000 [info] <0.1.0> RabbitMQ is asked to stop...\n")
    answer = json.loads(hawb(file, "--events", "--zone", "Europe/Stockholm", "--json").stdout)
    assert answer["events"][0]["at_us"] == 1_782_900_000_000_000


CRASHED = DATA / "logs" / "3.10" / "unsynchronised-mirror-promoted"
LATER = ("--since", "2026-11-27T13:05:00+01:00", "--until", "12:05:03")


def test_span_of_the_logs_can_be_requested(tmp_path):
    answer = json.loads(hawb(CRASHED, *LATER, "--json", "-o", tmp_path / "told.html").stdout)
    assert [sentence["text"] for sentence in answer["story"]] == ["n3 was asked to stop."]
    assert answer["span"]["until_us"] - answer["span"]["since_us"] == 3_000_000
    span = answer["span"]
    assert span["since_us"] <= span["begins_us"] <= span["ends_us"] <= span["until_us"]
    assert all(life["until_us"] is None or life["until_us"] >= answer["span"]["since_us"] for life in answer["lives"])
    asked = "Requested period: 2026-11-27 12:05:00 to 2026-11-27 12:05:03. The logs cover 2026-11-27 12:04:14"
    assert asked in " ".join(hawb(CRASHED, *LATER).stdout.split())
    assert asked in (tmp_path / "told.html").read_text(encoding="utf-8")


def test_only_events_of_the_span_are_listed():
    events = json.loads(hawb(CRASHED, *LATER, "--events", "--json").stdout)["events"]
    moments = [event["settled_us"] for event in events]
    assert 0 < len(moments) < 40 and max(moments) - min(moments) <= 3_000_000


def test_story_of_an_ongoing_partition_explains_its_earlier_start():
    output = hawb(STORY, "--since", "08:55:25").stdout
    said = "to the last line; the story begins at 2026-11-27 08:54:17, because an event that began then was not over"
    assert said in " ".join(output.split())


def test_span_without_a_fault_suggests_another():
    shown = " ".join(hawb(CRASHED, "--since", "12:04:46", "--until", "12:04:57").stdout.split())
    assert "no log shows a fault or a change in the given period" in shown and "Use a longer period" in shown


@pytest.mark.parametrize(
    ("given", "expected"),
    [(["--since", "noon"], "Invalid value for '--since': 'noon' is not a time; accepted: a day (2026-11-27)"),
     (["--since", "2027-01-01"], "--since: 2027-01-01 is after the end of all logs; accepted: up to 2026-11-27 12:05"),
     (["--until", "12:00", "--since", "12:05"], "--until: 12:00 is not later than --since; accepted:"),
     (["--events", "--until", "2026-01-01"], "--until: 2026-01-01 is before the start of all logs")],
)  # fmt: skip
def test_span_outside_the_logs_is_refused(given, expected):
    result = hawb(CRASHED, *given)
    assert (result.exit_code, result.stdout) == (2, "")
    assert expected in " ".join(result.stderr.split())


HEAD = "2026-04-22 09:00:10.000000+00:00"
BOOTED = f"""{HEAD} [info] <0.222.0>  Starting RabbitMQ 4.2.0 on Erlang 27.3 [jit]
{HEAD} [info] <0.222.0> Server startup complete; 4 plugins started.
"""


@pytest.mark.parametrize(
    ("log", "status", "answer"),
    [(BOOTED, 0, "Yes:"), (f"{HEAD} [error] <0.255.0> BOOT FAILED\n", 1, "No: n1 failed to boot."),
     (f"{BOOTED}{HEAD} [error] <0.9.0> An error of its own\n", 3, "Cannot tell: hawb does not know 1 message"),
     ("GET / HTTP/1.1\n", 2, "")],
)  # fmt: skip
def test_exit_status_matches_the_answer(log, status, answer, tmp_path):
    (tmp_path / "rabbit@n1.log").write_text(log)
    result = hawb(tmp_path, "-o", tmp_path / "told.html")
    assert result.exit_code == status and answer in " ".join(result.stdout.split())
    assert (tmp_path / "told.html").exists() == (status != 2)
    assert hawb(tmp_path, "--json").exit_code == status
    assert hawb(tmp_path, "--events").exit_code == (2 if status == 2 else 0)


def test_help_lists_the_exit_status():
    shown = " ".join(hawb("--help").stdout.split())
    assert "Exit status: 0, nothing is lost or broken; 1, something is lost or broken; 2" in shown


@pytest.mark.parametrize(
    ("name", "held", "what"),
    [("access.log", b"GET / HTTP/1.1\nGET /a HTTP/1.1\n", "none of its 2 lines begins with a time"),
     ("notes.md", b"2026-04-22 09:00:00 [INFO] The server has started\n", "the only line does not begin with a time"),
     ("app.log", b'{"level":"info","msg":"started","pid":12,"time":1}\n', "not a RabbitMQ log"),
     ("picture.log", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0", "it is no text"), ("empty.log", b"", "it is empty")],
)  # fmt: skip
def test_file_that_is_not_a_log_is_refused_with_its_kind(name, held, what, tmp_path):
    (tmp_path / name).write_bytes(held)
    result = hawb(tmp_path / name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{name}: not a RabbitMQ log: " in result.stderr and what in result.stderr
    assert "accepted are RabbitMQ's own logs" in result.stderr
