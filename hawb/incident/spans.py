"""Measure durations in a cluster from its logs, such as the time until a node failed or was back; one row for each.

The definitions are those of a study's environment (`hawb.study.environment`), which uses these durations:

* A node has failed when its broker has ended, whatever the reason: logs do not say why an operator stopped it. Two
  things are no failures: a pause because of a partition, and a rolling restart, in which all nodes of the cluster were
  stopped one after the other, each after the previous one was back.
* Nodes that ended within a minute of each other have a common cause, such as a rack or a host: this is a failure of the
  cluster. If no node detected the end of a node, that node ended with the last node that could have detected it.
* The time to a failure runs from the end of the node's previous failure, through rolling restarts and common failures.
  For a node that already ran when the logs of its cluster begin, it runs from then on, and is not `fresh`.
* A node is back when it begins a boot that does not fail. A node that is removed from its cluster, or is still down
  when the logs end, was down for at least that long.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Literal, get_type_hints

from msgspec import Meta, Struct
from msgspec.structs import replace

from hawb.incident.absences import SILENCE, Absence, absences
from hawb.incident.clocks import settled_us
from hawb.incident.events import Event
from hawb.incident.node_runs import BEFORE_BOOT_US, NodeRun, node_runs
from hawb.incident.reading import Reading
from hawb.scenario.beginning import MICROSECONDS

TOGETHER_US = 60_000_000
"""Maximum time between the ends of nodes that failed together."""
ROLLING_US = 3_600_000_000
"""Maximum time between two nodes of a rolling restart."""

How = Literal["stopped", "killed", "power_off", "unknown"]
KINDS: Mapping[str, str] = {
    "time_to_failure": "from the end of a node's previous failure until the node failed again",
    "repair": "from a node's failure until the node was back",
    "time_to_common_failure": "from the end of a cluster's previous common failure until several of its nodes failed "
    "within a minute",
    "common_repair": "from a common failure until the last of its nodes was back",
    "time_to_rolling_restart": "from a cluster's previous rolling restart until the next one",
    "restart": "how long a node was down in a rolling restart",
    "time_to_partition": "from the end of a cluster's previous partition until running nodes lost each other again",
    "partition": "from the beginning of a partition until all nodes saw each other again",
    "synchronisation": "from the beginning to the end of a synchronisation of a mirrored queue that holds messages",
}
"""The description of each kind of span."""


class Span(Struct, frozen=True, kw_only=True):
    """A duration that was measured from logs: a row of the table.

    It is exact if both `ended` and `fresh` are true, otherwise a lower limit. Fields that do not apply to a kind are
    None.
    """

    cluster: Annotated[str, Meta(description="the folder of the cluster's logs")]
    kind: Annotated[str, Meta(description="the kind of duration")]
    node: Annotated[str | None, Meta(description="the node concerned")] = None
    from_us: Annotated[int, Meta(description="when the duration began, in microseconds since 1970 (UTC)")]
    length_s: Annotated[float, Meta(description="the duration that the logs show, in seconds")]
    ended: Annotated[bool, Meta(description="true if the duration ended within the logs; false if it went on")]
    fresh: Annotated[bool, Meta(description="true if the duration began within the logs; false if it began earlier")]
    how: Annotated[str | None, Meta(description="for a failure: stopped, killed, power_off or unknown")] = None
    disk_lost: Annotated[bool | None, Meta(description="for a failure: true if the node lost its data")] = None
    together: Annotated[int | None, Meta(description="for a failure: the number of nodes that failed together")] = None
    nodes: Annotated[int | None, Meta(description="the number of nodes of the cluster")] = None
    messages: Annotated[int | None, Meta(description="for a synchronisation: the number of messages")] = None


class Going(Struct, frozen=True):
    """The end of a node's run, at `at_us`, and its next boot, at `back_us` (None: it did not boot again).

    `missed` is True if another node detected the end.
    """

    node: str
    at_us: int
    how: How
    missed: bool
    back_us: int | None = None
    disk_lost: bool = False


def columns() -> dict[str, str]:
    """Return the description of each field of a span."""
    hints = get_type_hints(Span, include_extras=True)
    return {name: hints[name].__metadata__[0].description for name in Span.__struct_fields__}


def spans(cluster: str, reading: Reading) -> list[Span]:
    """Return the durations in the logs of a cluster, with the cluster's name in each row."""
    return [] if not reading.events else [*_Watched(cluster, reading).spans()]


