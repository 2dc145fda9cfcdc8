"""The load of each node: replicas, queues it serves, and messages written."""

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


def test_each_replica_writes_and_only_the_master_serves():
    a, b, c = load.loads(steps(*MIRRORED))
    assert a == Load("a", serves=1, copies=0, messages=100, written=100)
    assert b == Load("b", serves=1, copies=1, messages=110, written=110)
    assert c == Load("c", serves=0, copies=1, messages=100, written=100)


def test_node_that_is_down_serves_no_queue_but_keeps_its_writes():
    a, b, c = load.loads(steps(*MIRRORED, {"kill": "a"}))
    assert a == Load("a", written=100)
    assert (b.serves, c.serves) == (2, 0)


def test_summary_states_that_replicas_do_not_share_work():
    summary = load.summary(steps(*MIRRORED))
    assert "110 messages were published and written 310 times in all, 2.8 times each" in summary
    assert load.summary(steps({"wait": 1})) == "No queue has a master or leader, and no message was published."
    assert summary in load.text(steps(*MIRRORED))


def test_bars_are_proportional_to_the_share():
    table = load.table_html(steps(*MIRRORED))
    widths = [int(width) for width in re.findall(r"width:(\d+)px", table)]
    assert widths == [80, 0, 73, 73, 80, 80, 80, 80, 0, 80, 73, 73]
    assert load.table_html(steps({"wait": 1})).count("width:0px") == 12


@pytest.mark.parametrize("file", SCENARIOS[::7], ids=lambda file: file.stem)
def test_load_agrees_with_the_content_of_queues(file):
    result = outcome(Run.of(load_scenario(file)))
    assert load.table_html(result)
    assert load.text(result)
    published = sum(size(e["detail"]["ids"]) for e in result["events"] if e["event"] == "messages_published")
    assert all(0 <= one.written <= published for one in load.loads(result))
    kept = sum(queue["messages"] for queue in result["queues"].values())
    assert all(one.messages <= kept for one in load.loads(result)) or result["partitions"] or result["queues_elsewhere"]


def test_names_are_escaped():
    for name in HOSTILE:
        page = load.table_html(steps({"wait": 1}, nodes=(name, "b")))
        assert "<script>" not in page and html(name) in page
