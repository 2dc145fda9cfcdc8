"""Consumers of a quorum queue on unreachable nodes, and deliveries of a leader that dies."""

from __future__ import annotations

import pytest
from fifo_bench import LATENCY_US, SINGLE, VERSIONS, Bench

from hawb.engine.clients import consuming
from hawb.engine.core.runs import EMPTY
from hawb.engine.core.state import DOWN
from hawb.engine.quorum import out_of_reach

UNTIL_4_0 = VERSIONS[:-1]
"""The releases in which messages of a consumer out of reach are returned at once."""

# Nodes out of reach


@pytest.mark.parametrize("version", UNTIL_4_0)
def test_messages_of_unreachable_consumers_are_returned_and_late_acks_ignored(version: str):
    bench = Bench(version)
    bench.publish(4)
    bench.consume("far", prefetch=2, node=3)
    bench.pass_time(LATENCY_US)
    out_of_reach.suspect(bench.turn, "q", 3)
    assert bench.order == ((1, 4),) and bench.queue.redelivered == ((1, 2),)
    assert bench.queue.fifo.counts == ((1, ((1, 2),)),)
    bench.get(2)
    bench.settle("far")
    assert bench.removed("acknowledged") == ((1, 2),)
    assert bench.order == ((3, 4),)
    out_of_reach.unsuspect(bench.turn, "q", 3)
    assert bench.held("far") == ((3, 4),)


@pytest.mark.parametrize("version", UNTIL_4_0)
def test_late_ack_does_not_settle_a_redelivered_message(version: str):
    bench = Bench(version)
    bench.publish(1)
    bench.consume("far", prefetch=1, node=3)
    bench.pass_time(LATENCY_US)
    out_of_reach.suspect(bench.turn, "q", 3)
    out_of_reach.unsuspect(bench.turn, "q", 3)
    bench.pass_time(LATENCY_US)
    assert bench.held("far") == ((1, 1),)
    bench.settle("far", 1)
    assert bench.held("far") == ((1, 1),) and bench.removed("acknowledged") == EMPTY
    bench.settle("far", 1)
    assert bench.removed("acknowledged") == ((1, 1),)


@pytest.mark.parametrize("version", UNTIL_4_0)
def test_unreachable_cancelled_consumer_keeps_its_messages(version: str):
    bench = Bench(version)
    bench.publish(2)
    bench.consume("far", prefetch=1, node=3)
    bench.cancel("far")
    out_of_reach.suspect(bench.turn, "q", 3)
    assert bench.held("far") == ((1, 1),) and bench.order == ((2, 2),)


@pytest.mark.parametrize("version", UNTIL_4_0)
def test_messages_of_an_unreachable_basic_get_are_returned(version: str):
    bench = Bench(version)
    bench.publish(2)
    bench.get(1, holder="h")
    out_of_reach.suspect(bench.turn, "q", 0)
    assert bench.order == ((1, 2),)


@pytest.mark.parametrize("version", UNTIL_4_0)
def test_unreachable_active_consumer_moves_behind_the_others(version: str):
    bench = Bench(version, **SINGLE)
    bench.publish(2)
    bench.consume("far", prefetch=1, node=3)
    bench.consume("near", prefetch=1)
    out_of_reach.suspect(bench.turn, "q", 3)
    assert bench.queue.active_consumer == "near" and bench.held("near") == ((1, 1),)
    out_of_reach.unsuspect(bench.turn, "q", 3)
    assert bench.queue.active_consumer == "near"
    bench.close("near")
    assert bench.queue.active_consumer == "far"


@pytest.mark.parametrize("version, next_active", [("3.8", "c"), ("3.10", "c"), ("3.13", "c"), ("4.0", "far")])
def test_consumer_reachable_again_is_last_in_turn_except_in_4_0(version: str, next_active: str):
    bench = Bench(version, **SINGLE)
    for name, node in (("far", 3), ("b", 0), ("c", 0)):
        bench.consume(name, node=node)
    out_of_reach.suspect(bench.turn, "q", 3)
    out_of_reach.unsuspect(bench.turn, "q", 3)
    bench.close("b")
    assert bench.queue.active_consumer == next_active


@pytest.mark.parametrize("version", UNTIL_4_0)
def test_unreachable_consumer_does_not_become_active(version: str):
    bench = Bench(version, **SINGLE)
    for name, node in (("far", 3), ("farther", 3), ("near", 0)):
        bench.consume(name, node=node)
    out_of_reach.suspect(bench.turn, "q", 3)
    assert bench.queue.active_consumer == "near"


def test_consumers_on_other_nodes_are_unaffected():
    bench = Bench()
    bench.publish(2)
    bench.consume("near", prefetch=1)
    out_of_reach.suspect(bench.turn, "q", 3)
    out_of_reach.unsuspect(bench.turn, "q", 3)
    assert bench.held("near") == ((1, 1),) and bench.queue.fifo.suspected == frozenset()


# Deliveries whose sender dies


def kill_leader(bench: Bench) -> None:
    bench.turn.change_node(0, status=DOWN)
    bench.pass_time(LATENCY_US)
    bench.turn.change_queue("q", master=1, holder=1, synchronised=(1, 2))


@pytest.mark.parametrize("automatic", [False, True])
def test_member_on_the_consumers_node_resends_deliveries_of_a_dead_leader(automatic: bool):
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


def test_consumer_without_a_local_member_gets_lost_deliveries_with_the_next_one():
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


def test_closed_channel_receives_nothing():
    bench = Bench()
    bench.consume("c", node=1)
    bench.turn.change_consumer("c", state="closed")
    bench.publish(1)
    bench.pass_time(LATENCY_US)
    assert bench.turn.consumers["c"].received == EMPTY
    bench.close("c")
    assert bench.order == ((1, 1),)


def test_returned_delivery_is_not_resent():
    bench = Bench()
    bench.publish(1)
    bench.consume("c", node=1)
    out_of_reach.suspect(bench.turn, "q", 1)
    kill_leader(bench)
    assert bench.queue.fifo.missing == ()
    assert bench.turn.consumers["c"].stale == EMPTY


def test_new_leader_keeps_consumers_unchanged():
    bench = Bench()
    bench.publish(2)
    bench.consume("c", prefetch=1, node=3)
    bench.pass_time(LATENCY_US)
    bench.turn.change_queue("q", master=1, holder=1)
    before = bench.queue.consumers, bench.turn.consumers["c"]
    consuming.follow_leader(bench.turn, "q")
    assert (bench.queue.consumers, bench.turn.consumers["c"]) == before
    assert bench.queue.redelivered == EMPTY
