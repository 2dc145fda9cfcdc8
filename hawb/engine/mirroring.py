"""Replicas of classic queues: which there should be, how they join, die and take over.

Source: `rabbit_mirror_queue_misc`, `rabbit_mirror_queue_slave`, `rabbit_mirror_queue_coordinator`, `gm`. The decisions
themselves stand in `hawb.rules.selection` and `hawb.rules.promotion`; this module carries them out.

Surviving replicas act on one view of who is dead: gm tells each of them only after it has received all that the dead
had broadcast, so a promoted mirror never misses what another survivor saw. Here that is one event for each queue.
"""

from __future__ import annotations

from collections.abc import Iterable

from hawb.engine import chance, confirms, consuming, runs
from hawb.engine.access import is_replicated, release
from hawb.engine.events import AutomaticSync, MirrorJoins, ReplicaGone
from hawb.engine.ledger import Account
from hawb.engine.runs import EMPTY, Runs
from hawb.engine.state import Batch, Queue
from hawb.engine.turn import Turn
from hawb.rules import promotion, selection
from hawb.rules.policies import HaMode, Mirroring, Promote, SyncMode


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


def add_mirrors(turn: Turn, name: str, because: int | None = None) -> None:
    """Starts the mirrors that policy asks for and that are missing; each joins after a link latency."""
    queue = turn.queues[name]
    for node in wanted(turn, queue, turn.running()):
        if node not in queue.replicas and node != queue.master:
            turn.schedule(turn.link_us(queue.master, node), MirrorJoins(name, node), because)


def join(turn: Turn, event: MirrorJoins) -> None:
    """A mirror joins, empty whatever it held before, and is synchronised at once if the queue is empty."""
    queue = turn.queues.get(event.queue)
    if queue is None or not is_replicated(queue) or event.node in queue.replicas or not turn.is_running(event.node):
        return
    if event.node not in wanted(turn, queue, sorted({*queue.replicas, queue.master, event.node})):
        return
    enlist(turn, event.queue, event.node)
    synchronise_drained(turn, event.queue, "joined")
    turn.schedule(0, AutomaticSync(event.queue))


def enlist(turn: Turn, name: str, node: int) -> None:
    """Adds an empty mirror at the end of the record's list."""
    queue = turn.queues[name]
    mirrors = (*(mirror for mirror in queue.mirrors if mirror != node), node)
    turn.change_queue(
        name,
        mirrors=mirrors,
        recoverable=recoverable(turn, queue.recoverable, mirrors),
        contents=with_content(queue.contents, {node: EMPTY}),
        depth_unknown=frozenset(),
        mirrored=True,
    )
    turn.emit("mirror_added", node=node, queue=name, synchronised=queue.up and not queue.content)


def with_content(contents: tuple[Runs | None, ...], changed: dict[int, Runs | None]) -> tuple[Runs | None, ...]:
    """`contents` with those of some nodes replaced."""
    return tuple(changed.get(node, content) for node, content in enumerate(contents))


def recoverable(turn: Turn, had: tuple[int, ...], mirrors: tuple[int, ...]) -> tuple[int, ...]:
    """The record's list of mirrors that could be recovered offline."""
    return tuple(promotion.recoverable_mirrors(had, mirrors, turn.running()))


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
        and queue.contents[node] == queue.content
    ]
    if not complete:
        return
    for node in complete:
        turn.emit("mirror_synchronised", node=node, queue=name, how=how)
    turn.change_queue(name, synchronised=(*reversed(complete), *queue.synchronised))
    leave_if_unlisted(turn, name)


def leave_if_unlisted(turn: Turn, name: str) -> None:
    """Drops a master that ha-mode nodes does not list, once a mirror is synchronised
    (`rabbit_mirror_queue_misc:maybe_drop_master_after_sync`)."""
    queue = turn.queues[name]
    by_list = is_replicated(queue) and queue.mirroring.mode == HaMode.NODES
    if by_list and wanted(turn, queue, turn.running())[0] != queue.master:
        drop_master(turn, name)


# Leaving


def drop_master(turn: Turn, name: str) -> None:
    """Policy takes the master away: its copy is deleted and the rest is a failover like any other."""
    queue = turn.queues[name]
    entry = turn.emit("master_down", node=queue.master, queue=name, reason="policy")
    end_master(turn, name, stopped=False)
    turn.schedule(turn.settings.timing.link_latency_us, ReplicaGone(name), entry)


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
    queue = turn.queues[name]
    if queue.sync is not None:
        abort_sync(turn, name, "master_down")
    turn.change_queue(name, up=False, stopped=stopped)
    account = turn.account(name)
    turn.book(name, down=account.down.begin(turn.now_us))


