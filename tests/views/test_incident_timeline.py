"""The events of logs as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kept_logs import STORIES

from hawb.incident.reading import Reading, read_logs
from hawb.views.incident.timeline import plain, text

HEAD = "2026-11-27 08:55:{:02}.000001+00:00 [info] <0.1.0> {}\n"


@pytest.fixture
def apart(tmp_path: Path) -> Reading:
    """Read logs of two nodes (b's clock is ten seconds ahead), with a client, an unknown and a truncated message."""
    said = [(1, "node 'rabbit@b' up"), (9, "closing AMQP connection <0.1.0> (Qxname, vhost: '/', user: 'Qxuser')"),
            (11, "Frobnicating Qxname")]  # fmt: skip
    (tmp_path / "rabbit@a.log").write_text("half a message\n" + "".join(HEAD.format(*one) for one in said))
    (tmp_path / "rabbit@b.log").write_text(HEAD.format(11, "node 'rabbit@a' up"))
    return read_logs([tmp_path], clients=True)


def test_clock_offsets_come_first_and_rows_are_ordered_by_time(apart):
    shown = text(apart)
    assert "The clock of rabbit@b is 0:00:10 ahead that" not in shown
    assert "The clock of rabbit@b is 0:00:10 ahead of that of rabbit@a" in shown
    assert [line.split()[:2] for line in shown.splitlines() if " node up " in line] == [
        ["08:55:01.000", "rabbit@a"], ["08:55:01.000", "rabbit@b"],
    ]  # fmt: skip


def test_events_of_clients_are_counted_and_shown_on_request(apart):
    assert "1 event of clients left out" in text(apart)
    assert "Qxname" not in text(apart)
    assert "user Qxuser, connection Qxname" in text(apart, clients=True)


def test_unknown_and_truncated_messages_are_reported(apart):
    shown = text(apart)
    assert "No rule recognises 1 message of 1 kind" in shown
    assert "<word> <word>" in shown
    assert "1 line outside of messages" in shown


def test_log_without_events_is_stated(tmp_path):
    (tmp_path / "rabbit@a.log").write_text("")
    assert text(read_logs([tmp_path])) == "No event in 1 file."


@pytest.mark.parametrize("width", [60, 80, 120])
def test_lines_fit_the_width(width):
    shown = text(read_logs([STORIES[0]]), width=width)
    assert max(map(len, shown.splitlines())) <= width


def test_plain_values_are_json(apart):
    values = json.loads(json.dumps(plain(apart)))
    assert [event["settled_us"] for event in values["events"]] == sorted(
        event["settled_us"] for event in values["events"]
    )
    assert values["unknown"] == [{"level": "info", "template": "<word> <word>", "count": 1}]
    assert values["clocks"]["rabbit@b"]["offset_us"] == 10_000_000
    assert {file["cut"] for file in values["files"]} == {0, 1}
