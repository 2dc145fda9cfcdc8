"""Find which node saw which other node as down, from when to when, and which of these absences were partitions.

A node logs that another is down when it detects it, and that it is up again. No single message says whether the other
node had ended or both ran without contact. It was a partition if Mnesia says so when they meet again, or if each saw
the other as down and neither broker was stopping then: a killed node detects nothing. If Erlang received nothing at
either end for net_ticktime, it was a partition even if only one end logs it: the node that detects it first may pause
before the other does. An absence ends when the connection is back, or later, when the other's broker reports that it
runs; it ends at None if no log says when.

Times are by the reference clock (`hawb.incident.clocks`), in microseconds since 1970.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from hawb.incident.clocks import Clock, settled_us
from hawb.incident.events import Event

GONE = ("node_down", "rabbit_down")
SILENCE = "net_tick_timeout"
"""Erlang's reason for a connection over which nothing came for net_ticktime: a node lost its power or its network."""
SILENT_US = 1_000_000
"""Maximum time between Erlang's message about a silent node and RabbitMQ's."""
STARTS_AND_STOPS = ("node_starting", "node_stopping")
"""Kinds of events with which a node begins to run, and begins to stop."""
STARTING = "starting_partitioned_network"
"""Mnesia's reason when a node boots."""
MEETING_US = 5_000_000
"""Maximum time from reconnection to Mnesia's message about a partition."""


class Absence(Struct):
    """`seer` saw `peer` as down from `from_us` to `until_us`, according to its messages `down` and `up`.

    `reason` is Erlang's reason for it. An end that no log records was no later than the seer's own boot at `booted_us`,
    if it has booted since.
    """

    seer: str
    peer: str
    from_us: int
    down: Event
    reason: str | None = None
    until_us: int | None = None
    up: Event | None = None
    partition: bool = False
    booted_us: int | None = None

    @property
    def over_us(self) -> int | None:
        """Return when it was over at the latest; None if it may not be over."""
        return self.booted_us if self.until_us is None else self.until_us

    def meets(self, other: Absence) -> bool:
        """Return True if the other end saw this one as down at the same time."""
        return (self.seer, self.peer) == (other.peer, other.seer) and all(
            one.over_us is None or another.from_us < one.over_us for one, another in ((self, other), (other, self))
        )

    def goes_on(self, other: Absence) -> bool:
        """Return True if this is a late report of another absence.

        A repaired link may be closed once more for messages that were lost before.
        """
        return {self.seer, self.peer} == {other.seer, other.peer} and self.from_us >= other.from_us and (
            other.until_us is None or self.from_us <= other.until_us + MEETING_US
        )


def absences(events: Sequence[Event], clocks: Mapping[str, Clock]) -> list[Absence]:
    """Return the absences that events report, in order of their beginning.

    The events must be in order of time. What a log says about its own node is left out: then lines of another node are
    mixed in.
    """
    about: dict[tuple[str, str], list[Event]] = defaultdict(list)
    starts_and_stops: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event.kind in STARTS_AND_STOPS:
            starts_and_stops[event.node].append(event)
        elif event.peer and event.peer != event.node:
            about[event.node, event.peer].append(event)
    found = [absence for (seer, _), events_of_pair in about.items()
             for absence in _of_one(events_of_pair, starts_and_stops[seer], clocks)]  # fmt: skip
    by_ends: dict[tuple[str, str], list[Absence]] = defaultdict(list)
    for absence in found:
        by_ends[absence.seer, absence.peer].append(absence)
    pairs = ((one, other) for one in found for other in _meanwhile(one, by_ends.get((one.peer, one.seer), []))
             if one.meets(other))  # fmt: skip
    apart = [(one, other) for one, other in pairs if one.reason == other.reason == SILENCE or not (
        _stopping(starts_and_stops[one.seer], one, clocks)
        or _stopping(starts_and_stops[one.peer], one, clocks))]  # fmt: skip
    for one, other in apart:
        one.partition = other.partition = True
    return sorted(found, key=lambda absence: (absence.from_us, absence.seer, absence.peer))


def _meanwhile(one: Absence, others: Sequence[Absence]) -> Sequence[Absence]:
    """Return the absences in `others` that may overlap `one`. `others` are in order and do not overlap each other."""
    first = bisect_right(others, one.from_us, key=lambda other: other.from_us)
    last = len(others) if one.over_us is None else bisect_left(others, one.over_us, key=lambda other: other.from_us)
    return others[max(0, first - 1) : last]


def _of_one(events: Sequence[Event], own: Sequence[Event], clocks: Mapping[str, Clock]) -> Iterator[Absence]:
    """Yield when one node saw one other as down; the node's own boot ends its view."""
    absence: Absence | None = None
    silent: list[Absence] = []
    silent_us: int | None = None
    boots = [event for event in own if event.kind == "node_starting"]
    for event in sorted([*events, *boots], key=lambda event: settled_us(event, clocks)):
        at_us = settled_us(event, clocks)
        if event.kind in GONE:
            if absence is None or absence.up:
                absence = Absence(event.node, event.peer or "", at_us, event)
                yield absence
            absence.reason = absence.reason or event.reason
            if silent_us is not None and at_us - silent_us < SILENT_US:
                silent.append(absence)
        elif event.kind == "node_silent":
            silent_us = at_us
        elif absence is None:
            continue
        elif _met_apart(event) and (absence.until_us is None or at_us - absence.until_us < MEETING_US):
            absence.partition = True
        elif event.kind in ("node_up", "rabbit_up"):
            absence.until_us, absence.up = at_us, event
        if event.kind == "node_starting":
            absence.booted_us = at_us
        if event.kind in ("rabbit_up", "node_starting"):
            absence = None
    for absence in silent:
        absence.reason = absence.reason or SILENCE


def _met_apart(event: Event) -> bool:
    """Return True if Mnesia says that two running nodes had been partitioned.

    Exclude what a booting node says: if one of two nodes was forced to boot, each has recorded that the other stopped
    first.
    """
    return event.kind == "partition_seen" and event.reason != STARTING


def found_apart(
    messages: Iterable[tuple[int, Event]], known: Sequence[Absence], within_us: int
) -> Iterator[list[tuple[int, Event]]]:  # fmt: skip
    """Yield groups of messages about partitions for which no log has the absence, with their times and in order.

    The logs begin later, or are incomplete. Messages `within_us` microseconds of each other belong to one partition.
    """
    together: list[tuple[int, Event]] = []
    for at_us, event in messages:
        ends = {event.node, event.peer}
        noticed = any({one.seer, one.peer} == ends and one.from_us <= at_us for one in known)
        if event.peer == event.node or event.reason == STARTING or noticed:
            continue
        if together and at_us - together[0][0] > within_us:
            yield together
            together = []
        together.append((at_us, event))
    if together:
        yield together


def _stopping(own: Sequence[Event], absence: Absence, clocks: Mapping[str, Clock]) -> bool:
    """Return True if the peer's broker had begun to stop when an absence was detected."""
    before = [event for event in own if settled_us(event, clocks) <= absence.from_us]
    return bool(before) and before[-1].kind == "node_stopping"
