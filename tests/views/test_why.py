"""Explanations of single messages: present, held, delivered twice, removed or refused."""

from __future__ import annotations

import pytest
from views_outcomes import DECLARE, HOSTILE, UNSYNCHRONISED, hostile, play, policy, publish, recorded, steps

from hawb.engine.core.ledger import REMOVALS
from hawb.engine.core.trace import CAUSES, EVENTS
from hawb.views.formatting import shown
from hawb.views.story.why import REMOVED, why, whys

HOLD = {"get": {"queue": "q", "count": 1, "ack": False, "consumer": "h"}}


def test_message_in_the_queue():
    result = steps(policy(ha_mode="all"), DECLARE, publish(5), nodes=("a", "b"))
    assert why(result, "q", 5) == "Message 5 of q is in the queue, ready, on a and b. The broker confirmed it."


def test_unsynchronised_mirror_has_later_messages():
    result = steps(
        policy(ha_mode="all"), DECLARE, publish(5), {"stop": "b"}, {"start": "b"}, publish(5), nodes=("a", "b")
    )
    assert "ready, on a." in why(result, "q", 1)
    assert "ready, on a and b." in why(result, "q", 6)


def test_a_message_that_a_consumer_holds():
    result = steps(DECLARE, publish(5), {"consume": {"consumer": "c1", "queue": "q", "prefetch": 2}})
    assert "is in the queue, delivered to c1 and not acknowledged, on a." in why(result, "q", 2)
    assert "is in the queue, ready, on a." in why(result, "q", 3)


def test_a_message_that_was_delivered_twice():
    result = steps(
        policy(ha_mode="all"),
        DECLARE,
        publish(1),
        {"consume": {"consumer": "c1", "queue": "q", "node": "b"}},
        {"kill": "a"},
        {"ack": {"consumer": "c1", "count": 1}},
        nodes=("a", "b"),
    )
    assert (
        "It was delivered 2 times: to consumer c1 at 0.003 s, then b took over at 0.004 s and did not know what the"
        " earlier master had delivered, to consumer c1 at 0.004 s."
    ) in why(result, "q", 1)


@pytest.mark.parametrize(
    ("steps_", "words"),
    [
        ([{"get": {"queue": "q", "count": 1}}], "was acknowledged at 0.0"),
        (
            [{"consume": {"consumer": "c", "queue": "q", "ack": "auto"}}],
            "was taken with automatic acknowledgement by c",
        ),
        ([{"purge": "q"}], "was purged at 0.0"),
        ([{"delete": {"queue": "q"}}], "was deleted with its queue at 0.0"),
        (
            [HOLD, {"nack": {"consumer": "h", "requeue": False}}],
            "was rejected for good by h at 0.0",
        ),
    ],
)
def test_removed_message(steps_, words):
    assert f"Message 1 of q {words}" in why(steps(DECLARE, publish(1), *steps_), "q", 1)


def test_every_kind_of_removal_has_a_text():
    assert REMOVED.keys() == set(REMOVALS)
    assert {event for event, _ in REMOVED.values()} <= {None, *EVENTS}


def test_a_refused_message_that_was_confirmed():
    result = steps(DECLARE, {"kill": "a"}, publish(2, node="b"))
    assert why(result, "q", 1) == (
        "At 0.001 s: No queue took message 1: the node of q is down, and the queue has no mirrors. The master on a"
        " was killed at 0.0 s. The broker confirmed it."
    )
    assert whys(result) == ["No queue took messages 1 to 2 of q, but the broker confirmed all of them."]


def test_unknown_message_is_refused_with_the_known_ones():
    result = steps(DECLARE, publish(3))
    with pytest.raises(ValueError, match="there is no queue 'x'; this outcome has 'q'"):
        why(result, "x", 1)
    with pytest.raises(ValueError, match="there is no message 4 of 'q': it has messages 1 to 3"):
        why(result, "q", 4)


def test_recorded_outcome_is_explained_without_missing_facts():
    recording = recorded(play(UNSYNCHRONISED))
    assert whys(recording) == whys(play(UNSYNCHRONISED))
    silent = recording | {"events": [], "losses": [loss | {"event": None} for loss in recording["losses"]]}
    cause = CAUSES["unsynchronised_promotion"]
    assert whys(silent) == [f"Messages 1 to 100 of ha.orders were lost. {cause} The broker confirmed all of them."]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_contain_no_line_breaks(name):
    story = hostile(name)
    for number in (1, 2, 3):
        paragraph = why(story, name, number)
        assert paragraph.startswith(f"Messages 1 to 3 of {shown(name)} were lost at 1.011 s.")
        assert len(paragraph.splitlines()) == 1
