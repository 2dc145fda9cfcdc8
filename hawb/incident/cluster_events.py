"""Derive the events of a cluster, in order, from the log events of its nodes.

Events that follow from several messages are derived here: starts and stops of nodes (`hawb.incident.node_runs`),
partitions (`hawb.incident.absences`), synchronisations, elections, and changes of members, for which some releases only
log that a member's files are deleted. Every other event is a row of `SAID`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from math import inf
from operator import itemgetter

from msgspec.structs import replace

from hawb.incident.absences import Absence, absences, found_apart
from hawb.incident.added_again import MEMBERSHIP_CHANGES, added_again
from hawb.incident.clocks import Clock, settled_us
from hawb.incident.cluster_event import HEALED, TOGETHER_US, ClusterEvent
from hawb.incident.events import Event, group_name, queue_of
from hawb.incident.faults import FAULTS, WHY_BOOTS_FAIL, boot_failed, clusters_apart, faults
from hawb.incident.node_runs import NodeRun, node_runs

SAID: Mapping[str, tuple[str, str]] = {
    "maintenance_begun": ("node_drained", "node"),
    "maintenance_ended": ("node_revived", "node"),
    "node_reset": ("node_reset", "node"),
    "member_joining": ("node_joined", "node"),
    "member_joined": ("node_joined", "peer"),
    "autoheal_decided": ("autoheal", "peer"),
    "autoheal_winning": ("autoheal", "node"),
    "autoheal_denied": ("autoheal_refused", "node"),
    "autoheal_aborted": ("autoheal_refused", "node"),
    "mirror_added": ("mirror_added", "peer"),
    "mirror_dropped": ("mirror_dropped", "peer"),
    "mirror_promoted": ("mirror_promoted", "peer"),
    "mirror_failed": ("mirror_failed", "peer"),
    "mirrors_stopped": ("mirrors_stopped", "node"),
    "replicas_down": ("mirrors_missed", "peer"),
    "queue_stale": ("queue_stale", "node"),
    "leader_stepped_down": ("leader_left", "node"),
    "member_added": ("member_added", "peer"),
    "member_adding": ("member_added", "peer"),
    "member_removed": ("member_removed", "peer"),
    "member_removing": ("member_removed", "peer"),
    "member_change_failed": ("member_change_failed", "peer"),
    "member_anew": ("member_anew", "node"),
    "messages_dropped": ("messages_dropped", "node"),
    "queue_shrunk": ("queue_shrunk", "peer"),
    "queue_migrated": ("queue_moved", "peer"),
    "queue_recovered": ("queue_restarted", "node"),
    "queues_deleted": ("queues_deleted", "peer"),
    "queue_forced": ("queue_forced", "node"),
    "vhost_failed": ("vhost_failed", "node"),
    "vhost_deleted": ("vhost_deleted", ""),
    "alarm_set": ("alarm_set", "peer"),
    "alarm_cleared": ("alarm_cleared", "peer"),
    "policy_set": ("policy_set", ""),
    "rebalance_begun": ("rebalanced", ""),
    "node_waiting": ("node_waiting", "node"),
}
"""Kind of event for each kind of message, and the field with the node concerned."""

RUN_ENDS = {"stopped": "node_stopped", "killed": "node_killed", "paused": "node_paused", "unknown": "node_gone"}
NOTICED_US = 40_000_000
"""Maximum time between nodes' detections of one partition: net_ticktime is accurate to a quarter, which is 15 s to
either side by default (`net_kernel`), and each node ticks by its own clock."""
FORGETTING_US = 60_000_000
"""Maximum time that a node takes to remove a cluster member and its queues."""
TRIES = 9
"""Number of retries left at the first try to load tables; the node has not waited yet."""
STORE = "RabbitMQ metadata store"
AT = itemgetter(0)


def cluster_events(events: Sequence[Event], clocks: Mapping[str, Clock]) -> list[ClusterEvent]:
    """Return the cluster's events that log events report. Both are in order of time."""
    story = _Story(events, clocks)
    parts = (_starts_and_ends(story), _disks(story), _partitions(story), _found_apart(story), _said(story),
             _synchronisations(story), _elections(story), _declared(story), _removed(story),
             _forgotten(story), _faults(story))  # fmt: skip
    derived = [found for part in parts for found in part]
    return sorted([*derived, *_added_again(story, derived)], key=lambda one: (one.at_us, one.kind, one.node or ""))


