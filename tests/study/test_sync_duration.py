from __future__ import annotations

import pytest

from hawb.engine.classic.sync_course import effort_of
from hawb.scenario.beginning import begin, settings_of
from hawb.scenario.load import load
from hawb.study.prediction import NotMeasuredError
from hawb.study.published import table
from hawb.study.sync_duration import Pace, duration, effort, pace


def test_published_durations_are_within_the_intervals() -> None:
    for row in table("synchronisation").rows:
        found = duration(row["messages"], size_bytes=100, batch_size=row["batch_size"])
        assert found.low <= row["duration_s"] <= found.high
    assert (found.rows, found.coverage) == (2, 2 / 3)


def test_single_messages_take_far_longer_than_batches() -> None:
    """The developers measured a factor of ten."""
    one_by_one, in_batches = (duration(1_000_000, 100, batch_size).value for batch_size in (1, 20_000))
    assert 5 < one_by_one / in_batches < 15


def test_large_messages_are_limited_by_the_network() -> None:
    assert duration(100_000, size_bytes=50_000, network_mb_s=50).value == pytest.approx(100, rel=0.01)
    assert duration(100_000, size_bytes=50_000, max_throughput=10_000_000).value == pytest.approx(500, rel=0.01)


def test_batch_slower_than_net_ticktime_is_warned_of() -> None:
    """The guide's 50,000 messages of 1 kB are 49 MB, which is fine at 100 MB/s and at 1 MB/s."""
    assert "net_ticktime" not in str(duration(1_000_000, 1024, batch_size=50_000))
    assert "net_ticktime" not in str(duration(1_000_000, 1024, batch_size=50_000, network_mb_s=1))
    assert "60 s, on a link of 0.8 MB/s" in str(duration(1_000_000, 1024, batch_size=50_000, network_mb_s=0.8))
    assert "net_ticktime, 30 s" in str(duration(1_000_000, 1024, 50_000, network_mb_s=1, net_ticktime_s=30))


def test_duration_agrees_with_the_engine() -> None:
    scenario = load("""
scenario: A queue whose mirror is empty
cluster: {nodes: [a, b], mirroring_sync_batch_size: 500, timing: {sync_messages_s: 2000, link_latency_s: 0.01}}
policies: [{name: all, pattern: q, definition: {ha-mode: all}}]
queues: [{queue: q, messages: 10000, size: 300, master: a, mirrors: [b]}]
""")
    settings = settings_of(scenario)
    (queue,) = begin(scenario, settings).state.queues.values()
    assert effort_of(settings, queue) == effort(Pace(2000, 10_000), 10_000, 300, 500)


def test_pace_is_between_the_published_ones() -> None:
    found = pace()
    assert 100_000 < found.messages_per_s < 200_000
    one_by_one_s = 1 / found.messages_per_s + found.link_latency_us / 1e6
    assert 5 / 153_000 < one_by_one_s < 60 / 1_000_000


@pytest.mark.parametrize(
    "given",
    [{"messages": 0}, {"messages": 30_000_000}, {"messages": 5, "batch_size": 0}, {"messages": 5, "size_bytes": -1}],
)
def test_invalid_or_too_deep_queue_is_refused(given: dict) -> None:
    with pytest.raises(NotMeasuredError, match="not measured"):
        duration(**given)
