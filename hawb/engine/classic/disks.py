"""What a node that is down has of a classic queue on its disk.

Source: `rabbit_variable_queue`, `rabbit_queue_index`: a master that starts finds only the persistent messages of a
durable queue, and a mirror that starts deletes what it finds.
"""

from __future__ import annotations

from collections.abc import Iterable

from hawb.engine.core import runs
from hawb.engine.core.runs import Runs
from hawb.engine.core.state import Batch, Queue, with_content
from hawb.engine.core.turn import Turn


def on_disks(turn: Turn, queue: Queue, nodes: Iterable[int]) -> dict[int, Runs | None]:
    """Return what the ended replicas at `nodes` would find on their disks.

    That is the persistent messages of a durable queue; nothing if the disk is empty, or if the copy was deleted because
    the node still runs. A process that crashed deletes nothing.
    """
    kept = persistent(queue.batches)
    return {
        node: None
        if queue.contents[node] is None
        or not queue.durable
        or turn.nodes[node].virgin
        or (turn.is_running(node) and not queue.crashed >> node & 1)
        else runs.common(queue.contents[node], kept)
        for node in nodes
    }


def lose_unwritten(turn: Turn, name: str, node: int) -> None:
    """Drop the messages that a replica has not confirmed yet, since its host lost power before they were on disk."""
    queue = turn.queues[name]
    shares = [share for waiting in turn.unconfirmed for share in waiting.shares if share.queue == name]
    late = runs.normal(pair for share in shares for at, due_us in share.due_us
                       if at == node and due_us - turn.link_us(*(node, queue.master)) > turn.now_us
                       for pair in share.numbers)  # fmt: skip
    if node == queue.master:
        turn.change_queue(name, unwritten=late)
    elif node in queue.mirrors and queue.contents[node]:
        left = runs.minus(queue.contents[node], late)
        turn.change_queue(name, contents=with_content(queue.contents, {node: left}))


def persistent(batches: tuple[Batch, ...]) -> Runs:
    """Return the numbers of persistent messages."""
    return runs.normal((batch.first, batch.last) for batch in batches if batch.persistent)


def uncounted_from(turn: Turn, queue: Queue, kept: Runs) -> int:
    """Return the first message whose delivery a master forgets that starts with `kept` messages; 0 if none.

    It counts how far deliveries have come, message by message, and writes that down when it is shut down. A transient
    message that was not delivered by then never will be, so the count stands still there (`rabbit_variable_queue`,
    next_deliver_seq_id; seen on a 3.10.8 cluster). After any other end all that is left counts as delivered.
    """
    if not (queue.stopped and turn.settings.profile.counts_deliveries):
        return 0
    never = runs.minus(runs.minus(queue.content, kept), queue.delivered)
    return queue.uncounted_from or (never[0][0] if never else 0)