class _Story:
    """The log events with their times, the node runs, and the absences."""

    def __init__(self, events: Sequence[Event], clocks: Mapping[str, Clock]):
        self._by_kind: dict[str, list[tuple[int, Event]]] = {}
        for event in events:
            self._by_kind.setdefault(event.kind, []).append((settled_us(event, clocks), event))
        self.node_runs = node_runs(events, clocks)
        self.absences = absences(events, clocks)
        self.groups = {group_name(event): queue_of(event) for event in events if event.queue}

    def of(self, *kinds: str, from_us: float = -inf, until_us: float = inf) -> Iterator[tuple[int, Event]]:
        """Yield the log events of these kinds with their times, in order.

        Only those of a span, both ends included, if given.
        """
        by_kind = (self._by_kind.get(kind, []) for kind in kinds)
        near = (all_[bisect_left(all_, from_us, key=AT) : bisect_right(all_, until_us, key=AT)] for all_ in by_kind)
        return merge(*near, key=AT)


def _starts_and_ends(story: _Story) -> Iterator[ClusterEvent]:
    """Yield the starts and ends of brokers, with messages of other nodes about them. A failed boot is no start."""
    for run in story.node_runs:
        if run.ended_by == "failed":
            yield boot_failed(run, story.of(*WHY_BOOTS_FAIL))
            continue
        if run.first.kind == "node_starting":
            up = _about(story, run.node, ("rabbit_up",), run.from_us, run.started_us or run.from_us)
            yield ClusterEvent(kind="node_started", at_us=run.from_us, until_us=run.started_us, node=run.node,
                            name=run.first.release, events=(run.first, *up))  # fmt: skip
        if run.ended_by and run.until_us is not None:
            down = _about(story, run.node, ("rabbit_down", "node_down"), run.until_us, run.until_us)
            stopped = (at_us for at_us, one in story.of("node_stopped", from_us=run.until_us) if one.node == run.node)
            yield ClusterEvent(
                kind=RUN_ENDS[run.ended_by], at_us=run.until_us, node=run.node, reason=run.reason,
                until_us=next(stopped, None) if run.ended_by in ("stopped", "paused") else None,
                name=_pause(story, run) if run.ended_by == "paused" else None,
                events=tuple(dict.fromkeys((run.last, *down))),
            )  # fmt: skip
        if run.halting and run.halted_us:
            yield ClusterEvent(kind="node_stopped", at_us=run.halted_us, node=run.node, events=(run.halting,))


def _pause(story: _Story, run: NodeRun) -> str:
    """Return why a broker stopped by itself."""
    healing = any(event.node == run.node and abs(at_us - (run.until_us or 0)) < TOGETHER_US
                  for at_us, event in story.of("autoheal_restarting"))  # fmt: skip
    return HEALED if healing else "pause"


def _about(story: _Story, node: str, kinds: Sequence[str], from_us: int, until_us: int) -> list[Event]:
    """Return messages of other nodes about a node at about a time."""
    near = story.of(*kinds, from_us=from_us - TOGETHER_US, until_us=until_us + TOGETHER_US)
    return [event for _, event in near if event.peer == node]


def _faults(story: _Story) -> Iterator[ClusterEvent]:
    """Yield faults."""
    failed = [run for run in story.node_runs if run.ended_by == "failed"]
    yield from clusters_apart(story.of("formed_alone"), story.of("member_joining", "member_joined"), failed)
    yield from faults(story.of(*FAULTS), [*story.of("queue_recovered", "mirror_promoted")], failed)


def _disks(story: _Story) -> Iterator[ClusterEvent]:
    """Yield cluster nodes that booted on an empty database, without having left or joined before."""
    for at_us, event in story.of("disk_empty"):
        before = [run for run in story.node_runs if run.node == event.node and run.ended_by != "failed"
                  and (run.until_us or at_us) < at_us]  # fmt: skip
        since_us = before[-1].until_us or 0 if before else at_us
        meanwhile = story.of("node_reset", "member_joining", from_us=since_us, until_us=at_us - 1)
        left = any(other.node == event.node for _, other in meanwhile)
        if before and before[-1].started_us and not left:
            yield ClusterEvent(kind="disk_lost", at_us=at_us, node=event.node, events=(event,))


