"""Make the picture of an incident: runs of nodes, partitions, ways of queues, and marks for sentences.

The way of a queue is the sequence of its masters or leaders as the logs show them: by nodes that added mirrors, were
promoted, or were elected. A leg of it ends with its node's run, or when another node takes over that could reach it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from hawb.incident.asked import WHOLE, Asked
from hawb.incident.cluster_event import ClusterEvent
from hawb.incident.losses import QueueLosses
from hawb.incident.node_runs import NodeRun
from hawb.views.formatting import counted, listing, shown
from hawb.views.incident.figure import Leg, Mark, Picture, Span, Tear, Way
from hawb.views.incident.names import Names
from hawb.views.incident.sentences import LEADS, STORY, Sentence, sides

MOST_MARKS, MOST_WAYS = 60, 3
"""The maximum numbers of marks and of ways; with more marks, only the last ones and their time are drawn."""
AS_ONE_US = 3_000_000
"""Queues whose masters changed within this time of each other share a way."""

Timed = TypeVar("Timed", Span, Tear, Leg)
Seen = tuple[int, str, bool]
"""The time at which a node was seen as a queue's master or leader, the node, and True if the queue is mirrored."""


def picture(
    title: str, node_runs: Sequence[NodeRun], cluster_events: Sequence[ClusterEvent], story: Sequence[Sentence],
    names: Names, losses: Sequence[QueueLosses] = (), span: Asked = WHOLE,
) -> Picture:  # fmt: skip
    """Return the picture of a story; the ways of queues that lost messages come first.

    Draw only what is in the `span`.
    """
    end_us = max((moment for one in cluster_events for moment in (one.at_us, one.until_us or 0)), default=0)
    end_us = max([end_us, *(run.seen_us for run in node_runs)])
    tears = tuple(_tears(cluster_events, end_us, names))
    marks = tuple(_marks(story, names))
    drawn = Picture(
        title, _in_order({run.node for run in node_runs}, tears, names), tuple(_spans(node_runs, end_us, names)), tears,
        tuple(_ways(cluster_events, node_runs, tears, end_us, names, losses)), marks[-MOST_MARKS:],
    )  # fmt: skip
    if span == WHOLE and len(marks) <= MOST_MARKS:
        return drawn
    from_us = max(span.since_us or 0, drawn.marks[0].at_us if len(marks) > MOST_MARKS else 0)
    return _between(drawn, from_us, end_us if span.until_us is None else min(end_us, span.until_us))


def _between(drawn: Picture, from_us: int, until_us: int) -> Picture:
    """Return the part of the picture between two times."""

    def within(of: Iterable[Timed]) -> tuple[Timed, ...]:
        return tuple(replace(one, from_us=max(one.from_us, from_us), until_us=min(one.until_us, until_us))
                     for one in of if one.until_us > from_us and one.from_us <= until_us)  # fmt: skip

    ways = tuple(replace(way, legs=within(way.legs)) for way in drawn.ways)
    return replace(
        drawn, spans=within(drawn.spans), tears=within(drawn.tears), ways=tuple(way for way in ways if way.legs)
    )


def _in_order(nodes: set[str], tears: Sequence[Tear], names: Names) -> tuple[str, ...]:
    """Return the nodes ordered by partition, then by name."""
    side = {node: at for at, nodes_of in enumerate(tears[0].sides if tears else ()) for node in nodes_of}
    called = sorted(map(names.node, nodes))
    return tuple(sorted(called, key=lambda node: side.get(node, len(side))))


def _spans(node_runs: Sequence[NodeRun], end_us: int, names: Names) -> Iterator[Span]:
    """Yield the states of each node's broker over time."""
    for place, run in enumerate(node_runs):
        node, until_us = names.node(run.node), end_us if run.until_us is None else run.until_us
        booted_us = run.from_us
        if run.ended_by == "failed":
            yield Span(node, "booting", run.from_us, until_us)
            continue
        if run.first.kind == "node_starting":
            booted_us = min(run.started_us or until_us, until_us)
            yield Span(node, "booting", run.from_us, booted_us)
        if run.ended_by in ("killed", "unknown") and booted_us <= run.seen_us < until_us:
            yield Span(node, "running", booted_us, run.seen_us)
            yield Span(node, "doubted", run.seen_us, until_us)
        elif booted_us < until_us:
            yield Span(node, "running", booted_us, until_us)
        if run.ended_by == "paused":
            again = (other.from_us for other in node_runs[place + 1 :] if other.node == run.node)
            yield Span(node, "paused", until_us, next(again, end_us))


def _tears(cluster_events: Sequence[ClusterEvent], end_us: int, names: Names) -> Iterator[Tear]:
    for one in cluster_events:
        if one.kind == "partition_begun":
            parts = tuple(tuple(map(names.node, side)) for side in sides(one.pairs))
            yield Tear(parts, one.at_us, end_us if one.until_us is None else one.until_us)


def _marks(story: Sequence[Sentence], names: Names) -> Iterator[Mark]:
    """Yield a mark for each node of a sentence; in a long story only for the main sentences."""
    least = 0 if len(story) <= MOST_MARKS else STORY
    for one in (one for one in story if one.words.weight >= least):
        for node, at_us in one.moments.items():
            if one.short:
                yield Mark(at_us, names.node(node), one.words.look, one.number, one.short, one.text)


