"""Since 3.10 the index of a classic queue keeps only the highest delivered number."""

from __future__ import annotations

import pytest

from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

STORY = """\
scenario: a restart drops transient messages
cluster: {nodes: [a, b], version: "%s"}
steps:
  - declare: {queue: q, node: b}
  - publish: {queue: q, count: 2, persistent: false, node: b}
  - stop: b
  - start: b
  - publish: {queue: q, count: 2, node: b}
  - get: {queue: q, count: 1, ack: false, consumer: one}
  - close: one
"""
KILLED = "  - kill: b\n  - start: b\n"


@pytest.mark.parametrize(("version", "redelivered"), [("3.8", [[3, 3]]), ("3.10", []), ("3.13", []), ("4.0", [])])
def test_messages_after_a_dropped_one_are_not_redelivered_since_3_10(version: str, redelivered: list):
    run = Run.of(load((STORY % version).encode()))
    assert outcome(run)["queues"]["q"]["redelivered"] == redelivered


@pytest.mark.parametrize("version", ["3.8", "3.10"])
def test_all_remaining_messages_count_as_delivered_after_a_kill(version: str):
    run = Run.of(load((STORY % version + KILLED).encode()))
    assert outcome(run)["queues"]["q"]["redelivered"] == [[3, 4]]
