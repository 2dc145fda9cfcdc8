"""Estimate the offsets between the clocks of a cluster's nodes, from events that two nodes logged.

When two nodes connect, each logs at about the same moment that the other is up, and so do their brokers; two nodes that
see a third one go down, come up or set an alarm also log it at about the same moment. The difference of the two times
is the clock offset, except for that short delay. One pair proves nothing, since nodes go and come often: the difference
that most pairs agree on is taken, and of equals the one closest to zero. Nodes are compared along the pairs with most
evidence, from one node whose clock is taken as right.

Each offset comes with its uncertainty: how many pairs agreed, and how far they differ. Nodes without common events keep
their own times, with `pairs` 0.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from msgspec import Struct

from hawb.incident.events import Event
from hawb.scenario.document import MOST_NODES

SEEN_BY_BOTH = ("node_up", "rabbit_up")
"""Kinds of events that two nodes log about each other."""
SEEN_OF_A_THIRD = ("rabbit_up", "rabbit_down", "alarm_set", "alarm_cleared")
"""Kinds of events that both log about a third node once they have booted; a booting node connects later."""
RUNNING = {"node_starting": False, "node_started": True, "node_stopping": False}
WITHIN_US = 100_000
"""Maximum time between two nodes' messages about one event."""
TRIED = 12
"""Number of times of each kind, the last ones, that are compared."""


Seen = defaultdict[tuple[str, str, str], list[int]]
"""The times of messages, by the node that logged them, the node that they are about, and their kind."""


class Clock(Struct, frozen=True):
    """A node's clock.

    `offset_us` is how far it is ahead of the reference clock, reached through the node `against`; `pairs` is the number
    of common events of the two, and `spread_us` the spread of those differences, in microseconds.
    """

    node: str
    offset_us: int
    spread_us: int
    pairs: int
    against: str | None


def settled_us(event: Event, clocks: Mapping[str, Clock]) -> int:
    """Return when an event happened by the reference clock, in microseconds since 1970."""
    clock = clocks.get(event.node)
    return event.at_us - (clock.offset_us if clock else 0)


def compared(events: Iterable[Event]) -> dict[str, Clock]:
    """Return the clock of each node that wrote something, by node.

    The clocks of more nodes than a cluster of a scenario has are not compared: each is taken to be right.
    """
    seen, settled = Seen(list), Seen(list)
    running: dict[str, bool] = {}
    for event in sorted(events, key=lambda event: event.at_us):
        running[event.node] = RUNNING.get(event.kind, running.get(event.node, True))
        if event.peer and event.kind in SEEN_BY_BOTH:
            seen[event.node, event.peer, event.kind].append(event.at_us)
        if event.peer and event.kind in SEEN_OF_A_THIRD and running[event.node]:
            settled[event.node, event.peer, event.kind].append(event.at_us)
    writers = running if len(running) <= MOST_NODES else ()
    links = {(one, other): found for one in writers for other in writers if one < other
             and (found := _difference(one, other, seen, settled))}  # fmt: skip
    return _from_the_best_known(sorted(running), links)


def _difference(one: str, other: str, seen: Seen, settled: Seen) -> list[int] | None:
    """Return the differences, `other`'s time minus `one`'s, of common events; None if there are none."""
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
    """Yield the differences of times in two sorted rows that agree except for an offset, using each time once."""
    used = -1
    for here in ours:
        place = max(bisect_left(theirs, here + offset - WITHIN_US), used + 1)
        if place < len(theirs) and theirs[place] - here - offset <= WITHIN_US:
            used = place
            yield theirs[place] - here


def _from_the_best_known(nodes: Sequence[str], links: Mapping[tuple[str, str], list[int]]) -> dict[str, Clock]:
    """Return clocks along the best-supported links (a maximal spanning tree), for each part of the cluster."""
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
