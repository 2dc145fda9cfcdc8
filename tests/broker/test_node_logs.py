"""Logs of nodes: parsed in the layout of each release, assigned to steps, and freed of values of one run."""

from __future__ import annotations

import pytest

from hawb.broker import node_logs
from hawb.broker.node_logs import LogLine, NodeLogs, kept, messages, steady

NAMES = {"n1@10.77.0.1": "a", "n2@10.77.0.2": "b"}
LAGER = "2026-01-01 00:00:01.250 [info] <0.9.0> rabbit on node 'n2@10.77.0.2' down\n"
LOGGER = "2026-01-01 00:00:01.250000+00:00 [info] <0.9.0> rabbit on node 'n2@10.77.0.2' down\n"
AT_S = 1767225601.25


class Node:
    """A node with a log."""

    def __init__(self, name: str, log: str):
        self.name, self._log = name, log

    def log(self) -> str:
        return self._log


@pytest.mark.parametrize("log", [LAGER, LOGGER])
def test_line_of_either_layout_has_a_time_and_a_message(log: str) -> None:
    assert list(messages(log)) == [(AT_S, "rabbit on node 'n2@10.77.0.2' down")]


def test_wrapped_term_is_joined_into_one_line() -> None:
    at = "2026-01-01 00:00:01.250000+00:00 [info] <0.9.0> "
    log = f"{at}Synchronising: mirrors ['n1@10.77.0.1',\n{at}                        'n2@10.77.0.2'] to sync\n"
    assert list(messages(log)) == [(AT_S, "Synchronising: mirrors ['n1@10.77.0.1','n2@10.77.0.2'] to sync")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rabbit on node 'n2@10.77.0.2' down", "rabbit on node b down"),
        ("Promoting mirror <n2@10.77.0.2.1764041524.543.0> to leader", "Promoting mirror <b> to leader"),
        ("Adding mirror on node 'n2@10.77.0.2': <12345.543.0>", "Adding mirror on node b: <pid>"),
        ("from 10.77.0.254:40312 with #Ref<0.1.2.3>", "from ADDRESS with #Ref<>"),
        ("in /tmp/hawb-x/1/data/mnesia", "in MNESIA_DIR"),
    ],
)
def test_values_of_one_run_are_replaced_by_placeholders(text: str, expected: str) -> None:
    assert steady(text, NAMES) == expected


def test_line_belongs_to_the_step_of_its_time(monkeypatch) -> None:
    logs = NodeLogs([Node("a", LAGER)], NAMES)
    for step, begins_s in ((-1, AT_S - 2), (0, AT_S - 1), (1, AT_S), (None, AT_S + 1)):
        monkeypatch.setattr(node_logs.time, "time", lambda now_s=begins_s: now_s)
        logs.begin(step)
    monkeypatch.setattr(node_logs.time, "time", lambda: AT_S + 9)
    assert logs.lines() == [LogLine(1, "a", "rabbit on node b down")]


def test_lines_logged_during_setup_or_reading_belong_to_no_step(monkeypatch) -> None:
    logs = NodeLogs([Node("a", LAGER)], NAMES)
    for step, begins_s in ((-1, AT_S - 1), (0, AT_S + 1), (None, AT_S + 2)):
        monkeypatch.setattr(node_logs.time, "time", lambda now_s=begins_s: now_s)
        logs.begin(step)
    monkeypatch.setattr(node_logs.time, "time", lambda: AT_S + 9)
    assert logs.lines() == []


def test_lines_about_replication_are_stored_once_and_read_back(tmp_path) -> None:
    down = LogLine(1, "a", "rabbit on node b down")
    node_logs.save([down, LogLine(1, "a", "started TCP listener on [::]:5672"), down], "digest", tmp_path / "x.log")
    assert node_logs.read(tmp_path / "x.log") == ("digest", kept([down]))
    assert kept([down]) == [down]