def _ways(
    cluster_events: Sequence[ClusterEvent], node_runs: Sequence[NodeRun], tears: Sequence[Tear], end_us: int,
    names: Names, losses: Sequence[QueueLosses],
) -> Iterator[Way]:  # fmt: skip
    """Yield the ways of queues: first of those that lost messages, then of those that moved most.

    Queues with the same moves share a way.
    """
    about = {one.queue: one for one in losses if one.certain or any(not loss.only for loss in one.possible)}
    legs = {queue: tuple(_given_up(_legs(seen, node_runs, tears, end_us, names), about.get(queue), names))
            for queue, seen in _leading(cluster_events, {run.node for run in node_runs}).items()}  # fmt: skip
    alike: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for queue in legs:
        way = tuple((leg.node, round(leg.from_us / AS_ONE_US) if at else 0) for at, leg in enumerate(legs[queue]))
        alike.setdefault(way, []).append(queue)

    def weight(queues: Sequence[str]) -> tuple[bool, int, int]:
        return any(queue in about for queue in queues), len(legs[queues[0]]), len(queues)

    known = [queues for queues in alike.values() if legs[queues[0]]]
    for queues in sorted(known, key=weight, reverse=True)[:MOST_WAYS]:
        words = listing(queues) if len(queues) < MOST_WAYS else counted(len(queues), "queue")
        yield Way(shown(words), legs[queues[0]])


def _leading(cluster_events: Sequence[ClusterEvent], nodes: set[str]) -> Mapping[str, list[Seen]]:
    """Return for each queue when which of these nodes was seen as its master or leader."""
    seen: dict[str, list[Seen]] = {}
    for one in cluster_events:
        node = _leader(one)
        if one.queue is not None and node in nodes and (one.kind != "mirrors_stopped" or one.queue not in seen):
            seen.setdefault(one.queue, []).append((one.at_us, node, one.kind.startswith("mirror")))
    return seen


def _leader(one: ClusterEvent) -> str | None:
    """Return the node that was a queue's master or leader at an event; None if the event does not show one."""
    if one.kind == "mirror_added":
        return next((event.node for event in one.events if event.node != one.node), None)
    return one.node if one.kind in (*LEADS, "mirrors_stopped") else None


def _legs(
    seen: Sequence[Seen], node_runs: Sequence[NodeRun], tears: Sequence[Tear], end_us: int, names: Names
) -> Iterator[Leg]:
    """Yield the stretches of time for which a queue's master or leader stayed on a node."""
    open_: dict[str, int] = {}
    for at_us, node, mirrored in seen:
        for other, from_us in [*open_.items()]:
            ended_us = _life_end(node_runs, other, from_us, end_us)
            apart = _apart(other, node, at_us, tears, node_runs if mirrored else (), names)
            if ended_us <= at_us or (other != node and not apart):
                yield Leg(names.node(other), open_.pop(other), min(ended_us, at_us))
        if _runs(node_runs, node, at_us):
            open_.setdefault(node, at_us)
    for node, from_us in open_.items():
        yield Leg(names.node(node), from_us, _life_end(node_runs, node, from_us, end_us))


def _given_up(legs: Iterable[Leg], of: QueueLosses | None, names: Names) -> Iterator[Leg]:
    """Yield the legs; those whose messages were discarded with their partition end there and are marked as lost."""
    losses = [(loss.at_us, loss.nodes) for loss in (of.possible if of else ()) if loss.cause == "side_given_up"]
    for leg in legs:
        ended_us = next((at_us for at_us, nodes in losses
                         if leg.node in map(names.node, nodes) and leg.from_us < at_us), None)  # fmt: skip
        if ended_us is None:
            yield leg
        else:
            yield Leg(leg.node, leg.from_us, min(leg.until_us, ended_us), True)


def _runs(node_runs: Sequence[NodeRun], node: str, at_us: int) -> bool:
    """Return True if a broker runs on a node and is not stopping; a node without logs counts as running."""
    of = [run for run in node_runs if run.node == node]
    return not of or any(run.from_us <= at_us and (run.until_us is None or at_us < run.until_us) for run in of)


def _life_end(node_runs: Sequence[NodeRun], node: str, at_us: int, end_us: int) -> int:
    """Return when the broker that runs on a node at a time, or runs next, ended."""
    ends = (end_us if run.until_us is None else run.until_us for run in node_runs if run.node == node)
    return next((ended_us for ended_us in ends if ended_us > at_us), end_us)


def _apart(one: str, other: str, at_us: int, tears: Sequence[Tear], node_runs: Sequence[NodeRun], names: Names) -> bool:
    """Return True if two nodes did not see each other.

    With `node_runs`, also return True if neither has booted since the partition: until then Mnesia keeps two sets of
    records.
    """
    both = {names.node(one), names.node(other)}
    for tear in tears:
        if tear.from_us > at_us or any(both <= {*side} for side in tear.sides):
            continue
        booted = any(run.node in (one, other) and tear.from_us < run.from_us <= at_us for run in node_runs)
        if at_us <= tear.until_us or (node_runs and not booted):
            return True
    return False
