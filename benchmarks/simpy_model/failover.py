"""Failover of the queue: which mirror is promoted, with which messages, and which node is waited for.

Rules are those of `hawb.rules.promotion` with ha-promote-on-failure always and ha-promote-on-shutdown when-synced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hawb.rules.promotion import NO_NODE, WHEN_SYNCED, candidate, takes_mirrors_down

if TYPE_CHECKING:
    from benchmarks.simpy_model.queue import Queue


def lose_master_at(queue: Queue, node: int) -> None:
    """Kill a node, and the queue's master if it is there."""
    if queue.up and queue.master == node:
        end_master(queue, stopped=False)


def shut_master_down_at(queue: Queue, node: int) -> None:
    """Shut a node down. A master there stops its mirrors if none is synchronised."""
    if queue.up and queue.master == node:
        end_master(queue, stopped=True)
        if queue.living() and takes_mirrors_down(len(queue.synchronised), WHEN_SYNCED):
            queue.drop(set(queue.mirrors))
            await_master(queue)


def end_master(queue: Queue, stopped: bool) -> None:
    """End the master's process, and a synchronisation with it."""
    queue.up, queue.stopped = False, stopped
    queue.outages += 1
    queue.down.starts(queue.env.now)
    if queue.syncing:
        queue.abort_sync()


def remove_from_queue(queue: Queue) -> None:
    """Handle dead nodes on the survivors. While they believe that the master runs they leave everything to it."""
    cluster, alive = queue.cluster, queue.living() | ({queue.master} if queue.up else set())
    if not queue.awaits_master and cluster.is_unmissed(queue.master):
        gone = {queue.master, *queue.mirrors} - alive
        queue.trial.confirms.forget({node for node in gone if not cluster.is_unmissed(node)})
        return
    dead = set(queue.mirrors) - alive
    chosen = candidate(queue.master, queue.mirrors, sorted(alive))
    if chosen == queue.master or (queue.awaits_master and not dead and not queue.dead_gm_members):
        remove_dead_mirrors(queue, dead)
    elif chosen == NO_NODE:
        leave_dead_in_group(queue, dead)
    else:
        promote(queue, chosen)


def remove_dead_mirrors(queue: Queue, dead: set[int]) -> None:
    """Remove dead mirrors from the record and start others."""
    if not dead:
        return
    queue.drop(dead)
    if queue.awaits_master:
        if not queue.living():
            queue.mailbox.drop_publishes()
        return
    if queue.syncing:
        queue.leave_sync(dead)
    queue.add_mirrors()
    queue.mailbox.release()
    queue.trial.after(0, queue.synchronise)


def leave_dead_in_group(queue: Queue, dead: set[int]) -> None:
    """Keep dead mirrors on the record, unless the master was shut down with its group."""
    first = not queue.awaits_master
    taken_along = queue.stopped and takes_mirrors_down(len(queue.synchronised), WHEN_SYNCED)
    if first:
        queue.dead_gm_members = {queue.master: False}
    queue.dead_gm_members |= {node: node in queue.synchronised for node in dead}
    if first and taken_along:
        queue.dead_gm_members = {}
    if first:
        await_master(queue)
    remove_dead_mirrors(queue, dead)


def promote(queue: Queue, promoted: int) -> None:
    """Promote the oldest mirror with its messages. Messages that only the old master had are lost."""
    trial = queue.trial
    goes_on = trial.consumer.detach()
    queue.promotions += 1
    queue.unsynchronised_promotions += promoted not in queue.synchronised
    keep = queue.living() - {promoted}
    gone = {queue.master, *queue.mirrors} - keep
    inherit(queue, promoted, keep)
    queue.strike(gone)
    trial.confirms.forget(gone - {promoted})
    if goes_on:
        trial.consumer.subscribed = True
    queue.mailbox.keep(lost=False)
    queue.depth_unknown.clear()
    serve_at(queue, promoted)
    queue.synchronise_drained()
    queue.goes_on()


def inherit(queue: Queue, promoted: int, keep: set[int]) -> None:
    """Make the promoted mirror's copy the queue's. Other mirrors keep what they have of it."""
    since = queue.since[promoted]
    queue.lose(queue.up_to(since))
    for node in keep:
        queue.since[node] = 0 if node in queue.synchronised else max(queue.since[node], since)


def serve_at(queue: Queue, master: int) -> None:
    """Serve the queue from this node."""
    queue.master, queue.up, queue.awaits_master, queue.absent = master, True, False, False
    queue.dead_gm_members = {}
    queue.down.stops(queue.env.now)


def await_master(queue: Queue) -> None:
    """Wait for the master's node, with the messages on its disk."""
    trial = queue.trial
    trial.confirms.forget({queue.master, *queue.mirrors})
    goes_on = trial.consumer.detach()
    queue.synchronised = set()
    queue.mailbox.keep(lost=True)
    queue.awaits_master, queue.absent = True, False
    queue.mailbox.release()
    if goes_on:
        trial.after(0, trial.consumer.resume, trial.consumer.resumes())


def come_back(queue: Queue, node: int, alone: bool) -> None:
    """Handle a restarted node: the master serves from its disk, another node joins as an empty mirror."""
    if alone and queue.master != node:
        queue.dead_gm_members, queue.absent = {}, True
        queue.strike(queue.mirrors)
    if queue.absent and queue.master != node:
        return
    queue.strike([node])
    if queue.master != node:
        queue.start_mirror(node)
    elif not queue.up:
        recover(queue)


def recover(queue: Queue) -> None:
    """Restart the master from its disk if no mirror was promoted. Its mirrors join again."""
    queue.drop(set(queue.mirrors))
    queue.mailbox.drop_publishes()
    serve_at(queue, queue.master)
    queue.add_mirrors()
    queue.goes_on()
