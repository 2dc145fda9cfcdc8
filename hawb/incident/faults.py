"""Find faults other than those of nodes and links in messages.

They are failed boots, clusters that formed separately, damaged data, crashed processes, streams, and client operations
that timed out. No rule of the model produces any of these, so none is played. Several messages about one fault (the
report of a crash, that of its supervisor, the next attempt) count as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from hawb.engine.core.naming import join_queue
from hawb.incident import causes
from hawb.incident.cluster_event import TOGETHER_US, ClusterEvent
from hawb.incident.events import Event, queue_of
from hawb.incident.node_runs import NodeRun
from hawb.incident.reading import SEVERE

Timed = tuple[int, Event]
FAULTS = (
    "process_crashed", "child_ended", "data_corrupt", "stream_failed", "stream_reader_ended", "coordinator_failed",
    "application_ended", "queue_unavailable", "operation_timed_out", "consumer_timed_out", "cookie_refused",
    "member_not_started", "group_not_formed", "boot_error",
    "discovery_failed", "operation_failed", "vhost_down", "flag_not_enabled", "erlang_ended", "queue_refused",
    "formed_alone",
)  # fmt: skip
"""Kinds of events that report a fault by themselves."""
BROKEN = (
    "boot_failed", "boot_error", "clusters_apart", "data_corrupt", "disk_full", "files_exhausted", "erlang_ended",
    "vhost_failed", "store_crashed", "application_ended", "queue_crashed", "coordinator_failed", "stream_failed",
    "member_not_started", "group_not_formed", "cookie_refused", "vhost_down", "queue_unavailable", "operation_failed",
    "operation_timed_out", "consumer_timed_out", "discovery_failed", "flag_not_enabled", "process_crashed",
)  # fmt: skip
"""Kinds of events that are faults of RabbitMQ, worst first."""
WHY_BOOTS_FAIL = ("boot_failed", "boot_error", "boot_disagreed", "process_crashed")
"""Kinds of events that say why a boot failed."""
AROUND_US = 30_000_000
"""Maximum time for which the reason of a failed boot may precede the message that the broker starts."""
PROCESSES = (
    ("rabbit_stream_coordinator", "coordinator_failed"), ("rabbitmq_metadata", "store_crashed"),
    ("osiris_", "stream_failed"), ("rabbit_amqqueue", "queue_crashed"), ("rabbit_prequeue", "queue_crashed"),
    ("ra_server", "queue_crashed"), ("ra_log", "queue_crashed"),
)  # fmt: skip
"""Parts of the names of processes or supervisors, and the kind of their crashes."""
CRASHES = frozenset({"data_corrupt", "store_crashed", "coordinator_failed", "queue_crashed", "process_crashed",
                     "stream_failed", "disk_full", "files_exhausted"})  # fmt: skip
"""Faults of processes, of which there are several reports."""
LACKING = {causes.DISK: "disk_full", causes.OPEN_FILES: "files_exhausted"}
"""Kinds of crashes for which the cause says more than the process."""
ON_PURPOSE = ("normal", "shutdown", "killed", "noproc", "noconnection", "stopped", "nodedown", "{shutdown")
"""Exit reasons of processes that something else ended: their node, their leader, an operator."""


def boot_failed(run: NodeRun, logged: Iterable[Timed]) -> ClusterEvent:
    """Return the failed boot, with the most informative reason; `logged` are messages about boots and crashes."""
    until_us = run.until_us or run.seen_us
    near = [(at_us, event) for at_us, event in logged
            if event.node == run.node and run.from_us - AROUND_US <= at_us <= until_us + TOGETHER_US]  # fmt: skip
    marks = [*causes.MARKS]
    reasons = [reason for _, event in near if (reason := _why(event)) in causes.MARKS]
    best = min(reasons, key=marks.index, default=run.last.reason)
    about = [event for _, event in near if best and _same_cause(_why(event), best)]
    names = dict.fromkeys(name for event in about if event.kind != "process_crashed"
                          for name in (event.peer or event.name, *event.nodes) if name and name != run.node)
    events = tuple(dict.fromkeys((run.last, *about)))
    return ClusterEvent(kind="boot_failed", at_us=until_us, node=run.node, reason=best, name=", ".join(names) or None,
                     events=events)  # fmt: skip


def _why(event: Event) -> str | None:
    return "inconsistent_cluster" if event.kind == "boot_disagreed" else event.reason


def _same_cause(one: str | None, other: str) -> bool:
    return one == other or (one in causes.MARKS and causes.MARKS.get(other) == causes.MARKS[one or ""])


def clusters_apart(
    alone: Iterable[Timed], joined: Iterable[Timed], failed: Sequence[NodeRun]
) -> Iterator[ClusterEvent]:
    """Yield nodes that formed a cluster of their own.

    `joined` are messages about nodes that later joined another one.
    """
    last = {event.node: (at_us, event) for at_us, event in alone}
    for at_us, event in joined:
        for node in (event.node, event.peer):
            if node in last and last[node][0] <= at_us:
                del last[node]
    for run in failed:
        if run.node in last and run.from_us <= last[run.node][0] <= (run.until_us or 0):
            del last[run.node]
    if len(last) > 1:
        booted = sorted(last.values(), key=lambda one: one[0])
        yield ClusterEvent(kind="clusters_apart", at_us=booted[1][0], nodes=tuple(event.node for _, event in booted),
                        count=len(booted), events=tuple(event for _, event in booted))  # fmt: skip


def faults(logged: Iterable[Timed], restarted: Sequence[Timed], failed: Sequence[NodeRun]) -> Iterator[ClusterEvent]:
    """Yield the faults that single messages report, in order of time.

    `restarted` are messages about classic queues that RabbitMQ restarted or a mirror took over, which are reported and
    played separately; crashes within a failed boot belong to that boot.
    """
    open_: list[ClusterEvent] = []
    for at_us, event in logged:
        one = _fault(at_us, event)
        if one is None or _is_of_a_boot(one, failed) or _is_restarted(one, restarted):
            continue
        place = next((place for place, other in enumerate(open_) if _is_one(other, one)), None)
        if place is None:
            yield from (other for other in open_ if at_us - _last_us(other) > TOGETHER_US)
            open_ = [other for other in open_ if at_us - _last_us(other) <= TOGETHER_US]
            open_.append(one)
        else:
            open_[place] = _both(open_[place], one)
    yield from open_


def _fault(at_us: int, event: Event) -> ClusterEvent | None:
    """Return the fault in one message; None if the message only reports a consequence."""
    kind, node, name, count, queue = event.kind, event.node, event.name, None, queue_of(event)
    if kind in ("stream_reader_ended", "child_ended", "application_ended") and _on_purpose(event.reason):
        return None
    if kind in ("boot_error", "formed_alone") and event.level not in SEVERE:
        return None
    if kind == "stream_reader_ended":
        kind = "stream_failed"
    elif kind in ("stream_failed", "coordinator_failed"):
        kind, node = _lacking(event.reason) or kind, event.peer or node
    elif kind in ("process_crashed", "child_ended"):
        kind = _crash(event)
    elif kind in ("cookie_refused", "queue_unavailable"):
        name = event.peer
    elif kind in ("operation_timed_out", "operation_failed"):
        name, count = None, 1
    elif kind == "vhost_down":
        name = event.vhost
    elif kind == "queue_refused":
        kind, name, queue = "queue_unavailable", None, join_queue(event.vhost or "/", event.name or "")
    elif kind == "formed_alone":
        kind = "discovery_failed"
    return ClusterEvent(kind=kind, at_us=at_us, node=node, queue=queue, name=name, reason=event.reason,
                     nodes=event.nodes, count=count, events=(event,))  # fmt: skip


def _lacking(reason: str | None) -> str | None:
    """Return the kind of fault if a reason says that the disk is full or no more files can be opened."""
    marks = (mark for mark, cause in causes.MARKS.items() if cause in LACKING and mark in (reason or ""))
    return next((LACKING[causes.MARKS[mark]] for mark in marks), None)


def _on_purpose(reason: str | None) -> bool:
    return reason is not None and reason.startswith(ON_PURPOSE)


def _crash(event: Event) -> str:
    """Return the kind of a process crash, by its reason, its queue or its name."""
    if event.reason in causes.MARKS and causes.MARKS[event.reason] == causes.DAMAGE:
        return "data_corrupt"
    if (lacks := _lacking(event.reason)) is not None:
        return lacks
    if event.queue:
        return "queue_crashed"
    named = event.name or ""
    if (kind := next((kind for part, kind in PROCESSES if part in named), None)) is not None:
        return kind
    timed_out = event.reason in causes.MARKS and causes.MARKS[event.reason] == causes.TIMEOUT
    return "operation_timed_out" if timed_out and "rabbit_channel" in named else "process_crashed"


def _is_of_a_boot(one: ClusterEvent, failed: Sequence[NodeRun]) -> bool:
    return one.kind in CRASHES | {"application_ended", "boot_error", "erlang_ended"} and any(
        run.node == one.node and run.from_us - AROUND_US <= one.at_us <= (run.until_us or 0) + TOGETHER_US
        for run in failed
    )


def _is_restarted(one: ClusterEvent, restarted: Sequence[Timed]) -> bool:
    """Return True if RabbitMQ has restarted the crashed queue, or a mirror has taken over."""
    return one.kind in ("queue_crashed", "process_crashed") and any(
        abs(at_us - one.at_us) <= TOGETHER_US and (one.queue or queue_of(event)) == queue_of(event)
        and (event.kind == "mirror_promoted" or event.node == one.node) for at_us, event in restarted
    )  # fmt: skip


def _last_us(one: ClusterEvent) -> int:
    return one.until_us or one.at_us


def _is_one(one: ClusterEvent, other: ClusterEvent) -> bool:
    """Return True if two messages are about one fault: of one kind and object, or reports of one crash."""
    if one.node != other.node or other.at_us - _last_us(one) > TOGETHER_US:
        return False
    if one.kind == other.kind:
        return None in (one.queue, other.queue) or one.queue == other.queue if one.queue or other.queue \
            else one.name == other.name or one.kind in CRASHES  # fmt: skip
    return {one.kind, other.kind} <= CRASHES and (None in (one.queue, other.queue) or one.queue == other.queue)


def _both(one: ClusterEvent, other: ClusterEvent) -> ClusterEvent:
    """Return two messages about one fault as one, of the more severe kind and with the facts of both."""
    kinds = ("data_corrupt", "disk_full", "files_exhausted", "store_crashed", "coordinator_failed", "stream_failed",
             "queue_crashed")  # fmt: skip
    kind = next((kind for kind in kinds if kind in (one.kind, other.kind)), one.kind)
    ordered = [each for each in (one, other) if each.kind == kind] + [one, other]
    return replace(
        one, kind=kind, until_us=other.at_us, queue=one.queue or other.queue,
        name=next((each.name for each in ordered if each.name), None),
        reason=next((each.reason for each in (*ordered, one) if each.reason in causes.MARKS), None)
        or next((each.reason for each in ordered if each.reason), None),
        count=None if one.count is None else one.count + (other.count or 0), events=(*one.events, *other.events),
    )  # fmt: skip