def _partitions(story: _Story) -> Iterator[ClusterEvent]:
    """Yield partitions and their ends: absences of running brokers, grouped if they were detected together.

    Mnesia also reports a partition when a node is forced to boot without nodes that stopped later; that is left out.
    """
    ended = [(run.node, run.until_us) for run in story.node_runs if run.ended_by in ("stopped", "killed")]
    gone = {(node, absence.from_us) for node, until_us in ended for absence in story.absences
            if node == absence.peer and abs((until_us or 0) - absence.from_us) <= TOGETHER_US}  # fmt: skip
    apart = [one for one in story.absences if one.partition and (one.peer, one.from_us) not in gone]
    while apart:
        begun = apart[0].from_us
        healed = next(_meetings(story, apart[0], begun), None)
        together = [one for one in apart if one.from_us - begun <= NOTICED_US
                    and (healed is None or one.from_us < healed[0])]  # fmt: skip
        together += [one for one in apart if one not in together and any(one.goes_on(other) for other in together)]
        pairs = sorted({(min(one.seer, one.peer), max(one.seer, one.peer)) for one in together})
        meetings = sorted((meeting for one in together for meeting in _meetings(story, one, begun)), key=AT)
        reasons = [one.reason for one in together if one.reason]
        yield ClusterEvent(kind="partition_begun", at_us=begun, until_us=meetings[0][0] if meetings else None,
                        pairs=tuple(pairs), nodes=tuple(sorted({node for pair in pairs for node in pair})),
                        reason=reasons[0] if reasons else None, events=tuple(one.down for one in together))  # fmt: skip
        if meetings:
            seen = tuple(dict.fromkeys(event for at_us, event in meetings if at_us - meetings[0][0] <= TOGETHER_US))
            yield ClusterEvent(kind="partition_healed", at_us=meetings[0][0], pairs=tuple(pairs), events=seen)
        apart = [one for one in apart if one not in together]


def _found_apart(story: _Story) -> Iterator[ClusterEvent]:
    """Yield partitions whose beginning no log shows."""
    for together in found_apart(story.of("partition_seen", "partition_partial"), story.absences, NOTICED_US):
        pairs = sorted({(min(one.node, one.peer or ""), max(one.node, one.peer or "")) for _, one in together})
        yield ClusterEvent(kind="partition_found", at_us=together[0][0], pairs=tuple(pairs),
                        nodes=tuple(sorted({node for pair in pairs for node in pair})),
                        events=tuple(event for _, event in together))  # fmt: skip


def _meetings(story: _Story, absence: Absence, from_us: int) -> Iterator[tuple[int, Event]]:
    """Yield when the two nodes of an absence saw each other again."""
    ends = {absence.seer, absence.peer}
    return ((at_us, event) for at_us, event in story.of("node_up", "rabbit_up", from_us=from_us + 1)
            if {event.node, event.peer} == ends)  # fmt: skip


def _said(story: _Story) -> Iterator[ClusterEvent]:
    """Yield the events that single messages report; messages of several nodes about the same event count as one."""
    open_: dict[tuple[object, ...], ClusterEvent] = {}
    for at_us, event in story.of(*SAID):
        if _says_nothing(event):
            continue
        kind, field = SAID[event.kind]
        found = ClusterEvent(
            kind=kind, at_us=at_us, node=_node_of(event, field), nodes=event.nodes,
            queue=queue_of(event), name=event.vhost if kind.startswith("vhost_") else event.name, reason=event.reason,
            term=event.term, count=event.count, events=(event,),
        )  # fmt: skip
        key = (kind, found.node, found.queue, None if kind.startswith("node_") else found.name)
        last = open_.get(key)
        if last and at_us - last.at_us <= TOGETHER_US and event.kind != "queue_recovered":
            open_[key] = replace(last, nodes=last.nodes or found.nodes, events=(*last.events, event))
        else:
            if last:
                yield last
            open_[key] = found
    yield from open_.values()


def _node_of(event: Event, field: str) -> str | None:
    """Return the node concerned; the alarm of file descriptors names none, and is the writer's own."""
    if event.kind in ("alarm_set", "alarm_cleared") and event.name == "file descriptor":
        return event.node
    return getattr(event, field) if field else None


def _says_nothing(event: Event) -> bool:
    """Return True if a message only reports the beginning of something, or names no node or queue."""
    match event.kind:
        case "node_waiting":
            return event.count in (None, TRIES)
        case "alarm_cleared":
            return event.peer is None and event.name != "file descriptor"
        case "messages_dropped":
            return not event.count
        case "leader_stepped_down" | "member_removing":
            return event.queue is None
    return False


