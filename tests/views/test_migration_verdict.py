"""Whether queues can be moved, in a sentence."""

from __future__ import annotations

import pytest
from inventories import cluster, policy, queue
from migrations import planned

from hawb.views.planning.migration_verdict import todo, verdict

READY, QUORUM = queue("q"), queue("qq", type="quorum", members=["a", "b", "c"])
STAYS, OTHER = queue("t", durable=False), queue("u", durable=False)
CHANGED = queue("c", arguments={"x-queue-mode": "lazy"})


@pytest.mark.parametrize(
    ("queues", "sentence"),
    [
        ([], "Yes: there is no queue to be moved."),
        ([QUORUM], "Yes: every queue is a quorum queue already."),
        ([READY, STAYS], "No: 1 of 2 queues cannot be quorum queues: t, because of this: is not durable"),
        ([READY, STAYS, OTHER], "No: 2 of 3 queues cannot be quorum queues: t and u."),
        ([QUORUM, CHANGED], "Yes, but 1 of 2 queues needs changes first: c; 1 is a quorum queue already."),
        ([CHANGED], "Yes, but 1 of 1 queue needs changes first: c."),
    ],
)
def test_the_answer_is_yes_yes_but_or_no(queues: list, sentence: str):
    assert verdict(planned(cluster(queues=queues))).sentence.startswith(sentence)


def test_the_runbook_is_always_asked_for_last():
    plan = planned(cluster(policy(ha_mode="all"), queues=[READY, STAYS, CHANGED]))
    asked = todo(plan, "hawb migrate x")
    assert asked[-1].commands == ("hawb migrate x",) and len(asked) <= 3
    assert asked[0].what.startswith("Settle 1 clash first: ")