def abort_sync(turn: Turn, name: str, reason: str) -> None:
    """Ends a synchronisation early: the mirrors purge what they received, and what they had before is gone too. They
    lost count of the master's depth (`rabbit_mirror_queue_sync:slave`)."""
    queue = turn.queues[name]
    turn.emit("sync_ended", queue=name, reason=reason)
    turn.book(name, syncing=turn.account(name).syncing.end(turn.now_us))
    left = [node for node in queue.sync.mirrors if node in queue.mirrors]
    turn.change_queue(
        name,
        sync=None,
        contents=with_content(queue.contents, dict.fromkeys(left, EMPTY)),
        depth_unknown=queue.depth_unknown | frozenset(left),
    )
    release(turn, name)


def replicas_gone(turn: Turn, event: ReplicaGone) -> None:
    """A master's process ended while its node runs."""
    if event.queue in turn.queues:
        bury(turn, event.queue)


def bury(turn: Turn, name: str) -> None:
    """The survivors of a queue act on the deaths of the others (`rabbit_mirror_queue_misc:remove_from_queue`)."""
    queue = turn.queues[name]
    alive = [node for node in (queue.master, *queue.mirrors) if turn.alive(queue, node)]
    dead = [node for node in queue.mirrors if node not in alive]
    heir = promotion.candidate(queue.master, queue.mirrors, alive)
    if queue.abandoned or heir == queue.master:
        bury_mirrors(turn, name, dead)
    elif heir == promotion.NOBODY:
        abandon(turn, name, "no_mirror")
    elif promotion.refuses_on_failure(len(queue.synchronised), int(promote_on_failure(queue))):
        refuse_promotion(turn, name, alive)
    else:
        promote(turn, name, heir)


def promote_on_failure(queue: Queue) -> Promote:
    """ha-promote-on-failure of the policy in force; without one a mirror that is left over takes over."""
    return queue.mirroring.promote_on_failure if is_replicated(queue) else Promote.ALWAYS


def bury_mirrors(turn: Turn, name: str, dead: list[int]) -> None:
    """Mirrors that died are struck out and, under ha-mode exactly, others started."""
    if not dead:
        return
    queue = turn.queues[name]
    for node in dead:
        turn.emit("mirror_removed", node=node, queue=name, reason="node_down")
    mirrors = tuple(node for node in queue.mirrors if node not in dead)
    turn.change_queue(
        name,
        mirrors=mirrors,
        synchronised=tuple(node for node in queue.synchronised if node not in dead),
        recoverable=recoverable(turn, queue.recoverable, mirrors),
        contents=with_content(queue.contents, on_disks(turn, queue, dead)),
    )
    confirms.forget_replicas(turn, name, dead)
    if queue.abandoned:
        return
    if queue.sync is not None:
        leave_sync(turn, name, dead)
    add_mirrors(turn, name)
    turn.schedule(0, AutomaticSync(name))


def leave_sync(turn: Turn, name: str, dead: list[int]) -> None:
    """Mirrors that died leave a synchronisation; the others go on, and without others it ends."""
    sync = turn.queues[name].sync
    left = tuple(node for node in sync.mirrors if node not in dead)
    if left:
        turn.change_queue(name, sync=type(sync)(left, sync.began_us, sync.number))
    else:
        abort_sync(turn, name, "mirrors_gone")


def refuse_promotion(turn: Turn, name: str, survivors: list[int]) -> None:
    """Each mirror in turn deletes its copy instead of taking over; the queue waits for its master's node."""
    queue = turn.queues[name]
    for node in survivors:
        turn.emit("promotion_refused", node=node, queue=name)
    turn.change_queue(
        name, mirrors=(), synchronised=(), contents=with_content(queue.contents, dict.fromkeys(survivors))
    )
    abandon(turn, name, "promotion_refused")


def promote(turn: Turn, name: str, heir: int) -> None:
    """The oldest mirror becomes master with what it holds; what only the old master held is lost, since a replica that
    comes back is wiped."""
    queue = turn.queues[name]
    content = queue.contents[heir] or EMPTY
    missing = runs.minus(queue.content, content)
    was_synchronised = heir in queue.synchronised
    mirrors = tuple(node for node in queue.mirrors if node != heir and turn.alive(queue, node))
    gone = [node for node in (queue.master, *queue.mirrors) if node != heir and node not in mirrors]
    entry = turn.emit(
        "promoted", node=heir, queue=name, synchronised=was_synchronised, was=turn.settings.names[queue.master],
        messages=runs.size(content), missing=runs.size(missing),
    )  # fmt: skip
    held = {node: runs.common(queue.contents[node] or EMPTY, content) for node in mirrors}
    turn.change_queue(
        name,
        master=heir,
        mirrors=mirrors,
        synchronised=tuple(node for node in queue.synchronised if node in mirrors),
        recoverable=recoverable(turn, queue.recoverable, mirrors),
        contents=with_content(queue.contents, held | on_disks(turn, queue, gone)),
        depth_unknown=frozenset(),
        up=True,
        redelivered=content,
        unacknowledged=EMPTY,
    )
    turn.lose(name, missing, "unsynchronised_promotion", because=entry)
    note_promotion(turn, name, synchronised=was_synchronised)
    turn.because = entry
    confirms.forget_replicas(turn, name, gone)
    consuming.follow_new_master(turn, name)
    synchronise_drained(turn, name, "promotion")
    add_mirrors(turn, name)
    turn.schedule(0, AutomaticSync(name))
    release(turn, name)
    consuming.deliver(turn, name)


