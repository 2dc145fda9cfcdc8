"""A synchronisation that a memory alarm blocks, that is cancelled, or whose batches take longer than net_ticktime.

Source: `rabbit_mirror_queue_sync` (`syncer_check_resources`, `syncer_loop`, `wait_for_resources`). A memory alarm on
any node blocks it before the first batch and between batches, until no node has one; a disk alarm does not. The queue
stays blocked meanwhile, and a client may cancel the synchronisation. A blocked synchronisation learns that its last
mirror is gone only when it continues.
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine.classic import sync_course
from hawb.engine.classic.journal import CANCELLED, MIRRORS_GONE
from hawb.engine.classic.mirrors import abort_sync
from hawb.engine.cluster import alarms
from hawb.engine.core.events import SyncCancelled, SyncPauses, SyncTooSlow
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn


def too_slow(turn: Turn, event: SyncTooSlow) -> list[tuple[int, int]]:
    """Return the links that a batch keeps busy for so long that the nodes at their ends miss each other's ticks."""
    queue = turn.queues.get(event.queue)
    if queue is None or queue.sync is None or queue.sync.number != event.number:
        return []
    mirrors = queue.sync.mirrors
    turn.because = turn.emit("sync_too_slow", node=queue.master, queue=queue.name, mirrors=turn.settings.named(mirrors))
    return [(min(queue.master, mirror), max(queue.master, mirror)) for mirror in mirrors]


def apply_alarms(turn: Turn, node: int) -> None:
    """Block or continue the synchronisations of the masters on a node, as the alarms that it knows require."""
    cause = turn.because
    for name in turn.queue_names():
        turn.because = cause
        if turn.queues[name].sync is not None and turn.queues[name].master == node:
            hold_or_resume(turn, name)


def hold_or_resume(turn: Turn, name: str) -> None:
    """Block a synchronisation while there is a memory alarm, or continue it.

    The batch being sent ends first; with the last batch the synchronisation is over.
    """
    queue = turn.queues[name]
    sync, pause = queue.sync, SyncPauses(name, queue.sync.number)
    if not alarms.holds_synchronisation(turn, queue.master):
        turn.unschedule(pause)
        if sync.held_us is not None:
            go_on(turn, turn.own(name))
    elif sync.held_us is None:
        turn.unschedule(pause)
        left_us = sync.effort.end_of_batch_us(turn.now_us - sync.began_us) - (turn.now_us - sync.began_us)
        if left_us >= 0:
            turn.schedule(left_us, pause)


def pause(turn: Turn, event: SyncPauses) -> None:
    """Block a synchronisation between two batches."""
    queue = turn.queues.get(event.queue)
    if queue is not None and queue.sync is not None and queue.sync.number == event.number:
        sync_course.hold(turn, turn.own(event.queue))


def go_on(turn: Turn, queue: Queue) -> None:
    """Continue a blocked synchronisation for the time that was left."""
    if not queue.sync.mirrors:
        abort_sync(turn, queue, MIRRORS_GONE)
        return
    queue.sync = replace(queue.sync, began_us=queue.sync.began_us + turn.now_us - queue.sync.held_us, held_us=None)
    left_us = queue.sync.began_us + queue.sync.effort.duration_us - turn.now_us
    turn.because = turn.emit("sync_resumed", node=queue.master, queue=queue.name, expected_s=left_us / 1_000_000)
    sync_course.plan(turn, queue)


def cancel(turn: Turn, event: SyncCancelled) -> None:
    """Handle `rabbitmqctl cancel_sync_queue`, which does nothing without a synchronisation."""
    queue = turn.queues.get(event.queue)
    if queue is not None and queue.sync is not None:
        abort_sync(turn, turn.own(event.queue), CANCELLED)
