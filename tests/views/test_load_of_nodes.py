"""What each node has to do: replicas, whose clients it serves, how often a published message was written there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from views_outcomes import HOSTILE, steps

from hawb.scenario.load import load as load_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views.cluster import load
from hawb.views.cluster.load import Load
from hawb.views.formatting import html, size

SCENARIOS = sorted((Path(__file__).parents[2] / "data" / "scenarios").glob("*.yaml"))
MIRRORED = (
    {"set_policy": {"name": "ha", "pattern": "^ha", "definition": {"ha-mode": "all"}}},
    {"declare": {"queue": "ha", "node": "a"}},
    {"declare": {"queue": "plain", "node": "b"}},
    {"publish": {"queue": "ha", "count": 100}},
    {"publish": {"queue": "plain", "count": 10}},
)


def test_a_message_is_written_wherever_a_replica_is_and_served_by_the_master_alone():
    a, b, c = load.loads(steps(*MIRRORED))
    assert a == Load("a", serves=1, copies=0, messages=100, written=100)
    assert b == Load("b", serves=1, copies=1, messages=110, written=110)
    assert c == Load("c", serves=0, copies=1, messages=100, written=100)


def test_a_node_that_is_down_serves_nobody_but_has_done_its_part():
    a, b, c = load.loads(steps(*MIRRORED, {"kill": "a"}))
    assert a == Load("a", written=100)
    assert (b.serves, c.serves) == (2, 0)


def test_the_sentences_say_that_replicas_share_no_work():
    told = load.summary(steps(*MIRRORED))
    assert "110 messages came in and were written 310 times, 2.8 times each" in told
    assert load.summary(steps({"wait": 1})) == "No queue is served, and nothing was published."
    assert told in load.text(steps(*MIRRORED))


def test_bars_are_as_long_as_their_share():
    table = load.table_html(steps(*MIRRORED))
    widths = [int(width) for width in re.findall(r"width:(\d+)px", table)]
    assert widths == [80, 0, 73, 73, 80, 80, 80, 80, 0, 80, 73, 73]
    assert load.table_html(steps({"wait": 1})).count("width:0px") == 12


@pytest.mark.parametrize("file", SCENARIOS[::7], ids=lambda file: file.stem)
def test_no_message_is_held_that_no_queue_has_and_all_of_it_can_be_told(file):
    told = outcome(Run.of(load_scenario(file)))
    assert load.table_html(told)
    assert load.text(told)
    published = sum(size(e["detail"]["ids"]) for e in told["events"] if e["event"] == "messages_published")
    assert all(0 <= one.written <= published for one in load.loads(told))
    kept = sum(queue["messages"] for queue in told["queues"].values())
    assert all(one.messages <= kept for one in load.loads(told)) or told["partitions"] or told["queues_elsewhere"]


def test_names_from_outside_stay_text():
    for name in HOSTILE:
        page = load.table_html(steps({"wait": 1}, nodes=(name, "b")))
        assert "<script>" not in page and html(name) in page
