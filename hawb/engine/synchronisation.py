"""Explicit synchronisation: the master sends everything it has, in batches, and serves nobody meanwhile.

Source: `rabbit_mirror_queue_sync`, `rabbit_mirror_queue_master:sync_mirrors`. Mirrors that are synchronised decline;
the others purge what they hold and receive all of it. The slowest sets the pace. Ended early, they are left empty
(`mirroring.abort_sync`). How long it takes is in `sync_effort`.

A memory alarm anywhere holds it before the first batch and between batches, until none is left; a disk alarm does not
(`syncer_check_resources`, `syncer_loop`, `wait_for_resources`). The queue stays blocked meanwhile, and a client may
cancel. That the last mirror is gone a held synchronisation notices when it is held no longer.
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine import alarms, bookkeeping, limits, mirroring, places, runs
from hawb.engine.access import is_replicated, park, release
from hawb.engine.consuming import deliver
from hawb.engine.events import (
    AutomaticSync,
    DepthFell,
    ManualSync,
    PolicyTakesEffect,
    SyncCancelled,
    SyncFinished,
    SyncPauses,
    SyncTooSlow,
)
from hawb.engine.settings import Settings
from hawb.engine.state import Queue, Sync
from hawb.engine.sync_effort import Effort
from hawb.engine.turn import Turn
from hawb.rules.policies import SyncMode


def manual(turn: Turn, event: ManualSync) -> None:
    """rabbitmqctl sync_queue reaches the queue's master, which looks at it when it has nothing else to synchronise."""
    queue = turn.queues.get(event.queue)
    if queue is None or not queue.up or not is_replicated(queue):
        return
    if queue.sync is not None:
        park(turn, queue, event)
    elif not begin(turn, queue):
        turn.emit("sync_not_needed", queue=event.queue)


def automatic(turn: Turn, event: AutomaticSync) -> None:
    """A mirror came, a policy changed or a master did: ha-sync-mode automatic looks whether there is something to
    do."""
    queue = turn.queues.get(event.queue)
    if queue is not None and queue.up and queue.sync is None and needs_sync(queue):
        begin(turn, queue)


def begin(turn: Turn, queue: Queue) -> bool:
    """Begins a synchronisation; False when every mirror is synchronised already."""
    invited = tuple(node for node in queue.mirrors if node not in queue.synchronised and turn.is_running(node))
    if not invited:
        return False
    effort = effort_of(turn.settings, queue)
    sync = Sync(invited, effort, turn.now_us, turn.next_number())
    turn.change_queue(queue.name, sync=sync)
    bookkeeping.count_times(turn, queue.name)
    turn.because = turn.emit(
        "sync_started", node=queue.master, queue=queue.name, mirrors=turn.settings.named(invited),
        messages=effort.messages, batches=effort.batches, expected_s=effort.duration_us / 1_000_000,
    )  # fmt: skip
    if alarms.holds_synchronisation(turn, queue.master):
        hold(turn, queue.name)
    else:
        plan(turn, queue.name, sync)
    return True


def effort_of(settings: Settings, queue: Queue) -> Effort:
    """What there is to do."""
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


def plan(turn: Turn, name: str, sync: Sync) -> None:
    """When a synchronisation will have ended if nothing comes between, and when a batch of it is too slow."""
    turn.schedule(sync.began_us + sync.effort.duration_us - turn.now_us, SyncFinished(name, sync.number))
    ticktime_us = turn.setup.ticktime_us
    began_us = sync.effort.too_slow_us(ticktime_us)
    if began_us is not None and (too_late_us := sync.began_us + began_us + ticktime_us) > turn.now_us:
        turn.schedule(too_late_us - turn.now_us, SyncTooSlow(name, sync.number))


def too_slow(turn: Turn, event: SyncTooSlow) -> list[tuple[int, int]]:
    """A batch keeps links so long that the nodes at their ends hear no tick of each other. Returns these links."""
    queue = turn.queues.get(event.queue)
    if queue is None or queue.sync is None or queue.sync.number != event.number:
        return []
    mirrors = queue.sync.mirrors
    turn.because = turn.emit("sync_too_slow", node=queue.master, queue=queue.name, mirrors=turn.settings.named(mirrors))
    return [(min(queue.master, mirror), max(queue.master, mirror)) for mirror in mirrors]


# Held by a memory alarm


