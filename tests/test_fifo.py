"""What a quorum queue's state machine does otherwise than a classic queue, release by release.

Commands are applied here as they are when they have been committed: nothing of Raft is in the way.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hawb.engine import consuming, dead_letters, events, expiry, fetching, fifo, limits, runs, settling, subscriptions
from hawb.engine.cluster import begin
from hawb.engine.contents import drop, in_order, ready, take_out
from hawb.engine.events import DeliveryArrives, MessagesExpire, QueueExpires
from hawb.engine.fifo import RELEASES
from hawb.engine.operations import Consume, ConsumerCancels, DeadLetters, Get, Settle
from hawb.engine.runs import EMPTY, Runs
from hawb.engine.settings import Settings
from hawb.engine.state import DOWN, QUORUM, Batch, Queue
from hawb.engine.turn import Turn
from hawb.rules.profiles import PROFILES
from hawb.rules.quorum_declaration import quorum_settings
from hawb.rules.quorum_profiles import QUORUM_PROFILES

VERSIONS = list(PROFILES)
SINCE_3_10 = ["3.10", "3.13", "4.0"]
NODES = 4
LATENCY_US = 500


class Bench:
    """A quorum queue q with members on nodes 0, 1 and 2, led by 0, and clients that ask things of it. There is a fourth
    node without a member."""

    def __init__(self, version: str = "3.10", **arguments: object):
        settings = Settings(names=tuple("abcd"), file_order=tuple(range(NODES)), profile=PROFILES[version])
        self.turn = Turn(settings, begin(settings, {}, [], []), 0)
        self.version = version
        self.add("q", QUORUM, **arguments)

    def add(self, name: str, kind: str, **arguments: object) -> None:
        given = {f"x-{key.replace('_', '-')}": value for key, value in arguments.items()}
        wanted = quorum_settings({}, given, self.turn.settings.profile, 3) if kind == QUORUM else None
        self.turn.add_queue(
            Queue(
                name=name, vhost="/", type=kind, durable=True, auto_delete=False, owner=None,
                arguments=tuple(given.items()), policy=None, operator_policy=None, mirroring=None, master=0,
                contents=tuple(EMPTY if node < 3 else None for node in range(NODES)), synchronised=(0, 1, 2),
                members=(0, 1, 2) if kind == QUORUM else (), holder=0,
                fifo=fifo.new(self.turn) if kind == QUORUM else None, quorum_settings=wanted,
            )
        )  # fmt: skip

    @property
    def queue(self) -> Queue:
        return self.turn.queues["q"]

    def keep_to(self, **arguments: object) -> None:
        """Another policy is committed."""
        given = {f"x-{key.replace('_', '-')}": value for key, value in arguments.items()}
        limits.adopt_settings(self.turn, "q", quorum_settings({}, given, self.turn.settings.profile, 3))
        consuming.deliver(self.turn, "q")

    def publish(self, count: int, size_bytes: int = 1, priority: int | None = None) -> None:
        """The next numbers are committed."""
        first = self.turn.account("q").published + 1
        self.enqueue(((first, first + count - 1),), size_bytes, priority)

    def enqueue(self, numbers: Runs, size_bytes: int = 1, priority: int | None = None) -> None:
        turn = self.turn
        turn.book("q", published=max(turn.account("q").published, numbers[-1][1]))
        fifo.with_late(turn, "q", numbers)
        queue = self.queue
        expires_us = expiry.expires_us(turn, queue)
        batch = Batch(numbers[0][0], numbers[-1][1], size_bytes, True, priority, expires_us)
        content = runs.union(queue.content, numbers)
        turn.change_queue(
            "q", contents=(content, content, content, None),
            batches=tuple(sorted((*queue.batches, batch), key=lambda one: one.first)),
        )  # fmt: skip
        consuming.deliver(turn, "q", numbers)

    def consume(self, name: str, prefetch: int = 0, node: int = 0, **more: object) -> None:
        order = Consume("q", node, "default", consumer=name, prefetch=prefetch, **more)
        subscriptions.consume(self.turn, order)

    def settle(self, name: str, count: int | None = None, verdict: str = "ack") -> None:
        node = self.turn.consumers[name].node
        settling.settle(self.turn, Settle("q", node, "default", consumer=name, count=count, verdict=verdict))

    def requeue(self, name: str, count: int | None = None) -> None:
        self.settle(name, count, "requeue")

    def get(self, count: int = 1, holder: str | None = None) -> None:
        fetching.get(self.turn, Get("q", 0, "default", count=count, holder=holder))

    def cancel(self, name: str) -> None:
        subscriptions.client_cancels(self.turn, ConsumerCancels(name))

    def close(self, name: str) -> None:
        subscriptions.close(self.turn, name, "client")

    def pass_time(self, us: int) -> list[object]:
        """Time goes by; returns what was due, deliveries apart, which arrive."""
        until, due = self.turn.now_us + us, []
        while self.turn.next_time_us() is not None and self.turn.next_time_us() <= until:
            event = self.turn.take()
            if isinstance(event, DeliveryArrives):
                consuming.arrive(self.turn, event)
            else:
                due.append(event)
        self.turn.now_us = until
        return due

    def held(self, name: str) -> Runs:
        """What the queue waits for, in the order of delivery."""
        consumer = self.turn.consumers[name]
        return runs.within(consumer.in_sequence, consumer.held)

    @property
    def order(self) -> Runs:
        """The ready messages in the order in which they are served."""
        return in_order(self.queue, ready(self.queue))

    def removed(self, reason: str) -> Runs:
        return dict(self.turn.account("q").removed)[reason]

    @property
    def codes(self) -> list[int | None]:
        return [refusal.code for refusal in self.turn.refusals]


def test_every_release_has_its_rules():
    assert RELEASES.keys() == PROFILES.keys() == QUORUM_PROFILES.keys()


# Order


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("limit", [{}, {"delivery_limit": 5}])
def test_what_a_client_gives_back_is_served_first_or_with_no_limit_since_3_10_last(version: str, limit: dict):
    bench = Bench(version, **limit)
    bench.publish(6)
    bench.consume("c", prefetch=3)
    bench.cancel("c")
    bench.requeue("c", 2)
    at_the_end = version in ("3.10", "3.13") and not limit
    assert bench.order == (((4, 6), (1, 2)) if at_the_end else ((1, 2), (4, 6)))


def test_without_a_delivery_limit_4_0_requeues_at_the_end_too():
    bench = Bench("4.0", delivery_limit=-1)
    bench.publish(3)
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bench.order == ((2, 3), (1, 1))


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_lost_consumer_held_is_served_first_in_the_order_in_which_it_had_it(version: str):
    bench = Bench(version)
    bench.publish(4)
    bench.get(4, holder="first")
    bench.get(1, holder="none")
    bench.close("first")
    bench.get(2, holder="second")
    bench.publish(2)
    bench.close("second")
    assert bench.order == ((3, 4), (1, 2), (5, 6))
    bench.get(4, holder="third")
    assert bench.held("third") == ((3, 4), (1, 2))
    bench.close("third")
    assert bench.order == ((3, 4), (1, 2), (5, 6))


def test_what_is_requeued_stands_before_what_is_published_later():
    bench = Bench("3.10")
    bench.publish(3)
    bench.get(1, holder="h")
    bench.requeue("h")
    bench.publish(2)
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bench.order == ((3, 3), (1, 1), (4, 5), (2, 2))


def test_what_is_requeued_stands_behind_all_that_was_requeued_before_though_those_are_gone_that_stood_between():
    bench = Bench("3.10")
    bench.publish(9)
    bench.get(5, holder="h")
    bench.requeue("h", 1)
    bench.get(4, holder="other")
    bench.settle("other")
    bench.requeue("h", 1)
    assert bench.order == ((1, 2),)
    assert bench.queue.fifo.moved == ((9, ((1, 2),)),)


def test_what_is_committed_after_a_higher_number_stands_behind_it():
    bench = Bench()
    bench.enqueue(((4, 6),))
    bench.enqueue(((1, 3),))
    bench.publish(1)
    assert bench.order == ((4, 6), (1, 3), (7, 7))


@pytest.mark.parametrize("version", VERSIONS)
def test_what_was_returned_is_next_then_what_consumers_hold(version: str):
    bench = Bench(version)
    bench.enqueue(((4, 6),))
    bench.enqueue(((1, 3),))
    bench.get(1, holder="lost")
    bench.get(3, holder="kept")
    bench.close("lost")
    assert in_order(bench.queue, bench.queue.content) == ((4, 4), (1, 1), (5, 6), (2, 3))


def test_what_is_not_committed_is_last_and_not_ready():
    bench = Bench()
    bench.enqueue(((3, 4),))
    bench.turn.change_queue("q", pending=((1, 2),))
    assert in_order(bench.queue, bench.queue.content) == ((3, 4), (1, 2))
    assert ready(bench.queue) == ((3, 4),)


def test_4_0_serves_two_urgent_messages_before_another_unless_the_next_urgent_one_is_older():
    bench = Bench("4.0")
    bench.publish(3, priority=4)
    bench.publish(5, priority=5)
    assert bench.order == ((4, 5), (1, 1), (6, 7), (2, 2), (8, 8), (3, 3))
    bench.get(1, holder="h")
    assert bench.order == ((5, 5), (1, 1), (6, 7), (2, 2), (8, 8), (3, 3))
    bench.close("h")
    assert bench.order[0] == (4, 5)


def test_4_0_what_is_served_again_is_nobodys_turn():
    bench = Bench("4.0")
    bench.publish(3, priority=4)
    bench.publish(3, priority=5)
    for _ in range(2):
        bench.get(1, holder="h")
        bench.close("h")
    bench.get(1)
    assert bench.order == ((5, 5), (1, 1), (6, 6), (2, 3))


def test_4_0_what_consumers_hold_is_next_whatever_its_level():
    bench = Bench("4.0")
    bench.publish(3, priority=4)
    bench.publish(4, priority=5)
    bench.get(3, holder="h")
    assert in_order(bench.queue, bench.queue.content) == ((1, 1), (4, 7), (2, 3))


def test_4_0_an_urgent_message_that_was_requeued_is_urgent_no_more():
    bench = Bench("4.0", delivery_limit=-1)
    bench.publish(1, priority=9)
    bench.publish(2)
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bench.order == ((2, 3), (1, 1))


def test_4_0_an_urgent_message_that_is_older_takes_the_others_turn():
    bench = Bench("4.0")
    bench.publish(4, priority=9)
    bench.publish(2)
    assert bench.order == ((1, 6),)


@pytest.mark.parametrize("version", ["3.8", "3.10", "3.13"])
def test_before_4_0_messages_are_all_the_same(version: str):
    bench = Bench(version)
    bench.publish(2)
    bench.publish(2, priority=9)
    assert bench.order == ((1, 4),)


# Counts and the delivery limit


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("how", ["nack", "close"])
def test_a_message_is_given_up_when_it_was_given_back_more_often_than_the_limit(version: str, how: str):
    bench = Bench(version, delivery_limit=2)
    bench.publish(2)
    for _ in range(2):
        bench.get(1, holder="h")
        bench.requeue("h") if how == "nack" else bench.close("h")
    assert bench.queue.fifo.counts == ((2, ((1, 1),)),)
    assert bench.order == ((1, 2),)
    bench.get(1, holder="h")
    bench.requeue("h") if how == "nack" else bench.close("h")
    assert bench.order == ((2, 2),)
    assert bench.removed("dropped") == ((1, 1),)
    assert bench.queue.fifo.counts == ()


def test_a_limit_of_0_is_reached_with_the_first_return():
    bench = Bench(delivery_limit=0)
    bench.publish(1)
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bench.removed("dropped") == ((1, 1),)


@pytest.mark.parametrize("version, times", [("3.8", 30), ("3.10", 30), ("3.13", 30), ("4.0", 20)])
def test_only_4_0_has_a_limit_by_itself(version: str, times: int):
    bench = Bench(version)
    bench.publish(1)
    for _ in range(30):
        bench.get(1, holder="h")
        bench.close("h")
    assert ready(bench.queue) == (((1, 1),) if version != "4.0" else EMPTY)
    assert bench.removed("dropped") == (EMPTY if version != "4.0" else ((1, 1),))


@pytest.mark.parametrize("version", VERSIONS)
def test_what_was_given_back_is_redelivered(version: str):
    bench = Bench(version)
    bench.publish(3)
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bench.queue.redelivered == ((1, 1),)


def test_what_is_given_up_for_its_returns_goes_to_the_dead_letter_exchange():
    bench = Bench(delivery_limit=0, dead_letter_exchange="", dead_letter_routing_key="dead")
    bench.add("dead", "classic")
    bench.publish(1)
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bench.removed("dead_lettered") == ((1, 1),)
    letters = [event for event in bench.pass_time(LATENCY_US) if isinstance(event, DeadLetters)]
    assert [(letter.queue, letter.count, letter.deaths) for letter in letters] == [
        ("dead", 1, (("q", "delivery_limit"),))
    ]


@pytest.mark.parametrize("version, then", [("3.8", 2), ("3.10", 2), ("3.13", 1), ("4.0", 1)])
def test_old_releases_give_a_credit_too_many_for_a_message_that_is_given_up(version: str, then: int):
    bench = Bench(version, delivery_limit=0)
    bench.consume("c", prefetch=1)
    bench.publish(5)
    bench.requeue("c")
    assert runs.size(bench.held("c")) == then


@given(st.lists(st.sets(st.integers(1, 9), min_size=1), max_size=6))
def test_counts_say_how_often_each_message_was_given_back(given_back):
    counts = ()
    for some in given_back:
        counts = fifo.counted(counts, runs.normal((one, one) for one in some))
    found = {one: count for count, these in counts for one in range(1, 10) if runs.contains(these, one)}
    assert found == {
        one: times for one in range(1, 10) if (times := sum(one in some for some in given_back))
    }
    assert [count for count, _ in counts] == sorted({count for count, _ in counts})


# Consumers


@pytest.mark.parametrize("version", VERSIONS)
def test_who_asks_for_no_prefetch_gets_2000(version: str):
    bench = Bench(version)
    bench.consume("c")
    bench.publish(2500)
    assert bench.held("c") == ((1, 2000),)
    bench.settle("c", 500)
    assert bench.held("c") == ((501, 2500),)


@pytest.mark.parametrize("version", VERSIONS)
def test_automatic_acknowledgement_is_the_channels_and_its_prefetch_counts(version: str):
    bench = Bench(version)
    bench.consume("c", prefetch=2, node=1, automatic=True)
    bench.publish(5)
    assert bench.held("c") == ((1, 2),)
    assert bench.removed("acknowledged") == EMPTY
    assert bench.turn.consumers["c"].received == EMPTY
    [answer] = bench.pass_time(LATENCY_US)
    assert bench.turn.consumers["c"].received == ((1, 2),)
    settling.settle(bench.turn, answer)
    assert bench.removed("acknowledged") == ((1, 2),)
    assert bench.held("c") == ((3, 4),)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_global_prefetch_is_refused_unless_it_is_none(version: str):
    bench = Bench(version)
    bench.consume("c", prefetch=1, global_prefetch=True)
    [refusal] = bench.turn.refusals
    assert refusal.code == 540
    assert refusal.text == "NOT_IMPLEMENTED - queue 'q' in vhost '/' does not support global qos"
    assert bench.queue.consumers == ()
    bench.consume("c", prefetch=0, global_prefetch=True)
    assert bench.queue.consumers == ("c",)


@pytest.mark.parametrize(("version", "codes"), [("3.8", []), ("3.10", [406]), ("3.13", [406]), ("4.0", [])])
def test_who_asks_to_be_told_of_a_failover_is_refused_while_classic_queues_take_it(version: str, codes: list[int]):
    bench = Bench(version)
    bench.consume("c", cancel_on_ha_failover=True)
    assert bench.codes == codes
    assert bench.queue.consumers == (() if codes else ("c",))


@pytest.mark.parametrize("version", VERSIONS)
def test_nobody_consumes_exclusively(version: str):
    bench = Bench(version)
    bench.consume("one", exclusive=True)
    bench.consume("other", exclusive=True)
    assert bench.queue.consumers == ("one", "other")
    assert bench.queue.active_consumer is None and bench.codes == []


@pytest.mark.parametrize("version, taken", [("3.8", [2, 2]), ("3.10", [0, 4]), ("3.13", [0, 4]), ("4.0", [0, 4])])
def test_priorities_of_consumers_count_since_3_8_10(version: str, taken: list[int]):
    bench = Bench(version)
    bench.consume("low", prefetch=9)
    bench.consume("high", prefetch=9, priority=1)
    bench.publish(4)
    assert [runs.size(bench.held(name)) for name in ("low", "high")] == taken


@pytest.mark.parametrize("version", VERSIONS)
def test_one_that_used_its_last_credit_comes_back_behind_the_others(version: str):
    bench = Bench(version)
    bench.consume("one", prefetch=1)
    bench.consume("two", prefetch=3)
    bench.publish(2)
    bench.settle("one")
    bench.publish(2)
    assert bench.held("two") == ((2, 3),)
    assert bench.held("one") == ((4, 4),)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_cancelled_consumer_keeps_what_it_holds(version: str):
    bench = Bench(version)
    bench.publish(3)
    bench.consume("c", prefetch=2)
    bench.cancel("c")
    assert bench.held("c") == ((1, 2),) and bench.order == ((3, 3),)
    bench.settle("c", 1)
    assert bench.removed("acknowledged") == ((1, 1),)
    bench.close("c")
    assert bench.order == ((2, 3),)


@pytest.mark.parametrize("version, held", [("3.8", ((1, 2),)), ("3.10", ((1, 3),)), ("4.0", ((1, 3),))])
def test_one_that_subscribes_anew_is_served_again_but_for_3_8(version: str, held: Runs):
    bench = Bench(version)
    bench.publish(5)
    bench.consume("c", prefetch=2)
    bench.cancel("c")
    bench.consume("c", prefetch=3)
    assert bench.held("c") == held


# A single active consumer

SINGLE = {"single_active_consumer": True}


@pytest.mark.parametrize("version", VERSIONS)
def test_basic_get_is_refused_beside_a_single_active_consumer(version: str):
    bench = Bench(version, **SINGLE)
    bench.publish(1)
    bench.get(1)
    [refusal] = bench.turn.refusals
    assert (refusal.code, refusal.text) == (
        405, "RESOURCE_LOCKED - cannot obtain access to locked queue 'q' in vhost '/'. basic.get operations are not "
        "supported by quorum queues with single active consumer",
    )  # fmt: skip


@pytest.mark.parametrize("version, heir", [("3.8", "b"), ("3.10", "b"), ("3.13", "b"), ("4.0", "c")])
def test_the_next_active_consumer_is_the_first_that_came_and_in_4_0_the_most_urgent(version: str, heir: str):
    bench = Bench(version, **SINGLE)
    bench.consume("a", prefetch=1, priority=9)
    bench.consume("b", prefetch=1)
    bench.consume("c", prefetch=1, priority=1)
    bench.publish(3)
    bench.cancel("a")
    assert bench.queue.active_consumer == heir
    assert bench.held("a") == ((1, 1),) and bench.held(heir) == ((2, 2),)


def test_of_equally_urgent_ones_in_4_0_that_with_the_most_credit_follows():
    bench = Bench("4.0", **SINGLE)
    for name, prefetch in (("a", 1), ("b", 1), ("c", 7), ("d", 7)):
        bench.consume(name, prefetch=prefetch)
    bench.cancel("a")
    assert bench.queue.active_consumer == "c"


@pytest.mark.parametrize("version, active", [("3.8", "a"), ("3.13", "a"), ("4.0", "b")])
def test_in_4_0_a_more_urgent_consumer_takes_over_at_once_from_one_that_holds_nothing(version: str, active: str):
    bench = Bench(version, **SINGLE)
    bench.consume("a")
    bench.consume("b", priority=1)
    bench.consume("c", priority=1)
    assert bench.queue.active_consumer == active


def test_in_4_0_a_consumer_settles_what_it_holds_before_it_steps_back():
    bench = Bench("4.0", **SINGLE)
    bench.consume("a", prefetch=2)
    bench.publish(5)
    bench.consume("b", prefetch=2, priority=1)
    assert bench.queue.active_consumer == "a"
    bench.settle("a", 1)
    assert bench.held("a") == ((2, 2),) and bench.queue.active_consumer == "a"
    bench.settle("a", 1)
    assert bench.queue.active_consumer == "b" and bench.held("b") == ((3, 4),)
    bench.cancel("b")
    assert bench.queue.active_consumer == "a" and bench.held("a") == ((5, 5),)


def test_in_4_0_nobody_is_active_after_the_last_message_was_given_back_until_something_moves_the_queue():
    bench = Bench("4.0", **SINGLE)
    bench.consume("a", prefetch=1)
    bench.publish(2)
    bench.consume("b", prefetch=1, priority=1)
    bench.requeue("a")
    assert bench.queue.active_consumer is None and bench.order == ((1, 2),)
    bench.consume("c", prefetch=1)
    assert bench.queue.active_consumer == "b" and bench.held("b") == ((1, 1),)


@pytest.mark.parametrize("version, active", [("3.8", None), ("3.10", "b")])
def test_in_3_8_one_that_comes_while_a_cancelled_one_holds_messages_waits(version: str, active: str | None):
    bench = Bench(version, **SINGLE)
    bench.publish(2)
    bench.consume("a", prefetch=1)
    bench.cancel("a")
    bench.consume("b")
    assert bench.queue.active_consumer == active


# Nodes out of reach


@pytest.mark.parametrize("version", VERSIONS)
def test_what_consumers_out_of_reach_hold_is_returned_at_once_and_their_answers_come_too_late(version: str):
    bench = Bench(version)
    bench.publish(4)
    bench.consume("far", prefetch=2, node=3)
    bench.pass_time(LATENCY_US)
    subscriptions.suspect(bench.turn, "q", 3)
    assert bench.order == ((1, 4),) and bench.queue.redelivered == ((1, 2),)
    assert bench.queue.fifo.counts == ((1, ((1, 2),)),)
    bench.get(2)
    bench.settle("far")
    assert bench.removed("acknowledged") == ((1, 2),)
    assert bench.order == ((3, 4),)
    subscriptions.unsuspect(bench.turn, "q", 3)
    assert bench.held("far") == ((3, 4),)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_late_answer_for_a_message_that_is_there_again_does_not_settle_it(version: str):
    bench = Bench(version)
    bench.publish(1)
    bench.consume("far", prefetch=1, node=3)
    bench.pass_time(LATENCY_US)
    subscriptions.suspect(bench.turn, "q", 3)
    subscriptions.unsuspect(bench.turn, "q", 3)
    bench.pass_time(LATENCY_US)
    assert bench.held("far") == ((1, 1),)
    bench.settle("far", 1)
    assert bench.held("far") == ((1, 1),) and bench.removed("acknowledged") == EMPTY
    bench.settle("far", 1)
    assert bench.removed("acknowledged") == ((1, 1),)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_cancelled_consumer_out_of_reach_keeps_what_it_holds(version: str):
    bench = Bench(version)
    bench.publish(2)
    bench.consume("far", prefetch=1, node=3)
    bench.cancel("far")
    subscriptions.suspect(bench.turn, "q", 3)
    assert bench.held("far") == ((1, 1),) and bench.order == ((2, 2),)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_holder_out_of_reach_loses_what_it_holds(version: str):
    bench = Bench(version)
    bench.publish(2)
    bench.get(1, holder="h")
    subscriptions.suspect(bench.turn, "q", 0)
    assert bench.order == ((1, 2),)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_active_consumer_out_of_reach_waits_behind_the_others(version: str):
    bench = Bench(version, **SINGLE)
    bench.publish(2)
    bench.consume("far", prefetch=1, node=3)
    bench.consume("near", prefetch=1)
    subscriptions.suspect(bench.turn, "q", 3)
    assert bench.queue.active_consumer == "near" and bench.held("near") == ((1, 1),)
    subscriptions.unsuspect(bench.turn, "q", 3)
    assert bench.queue.active_consumer == "near"
    bench.close("near")
    assert bench.queue.active_consumer == "far"


@pytest.mark.parametrize("version, heir", [("3.8", "c"), ("3.10", "c"), ("3.13", "c"), ("4.0", "far")])
def test_one_that_was_out_of_reach_is_last_in_turn_but_in_4_0_has_its_old_place(version: str, heir: str):
    bench = Bench(version, **SINGLE)
    for name, node in (("far", 3), ("b", 0), ("c", 0)):
        bench.consume(name, node=node)
    subscriptions.suspect(bench.turn, "q", 3)
    subscriptions.unsuspect(bench.turn, "q", 3)
    bench.close("b")
    assert bench.queue.active_consumer == heir


@pytest.mark.parametrize("version", VERSIONS)
def test_none_that_is_out_of_reach_becomes_active(version: str):
    bench = Bench(version, **SINGLE)
    for name, node in (("far", 3), ("farther", 3), ("near", 0)):
        bench.consume(name, node=node)
    subscriptions.suspect(bench.turn, "q", 3)
    assert bench.queue.active_consumer == "near"


def test_other_nodes_consumers_notice_nothing_of_one_that_is_lost():
    bench = Bench()
    bench.publish(2)
    bench.consume("near", prefetch=1)
    subscriptions.suspect(bench.turn, "q", 3)
    subscriptions.unsuspect(bench.turn, "q", 3)
    assert bench.held("near") == ((1, 1),) and bench.queue.fifo.suspected == frozenset()


# Deliveries whose sender dies


def kill_leader(bench: Bench) -> None:
    bench.turn.change_node(0, status=DOWN)
    bench.pass_time(LATENCY_US)
    bench.turn.change_queue("q", master=1, holder=1, synchronised=(1, 2))


@pytest.mark.parametrize("automatic", [False, True])
def test_what_a_dead_leader_sent_comes_from_the_member_on_the_consumers_node(automatic: bool):
    bench = Bench()
    bench.consume("c", prefetch=2, node=2, automatic=automatic)
    bench.publish(3)
    kill_leader(bench)
    assert bench.turn.consumers["c"].received == EMPTY and bench.held("c") == ((1, 2),)
    bench.settle("c")
    assert bench.held("c") == ((1, 2),)
    consuming.follow_leader(bench.turn, "q")
    assert bench.turn.consumers["c"].received == ((1, 2),)
    assert bench.queue.fifo.missing == () and bench.turn.account("q").lost == EMPTY


def test_to_a_consumer_without_a_member_at_hand_it_comes_with_the_next_delivery():
    bench = Bench()
    bench.consume("c", prefetch=3, node=3)
    bench.publish(2)
    kill_leader(bench)
    consuming.follow_leader(bench.turn, "q")
    assert bench.turn.consumers["c"].received == EMPTY
    bench.publish(1)
    bench.pass_time(LATENCY_US)
    assert bench.turn.consumers["c"].received == ((1, 3),)
    bench.settle("c")
    assert bench.removed("acknowledged") == ((1, 3),)


def test_a_channel_that_is_gone_gets_nothing_though_the_queue_still_sends():
    bench = Bench()
    bench.consume("c", node=1)
    bench.turn.change_consumer("c", state="closed")
    bench.publish(1)
    bench.pass_time(LATENCY_US)
    assert bench.turn.consumers["c"].received == EMPTY
    bench.close("c")
    assert bench.order == ((1, 1),)


def test_a_lost_delivery_that_was_returned_is_forgotten():
    bench = Bench()
    bench.publish(1)
    bench.consume("c", node=1)
    subscriptions.suspect(bench.turn, "q", 1)
    kill_leader(bench)
    assert bench.queue.fifo.missing == ()
    assert bench.turn.consumers["c"].stale == EMPTY


def test_a_new_leader_changes_nothing_for_consumers():
    bench = Bench()
    bench.publish(2)
    bench.consume("c", prefetch=1, node=3)
    bench.pass_time(LATENCY_US)
    bench.turn.change_queue("q", master=1, holder=1)
    before = bench.queue.consumers, bench.turn.consumers["c"]
    consuming.follow_leader(bench.turn, "q")
    assert (bench.queue.consumers, bench.turn.consumers["c"]) == before
    assert bench.queue.redelivered == EMPTY


# Lengths


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_ready_counts_once_consumers_were_served_and_the_head_goes(version: str):
    bench = Bench(version, max_length=3)
    bench.consume("c", prefetch=2)
    bench.publish(6)
    assert bench.held("c") == ((1, 2),) and bench.order == ((4, 6),)
    assert bench.removed("dropped") == ((3, 3),)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_was_returned_is_dropped_first(version: str):
    bench = Bench(version, max_length=2)
    bench.publish(2)
    bench.get(2, holder="h")
    bench.publish(2)
    bench.close("h")
    assert bench.removed("dropped") == ((1, 2),) and bench.order == ((3, 4),)


def test_bytes_are_those_of_bodies():
    bench = Bench(max_length_bytes=10)
    bench.publish(3, size_bytes=4)
    assert bench.order == ((2, 3),)


@pytest.mark.parametrize("version", SINCE_3_10)
def test_reject_publish_takes_one_more_and_goes_on_at_80_percent(version: str):
    bench = Bench(version, max_length=5, overflow="reject-publish")
    channel = ("default", 1, "confirm")
    assert not limits.register(bench.turn, "q", channel)
    bench.publish(5)
    assert not limits.rejects(bench.turn, bench.queue, channel)
    bench.publish(1)
    assert bench.order == ((1, 6),)
    assert not limits.rejects(bench.turn, bench.queue, channel)
    bench.pass_time(LATENCY_US)
    assert limits.rejects(bench.turn, bench.queue, channel)
    bench.get(1)
    bench.pass_time(LATENCY_US)
    assert limits.rejects(bench.turn, bench.queue, channel)
    bench.get(1)
    assert limits.rejects(bench.turn, bench.queue, channel)
    bench.pass_time(LATENCY_US)
    assert runs.size(bench.order) == 4 and not limits.rejects(bench.turn, bench.queue, channel)


def test_the_soft_limit_is_truncated():
    bench = Bench(max_length=1, overflow="reject-publish")
    channel = ("default", 0, "confirm")
    limits.register(bench.turn, "q", channel)
    bench.publish(2)
    assert limits.rejects(bench.turn, bench.queue, channel)
    bench.get(1)
    assert limits.rejects(bench.turn, bench.queue, channel)
    bench.get(1)
    assert not limits.rejects(bench.turn, bench.queue, channel)


def test_a_channel_that_comes_is_told_to_reject_only_while_the_queue_is_too_long():
    bench = Bench(max_length=5, overflow="reject-publish")
    bench.publish(6)
    assert limits.register(bench.turn, "q", ("late", 0, "confirm"))
    bench.get(1)
    assert not limits.register(bench.turn, "q", ("later", 0, "confirm"))
    assert limits.rejects(bench.turn, bench.queue, ("late", 0, "confirm"))
    assert not limits.rejects(bench.turn, bench.queue, ("later", 0, "confirm"))
    limits.unregister(bench.turn, "q", ("late", 0, "confirm"))
    assert [one.channel[0] for one in bench.queue.fifo.enqueuers] == ["later"]


@pytest.mark.parametrize("version, rejects", [("3.10", True), ("3.13", True), ("4.0", False)])
def test_only_4_0_tells_channels_that_there_is_no_limit_any_more(version: str, rejects: bool):
    bench = Bench(version, max_length=0, overflow="reject-publish")
    channel = ("default", 0, "confirm")
    limits.register(bench.turn, "q", channel)
    bench.publish(1)
    bench.keep_to(overflow="reject-publish")
    assert limits.rejects(bench.turn, bench.queue, channel) is rejects


def test_memory_limits_change_nothing():
    bench = Bench("3.8", max_in_memory_length=1, max_in_memory_bytes=1)
    bench.publish(5)
    assert bench.order == ((1, 5),)


def test_a_new_limit_takes_effect_with_its_command():
    bench = Bench()
    bench.publish(5)
    bench.keep_to(max_length=2)
    assert bench.removed("dropped") == ((1, 3),)


# Lives


@pytest.mark.parametrize("version", SINCE_3_10)
def test_messages_expire_at_the_head(version: str):
    bench = Bench(version, message_ttl=10)
    bench.publish(2)
    [due] = bench.pass_time(10_000)
    assert isinstance(due, MessagesExpire)
    consuming.messages_expire(bench.turn, due)
    assert bench.removed("expired") == ((1, 2),)


def test_an_expired_message_behind_one_that_lives_waits():
    bench = Bench()
    bench.publish(1)
    bench.keep_to(message_ttl=10)
    bench.publish(1)
    bench.pass_time(20_000)
    consuming.deliver(bench.turn, "q")
    assert bench.order == ((1, 2),)
    bench.get(1)
    assert bench.removed("expired") == ((2, 2),)


def test_a_message_that_was_given_back_expires_when_it_would_have():
    bench = Bench(message_ttl=10)
    bench.publish(2)
    bench.get(1, holder="h")
    bench.pass_time(9_000)
    bench.requeue("h")
    bench.pass_time(1_000)
    consuming.deliver(bench.turn, "q")
    assert bench.removed("expired") == ((1, 2),)


def test_with_no_time_a_message_has_a_millisecond():
    bench = Bench(message_ttl=0)
    bench.publish(1)
    assert bench.order == ((1, 1),)
    bench.pass_time(1_000)
    consuming.deliver(bench.turn, "q")
    assert bench.removed("expired") == ((1, 1),)


def expiries(bench: Bench, us: int) -> list[int]:
    """When the leader is to look whether the queue has expired, from now on."""
    due = [(time_us, event) for time_us, *_, event in bench.turn.agenda if isinstance(event, QueueExpires)]
    return [time_us for time_us, _ in due if time_us <= bench.turn.now_us + us]


def test_a_queue_expires_at_the_first_tick_after_its_time():
    bench = Bench(expires=7_000)
    expiry.used(bench.turn, "q")
    assert expiries(bench, 100_000_000) == [10_000_000]
    bench.pass_time(9_999_999)
    assert not expiry.has_expired(bench.turn, bench.queue) or bench.turn.now_us > 7_000_000
    bench.pass_time(1)
    assert expiry.has_expired(bench.turn, bench.queue)


def test_a_time_that_ends_with_a_tick_lasts_until_the_next():
    bench = Bench(expires=5_000)
    expiry.used(bench.turn, "q")
    assert expiries(bench, 100_000_000) == [10_000_000]
    bench.pass_time(5_000_000)
    assert not expiry.has_expired(bench.turn, bench.queue)


def test_ticks_count_from_the_leaders_election():
    bench = Bench(expires=7_000)
    bench.pass_time(3_000_000)
    bench.turn.change_queue("q", master=1)
    consuming.follow_leader(bench.turn, "q")
    assert expiries(bench, 100_000_000) == [8_000_000]


def test_get_and_lost_consumers_use_a_queue_and_declaring_does_not():
    bench = Bench(expires=7_000)
    bench.pass_time(1_000_000)
    expiry.touch(bench.turn, "q")
    assert bench.queue.fifo.used_us == 0
    bench.get(1)
    assert bench.queue.fifo.used_us == 1_000_000
    bench.pass_time(1_000_000)
    bench.consume("c")
    assert bench.queue.fifo.used_us == 1_000_000
    bench.close("c")
    assert bench.queue.fifo.used_us == 2_000_000


def test_a_queue_lives_while_somebody_holds_messages_but_not_for_consumers_out_of_reach():
    bench = Bench(expires=1_000)
    bench.publish(1)
    bench.consume("c", node=3)
    bench.cancel("c")
    bench.pass_time(60_000_000)
    assert not expiry.has_expired(bench.turn, bench.queue)
    bench.settle("c")
    bench.consume("d", node=3)
    bench.pass_time(60_000_000)
    assert not expiry.has_expired(bench.turn, bench.queue)
    subscriptions.suspect(bench.turn, "q", 3)
    bench.pass_time(60_000_000)
    assert expiry.has_expired(bench.turn, bench.queue)


# Purge


@pytest.mark.parametrize("version", VERSIONS)
def test_a_purge_leaves_nothing_of_what_was_returned(version: str):
    bench = Bench(version)
    bench.publish(4)
    bench.get(1, holder="lost")
    bench.get(1, holder="kept")
    bench.close("lost")
    take_out(bench.turn, "q", ready(bench.queue), "purged")
    assert bench.order == EMPTY and bench.queue.fifo.returns == EMPTY and bench.queue.fifo.counts == ()
    bench.close("kept")
    assert bench.order == ((2, 2),)


# Dead letters, at least once

AT_LEAST_ONCE = {
    "dead_letter_exchange": "", "dead_letter_routing_key": "dead", "dead_letter_strategy": "at-least-once",
    "overflow": "reject-publish",
}  # fmt: skip


@pytest.mark.parametrize("version", SINCE_3_10)
def test_a_dead_letter_stays_until_its_target_has_confirmed_it(version: str):
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


def test_dead_letters_that_wait_count_for_the_length():
    bench = Bench(max_length=2, **AT_LEAST_ONCE)
    channel = ("default", 0, "confirm")
    limits.register(bench.turn, "q", channel)
    bench.publish(2)
    bench.get(2, holder="h")
    bench.settle("h", None, "reject")
    bench.publish(1)
    assert limits.rejects(bench.turn, bench.queue, channel)


def test_without_a_target_they_are_tried_again_after_three_minutes():
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


def test_a_new_leader_sends_again_what_is_not_confirmed():
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


def test_what_is_dropped_for_its_length_never_waits_and_another_strategy_gives_up_what_does():
    bench = Bench(**AT_LEAST_ONCE)
    bench.publish(1)
    bench.get(1, holder="h")
    bench.settle("h", None, "reject")
    bench.keep_to(dead_letter_exchange="", dead_letter_routing_key="dead")
    assert bench.queue.content == EMPTY and bench.removed("dropped") == ((1, 1),)


# Whatever happens

NAMES = st.sampled_from(["c1", "c2", "c3"])
COUNTS = st.integers(1, 4)
NODES_OF_CLIENTS = st.sampled_from([0, 1, 3])
LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "delivery_limit": st.integers(0, 2), "max_length": st.integers(0, 5), "message_ttl": st.integers(0, 3),
        "overflow": st.just("reject-publish"), "dead_letter_exchange": st.just(""),
        "dead_letter_routing_key": st.sampled_from(["dead", "nowhere"]),
        "dead_letter_strategy": st.just("at-least-once"),
    },
)  # fmt: skip
OPERATIONS = st.one_of(
    st.tuples(st.just("publish"), COUNTS, st.just(1), st.sampled_from([None, 4, 5])),
    st.tuples(st.just("get"), COUNTS, st.sampled_from([None, "h1", "h2"])),
    st.tuples(st.just("consume"), NAMES, st.integers(0, 3), NODES_OF_CLIENTS, st.booleans(), st.integers(0, 1)),
    st.tuples(st.just("settle"), NAMES, COUNTS | st.none(), st.sampled_from(["ack", "requeue", "reject"])),
    st.tuples(st.just("cancel"), NAMES),
    st.tuples(st.just("close"), NAMES),
    st.tuples(st.sampled_from(["suspect", "unsuspect"]), NODES_OF_CLIENTS),
    st.tuples(st.just("keep_to"), LIMITS),
    st.tuples(st.just("pass_time"), st.sampled_from([100, 500, 3_000, 200_000_000])),
    st.tuples(st.just("lead"), st.integers(0, 2)),
)


def perform(bench: Bench, operation: tuple) -> None:
    """Does one thing, as far as it makes sense."""
    what, *given = operation
    known = bench.turn.consumers.get(given[0]) if given and isinstance(given[0], str) else None
    if what == "consume":
        name, prefetch, node, automatic, priority = given
        bench.consume(name, prefetch, node, automatic=automatic, priority=priority)
    elif what in ("settle", "cancel", "close"):
        if known is not None and known.state != "closed":
            getattr(bench, what)(*given)
    elif what in ("suspect", "unsuspect"):
        getattr(subscriptions, what)(bench.turn, "q", *given)
    elif what == "keep_to":
        bench.keep_to(**given[0])
    elif what == "lead":
        bench.turn.change_queue("q", master=given[0], holder=given[0])
        consuming.follow_leader(bench.turn, "q")
    elif what == "pass_time":
        for event in bench.pass_time(*given):
            handle = {
                Settle: settling.settle, MessagesExpire: consuming.messages_expire,
                events.LettersConfirmed: consuming.letters_confirmed,
                events.LettersRetried: dead_letters.retry,
            }.get(type(event))  # fmt: skip
            if handle is not None:
                handle(bench.turn, event)
    else:
        getattr(bench, what)(*given)


def check(bench: Bench) -> None:
    """What always holds."""
    turn, queue = bench.turn, bench.queue
    known, waiting = queue.fifo, ready(queue)
    where = [queue.content, *dict(turn.account("q").removed).values()]
    assert sum(map(runs.size, where)) == turn.account("q").published
    assert runs.size(runs.normal(pair for part in where for pair in part)) == turn.account("q").published
    held = [one.held for one in turn.consumers.values()]
    assert runs.normal(pair for part in held for pair in part) == queue.unacknowledged
    assert sum(map(runs.size, held)) == runs.size(queue.unacknowledged)
    parts = (waiting, queue.unacknowledged, fifo.discarded(queue))
    assert sum(map(runs.size, parts)) == runs.size(queue.content)
    assert runs.normal(bench.order) == waiting and runs.size(bench.order) == runs.size(waiting)
    for these in (known.returns, *(these for _, these in known.moved)):
        assert runs.minus(runs.normal(these), waiting) == EMPTY
    counted = [these for _, these in known.counts]
    assert runs.minus(runs.normal(pair for these in counted for pair in these), queue.content) == EMPTY
    wanted = queue.quorum_settings
    if wanted.max_length is not None and wanted.overflow == "drop-head":
        assert runs.size(waiting) <= wanted.max_length
    for one in queue.consumers:
        takes = fifo.is_served(queue, one) and fifo.capacity(turn, turn.consumers[one])
        active = queue.active_consumer == one or not dict(queue.arguments).get("x-single-active-consumer")
        assert not (takes and active and waiting)
    assert all(refusal.code is not None for refusal in turn.refusals)


@given(st.sampled_from(VERSIONS), st.booleans(), LIMITS, st.lists(OPERATIONS, max_size=25))
def test_messages_are_in_one_place_and_consumers_with_room_get_them(version, single, first, operations):
    bench = Bench(version, **first, **(SINGLE if single else {}))
    bench.add("dead", "classic")
    for operation in operations:
        if single and operation[0] == "keep_to":
            operation = ("keep_to", operation[1] | SINGLE)
        perform(bench, operation)
        check(bench)


# The pieces


@given(st.permutations(range(1, 10)), st.sets(st.integers(1, 9)))
def test_taking_messages_out_keeps_the_order_of_the_others(order, gone):
    bench = Bench("3.8")
    bench.publish(9)
    for one in order:
        bench.turn.change_queue("q", unacknowledged=((one, one),))
        fifo.give_back(bench.turn, "q", ((one, one),), asked=False)
    drop(bench.turn, "q", runs.normal((one, one) for one in gone))
    served = [one for first, last in bench.order for one in range(first, last + 1)]
    assert served == [one for one in order if one not in gone]
