"""How a story ended, in a sentence."""

from __future__ import annotations

import pytest
from views_outcomes import QUORUM_PARTED, UNSYNCHRONISED, play, policy, steps

from hawb.engine.trace import CAUSES
from hawb.views.story.story_verdict import REMEDIES, todo, verdict

DECLARE = {"declare": {"queue": "q", "node": "a"}}
PUBLISH = {"publish": {"queue": "q", "count": 5}}
TRANSIENT = {"declare": {"queue": "t", "node": "a", "durable": False}}


@pytest.mark.parametrize(
    ("story", "sentence"),
    [
        (({"wait": 1},), "Yes: nothing is lost."),
        ((DECLARE, PUBLISH), "Yes: nothing is lost, and every queue is in use."),
        ((DECLARE, PUBLISH, {"kill": "a"}), "Yes, but q cannot be used at the end; nothing is lost."),
        ((DECLARE, PUBLISH, {"kill": "a"}, {"start": "a"}), "Yes, but q could not be used for up to"),
        ((TRANSIENT, {"publish": {"queue": "t", "count": 1}}, {"kill": "a"}),
         "No: message 1 of t was lost, though confirmed."),
        ((TRANSIENT, {"declare": {"queue": "u", "node": "a", "durable": False}},
          {"publish": {"queue": "t", "count": 2}}, {"publish": {"queue": "u", "count": 3}}, {"kill": "a"}),
         "No: 5 messages of t and u were lost, though confirmed."),
    ],
)  # fmt: skip
def test_the_answer_is_yes_yes_but_or_no(story: tuple[dict, ...], sentence: str):
    assert verdict(steps(*story)).sentence.startswith(sentence)


def test_a_partition_is_a_yes_with_a_but():
    assert verdict(play(QUORUM_PARTED)).answer in ("but", "no")


def test_what_to_do_has_the_remedy_the_nodes_and_the_mirrors():
    remedy, start = todo(play(UNSYNCHRONISED))
    assert remedy.what == REMEDIES["unsynchronised_promotion"]
    assert start.commands == tuple(f"systemctl start rabbitmq-server   # on {node}" for node in "ac")
    behind = steps(policy(ha_mode="all"), DECLARE, PUBLISH, {"stop": "b"}, {"start": "b"})
    assert [one.commands for one in todo(behind)] == [("rabbitmqctl sync_queue -p / q",)]
    assert todo(steps(DECLARE)) == ()


def test_every_cause_of_a_loss_has_a_remedy():
    assert REMEDIES.keys() == CAUSES.keys()
