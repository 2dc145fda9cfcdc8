"""Schedule, block and end the events of a synchronisation.

Source: `rabbit_mirror_queue_sync`. `hawb.engine.classic.synchronisation` says what it does to mirrors.
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine.classic.sync_effort import Effort
from hawb.engine.cluster import alarms
from hawb.engine.core import bookkeeping, runs
from hawb.engine.core.events import SyncFinished, SyncPauses, SyncTooSlow
from hawb.engine.core.settings import Settings
from hawb.engine.core.state import Queue, Sync
from hawb.engine.core.turn import Turn


def start(turn: Turn, queue: Queue, invited: list[int]) -> None:
    """Start a synchronisation of the `invited` mirrors."""
    effort = effort_of(turn.settings, queue)
    queue.sync = Sync(tuple(invited), effort, turn.now_us, turn.next_number())
    bookkeeping.count_times(turn, queue.name)
    turn.because = turn.emit(
        "sync_started", node=queue.master, queue=queue.name, mirrors=turn.settings.named(invited),
        messages=effort.messages, batches=effort.batches, expected_s=effort.duration_us / 1_000_000,
    )  # fmt: skip
    if alarms.holds_synchronisation(turn, queue.master):
        hold(turn, queue)
    else:
        plan(turn, queue)


def effort_of(settings: Settings, queue: Queue) -> Effort:
    """Return the effort of synchronising a queue's mirrors."""
    timing, content = settings.timing, queue.content
    counts = ((runs.size(runs.common(content, ((batch.first, batch.last),))), batch) for batch in queue.batches)
    return Effort(
        pieces=tuple((count, batch.size_bytes) for count, batch in counts if count),
        batch_size=queue.mirroring.sync_batch_size or settings.sync_batch_size,
        link_latency_us=timing.link_latency_us,
        messages_per_s=timing.sync_messages_per_s,
        network_bytes_per_s=timing.network_bytes_per_s,
        most_bytes_per_s=settings.sync_max_bytes_per_s,
    )


def plan(turn: Turn, queue: Queue) -> None:
    """Schedule the end of a synchronisation, and the moment when one of its batches is too slow."""
    name, sync, ticktime_us = queue.name, queue.sync, turn.setup.ticktime_us
    turn.schedule(sync.began_us + sync.effort.duration_us - turn.now_us, SyncFinished(name, sync.number))
    began_us = sync.effort.too_slow_us(ticktime_us)
    if began_us is not None and (too_late_us := sync.began_us + began_us + ticktime_us) > turn.now_us:
        turn.schedule(too_late_us - turn.now_us, SyncTooSlow(name, sync.number))


def unplan(turn: Turn, queue: Queue) -> None:
    """Take the events of a synchronisation off the agenda."""
    for event in (SyncFinished, SyncPauses, SyncTooSlow):
        turn.unschedule(event(queue.name, queue.sync.number))


def hold(turn: Turn, queue: Queue) -> None:
    """Block a synchronisation: nothing is sent from now on."""
    unplan(turn, queue)
    queue.sync = replace(queue.sync, held_us=turn.now_us)
    turn.emit("sync_held", node=queue.master, queue=queue.name)


def leave_out(queue: Queue, dead: int) -> None:
    """Remove dead mirrors, given as bits, from a synchronisation."""
    left = tuple(node for node in queue.sync.mirrors if not dead >> node & 1)
    queue.sync = replace(queue.sync, mirrors=left)
