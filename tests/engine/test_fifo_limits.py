"""Length limits of a quorum queue: dropped messages and rejected publishes."""

from __future__ import annotations

import pytest
from fifo_bench import LATENCY_US, SINCE_3_10, VERSIONS, Bench

from hawb.engine.core import runs
from hawb.engine.queues import limits


@pytest.mark.parametrize("version", VERSIONS)
def test_max_length_drops_the_head_of_ready_messages_after_delivery(version: str):
    bench = Bench(version, max_length=3)
    bench.consume("c", prefetch=2)
    bench.publish(6)
    assert bench.held("c") == ((1, 2),) and bench.order == ((4, 6),)
    assert bench.removed("dropped") == ((3, 3),)


@pytest.mark.parametrize("version", VERSIONS)
def test_returned_messages_are_dropped_first(version: str):
    bench = Bench(version, max_length=2)
    bench.publish(2)
    bench.get(2, holder="h")
    bench.publish(2)
    bench.close("h")
    assert bench.removed("dropped") == ((1, 2),) and bench.order == ((3, 4),)


def test_max_length_bytes_counts_message_bodies():
    bench = Bench(max_length_bytes=10)
    bench.publish(3, size_bytes=4)
    assert bench.order == ((2, 3),)


@pytest.mark.parametrize("version", SINCE_3_10)
def test_reject_publish_accepts_one_over_the_limit_and_resumes_at_80_percent(version: str):
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


def test_limit_at_which_publishing_resumes_is_rounded_down():
    bench = Bench(max_length=1, overflow="reject-publish")
    channel = ("default", 0, "confirm")
    limits.register(bench.turn, "q", channel)
    bench.publish(2)
    assert limits.rejects(bench.turn, bench.queue, channel)
    bench.get(1)
    assert limits.rejects(bench.turn, bench.queue, channel)
    bench.get(1)
    assert not limits.rejects(bench.turn, bench.queue, channel)


def test_new_channel_rejects_only_while_the_queue_is_over_the_limit():
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
def test_channels_stop_rejecting_when_the_limit_is_removed_since_4_0(version: str, rejects: bool):
    bench = Bench(version, max_length=0, overflow="reject-publish")
    channel = ("default", 0, "confirm")
    limits.register(bench.turn, "q", channel)
    bench.publish(1)
    bench.keep_to(overflow="reject-publish")
    assert limits.rejects(bench.turn, bench.queue, channel) is rejects


def test_in_memory_limits_drop_nothing():
    bench = Bench("3.8", max_in_memory_length=1, max_in_memory_bytes=1)
    bench.publish(5)
    assert bench.order == ((1, 5),)


def test_new_limit_applies_when_its_command_is_applied():
    bench = Bench()
    bench.publish(5)
    bench.keep_to(max_length=2)
    assert bench.removed("dropped") == ((1, 3),)
