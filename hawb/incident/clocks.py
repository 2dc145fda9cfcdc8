"""By how much the clocks of a cluster's nodes differ, from what two of them saw of the same.

When two nodes connect, each logs that the other is up, within moments, and so do their brokers; and two nodes that see
a third one go, come back or set an alarm log it within moments too. The difference of the two times is the difference
of the clocks, but for those moments. One pair proves nothing, since nodes come and go often: the difference that most
pairs agree on is taken, and of those the one closest to none. Nodes are compared along the pairs that tell most, from
one node on whose clock is taken as right.

What is told has its doubt: how many pairs agreed, and how far they are apart. Nodes that saw nothing in common keep
their own times, with `pairs` 0.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from msgspec import Struct

from hawb.incident.events import Event

SEEN_BY_BOTH = ("node_up", "rabbit_up")
"""What each of two nodes says of the other."""
SEEN_OF_A_THIRD = ("rabbit_up", "rabbit_down", "alarm_set", "alarm_cleared")
"""What both say of a third node, as soon as they have booted: a booting node meets others when it is ready for them."""
RUNNING = {"node_starting": False, "node_started": True, "node_stopping": False}
WITHIN_US = 100_000
"""How far apart two nodes may note the same."""
TRIED = 12
"""How many times of each kind, the last ones, are tried for their difference."""


Seen = defaultdict[tuple[str, str, str], list[int]]
"""When a node said something of a node: (who, of whom, what)."""


class Clock(Struct, frozen=True):
    """A node's clock: `offset_us` is how much it is ahead of the reference's, which `against` leads to; `pairs` is how
    often it and that one saw the same, and `spread_us` is how far those differences are apart."""

    node: str
    offset_us: int
    spread_us: int
    pairs: int
    against: str | None


def settled_us(event: Event, clocks: Mapping[str, Clock]) -> int:
    """When an event happened by the reference's clock, in microseconds since 1970."""
    clock = clocks.get(event.node)
    return event.at_us - (clock.offset_us if clock else 0)


def compared(events: Iterable[Event]) -> dict[str, Clock]:
    """The clock of each node that wrote something, by node."""
    seen, settled = Seen(list), Seen(list)
    running: dict[str, bool] = {}
    for event in sorted(events, key=lambda event: event.at_us):
        running[event.node] = RUNNING.get(event.kind, running.get(event.node, True))
        if event.peer and event.kind in SEEN_BY_BOTH:
            seen[event.node, event.peer, event.kind].append(event.at_us)
        if event.peer and event.kind in SEEN_OF_A_THIRD and running[event.node]:
            settled[event.node, event.peer, event.kind].append(event.at_us)
    links = {(one, other): found for one in running for other in running if one < other
             and (found := _difference(one, other, seen, settled))}  # fmt: skip
    return _from_the_best_known(sorted(running), links)


def _difference(one: str, other: str, seen: Seen, settled: Seen) -> list[int] | None:
    """The differences, `other`'s time less `one`'s, of what both saw; None if they saw nothing in common."""
    thirds = sorted({peer for _, peer, _ in settled} - {one, other})
    pairs = [
        *((seen.get((one, other, kind), ()), seen.get((other, one, kind), ())) for kind in SEEN_BY_BOTH),
        *((settled.get((one, third, kind), ()), settled.get((other, third, kind), ()))
          for third in thirds for kind in SEEN_OF_A_THIRD),
    ]  # fmt: skip
    last = [(ours[-TRIED:], theirs[-TRIED:]) for ours, theirs in pairs]
    tried = {there - here for ours, theirs in last for here in ours for there in theirs}
    if not tried:
        return None
    near = sorted(tried, key=lambda offset: (abs(offset), offset))
    best = max(near, key=lambda offset: sum(1 for ends in last for _ in _matched(*ends, offset)))
    return [found for ends in pairs for found in _matched(*ends, best)]


def _matched(ours: Sequence[int], theirs: Sequence[int], offset: int) -> Iterable[int]:
    """The differences of those times of two sorted rows that are the same but for an offset, each time once."""
    used = -1
    for here in ours:
        place = max(bisect_left(theirs, here + offset - WITHIN_US), used + 1)
        if place < len(theirs) and theirs[place] - here - offset <= WITHIN_US:
            used = place
            yield theirs[place] - here


def _from_the_best_known(nodes: Sequence[str], links: Mapping[tuple[str, str], list[int]]) -> dict[str, Clock]:
    """Clocks along the links that most pairs support (a maximal spanning tree), for each part of the cluster."""
    clocks: dict[str, Clock] = {}
    support = {node: sum(len(found) for ends, found in links.items() if node in ends) for node in nodes}
    for root in sorted(nodes, key=lambda node: (-support[node], node)):
        if root in clocks:
            continue
        clocks[root] = Clock(root, 0, 0, 0, None)
        while reach := [(ends, found) for ends, found in links.items() if (ends[0] in clocks) != (ends[1] in clocks)]:
            (one, other), found = max(reach, key=lambda link: (len(link[1]), link[0]))
            ahead = round(median(found))
            near, far, ahead = (one, other, ahead) if one in clocks else (other, one, -ahead)
            spread = max(found) - min(found)
            clocks[far] = Clock(far, clocks[near].offset_us + ahead, spread, len(found), near)
    return clocks
