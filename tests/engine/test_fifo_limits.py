"""How long a quorum queue may be: what is dropped, and who is told to publish nothing more."""

from __future__ import annotations

import pytest
from fifo_bench import LATENCY_US, SINCE_3_10, VERSIONS, Bench

from hawb.engine.core import runs
from hawb.engine.queues import limits


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
