"""Explanations of messages of quorum queues: majorities, leaders and lost disks."""

from __future__ import annotations

from views_outcomes import QUORUM_PARTED, play, publish, recorded, steps

from hawb.views.story.chronicle import Chronicle
from hawb.views.story.why import nodes_with, why

QUORUM = {"declare": {"queue": "q", "node": "a", "arguments": {"x-queue-type": "quorum"}}}


def test_committed_message_names_its_majority_and_later_leaders():
    result = play(QUORUM_PARTED)
    assert why(result, "q", 3) == (
        "Message 3 of q is in the queue, ready, on a, c, d and e. A majority (a, b, c and 2 more) committed it at "
        "0.008 s, in term 1. At 60.009 s: q no longer commits anything: e leads it and reaches no majority of its "
        "members. At 66.609 s: c was elected to lead q, in term 2. At 75.013 s: q no longer commits anything: c leads"
        " it and reaches no majority of its members. The broker confirmed it."
    )
    assert "on a and c. A majority (a, b and c) committed it at 75.011 s, in term 2." in why(result, "q", 11)


def test_uncommitted_message_names_what_prevents_the_commit():
    result = play(QUORUM_PARTED)
    assert why(result, "q", 21) == (
        "Message 21 of q is not committed: no majority of the queue's members has it. At 75.013 s: q no longer "
        "commits anything: c leads it and reaches no majority of its members. The broker has neither confirmed nor"
        " nacked it so far."
    )


def test_message_lost_with_its_client_names_the_election_in_between():
    result = steps(
        QUORUM,
        publish(1),
        {"partition": [["a"], ["b", "c"]]},
        publish(5),
        {"kill": "a"},
        {"wait": 60},
        {"heal": True},
        {"start": "a"},
    )
    text = why(result, "q", 2)
    assert "Message 2 did not reach q: the node that the publisher was connected to is gone." in text
    assert "q no longer commits anything: a leads it and reaches no majority of its members." in text
    assert "was elected to lead q, in term 2." in text
    assert text.endswith("The publisher never got a confirm for it.")


def test_lost_disk_no_longer_holds_a_message():
    result = steps(QUORUM, publish(5), {"stop": ["b", "c"]}, {"wipe": "b"}, {"start": "c"})
    assert nodes_with(Chronicle(result), "q", 1) == ["a", "c"]
    gone = steps(QUORUM, publish(5), {"kill": ["a", "b"]}, {"wipe": "b"}, {"kill": "c"})
    assert "is in the queue, ready, on no running node." in why(gone, "q", 1)


def test_recorded_quorum_queue_names_online_members():
    assert nodes_with(Chronicle(recorded(steps(QUORUM, publish(5), {"kill": "b"}))), "q", 1) == ["a", "c"]
