"""Explanations of losses: each clause is true."""

from __future__ import annotations

import re

import pytest
from views_outcomes import DECLARE, UNSYNCHRONISED, play, policy, publish, steps

from hawb.engine.core.trace import EVENTS
from hawb.views.story import losses
from hawb.views.story.losses import MASTER_ENDS
from hawb.views.story.why import why, whys


def test_an_unsynchronised_promotion():
    assert whys(play(UNSYNCHRONISED)) == [
        "Messages 1 to 100 of ha.orders were lost at 7.006 s. The last running replica that had them was the master on "
        "a, which was killed at 7.006 s. Other replicas had held them: b was shut down at 0.003 s, c was "
        "shut down at 6.006 s. b, the oldest remaining mirror, had joined at 6.004 s, after they were published, and"
        " was not synchronised: ha-sync-mode is manual (its default), and no synchronisation was requested. "
        "ha-promote-on-failure is always (its default), so b took over with the 10 messages that it had. The copies"
        " on the disks of a and c are deleted when the nodes return. The broker confirmed all of them."
    ]


def test_loss_of_one_message_names_the_others():
    result = play(UNSYNCHRONISED)
    assert why(result, "ha.orders", 50) == whys(result)[0]


def test_parts_of_a_loss_with_different_histories_are_explained_separately():
    result = steps(
        policy(ha_mode="all", ha_promote_on_shutdown="always"),
        DECLARE,
        publish(5),
        {"stop": "b"},
        publish(5),
        {"start": "b"},
        publish(5),
        {"stop": "a"},
        nodes=("a", "b"),
    )
    first, second = whys(result)
    assert "Messages 1 to 5 of q" in first
    assert "Other replicas had held them: b was shut down at 0.0" in first
    assert "Messages 6 to 10 of q" in second
    assert "other replicas" not in second
    assert "ha-promote-on-shutdown is always and ha-promote-on-failure is always (its default), so b" in second


def test_synchronisation_interrupted_by_the_end_of_the_master():
    result = steps(
        policy(ha_mode="all", ha_sync_mode="automatic"),
        DECLARE,
        publish(500_000),
        {"stop": "b"},
        {"start": "b", "at": 40},
        {"kill": "a", "at": 48},
        nodes=("a", "b"),
    )
    assert (
        "b, the oldest remaining mirror, had been emptied by a synchronisation that ended early at 48.0 s."
        in (whys(result)[0])
    )
    assert "b took over empty." in whys(result)[0]


def test_mirror_that_received_all_messages_had_them():
    result = steps(
        policy(ha_mode="all"),
        DECLARE,
        {"stop": "b"},
        publish(5),
        {"start": "b"},
        {"sync_queue": "q"},
        {"stop": "b"},
        {"stop": "c"},
        {"start": "c"},
        {"kill": "a"},
    )
    others = r"Other replicas had held them: c was shut down at 7\.\d+ s, b was shut down at 6\.\d+ s\."
    assert re.search(others, whys(result)[0])


def test_mirror_that_refused_promotion_had_them_until_then():
    result = steps(
        policy(ha_mode="all", ha_promote_on_failure="when-synced"),
        DECLARE,
        publish(5),
        {"stop": "b"},
        {"start": "b"},
        publish(5),
        {"kill": "a"},
        {"start": "a"},
        policy(ha_mode="all"),
        {"kill": "a"},
        nodes=("a", "b"),
    )
    assert "Messages 6 to 10 of q were lost" in whys(result)[1]
    assert "Other replicas had held them: b deleted its copy instead of taking over at 6.0" in whys(result)[1]


def test_restarted_master_had_them_until_it_went_down_again():
    result = steps(
        policy(ha_mode="all"),
        DECLARE,
        publish(5),
        {"stop": "b"},
        {"kill": "a"},
        {"start": "a"},
        {"start": "b"},
        {"sync_queue": "q"},
        {"stop": "a"},
        {"start": "a"},
        {"kill": "b"},
        nodes=("a", "b"),
    )
    assert "was the master on b, which was killed" in whys(result)[0]
    assert re.search(r"Other replicas had held them: a was shut down at \d\d\.", whys(result)[0])


def test_a_mirror_that_came_back_after_a_cancelled_synchronisation_is_one_that_joined_late():
    result = steps(
        policy(ha_mode="all"),
        DECLARE,
        {"stop": "b"},
        publish(500_000),
        {"start": "b"},
        {"sync_queue": "q", "at": 30},
        {"cancel_sync_queue": "q", "at": 31},
        {"stop": "b"},
        {"start": "b"},
        {"kill": "a"},
        nodes=("a", "b"),
    )
    assert "b, the oldest remaining mirror, had joined at 37.0" in whys(result)[0]


