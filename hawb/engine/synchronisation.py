"""Explicit synchronisation: the master sends everything it has, in batches, and serves nobody meanwhile.

Source: `rabbit_mirror_queue_sync`, `rabbit_mirror_queue_master:sync_mirrors`. Mirrors that are synchronised decline;
the others purge what they hold and receive all of it. The slowest sets the pace. Ended early, they are left empty
(`mirroring.abort_sync`).

The time it takes is a model: the larger of messages / sync_messages_s and bytes / network_mb_s (and bytes / throughput
limit from 3.10 on), and a link latency for each batch.
"""

from __future__ import annotations

from hawb.engine import mirroring, runs
from hawb.engine.access import is_replicated, release
from hawb.engine.consuming import deliver
from hawb.engine.events import AutomaticSync, DepthFell, ManualSync, PolicyTakesEffect, SyncCancelled, SyncFinished
from hawb.engine.runs import Runs
from hawb.engine.state import Batch, Queue, Sync
from hawb.engine.turn import Turn
from hawb.rules.policies import SyncMode


def manual(turn: Turn, event: ManualSync) -> None:
    """rabbitmqctl sync_queue reaches the queue's master, which looks at it when it has nothing else to synchronise."""
    queue = turn.queues.get(event.queue)
    if queue is None or not queue.up or not is_replicated(queue):
        return
    if queue.sync is not None:
        turn.schedule(queue.sync.ends_us - turn.now_us, event)
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
    number = turn.next_number()
    batches, duration_us = effort(turn, queue)
    turn.change_queue(queue.name, sync=Sync(invited, turn.now_us + duration_us, number))
    turn.book(queue.name, syncing=turn.account(queue.name).syncing.begin(turn.now_us))
    entry = turn.emit(
        "sync_started", node=queue.master, queue=queue.name, mirrors=turn.settings.named(invited),
        messages=runs.size(queue.content), batches=batches, expected_s=duration_us / 1_000_000,
    )  # fmt: skip
    turn.schedule(duration_us, SyncFinished(queue.name, number), entry)
    return True


def effort(turn: Turn, queue: Queue) -> tuple[int, int]:
    """(batches, microseconds) that a synchronisation of the queue takes."""
    timing, settings = turn.settings.timing, turn.settings
    messages, total_bytes = runs.size(queue.content), size_bytes(queue.content, queue.batches)
    batch_size = queue.mirroring.sync_batch_size or settings.sync_batch_size
    batches = -(-messages // batch_size)
    durations_us = [
        messages * 1_000_000 // timing.sync_messages_per_s,
        total_bytes * 1_000_000 // timing.network_bytes_per_s,
    ]
    if settings.sync_max_bytes_per_s:
        durations_us.append(total_bytes * 1_000_000 // settings.sync_max_bytes_per_s)
    return batches, max(durations_us) + batches * timing.link_latency_us


def size_bytes(content: Runs, batches: tuple[Batch, ...]) -> int:
    """How many bytes of message bodies there are."""
    return sum(runs.size(runs.common(content, ((batch.first, batch.last),))) * batch.size_bytes for batch in batches)


def finish(turn: Turn, event: SyncFinished) -> None:
    """The last batch has arrived: the mirrors that took part hold what the master holds."""
    queue = turn.queues.get(event.queue)
    if queue is None or queue.sync is None or queue.sync.number != event.number:
        return
    took_part = [node for node in queue.sync.mirrors if turn.alive(queue, node)]
    sent_bytes = len(took_part) * size_bytes(queue.content, queue.batches)
    account = turn.account(queue.name)
    turn.book(
        queue.name,
        syncing=account.syncing.end(turn.now_us),
        bytes_replicated=account.bytes_replicated + sent_bytes,
    )
    turn.because = turn.emit(
        "sync_finished", queue=queue.name, mirrors=turn.settings.named(took_part), bytes_replicated=sent_bytes
    )
    turn.change_queue(
        queue.name,
        sync=None,
        contents=mirroring.with_content(queue.contents, dict.fromkeys(took_part, queue.content)),
        depth_unknown=queue.depth_unknown - frozenset(took_part),
    )
    mirroring.synchronise_drained(turn, queue.name, "synchronisation")
    turn.schedule(0, PolicyTakesEffect(queue.name))
    release(turn, queue.name)
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