def heed_alarms(turn: Turn, node: int) -> None:
    """A node looks at the alarms anew: the masters on it hold their synchronisations, or go on with them."""
    cause = turn.because
    for name in turn.queue_names():
        turn.because = cause
        if turn.queues[name].sync is not None and turn.queues[name].master == node:
            heed(turn, name)


def heed(turn: Turn, name: str) -> None:
    """Holds a synchronisation while there is a memory alarm. The batch under way ends, and the last one ends it all."""
    queue = turn.queues[name]
    sync, pause = queue.sync, SyncPauses(name, queue.sync.number)
    if not alarms.holds_synchronisation(turn, queue.master):
        turn.unschedule(pause)
        if sync.held_us is not None:
            go_on(turn, queue)
    elif sync.held_us is None:
        turn.unschedule(pause)
        left_us = sync.effort.end_of_batch_us(turn.now_us - sync.began_us) - (turn.now_us - sync.began_us)
        if left_us >= 0:
            turn.schedule(left_us, pause)


def pause(turn: Turn, event: SyncPauses) -> None:
    """The batch under way has arrived and the next one is held."""
    queue = turn.queues.get(event.queue)
    if queue is not None and queue.sync is not None and queue.sync.number == event.number:
        hold(turn, event.queue)


def hold(turn: Turn, name: str) -> None:
    """From now on nothing is sent."""
    queue = turn.queues[name]
    mirroring.unplan_sync(turn, queue)
    turn.change_queue(name, sync=replace(queue.sync, held_us=turn.now_us))
    turn.emit("sync_held", node=queue.master, queue=name)


def go_on(turn: Turn, queue: Queue) -> None:
    """The time that was left remains."""
    if not queue.sync.mirrors:
        mirroring.abort_sync(turn, queue.name, "mirrors_gone")
        return
    began_us = queue.sync.began_us + turn.now_us - queue.sync.held_us
    sync = replace(queue.sync, began_us=began_us, held_us=None)
    turn.change_queue(queue.name, sync=sync)
    left_us = began_us + sync.effort.duration_us - turn.now_us
    turn.because = turn.emit("sync_resumed", node=queue.master, queue=queue.name, expected_s=left_us / 1_000_000)
    plan(turn, queue.name, sync)


# Its end


def finish(turn: Turn, event: SyncFinished) -> None:
    """The last batch has arrived: the mirrors that took part hold what the master holds."""
    queue = turn.queues.get(event.queue)
    if queue is None or queue.sync is None or queue.sync.number != event.number:
        return
    took_part = [node for node in queue.sync.mirrors if turn.alive(queue, node)]
    if not all(turn.follows(queue, node) for node in took_part):
        return  # It goes on when that mirror is missed, or reached again.
    sent_bytes = len(took_part) * queue.sync.effort.size_bytes
    mirroring.unplan_sync(turn, queue)
    turn.book(queue.name, bytes_replicated=turn.account(queue.name).bytes_replicated + sent_bytes)
    turn.because = turn.emit(
        "sync_finished", queue=queue.name, mirrors=turn.settings.named(took_part), bytes_replicated=sent_bytes
    )
    turn.change_queue(
        queue.name,
        sync=None,
        contents=mirroring.with_content(queue.contents, dict.fromkeys(took_part, queue.content)),
        depth_unknown=queue.depth_unknown - frozenset(took_part),
    )
    places.synchronise(turn, queue.name, took_part)
    bookkeeping.count_times(turn, queue.name)
    mirroring.synchronise_drained(turn, queue.name, "synchronisation")
    turn.schedule(0, PolicyTakesEffect(queue.name))
    release(turn, queue.name)
    limits.drop_excess(turn, queue.name)
    deliver(turn, queue.name)


def cancel(turn: Turn, event: SyncCancelled) -> None:
    """rabbitmqctl cancel_sync_queue; nothing happens when none runs."""
    queue = turn.queues.get(event.queue)
    if queue is not None and queue.sync is not None:
        mirroring.abort_sync(turn, queue.name, "cancelled")


def drained(turn: Turn, event: DepthFell) -> None:
    """Messages left the queue: a mirror that has everything that is left is synchronised."""
    if event.queue in turn.queues:
        mirroring.synchronise_drained(turn, event.queue, "drained")


def needs_sync(queue: Queue) -> bool:
    """Whether ha-sync-mode automatic applies."""
    return is_replicated(queue) and queue.mirroring.sync_mode == SyncMode.AUTOMATIC
