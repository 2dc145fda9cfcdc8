"""The verdict on an outcome and its reasons: what a person reads first."""

from __future__ import annotations

import pytest
from views_outcomes import DECLARE, HOSTILE, LEADER_ALONE, UNSYNCHRONISED, hostile, play, policy, publish, steps

from hawb import languages
from hawb.views.formatting import shown
from hawb.views.story.summary import MOST_REASONS, done, reasons, toned_headline

ALL = policy(ha_mode="all")


def test_a_loss_is_what_is_told_and_its_paragraph_is_the_reason():
    told = play(UNSYNCHRONISED)
    text = "100 messages of ha.orders are lost, all of them confirmed."
    assert toned_headline(told) == {"tone": "lost", "text": text}
    assert reasons(told)[0].startswith("Messages 1 to 100 of ha.orders were lost")


def test_a_sentence_that_begins_with_a_name_leaves_it_as_it_is():
    with languages.language("zh"):
        assert toned_headline(play(UNSYNCHRONISED))["text"].startswith("ha.orders ")


def test_one_message_is_one_and_what_was_not_confirmed_is_not_said_to_be():
    lost = steps(DECLARE, publish(1, persistent=False, mode="plain"), {"kill": "a"}, {"start": "a"})
    assert toned_headline(lost)["text"] == "1 message of q is lost."


def test_where_nothing_is_lost_it_is_told_what_cannot_be_used():
    text = "Nothing is lost, and every queue can be used."
    assert toned_headline(steps(ALL, DECLARE)) == {"tone": "well", "text": text}
    down = steps(DECLARE, publish(3), {"kill": "a"})
    assert toned_headline(down) == {"tone": "harmed", "text": "Nothing is lost, but q is down."}
    assert reasons(down)[0].endswith("a was killed.")
    assert reasons(down)[-1].endswith("q is down: there is no mirror to take over from a.")


def test_a_leader_alone_commits_nothing_and_sides_do_not_agree():
    alone = LEADER_ALONE.replace("  - wait: 30\n  - publish: {queue: q, count: 2, node: b}\n", "")
    unnoticed = "no node has noticed yet that nothing passes between a–b and a–c; 3 messages for q wait"
    assert toned_headline(play(alone))["text"] == f"Nothing is lost, but q commits nothing; {unnoticed}."
    parted = steps(ALL, DECLARE, publish(3), {"partition": [["a"], ["b", "c"]]}, {"wait": 100})
    assert "the sides of the partition do not agree about q" in toned_headline(parted)["text"]


def test_who_cannot_publish_and_that_there_is_nothing_to_lose_is_told():
    alarm = steps(DECLARE, {"alarm": {"node": "b", "resource": "memory"}})
    assert toned_headline(alarm)["text"] == "Nothing is lost, but publishers are blocked by a memory alarm."
    assert toned_headline(steps())["text"] == "Nothing is lost, and there is no queue."


def test_metadata_that_cannot_be_changed_is_told():
    minority = steps({"kill": "a"}, {"kill": "b"}, version="4.3")
    assert toned_headline(minority)["text"] == "Nothing is lost, but metadata cannot be changed."


def test_what_cannot_be_used_has_its_reason_though_something_else_was_done_since():
    down = ({"declare": {"queue": "r", "node": "b"}}, DECLARE, {"kill": "a"})
    later = {"publish": {"queue": "r", "count": 1}}
    assert reasons(steps(*down, later)) == reasons(steps(*down)) != []


def test_nothing_that_happened_needs_no_reason():
    assert reasons(steps()) == []
    assert reasons(steps(ALL, DECLARE)) == []


def test_of_many_losses_the_last_are_explained():
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
    ],
)
def test_a_step_in_a_few_words(step, words):
    assert done(step) == words


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text_in_one_line(name):
    told = hostile(name)
    assert toned_headline(told)["text"] == (
        f"3 messages of {shown(name)} are lost, all of them confirmed; {shown(name)} is down"
        f" and {shown(f'{name}2')} is without a majority."
    )
    lines = reasons(told)
    assert lines[0].startswith(f"Messages 1 to 3 of {shown(name)} were lost at 1.011 s.")
    assert not any("\n" in line for line in lines)