def test_mirror_restarted_after_its_master_died_could_not_synchronise():
    result = steps(
        policy(ha_mode="nodes", ha_params=["a", "b"], ha_sync_mode="automatic"),
        DECLARE,
        publish(5),
        {"stop": "b"},
        {"kill": "a"},
        {"start": "b"},
        nodes=("a", "b", "c"),
    )
    [loss] = whys(result)
    assert "a, which was killed at 1.0" in loss
    assert "b joined at 6.0" in loss and "when no replica that had them was left. ha-promote-on-failure is" in loss
    assert "so b took over empty. The copy on the disk of a is deleted when the node returns." in loss


def test_synchronised_mirror_on_the_record_permits_promotion_of_an_older_one():
    result = steps(
        policy(ha_mode="all", ha_promote_on_failure="when-synced"),
        DECLARE,
        {"stop": "b"},
        publish(5),
        {"start": "b"},
        {"kill": ["a", "c"]},
    )
    assert (
        "ha-promote-on-failure is when-synced. RabbitMQ only checks whether the queue's record lists any synchronised"
        " mirror. It listed one, so b took over empty."
    ) in whys(result)[0]


def test_a_policy_that_was_in_force_from_the_start_is_quoted():
    result = play(
        """
scenario: policies from the start
cluster: {nodes: [a, b]}
policies:
  - {name: p, pattern: q, definition: {ha-mode: all}}
queues:
  - {queue: q, master: a, mirrors: [b], synchronised_mirrors: [], messages: 5}
steps:
  - kill: a
"""
    )
    assert whys(result) == [
        "Messages 1 to 5 of q were lost at 0.001 s. The master on a, which had them, was killed at 0.0 s. b, the"
        " oldest remaining mirror, was not synchronised. ha-promote-on-failure is always (its default), so b took "
        "over empty. The copy on the disk of a is deleted when the node returns. It is not known whether their"
        " publishers got confirms: the messages were there from the start."
    ]


def test_moved_master_left_nothing_on_disk():
    result = steps(
        policy(ha_mode="all"),
        DECLARE,
        publish(5),
        {"declare": {"queue": "q.longer", "node": "a"}},
        {"publish": {"queue": "q.longer", "count": 9, "node": "a"}},
        {"stop": "b"},
        {"start": "b"},
        {"rebalance": True},
        nodes=("a", "b"),
    )
    (sentence,) = whys(result)
    assert "which was dropped so that another replica takes over" in sentence
    assert "on disk" not in sentence


def test_transient_messages_of_a_queue_that_waits_for_its_master():
    result = steps(
        policy(ha_mode="all", ha_promote_on_failure="when-synced"),
        DECLARE,
        publish(5),
        publish(5, persistent=False),
        {"stop": "b"},
        {"start": "b"},
        {"kill": "a"},
        nodes=("a", "b"),
    )
    assert whys(result) == [
        "Messages 6 to 10 of q were lost at 6.004 s. They were not persistent, so they were gone with the last process "
        "that had them. The master on a was killed at 6.004 s. No mirror was synchronised, and ha-promote-on-failure "
        "is when-synced, so none took over. The broker confirmed all of them."
    ]
    assert why(result, "q", 1).startswith(
        "Message 1 of q is on the disk of a: the queue is down until that node is back. If it is delivered, it will be "
        "marked as redelivered."
    )


@pytest.mark.parametrize(("field", "words"), [("exclusive", "exclusive"), ("durable", "not durable")])
def test_queues_deleted_with_their_node(field, words):
    declared = {"declare": {"queue": "q", "node": "a", field: field == "exclusive"}}
    result = steps(declared, publish(3), {"kill": "a"})
    assert f"The queue was {words}, and" in whys(result)[0]


def test_cause_without_an_explanation_uses_its_chain(monkeypatch):
    monkeypatch.setattr(losses, "EXPLANATIONS", {})
    assert (
        "7.006 s: a was killed. 7.006 s: b noticed that a is gone. 7.006 s: b, a mirror that was not synchronised"
    ) in whys(play(UNSYNCHRONISED))[0]


def test_undetected_facts_are_not_stated():
    publish = {"publish": {"queue": "q", "count": 1}}
    result = steps({"declare": {"queue": "q", "node": "a"}}, publish, {"stop": ["b", "c"]}, {"wipe": "a"})
    assert "s: a was killed." in why(result, "q", 1)
    assert "learnt that" not in why(result, "q", 1)


def test_every_reason_of_master_down_has_a_text():
    reasons = re.search(r"reason: (.+)\.", EVENTS["master_down"]).group(1).split(", ")
    assert set(reasons) <= set(MASTER_ENDS)
