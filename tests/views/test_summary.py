"""The verdict on an outcome and its reasons."""

from __future__ import annotations

import pytest
from views_outcomes import DECLARE, HOSTILE, LEADER_ALONE, UNSYNCHRONISED, hostile, play, policy, publish, steps

from hawb import languages
from hawb.views.formatting import shown
from hawb.views.story.summary import MOST_REASONS, done, reasons, toned_headline

ALL = policy(ha_mode="all")


def test_verdict_states_the_loss_and_its_explanation_is_the_reason():
    result = play(UNSYNCHRONISED)
    text = "100 messages of ha.orders are lost, all of them confirmed."
    assert toned_headline(result) == {"tone": "lost", "text": text}
    assert reasons(result)[0].startswith("Messages 1 to 100 of ha.orders were lost")


def test_leading_name_is_not_capitalised():
    with languages.language("zh"):
        assert toned_headline(play(UNSYNCHRONISED))["text"].startswith("ha.orders ")


def test_singular_and_unconfirmed_losses_are_worded_correctly():
    lost = steps(DECLARE, publish(1, persistent=False, mode="plain"), {"kill": "a"}, {"start": "a"})
    assert toned_headline(lost)["text"] == "1 message of q is lost."


def test_verdict_without_loss_names_unavailable_queues():
    text = "Nothing is lost, and every queue can be used."
    assert toned_headline(steps(ALL, DECLARE)) == {"tone": "well", "text": text}
    down = steps(DECLARE, publish(3), {"kill": "a"})
    assert toned_headline(down) == {"tone": "harmed", "text": "Nothing is lost, but q is down."}
    assert reasons(down)[0].endswith("a was killed.")
    assert reasons(down)[-1].endswith("q is down: there is no mirror to take over from a.")


def test_isolated_leader_and_diverging_sides_are_stated():
    alone = LEADER_ALONE.replace("  - wait: 30\n  - publish: {queue: q, count: 2, node: b}\n", "")
    unnoticed = "no node has noticed yet that nothing passes between a–b and a–c; 3 messages for q wait"
    assert toned_headline(play(alone))["text"] == f"Nothing is lost, but q commits nothing; {unnoticed}."
    parted = steps(ALL, DECLARE, publish(3), {"partition": [["a"], ["b", "c"]]}, {"wait": 100})
    assert "the partitions do not agree about q" in toned_headline(parted)["text"]


def test_blocked_publishers_and_empty_clusters_are_stated():
    alarm = steps(DECLARE, {"alarm": {"node": "b", "resource": "memory"}})
    assert toned_headline(alarm)["text"] == "Nothing is lost, but publishers are blocked by a memory alarm."
    assert toned_headline(steps())["text"] == "Nothing is lost, and there is no queue."


def test_read_only_metadata_is_stated():
    minority = steps({"kill": "a"}, {"kill": "b"}, version="4.3")
    assert toned_headline(minority)["text"] == "Nothing is lost, but metadata cannot be changed."


def test_unavailable_queue_keeps_its_reason_after_later_steps():
    down = ({"declare": {"queue": "r", "node": "b"}}, DECLARE, {"kill": "a"})
    later = {"publish": {"queue": "r", "count": 1}}
    assert reasons(steps(*down, later)) == reasons(steps(*down)) != []


def test_empty_story_has_no_reasons():
    assert reasons(steps()) == []
    assert reasons(steps(ALL, DECLARE)) == []


def test_only_the_last_losses_are_explained():
    queues = [{"declare": {"queue": f"q{number}", "node": "a", "durable": False}} for number in range(9)]
    filled = [{"publish": {"queue": f"q{number}", "count": 2}} for number in range(9)]
    assert len(reasons(steps(*queues, *filled, {"kill": "a"}))) == MOST_REASONS


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ({"kill": "a"}, "kill a"),
        ({"publish": {"queue": "q", "count": 10}}, "publish 10 q"),
        ({"heal": True}, "heal"),
        ({"at": 3, "force_boot": "a"}, "force boot a"),
        ({"kill": ["a", "b"]}, "kill a and b"),
        ({"partition": [["a"], ["b"]]}, "partition"),
        ({"expect": {"queues": {"q": {"state": "running", "messages_ready": 3}, "r": None}, "nodes": {"a": "down"}}},
         "check q (state and messages ready), r (gone) and a (down)"),
        ({"expect": {"partitions": []}}, "check partitions"),
    ],
)
def test_step_is_described_briefly(step, words):
    assert done(step) == words


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped_on_one_line(name):
    story = hostile(name)
    assert toned_headline(story)["text"] == (
        f"3 messages of {shown(name)} are lost, all of them confirmed; {shown(name)} is down"
        f" and {shown(f'{name}2')} is without a majority."
    )
    lines = reasons(story)
    assert lines[0].startswith(f"Messages 1 to 3 of {shown(name)} were lost at 1.011 s.")
    assert not any("\n" in line for line in lines)
