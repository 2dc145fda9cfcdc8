"""Replicas of classic queues while their queue lives: which there should be, how they join, catch up and leave.

Source: `rabbit_mirror_queue_misc`, `rabbit_mirror_queue_slave`. Which replicas policy asks for is decided in
`hawb.rules.selection`; what happens when a replica dies is in `failover`.
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine import bookkeeping, chance, confirms, consuming, limits, metadata, places
from hawb.engine.access import is_replicated, release
from hawb.engine.events import (
    AutomaticSync,
    MirrorJoins,
    PolicyTakesEffect,
    ReplicaGone,
    SyncFinished,
    SyncPauses,
    SyncTooSlow,
)
from hawb.engine.runs import EMPTY, Runs
from hawb.engine.state import NOWHERE, Queue
from hawb.engine.turn import Turn
from hawb.rules import promotion, selection
from hawb.rules.policies import HaMode, Mirroring


def wanted(turn: Turn, queue: Queue, available: list[int]) -> list[int]:
    """The replicas that the queue's policy asks for among `available` nodes, the wanted master first."""
    mirroring = queue.mirroring
    if not is_replicated(queue):
        return [queue.master]
    free = tuple(node for node in available if node != queue.master and node not in queue.mirrors)
    return selection.wanted_replicas(
        int(mirroring.mode),
        mirroring.count,
        listed(turn, mirroring),
        queue.master,
        queue.mirrors,
        queue.synchronised,
        available,
        shuffled(turn, free) if mirroring.mode == HaMode.EXACTLY else free,
    )


def listed(turn: Turn, mirroring: Mirroring) -> list[int]:
    """The policy's nodes that this cluster knows, in the policy's order."""
    return [turn.settings.node(name) for name in mirroring.nodes if name in turn.settings.names]


def shuffled(turn: Turn, nodes: tuple[int, ...]) -> tuple[int, ...]:
    """`nodes` in random order."""
    return chance.shuffled(nodes, turn.settings.seed, chance.SHUFFLE_MIRRORS, turn.next_number(), 0)


# Joining


def add_mirrors(
    turn: Turn, name: str, because: int | None = None, *, returning: bool = False, recorded: tuple[int, ...] = (),
    spared: int | None = None,
) -> None:  # fmt: skip
    """Starts the mirrors that policy asks for and that are missing; each joins after a link latency. A node where the
    queue's process has just crashed gets no other in its place, nor does the one that is `spared`. `returning` says
    that a node boots meanwhile, and `recorded` are the mirrors that the record names where dead ones are among them."""
    queue = turn.queues[name]
    available = [node for node in turn.running() if node not in queue.crashed and node != spared]
    known = replace(queue, mirrors=recorded) if recorded else queue
    for node in wanted(turn, known, available):
        if node not in queue.replicas and node != queue.master:
            event = MirrorJoins(name, node, returning, node in recorded)
            turn.schedule(turn.link_us(queue.master, node), event, because)


def note_silent(turn: Turn, name: str) -> None:
    """Remembers from which message on a mirror that the master does not reach misses what the master gets."""
    queue = turn.queues[name]
    known = {node for node, _ in queue.lagging}
    cut_off = [node for node in queue.mirrors if node not in known and not turn.linked(queue.master, node)]
    if cut_off:
        since = turn.numbers.get(name, 0) + 1
        turn.change_queue(name, lagging=(*queue.lagging, *((node, since) for node in cut_off)))


def finish_late_sync(turn: Turn, name: str) -> None:
    """A synchronisation that waited for a mirror which did not answer ends now, if all the rest of it is done."""
    queue = turn.queues[name]
    sync = queue.sync
    if sync is None or sync.held_us is not None or sync.began_us + sync.effort.duration_us > turn.now_us:
        return
    turn.schedule(0, SyncFinished(name, sync.number))


def join(turn: Turn, event: MirrorJoins) -> None:
    """A mirror joins, empty whatever it held before, and is synchronised at once if the queue is empty. It does not
    where a master has gone that nobody has missed: whoever is master next looks who is wanted, and a node that has come
    up waits until then. A mirror that finds dead replicas in the record acts on their deaths
    (`rabbit_mirror_queue_slave:handle_go`)."""
    queue = turn.queues.get(event.queue)
    if queue is None or not is_replicated(queue) or event.node in queue.replicas or not turn.is_running(event.node):
        return
    undecided = not queue.up and not queue.abandoned
    if undecided and event.returning:
        metadata.stall(turn, event)
    if undecided or (queue.up and not turn.linked(queue.master, event.node)):
        return
    known = sorted({*queue.replicas, queue.master, event.node})
    if not event.recorded and event.node not in wanted(turn, queue, known):
        return
    enlist(turn, event.queue, event.node)
    if turn.queues[event.queue].unburied:
        turn.schedule(0, ReplicaGone(event.queue))
    synchronise_drained(turn, event.queue, "joined")
    if event.returning and event.node not in turn.queues[event.queue].synchronised:
        strike_recoverable(turn, event.queue)
    turn.schedule(0, AutomaticSync(event.queue))


def strike_recoverable(turn: Turn, name: str) -> None:
    """Just after a node's mirrors have joined it and the other running nodes tell each other that they are up: a mirror
    on any of them that is not synchronised by then counts as not recoverable, until the queue's mirrors change again
    (`rabbit_amqqueue:maybe_clear_recoverable_node`, `rabbit_node_monitor:notify_node_up`)."""
    queue = turn.queues[name]
    left = tuple(node for node in queue.recoverable if node in queue.synchronised or not turn.is_running(node))
    turn.change_queue(name, recoverable=left)