class _Watched:
    """A cluster whose logs cover the time from `begin_us` to `end_us`."""

    def __init__(self, cluster: str, reading: Reading) -> None:
        self.cluster, self.reading = cluster, reading
        moments = [settled_us(event, reading.clocks) for event in reading.events]
        self.begin_us, self.end_us = min(moments), max(moments)
        self._empty_us: dict[str, list[int]] = defaultdict(list)
        self._removed_us: dict[str | None, int] = {}
        for event, at_us in zip(reading.events, moments, strict=True):
            if event.kind == "disk_empty":
                self._empty_us[event.node].append(at_us)
            elif event.kind in ("member_forgotten", "queues_forgotten"):
                self._removed_us[event.peer] = max(at_us, self._removed_us.get(event.peer, at_us))
        self.node_runs: dict[str, list[NodeRun]] = defaultdict(list)
        for run in node_runs(reading.events, reading.clocks):
            self.node_runs[run.node].append(run)
        self.goings = sorted(_together_unmissed([one for node in self.node_runs for one in self._goings(node)]),
                             key=lambda one: (one.at_us, one.node))  # fmt: skip

    def spans(self) -> Iterator[Span]:
        """Yield the durations of all kinds."""
        rolling = {one for each in _rolling(self.goings, len(self.node_runs)) for one in each}
        others = [one for one in self.goings if one not in rolling]
        groups = [each for each in _together(others) if len({one.node for one in each}) > 1]
        common = {one for each in groups for one in each}
        alone: dict[str, list[Going]] = defaultdict(list)
        for one in others:
            if one not in common:
                alone[one.node].append(one)
        for node in self.node_runs:
            yield from self._of_node(node, alone[node])
        yield from self._of_cluster(groups)
        yield from self._of_restarts([*_rolling(self.goings, len(self.node_runs))])
        yield from self._of_partitions()
        yield from self._of_synchronisations()

    def span(self, kind: str, from_us: int, until_us: int | None, fresh: bool = True, **fields: object) -> Span:
        """Return the duration between two times; without an end it lasts until the logs end."""
        length_s = max(0, (self.end_us if until_us is None else until_us) - from_us) / MICROSECONDS
        return Span(cluster=self.cluster, kind=kind, from_us=from_us, length_s=length_s, ended=until_us is not None,
                    fresh=fresh, nodes=len(self.node_runs), **fields)  # fmt: skip

    # Nodes

    def _goings(self, node: str) -> Iterator[Going]:
        """Yield each end of a node's runs, except pauses. A failed boot does not end the node's absence."""
        gone: Going | None = None
        for run in self.node_runs[node]:
            if gone is not None and run.ended_by != "failed":
                empty = gone.how != "stopped" and self._finds_nothing(node, run)
                yield replace(gone, back_us=run.from_us, disk_lost=empty)
                gone = None
            if gone is None and run.until_us is not None and not run.comes_back:
                missed = run.last.node != node or run.reason is not None
                gone = Going(node, run.halted_us or run.until_us, _how(run), missed)
        if gone is not None:
            yield gone

    def _finds_nothing(self, node: str, run: NodeRun) -> bool:
        """Return True if a node boots on an empty disk."""
        until_us = run.started_us or run.from_us + BEFORE_BOOT_US
        return any(run.from_us - BEFORE_BOOT_US <= at_us <= until_us for at_us in self._empty_us.get(node, ()))

    def _of_node(self, node: str, failures: Sequence[Going]) -> Iterator[Span]:
        """Yield a node's times to failure and repair times."""
        first = self.node_runs[node][0]
        fresh = first.first.kind in ("node_starting", "rabbit_up") or first.first.kind == "disk_empty"
        from_us: int | None = first.from_us if fresh else self.begin_us
        removed_us = self._removed_us.get(node)
        for one in failures:
            if from_us is not None:
                yield self.span("time_to_failure", from_us, one.at_us, fresh, node=node, how=one.how, together=1,
                                disk_lost=one.disk_lost)  # fmt: skip
            repair = self.span("repair", one.at_us, one.back_us, node=node, how=one.how)
            if one.back_us is None and removed_us is not None and removed_us >= one.at_us:
                repair = replace(repair, length_s=(removed_us - one.at_us) / MICROSECONDS)
            yield repair
            from_us, fresh = one.back_us, True
        if from_us is not None:
            yield self.span("time_to_failure", from_us, None, fresh, node=node)

    # The cluster

    def _renewed(self, kind: str, times: Iterable[tuple[int, int | None, dict[str, object]]]) -> Iterator[Span]:
        """Yield the times to the cluster's events, given each event's start, end and fields."""
        from_us: int | None = self.begin_us
        fresh = all(each[0].first.kind in ("node_starting", "disk_empty") for each in self.node_runs.values())
        for at_us, until_us, fields in times:
            if from_us is not None:
                yield self.span(kind, from_us, max(at_us, from_us), fresh, **fields)
            from_us, fresh = until_us, True
        if from_us is not None:
            yield self.span(kind, from_us, None, fresh)

    def _of_cluster(self, groups: Sequence[Sequence[Going]]) -> Iterator[Span]:
        """Yield the times to common failures and their repair times; each group failed within a minute."""
        if len(self.node_runs) < 2:
            return
        times = []
        for each in groups:
            backs = [one.back_us for one in each]
            until_us = None if None in backs else max(one for one in backs if one is not None)
            hows = [one.how for one in each]
            fields = {"how": max(sorted(set(hows)), key=hows.count), "together": len({one.node for one in each}),
                    "disk_lost": any(one.disk_lost for one in each)}  # fmt: skip
            times.append((each[0].at_us, until_us, fields))
            yield self.span("common_repair", each[0].at_us, until_us, **fields)
        yield from self._renewed("time_to_common_failure", times)

    def _of_restarts(self, restarts: Sequence[Sequence[Going]]) -> Iterator[Span]:
        if len(self.node_runs) < 2:
            return
        for each in restarts:
            yield from (self.span("restart", one.at_us, one.back_us, node=one.node) for one in each)
        yield from self._renewed("time_to_rolling_restart", [(each[0].at_us, each[0].at_us, {}) for each in restarts])

    def _of_partitions(self) -> Iterator[Span]:
        if len(self.node_runs) < 2:
            return
        found = [(one.from_us, self._apart_until_us(one))
                 for one in absences(self.reading.events, self.reading.clocks) if one.partition]  # fmt: skip
        merged: list[tuple[int, int | None]] = []
        for one in sorted(found, key=lambda one: one[0]):
            if merged and (merged[-1][1] is None or one[0] <= merged[-1][1] + TOGETHER_US):
                ends = (merged[-1][1], one[1])
                merged[-1] = merged[-1][0], None if None in ends else max(end for end in ends if end is not None)
            else:
                merged.append(one)
        yield from (self.span("partition", from_us, until_us) for from_us, until_us in merged)
        yield from self._renewed("time_to_partition", [(*one, {}) for one in merged])

    def _apart_until_us(self, absence: Absence) -> int | None:
        """Return when two nodes stopped seeing each other as down while both ran; None if they did not."""
        went = [one.at_us for one in self.goings if one.node in (absence.seer, absence.peer)
                and absence.from_us < one.at_us]  # fmt: skip
        return min((at_us for at_us in (*went, absence.until_us) if at_us is not None), default=None)

    def _of_synchronisations(self) -> Iterator[Span]:
        """Yield the durations of synchronisations of queues with messages.

        For one that was stopped, or whose master ended, the duration is a lower limit.
        """
        begun: dict[tuple[str, str | None, str | None], Event] = {}
        for event in self.reading.events:
            key, at_us = (event.node, event.vhost, event.queue), settled_us(event, self.reading.clocks)
            if event.kind == "sync_begun":
                begun[key] = event
            elif event.kind in ("sync_done", "sync_needless", "sync_stopped") and (first := begun.pop(key, None)):
                span = self._synchronised(first, at_us, event.kind == "sync_done")
                if first.count and event.kind != "sync_needless" and span.length_s > 0:
                    yield span
            elif event.kind == "node_starting":
                for other in [other for other in begun if other[0] == event.node]:
                    del begun[other]  # how far it came is not logged

    def _synchronised(self, first: Event, until_us: int, ended: bool) -> Span:
        from_us = settled_us(first, self.reading.clocks)
        span = self.span("synchronisation", from_us, until_us, node=first.node, messages=first.count)
        return span if ended else replace(span, ended=False)


