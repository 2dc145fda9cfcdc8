"""Clock offsets, found from events that both ends of a connection log."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_logs import STORIES, reading_of, title
from msgspec.structs import replace
from samples import each_third

from hawb.incident.clocks import WITHIN_US, compared, settled_us
from hawb.incident.events import Event

MINUTE_US = 60_000_000
START_US = 1_795_769_731_000_000


def seen(one: str, other: str, at_us: int, offsets: dict[str, int], late_us: int = 0) -> list[Event]:
    """A connection as its two ends log it, `late_us` apart, each by its own clock."""
    ends = (one, other, at_us), (other, one, at_us + late_us)
    return [Event(at_us=at + offsets.get(node, 0), node=node, peer=peer, kind="node_up") for node, peer, at in ends]


def test_clock_offsets_are_opposite_for_both_ends():
    offsets = {"b": 90 * MINUTE_US, "c": -7_000_000}
    meetings = enumerate([("a", "b"), ("b", "c"), ("a", "b"), ("b", "c")])
    events = [event for place, (one, other) in meetings
              for event in seen(one, other, START_US + place * 7 * MINUTE_US, offsets, 1000 * place)]  # fmt: skip
    clocks = compared(events)
    assert {node: round(clock.offset_us, -6) - round(clocks["a"].offset_us, -6) for node, clock in clocks.items()} == {
        "a": 0, "b": 90 * MINUTE_US, "c": -7_000_000,
    }  # fmt: skip
    assert [clocks[node].pairs for node in ("a", "c")] == [2, 2]
    assert all(clock.spread_us <= 2000 for clock in clocks.values())


def test_nodes_without_common_events_keep_their_times():
    clocks = compared([Event(at_us=5, node="a", kind="node_started"), Event(at_us=9, node="b", kind="node_started")])
    assert {(clock.offset_us, clock.pairs, clock.against) for clock in clocks.values()} == {(0, 0, None)}


def test_with_one_connection_the_smallest_difference_is_taken():
    """b came up twice and a was seen once: the nearer event is the same connection."""
    events = [*seen("a", "b", START_US, {"b": 3_000}),
              Event(at_us=START_US + 9 * MINUTE_US, node="a", peer="b", kind="node_up")]  # fmt: skip
    clocks = compared(events)
    assert clocks["b"].offset_us - clocks["a"].offset_us == 3_000


@given(
    st.dictionaries(st.sampled_from("bcd"), st.integers(-10**11, 10**11)),
    st.lists(st.tuples(st.sampled_from(["ab", "ac", "ad", "bc", "bd", "cd"]), st.integers(0, WITHIN_US // 4)),
             min_size=12, max_size=20),
)  # fmt: skip
def test_both_ends_of_each_connection_come_together(offsets, meetings):
    """Meetings are minutes apart, at odd times, so that only the true difference has them all in pairs."""
    events = [event for place, ((one, other), late) in enumerate(meetings)
              for event in seen(one, other, START_US + place * place * 7 * MINUTE_US, offsets, late)]  # fmt: skip
    clocks = compared(events)
    well_known = {node for node, clock in clocks.items() if clock.pairs >= 3}
    for here, there in zip(events[::2], events[1::2], strict=True):
        if {here.node, there.node} <= well_known:
            assert abs(settled_us(here, clocks) - settled_us(there, clocks)) <= 4 * WITHIN_US


def test_reference_is_the_node_with_most_connections():
    events = [*seen("a", "c", START_US, {}), *seen("b", "c", START_US + MINUTE_US, {})]
    assert [node for node, clock in compared(events).items() if clock.against is None] == ["c"]


def test_nodes_that_see_a_third_go_down_are_compared():
    """They have no connection in the logs. What a node sees while booting does not count."""
    events = [Event(at_us=START_US + at_us, node=node, peer="c", kind=kind) for node, at_us, kind in
              [("a", 0, "rabbit_down"), ("b", 5_000_000, "rabbit_down"), ("a", 90_000_000, "rabbit_up"),
               ("b", 95_000_000, "rabbit_up")]]  # fmt: skip
    clocks = compared(events)
    assert clocks["b"].offset_us - clocks["a"].offset_us == 5_000_000
    booting = [Event(at_us=START_US - 1, node="b", kind="node_starting"), *events]
    assert {clock.pairs for clock in compared(booting).values()} == {0}


@pytest.mark.parametrize("story", each_third(STORIES), ids=title)
def test_wrong_clock_of_a_real_cluster_is_found(story: Path, subtests: pytest.Subtests):
    """The offset is known to a tenth of a second if more than one pair of events shows it. A single pair may be two
    moments of one boot."""
    events = reading_of(story).events
    wrong = events[-1].node
    for ahead_us in (0, 3_600_000_000, -17_000_000):
        with subtests.test(msg="the offset of the last writer's clock is found", ahead_us=ahead_us):
            shifted = [replace(event, at_us=event.at_us + ahead_us * (event.node == wrong)) for event in events]
            clocks = compared(shifted)
            right = next(clock.offset_us for node, clock in clocks.items() if node != wrong)
            certain = all(clock.pairs > 1 for clock in clocks.values() if clock.against)
            assert abs(clocks[wrong].offset_us - right - ahead_us) < (WITHIN_US if certain else 2_000_000)