def enlist(turn: Turn, name: str, node: int) -> None:
    """Adds an empty mirror at the end of the record's list."""
    queue = turn.queues[name]
    mirrors = (*(mirror for mirror in queue.mirrors if mirror != node), node)
    turn.change_queue(
        name,
        mirrors=mirrors,
        recoverable=recoverable(turn, queue.recoverable, on_record(queue, mirrors)),
        lagging=tuple(pair for pair in queue.lagging if pair[0] != node),
        contents=with_content(queue.contents, {node: EMPTY}),
        depth_unknown=frozenset(),
        unburied=tuple(pair for pair in queue.unburied if pair[0] != node),
        crashed=queue.crashed - {node},
        overcounted=tuple(pair for pair in queue.overcounted if pair[0] != node),
    )
    places.join(turn, name, node)
    note_silent(turn, name)
    turn.emit("mirror_added", node=node, queue=name, synchronised=queue.up and not queue.content)


def with_content(contents: tuple[Runs | None, ...], changed: dict[int, Runs | None]) -> tuple[Runs | None, ...]:
    """`contents` with those of some nodes replaced."""
    return tuple(changed.get(node, content) for node, content in enumerate(contents))


def recoverable(turn: Turn, had: tuple[int, ...], mirrors: tuple[int, ...]) -> tuple[int, ...]:
    """The record's list of mirrors that could be recovered offline."""
    return tuple(promotion.recoverable_mirrors(had, mirrors, turn.running()))


def on_record(queue: Queue, mirrors: tuple[int, ...]) -> tuple[int, ...]:
    """`mirrors` as the record has them, which names one that refused to take over as well."""
    return mirrors if queue.hollow == NOWHERE else (queue.hollow, *(node for node in mirrors if node != queue.hollow))


def synchronise_drained(turn: Turn, name: str, how: str) -> None:
    """Marks the mirrors that hold all that the master holds. A mirror that becomes synchronised goes to the head of the
    list. Under ha-mode nodes this is when a master that is not listed may leave."""
    queue = turn.queues[name]
    if not queue.up or queue.sync is not None:
        return
    complete = [
        node
        for node in queue.mirrors
        if node not in queue.synchronised
        and node not in queue.depth_unknown
        and turn.is_running(node)
        and turn.linked(queue.master, node)
        and queue.contents[node] == queue.content
    ]
    if not complete:
        return
    for node in complete:
        turn.emit("mirror_synchronised", node=node, queue=name, how=how)
    turn.change_queue(
        name,
        synchronised=(*reversed(complete), *queue.synchronised),
        recoverable=recoverable(turn, queue.recoverable, queue.mirrors),
    )
    leave_if_unlisted(turn, name)


def leave_if_unlisted(turn: Turn, name: str) -> None:
    """Drops a master that ha-mode nodes does not list, once a mirror is synchronised
    (`rabbit_mirror_queue_misc:maybe_drop_master_after_sync`)."""
    queue = turn.queues[name]
    by_list = is_replicated(queue) and queue.mirroring.mode == HaMode.NODES
    if by_list and wanted(turn, queue, turn.running())[0] != queue.master:
        drop_master(turn, name)


# Leaving


def drop_master(turn: Turn, name: str, reason: str = "policy") -> None:
    """The master is taken away: its copy is deleted and the rest is a failover like any other."""
    queue = turn.queues[name]
    entry = turn.emit("master_down", node=queue.master, queue=name, reason=reason)
    end_master(turn, name, stopped=False)
    turn.schedule(0, ReplicaGone(name), entry)


def drop_mirrors(turn: Turn, name: str, nodes: list[int], reason: str) -> None:
    """Mirrors leave and delete their copies."""
    queue = turn.queues[name]
    for node in nodes:
        turn.emit("mirror_removed", node=node, queue=name, reason=reason)
    mirrors = tuple(node for node in queue.mirrors if node not in nodes)
    turn.change_queue(
        name,
        mirrors=mirrors,
        synchronised=tuple(node for node in queue.synchronised if node not in nodes),
        recoverable=recoverable(turn, queue.recoverable, mirrors),
        contents=with_content(queue.contents, dict.fromkeys(nodes)),
    )
    confirms.forget_replicas(turn, name, nodes)


def end_master(turn: Turn, name: str, *, stopped: bool) -> None:
    """The master's process ends. Nobody knows yet what becomes of the queue; a synchronisation ends with it, and the
    mirrors that took part are left empty."""
    queue = turn.change_queue(name, up=False, stopped=stopped)
    if queue.sync is not None:
        abort_sync(turn, name, "master_down")
    bookkeeping.count_times(turn, name)


def unplan_sync(turn: Turn, queue: Queue) -> None:
    """Takes what a synchronisation would have come to off the agenda."""
    for event in (SyncFinished, SyncPauses, SyncTooSlow):
        turn.unschedule(event(queue.name, queue.sync.number))


def abort_sync(turn: Turn, name: str, reason: str) -> None:
    """Ends a synchronisation early: the mirrors purge what they received, and what they had before is gone too. They
    lost count of the master's depth (`rabbit_mirror_queue_sync:slave`). Cancelled, it is not tried again by itself."""
    queue = turn.queues[name]
    unplan_sync(turn, queue)
    turn.emit("sync_ended", queue=name, reason=reason)
    left = [node for node in queue.sync.mirrors if node in queue.mirrors]
    turn.change_queue(
        name,
        sync=None,
        contents=with_content(queue.contents, dict.fromkeys(left, EMPTY)),
        depth_unknown=queue.depth_unknown | frozenset(left),
    )
    bookkeeping.count_times(turn, name)
    if queue.up:
        turn.schedule(0, PolicyTakesEffect(name, synchronise=reason != "cancelled"))
        release(turn, name)
        limits.drop_excess(turn, name)
        consuming.deliver(turn, name)
