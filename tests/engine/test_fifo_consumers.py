"""Consumers of a quorum queue: prefetch, priority, order of deliveries, cancel and resubscribe."""

from __future__ import annotations

import pytest
from fifo_bench import LATENCY_US, VERSIONS, Bench

from hawb.engine.clients import settling
from hawb.engine.core import runs
from hawb.engine.core.runs import EMPTY, Runs


@pytest.mark.parametrize("version", VERSIONS)
def test_default_prefetch_is_2000(version: str):
    bench = Bench(version)
    bench.consume("c")
    bench.publish(2500)
    assert bench.held("c") == ((1, 2000),)
    bench.settle("c", 500)
    assert bench.held("c") == ((501, 2500),)


@pytest.mark.parametrize("version", VERSIONS)
def test_channel_settles_automatic_acknowledgements_within_the_prefetch(version: str):
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


def test_4_3_applies_global_prefetch_per_consumer():
    bench = Bench("4.3")
    bench.publish(3)
    bench.consume("c", prefetch=1, global_prefetch=True)
    bench.consume("d", prefetch=1, global_prefetch=True)
    assert bench.turn.refusals == []
    assert [bench.turn.consumers[name].global_prefetch for name in "cd"] == [False, False]


@pytest.mark.parametrize("version", [version for version in VERSIONS if version != "4.3"])
def test_global_prefetch_is_refused_unless_0(version: str):
    bench = Bench(version)
    bench.consume("c", prefetch=1, global_prefetch=True)
    [refusal] = bench.turn.refusals
    assert refusal.code == 540
    assert refusal.text == "NOT_IMPLEMENTED - queue 'q' in vhost '/' does not support global qos"
    assert bench.queue.consumers == ()
    bench.consume("c", prefetch=0, global_prefetch=True)
    assert bench.queue.consumers == ("c",)


@pytest.mark.parametrize(("version", "codes"), [("3.8", []), ("3.10", [406]), ("3.13", [406]), ("4.0", [])])
def test_cancel_on_ha_failover_is_refused_by_3_10_and_3_13(version: str, codes: list[int]):
    bench = Bench(version)
    bench.consume("c", cancel_on_ha_failover=True)
    assert bench.codes == codes
    assert bench.queue.consumers == (() if codes else ("c",))


@pytest.mark.parametrize("version", VERSIONS)
def test_exclusive_flag_of_a_consumer_is_ignored(version: str):
    bench = Bench(version)
    bench.consume("one", exclusive=True)
    bench.consume("other", exclusive=True)
    assert bench.queue.consumers == ("one", "other")
    assert bench.queue.active_consumer is None and bench.codes == []


@pytest.mark.parametrize("version, taken", [("3.8", [2, 2]), ("3.10", [0, 4]), ("3.13", [0, 4]), ("4.0", [0, 4])])
def test_consumer_priorities_apply_since_3_8_10(version: str, taken: list[int]):
    bench = Bench(version)
    bench.consume("low", prefetch=9)
    bench.consume("high", prefetch=9, priority=1)
    bench.publish(4)
    assert [runs.size(bench.held(name)) for name in ("low", "high")] == taken


@pytest.mark.parametrize("version", VERSIONS)
def test_consumer_that_used_its_last_credit_moves_to_the_end_of_the_turn(version: str):
    bench = Bench(version)
    bench.consume("one", prefetch=1)
    bench.consume("two", prefetch=3)
    bench.publish(2)
    bench.settle("one")
    bench.publish(2)
    assert bench.held("two") == ((2, 3),)
    assert bench.held("one") == ((4, 4),)


@pytest.mark.parametrize("version", VERSIONS)
def test_cancelled_consumer_keeps_its_unacknowledged_messages(version: str):
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
def test_resubscribed_consumer_is_served_again_except_in_3_8(version: str, held: Runs):
    bench = Bench(version)
    bench.publish(5)
    bench.consume("c", prefetch=2)
    bench.cancel("c")
    bench.consume("c", prefetch=3)
    assert bench.held("c") == held