def _synchronisations(story: _Story) -> Iterator[ClusterEvent]:
    """Yield each synchronisation from its beginning to its end."""
    open_: dict[tuple[str, str | None], ClusterEvent] = {}
    for at_us, event in story.of("sync_begun", "sync_mirrors", "sync_needless", "sync_done", "sync_stopped"):
        key = event.node, queue_of(event)
        if event.kind == "sync_begun":
            if key in open_:
                yield open_.pop(key)
            open_[key] = ClusterEvent(kind="synchronisation", at_us=at_us, node=event.node, queue=key[1],
                                   count=event.count, events=(event,))  # fmt: skip
        elif key in open_:
            found = replace(open_[key], events=(*open_[key].events, event), nodes=open_[key].nodes or event.nodes)
            reason = {"sync_done": "done", "sync_needless": "needless"}.get(event.kind, event.reason)
            open_[key] = found
            if event.kind != "sync_mirrors":
                yield replace(open_.pop(key), until_us=at_us, reason=reason)
    yield from open_.values()


def _elections(story: _Story) -> Iterator[ClusterEvent]:
    """Yield elections of quorum queues and of the metadata store, with what other members logged of them."""
    seen: dict[tuple[object, ...], list[tuple[int, Event]]] = {}
    for at_us, event in story.of("leader_seen"):
        about = event.peer, event.vhost, event.queue, event.name, event.term
        seen.setdefault(about, []).append((at_us, event))
    for at_us, event in story.of("leader_elected"):
        if event.queue is None and event.name != STORE:
            continue
        about = event.node, event.vhost, event.queue, event.name, event.term
        others = [other for other_us, other in seen.get(about, ()) if abs(other_us - at_us) <= TOGETHER_US]
        kind = "leader_elected" if event.queue else "store_leader_elected"
        yield ClusterEvent(kind=kind, at_us=at_us, node=event.node, queue=queue_of(event), term=event.term,
                        events=(event, *others))  # fmt: skip


def _declared(story: _Story) -> Iterator[ClusterEvent]:
    """Yield quorum queues that were declared."""
    for at_us, event in story.of("group_formed"):
        if queue := story.groups.get(event.name or ""):
            yield ClusterEvent(kind="queue_declared", at_us=at_us, node=event.peer, queue=queue, count=event.count,
                            events=(event,))  # fmt: skip


def _removed(story: _Story) -> Iterator[ClusterEvent]:
    """Yield members whose files were deleted, with their queue or alone.

    Since 4.0 the node that removes a member logs that too.
    """
    deleted: dict[str, ClusterEvent] = {}
    for at_us, event in story.of("member_deleted"):
        queue = queue_of(event) or story.groups.get(event.name or "")
        if queue is None:
            continue
        last = deleted.get(queue)
        if last and at_us - last.at_us <= TOGETHER_US:
            deleted[queue] = replace(last, events=(*last.events, event))
        else:
            if last:
                yield last
            deleted[queue] = ClusterEvent(kind="queue_deleted", at_us=at_us, queue=queue, events=(event,))
    yield from deleted.values()
    for at_us, event in story.of("data_deleted"):
        queue = story.groups.get(event.name or "")
        said = (other for other_us, other in story.of("member_deleted", "member_removing", "member_removed")
                if abs(at_us - other_us) <= FORGETTING_US)  # fmt: skip
        if queue and not any(_concerns(other, queue, event.node) for other in said):
            yield ClusterEvent(kind="member_removed", at_us=at_us, node=event.node, queue=queue, events=(event,))


def _concerns(event: Event, queue: str, node: str) -> bool:
    """Return True if a message says why a member's files are deleted."""
    return queue_of(event) == queue and (event.kind == "member_deleted" or event.peer == node)


def _added_again(story: _Story, derived: Sequence[ClusterEvent]) -> Iterator[ClusterEvent]:
    """Yield members that were added again without a log message."""
    changes = ((one.at_us, one.kind, one.queue, one.node) for one in derived if one.kind in MEMBERSHIP_CHANGES)
    for at_us, event in added_again(changes, story.of("leader_seen")):
        yield ClusterEvent(kind="member_added", at_us=at_us, node=event.node, queue=queue_of(event), events=(event,))


def _forgotten(story: _Story) -> Iterator[ClusterEvent]:
    """Yield nodes that were removed from the cluster.

    With Khepri their queues are removed first, and the removal itself is not logged.
    """
    last: dict[str, int] = {}
    for at_us, event in story.of("member_forgotten", "queues_forgotten"):
        peer = event.peer or ""
        if peer in last and at_us - last[peer] <= FORGETTING_US:
            continue
        last[peer] = at_us
        near = story.of("member_removing", from_us=at_us - FORGETTING_US, until_us=at_us)
        khepri = event.kind == "queues_forgotten"
        before = [one for one in near if khepri and (one[1].peer, one[1].node) == (peer, event.node)]
        yield ClusterEvent(kind="node_forgotten", at_us=before[0][0] if before else at_us, node=peer,
                        events=(*(other for _, other in before), event))  # fmt: skip
