"""The verdict of a move to quorum queues."""

from __future__ import annotations

import pytest
from inventories import cluster, policy, queue
from migrations import planned

from hawb.views.verdicts.migrate import todo, verdict

READY, QUORUM = queue("q"), queue("qq", type="quorum", members=["a", "b", "c"])
BLOCKED, OTHER = queue("t", arguments={"x-max-priority": 5}), queue("u", arguments={"x-max-priority": 5})
CHANGED = queue("c", arguments={"x-queue-mode": "lazy"})
STREAM, LOG = queue("events", type="stream"), queue("log", type="stream")
MINE, SHORT = queue("mine", exclusive=True), queue("short", auto_delete=True)
LINK = queue("federation: x -> far", arguments={"x-internal-purpose": "federation"})
UNKNOWN = queue("q", durable=None, arguments=None)


@pytest.mark.parametrize(
    ("queues", "sentence"),
    [
        ([], "Yes: there is no queue, and nothing to do."),
        ([QUORUM], "Yes: every queue is already a quorum queue; nothing to do."),
        ([STREAM], "Yes: events stays a stream; nothing to do."),
        ([STREAM, LOG], "Yes: 2 stay streams; nothing to do."),
        ([MINE], "Yes: mine stays a classic queue; nothing to do."),
        ([MINE, SHORT, LINK], "Yes: 3 stay classic queues; nothing to do."),
        ([QUORUM, STREAM, SHORT],
         "Yes: 1 is a quorum queue already, events stays a stream, short stays a classic queue; nothing to do."),
        ([READY, BLOCKED, STREAM, MINE],
         "No: 1 of 2 queues (t) cannot be a quorum queue: argument x-max-priority: messages have"
         " priorities, which quorum queues support from 4.0 on; events stays a stream, mine stays a classic"),
        ([READY, BLOCKED, OTHER], "No: 2 of 3 queues (t and u) cannot be quorum queues."),
        ([BLOCKED], "No: t cannot be a quorum queue: argument x-max-priority: messages"),
        ([QUORUM, CHANGED], "Yes, but c needs changes first; 1 is a quorum queue already."),
        ([CHANGED], "Yes, but c needs changes first."),
        ([CHANGED, READY, STREAM], "Yes, but 1 of 2 queues (c) needs changes first; events stays a stream."),
        ([UNKNOWN], "Cannot tell: no file contains arguments and durability of q."),
        ([UNKNOWN, BLOCKED], "No: 1 of 2 queues (t) cannot be a quorum queue"),
    ],
)  # fmt: skip
def test_verdict_counts_the_queues_to_move(queues: list, sentence: str):
    assert verdict(planned(cluster(queues=queues), "3.13")).sentence.startswith(sentence)


def test_verdict_is_unknown_without_a_list_of_queues():
    plan = planned(cluster(queues=[], queues_listed=False))
    assert verdict(plan).sentence == "Cannot tell: no file lists queues."
    assert todo(plan)[0].commands == ("rabbitmqctl export_definitions definitions.json",)


@pytest.mark.parametrize("queues", [[], [QUORUM], [STREAM], [MINE, SHORT, LINK], [QUORUM, STREAM]])
def test_advice_is_empty_if_no_queue_moves(queues: list):
    assert todo(planned(cluster(queues=queues)), ("hawb migrate x",)) == ()


def test_blocked_queue_loses_mirrors_only_if_mirrored():
    queues, mirrors = [queue("t", durable=False)], policy("p", "^t", ha_mode="all")
    assert "with one replica from 4.0 on" in todo(planned(cluster(mirrors, queues=queues)))[1].what
    assert "one replica" not in str(todo(planned(cluster(queues=[BLOCKED]), "3.13")))


def test_runbook_is_the_last_advice():
    plan = planned(cluster(policy(ha_mode="all"), queues=[READY, BLOCKED, CHANGED]))
    asked = todo(plan, ("hawb migrate x",))
    assert asked[-1].commands == ("hawb migrate x",) and len(asked) <= 3
    assert asked[0].what.startswith("Move to new virtual hosts")