def _how(run: NodeRun) -> How:
    if run.ended_by in ("stopped", "paused", "unknown"):
        return "unknown" if run.ended_by == "unknown" else "stopped"
    return "power_off" if run.reason and SILENCE in run.reason else "killed"


def _together_unmissed(goings: Sequence[Going]) -> list[Going]:
    """Return the ends of node runs, with corrected times for those that no node detected.

    Such a node ended when the last of the nodes that were away at the same time ended.
    """
    unmissed = {one for one in goings if one.how == "killed" and not one.missed}
    times_us = sorted(one.at_us for one in unmissed)

    def when_us(one: Going) -> int:
        away = len(times_us) if one.back_us is None else bisect_left(times_us, one.back_us)
        return max(one.at_us, times_us[away - 1] if away else one.at_us)

    return [replace(one, at_us=when_us(one)) if one in unmissed else one for one in goings]


def _rolling(goings: Sequence[Going], nodes: int) -> list[list[Going]]:
    """Return the rolling restarts, each as the ends of all nodes' runs in it."""
    asked = [one for one in goings if one.how == "stopped"]
    found: list[list[Going]] = []
    place = 0
    while nodes > 1 and place + nodes <= len(asked):
        turn = asked[place : place + nodes]
        follows = all(one.back_us is not None and 0 <= other.at_us - one.back_us <= ROLLING_US
                      for one, other in pairwise(turn))  # fmt: skip
        if follows and len({one.node for one in turn}) == nodes and turn[-1].back_us is not None:
            found.append(turn)
            place += nodes
        else:
            place += 1
    return found


def _together(goings: Sequence[Going]) -> list[list[Going]]:
    """Return the ends of node runs in groups, each with those within a minute of the first."""
    found: list[list[Going]] = []
    for one in goings:
        if found and one.at_us - found[-1][0].at_us <= TOGETHER_US:
            found[-1].append(one)
        else:
            found.append([one])
    return found