def note_promotion(turn: Turn, name: str, *, synchronised: bool) -> None:
    """Counts a promotion and ends the outage before it."""
    account: Account = turn.account(name)
    turn.book(
        name,
        promotions=account.promotions + 1,
        unsynchronised_promotions=account.unsynchronised_promotions + (not synchronised),
        down=account.down.end(turn.now_us),
    )


# Down, and back


def on_disks(turn: Turn, queue: Queue, nodes: Iterable[int]) -> dict[int, Runs | None]:
    """What the replicas at `nodes`, which are gone, would find on their disks: persistent messages of a durable queue,
    and nothing where the copy was deleted because the node still runs."""
    kept = persistent(queue.batches)
    return {
        node: None
        if queue.contents[node] is None or not queue.durable or turn.is_running(node)
        else runs.common(queue.contents[node], kept)
        for node in nodes
    }


def persistent(batches: tuple[Batch, ...]) -> Runs:
    """The numbers of persistent messages."""
    return runs.normal((batch.first, batch.last) for batch in batches if batch.persistent)


def abandon(turn: Turn, name: str, reason: str) -> None:
    """No replica may serve the queue. It waits for its master's node with what is on that node's disk, or, if it is not
    durable, is gone. Mirrors that join meanwhile never take over: for them the master did not die, it was never
    there."""
    queue = turn.queues[name]
    entry = turn.emit("queue_down", node=queue.master, queue=name, reason=reason)
    confirms.forget_replicas(turn, name, [queue.master, *queue.mirrors])
    if not queue.durable:
        turn.lose(name, queue.content, "exclusive_queue" if queue.owner else "transient_queue", because=entry)
        remove_queue(turn, name, "node_down")
        return
    kept = runs.common(queue.content, persistent(queue.batches))
    turn.lose(name, runs.minus(queue.content, kept), "transient_message", because=entry)
    delivered = runs.union(queue.redelivered, queue.unacknowledged)
    turn.change_queue(
        name,
        synchronised=(),
        contents=with_content(queue.contents, on_disks(turn, queue, queue.mirrors) | {queue.master: kept}),
        redelivered=runs.common(delivered, kept) if queue.stopped else kept,
        unacknowledged=EMPTY,
        abandoned=True,
    )
    turn.because = entry
    consuming.lose_master(turn, name)


def recover(turn: Turn, name: str) -> None:
    """The master's node is back and nobody took over meanwhile: the queue is served from its disk, and the mirrors that
    policy asks for join empty."""
    queue = turn.change_queue(name, up=True, abandoned=False)
    turn.emit("queue_recovered", node=queue.master, queue=name, messages=runs.size(queue.content))
    turn.book(name, down=turn.account(name).down.end(turn.now_us))
    synchronise_drained(turn, name, "joined")
    add_mirrors(turn, name)
    release(turn, name)
    consuming.deliver(turn, name)


def remove_queue(turn: Turn, name: str, reason: str) -> None:
    """The queue is gone, with whatever it still held. Its consumers are told, and what waits for it is answered."""
    queue = turn.queues[name]
    lost = turn.account(name).lost
    left = runs.minus(queue.content, lost)
    entry = turn.emit("queue_deleted", queue=name, reason=reason, messages=runs.size(left))
    turn.remove(name, left, "deleted")
    del turn.queues[name]
    turn.because = entry
    turn.book(name, down=turn.account(name).down.end(turn.now_us), syncing=turn.account(name).syncing.end(turn.now_us))
    confirms.queue_deleted(turn, name)
    consuming.queue_deleted(turn, queue)
    for operation in queue.parked:
        turn.schedule(0, operation)


def needs_sync(queue: Queue) -> bool:
    """Whether ha-sync-mode automatic applies."""
    return is_replicated(queue) and queue.mirroring.sync_mode == SyncMode.AUTOMATIC
