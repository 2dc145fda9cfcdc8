"""At-least-once dead lettering of a quorum queue: messages stay until confirmed, and are resent."""

from __future__ import annotations

import pytest
from fifo_bench import LATENCY_US, SINCE_3_10, Bench

from hawb.engine.clients import consuming
from hawb.engine.core import events
from hawb.engine.core.operations import DeadLetters, Purge
from hawb.engine.core.runs import EMPTY
from hawb.engine.queues import dead_letters, lifecycle, limits

AT_LEAST_ONCE = {
    "dead_letter_exchange": "", "dead_letter_routing_key": "dead", "dead_letter_strategy": "at-least-once",
    "overflow": "reject-publish",
}  # fmt: skip


@pytest.mark.parametrize("version", SINCE_3_10)
def test_dead_letter_stays_until_the_target_confirms(version: str):
    bench = Bench(version, **AT_LEAST_ONCE)
    bench.add("dead", "classic")
    bench.publish(3)
    bench.get(2, holder="h")
    bench.settle("h", None, "reject")
    assert bench.queue.content == ((1, 3),) and bench.order == ((3, 3),)
    assert bench.queue.unacknowledged == EMPTY
    letter, confirmed = bench.pass_time(10 * LATENCY_US)
    assert isinstance(letter, DeadLetters) and letter.count == 2
    consuming.letters_confirmed(bench.turn, confirmed)
    assert bench.queue.content == ((3, 3),)
    assert bench.removed("dead_lettered") == ((1, 2),)


def test_waiting_dead_letters_count_towards_the_length():
    bench = Bench(max_length=2, **AT_LEAST_ONCE)
    channel = ("default", 0, "confirm")
    limits.register(bench.turn, "q", channel)
    bench.publish(2)
    bench.get(2, holder="h")
    bench.settle("h", None, "reject")
    bench.publish(1)
    assert limits.rejects(bench.turn, bench.queue, channel)


def test_dead_letters_without_a_target_are_retried_after_three_minutes():
    bench = Bench(**AT_LEAST_ONCE)
    bench.publish(1)
    bench.get(1, holder="h")
    bench.settle("h", None, "reject")
    assert bench.pass_time(179_999_999) == []
    [again] = bench.pass_time(1)
    bench.add("dead", "classic")
    dead_letters.retry(bench.turn, again)
    letter, confirmed = bench.pass_time(10 * LATENCY_US)
    consuming.letters_confirmed(bench.turn, confirmed)
    assert letter.queue == "dead" and bench.removed("dead_lettered") == ((1, 1),)


def test_new_leader_resends_unconfirmed_dead_letters():
    bench = Bench(**AT_LEAST_ONCE)
    bench.add("dead", "classic")
    bench.publish(1)
    bench.get(1, holder="h")
    bench.settle("h", None, "reject")
    bench.turn.change_queue("q", master=1)
    consuming.follow_leader(bench.turn, "q")
    due = bench.pass_time(10 * LATENCY_US)
    confirms = [event for event in due if isinstance(event, events.LettersConfirmed)]
    assert len(due) - len(confirms) == 2
    for event in confirms:
        consuming.letters_confirmed(bench.turn, event)
    assert bench.removed("dead_lettered") == ((1, 1),)


def test_change_to_at_most_once_drops_waiting_dead_letters():
    bench = Bench(**AT_LEAST_ONCE)
    bench.publish(1)
    bench.get(1, holder="h")
    bench.settle("h", None, "reject")
    bench.keep_to(dead_letter_exchange="", dead_letter_routing_key="dead")
    assert bench.queue.content == EMPTY and bench.removed("dropped") == ((1, 1),)


@pytest.mark.parametrize("version, left", [("4.0", ((1, 2),)), ("4.3", ((2, 2),))])
def test_purge_removes_waiting_dead_letters_in_4_3(version: str, left: tuple):
    bench = Bench(version, **AT_LEAST_ONCE)
    bench.publish(3)
    bench.get(2, holder="h")
    bench.settle("h", 1, "reject")
    lifecycle.purge(bench.turn, Purge("q", 0))
    assert bench.queue.content == left
