"""Who missed whom, from when to when, and which of it was a partition.

A node logs that another is gone when it notices, and that it is back. Whether the other had ended, or both went on
without each other, no single message tells. It was a partition if Mnesia says so as they meet again, or if each missed
the other and neither broker was stopping when that was noticed: one that was killed misses nobody. Where Erlang heard
nothing at either end for net_ticktime it was one all the same: who notices it first may pause before the other does. An
absence ends when the connection is back, or later, when the other's broker tells that it runs; an end that no log tells
of is None.

Moments are by the reference's clock (`hawb.incident.clocks`), in microseconds since 1970.
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
"""How far what Erlang says of a silence is from what RabbitMQ makes of it."""
LIVES = ("node_starting", "node_stopping")
"""How a broker's life begins, and begins to end."""
STARTING = "starting_partitioned_network"
"""What Mnesia says of a node that boots."""
MEETING_US = 5_000_000
"""How long after the connection is back Mnesia says that there was a partition."""


class Absence(Struct):
    """`seer` missed `peer` from `from_us` to `until_us`, as its messages `down` and `up` say; `reason` is what Erlang
    had for it. An end that no log tells of was no later than the seer's own boot at `booted_us`, if it booted since."""

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
        """When it was over at the latest; None if it may not be."""
        return self.booted_us if self.until_us is None else self.until_us

    def meets(self, other: Absence) -> bool:
        """Whether the other end missed this one at the same time."""
        return (self.seer, self.peer) == (other.peer, other.seer) and all(
            one.over_us is None or another.from_us < one.over_us for one, another in ((self, other), (other, self))
        )

    def goes_on(self, other: Absence) -> bool:
        """Whether this is a late notice of another's: a link that works again may be given up once more, for what it
        had missed before."""
        return {self.seer, self.peer} == {other.seer, other.peer} and self.from_us >= other.from_us and (
            other.until_us is None or self.from_us <= other.until_us + MEETING_US
        )


def absences(events: Sequence[Event], clocks: Mapping[str, Clock]) -> list[Absence]:
    """The absences that events tell of, in the order in which they began. The events are in the order of time. What a
    log says of its own node is left out: then the lines of another node are in it."""
    about: dict[tuple[str, str], list[Event]] = defaultdict(list)
    lives: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event.kind in LIVES:
            lives[event.node].append(event)
        elif event.peer and event.peer != event.node:
            about[event.node, event.peer].append(event)
    found = [absence for (seer, _), told in about.items() for absence in _of_one(told, lives[seer], clocks)]
    by_ends: dict[tuple[str, str], list[Absence]] = defaultdict(list)
    for absence in found:
        by_ends[absence.seer, absence.peer].append(absence)
    pairs = ((one, other) for one in found for other in _meanwhile(one, by_ends.get((one.peer, one.seer), []))
             if one.meets(other))  # fmt: skip
    apart = [(one, other) for one, other in pairs if one.reason == other.reason == SILENCE or not (
        _stopping(lives[one.seer], one, clocks) or _stopping(lives[one.peer], one, clocks))]  # fmt: skip
    for one, other in apart:
        one.partition = other.partition = True
    return sorted(found, key=lambda absence: (absence.from_us, absence.seer, absence.peer))


def _meanwhile(one: Absence, others: Sequence[Absence]) -> Sequence[Absence]:
    """Those of the other end's absences, of which each begins after the one before was over, that may have been at the
    same time."""
    first = bisect_right(others, one.from_us, key=lambda other: other.from_us)
    last = len(others) if one.over_us is None else bisect_left(others, one.over_us, key=lambda other: other.from_us)
    return others[max(0, first - 1) : last]


def _of_one(told: Sequence[Event], lives: Sequence[Event], clocks: Mapping[str, Clock]) -> Iterator[Absence]:
    """When one node missed one other; its own boot ends what it knew."""
    absence: Absence | None = None
    silent: list[Absence] = []
    silent_us: int | None = None
    boots = [event for event in lives if event.kind == "node_starting"]
    for event in sorted([*told, *boots], key=lambda event: settled_us(event, clocks)):
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
    """Whether Mnesia says that two running nodes had been apart. A node that boots says so too where one of them was
    forced to boot: each has noted that the other went before it."""
    return event.kind == "partition_seen" and event.reason != STARTING


def found_apart(
    told: Iterable[tuple[int, Event]], known: Sequence[Absence], within_us: int
) -> Iterator[list[tuple[int, Event]]]:  # fmt: skip
    """What nodes say of partitions, with its moments and in the order of time, where no log has the absence that it is
    about: the logs begin later, or are not all there. What is said `within_us` is of one."""
    together: list[tuple[int, Event]] = []
    for at_us, event in told:
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


def _stopping(lives: Sequence[Event], absence: Absence, clocks: Mapping[str, Clock]) -> bool:
    """Whether a broker had begun to stop when an absence was noticed."""
    before = [event for event in lives if settled_us(event, clocks) <= absence.from_us]
    return bool(before) and before[-1].kind == "node_stopping"
