"""The messages of a classic queue's replicas, as runs, and what a replica has on disk while its node is down.

A master that starts finds only the persistent messages of a durable queue on its disk, and a mirror that starts deletes
what it finds (`rabbit_variable_queue`, `rabbit_queue_index`).

The functions in `PORTS` are ports. The kernel of trials stores for each mirror the message after which it holds
everything (`hawb.study.kernel.copies`), the kernel of searches bits (`hawb.study.kernel.search_copies`).
"""

from __future__ import annotations

from collections.abc import Iterable

from hawb.engine.classic import places
from hawb.engine.classic.record_ports import is_replicated
from hawb.engine.clients import confirms
from hawb.engine.core import bookkeeping, runs
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.state import NOWHERE, Batch, Queue, bits_of, nodes_of, with_content
from hawb.engine.core.turn import Turn


def holds_all(_: Turn, q: Queue, node: int) -> bool:
    """Return True if a mirror holds all messages that the master holds, and receives what the master broadcasts.

    An orphaned mirror is not in the master's group (`hawb.engine.classic.orphaned_mirrors`).
    """
    return q.contents[node] == q.content and node not in q.orphaned_mirrors


def begin_copy(t: Turn, q: Queue, node: int) -> None:
    """Give a mirror that joins an empty copy."""
    q.contents = with_content(q.contents, {node: EMPTY})
    q.lagging = tuple(pair for pair in q.lagging if pair[0] != node)
    q.overcounted = tuple(pair for pair in q.overcounted if pair[0] != node)
    q.crashed &= ~(1 << node)
    places.join(t, q.name, node)


def note_silent(t: Turn, q: Queue) -> None:
    """Note, for mirrors that the master has just ceased to reach, the first message that they will lack."""
    known = {node for node, _ in q.lagging}
    cut_off = [node for node in q.mirrors if node not in known and not t.linked(q.master, node)]
    since = t.numbers.get(q.name, 0) + 1
    q.lagging = (*q.lagging, *((node, since) for node in cut_off))


def purge_copies(_: Turn, q: Queue, bits: int) -> None:
    """Empty the copies of mirrors."""
    q.contents = with_content(q.contents, dict.fromkeys(nodes_of(bits), EMPTY))


def delete_copies(_: Turn, q: Queue, bits: int) -> None:
    """Delete the copies at nodes."""
    q.contents = with_content(q.contents, dict.fromkeys(nodes_of(bits)))


def fill_copies(t: Turn, q: Queue, bits: int) -> None:
    """Give the mirrors of a finished synchronisation all messages of the master, and count the bytes sent."""
    took_part = nodes_of(bits)
    sent_bytes = len(took_part) * q.sync.effort.size_bytes
    t.book(q.name, bytes_replicated=t.account(q.name).bytes_replicated + sent_bytes)
    q.contents = with_content(q.contents, dict.fromkeys(took_part, q.content))
    places.synchronise(t, q.name, took_part)


def leave_on_disks(t: Turn, q: Queue, bits: int) -> None:
    """Reduce the copies of ended replicas to the messages on their nodes' disks."""
    q.contents = with_content(q.contents, on_disks(t, q, nodes_of(bits)))


def inherit(t: Turn, q: Queue, promoted: int, living: int, gone: int, entry: int | None) -> None:
    """Make the promoted mirror's copy the queue's content; messages that only the old master held are lost.

    Each surviving mirror keeps the messages that the promoted mirror also holds. A synchronised survivor holds all of
    them, since gm passes on what the dead replica had broadcast. If the old master did not reach the promoted mirror,
    that mirror gets the missing messages from a survivor that it reaches. The queue's record still names the old
    master.
    """
    late, abreast = dict(q.lagging), [node for node in nodes_of(living) if node in q.synchronised]
    near = [node for node in abreast if node not in late and t.linked(promoted, node)]
    if promoted in late and near:
        q.contents = with_content(q.contents, {promoted: q.contents[near[0]]})
        confirms.replica_answers(t, q.name, promoted, t.link_us(q.master, promoted))
    for node in abreast:
        if node in late and t.linked(promoted, node):
            confirms.replica_answers(t, q.name, node, t.link_us(promoted, node))
    content = q.contents[promoted] or EMPTY
    missing = runs.minus(q.content, content)
    held = {
        node: content if node in abreast and t.linked(promoted, node)
        else runs.common(q.contents[node] or EMPTY, content)
        for node in nodes_of(living)
    }  # fmt: skip
    q.overcounted = overcounted(t, q, living, content)
    q.contents = with_content(q.contents, held | on_disks(t, q, nodes_of(gone)))
    q.lagging = tuple(pair for pair in q.lagging if not t.linked(promoted, pair[0]))
    if promoted in late and not near:
        q.lagging += tuple((node, 1) for node in abreast if node not in late and not t.linked(promoted, node))
    q.redelivered, q.unacknowledged, q.unwritten, q.uncounted_from = content, EMPTY, EMPTY, 0
    q.crashed &= ~(int(q.failed) << q.master)
    q.failed, q.orphaned_mirrors, q.orphaned_group, q.orphaned_publishes, q.not_promotable = False, (), 0, (), 0
    bookkeeping.lose(t, q.name, missing, "unsynchronised_promotion", because=entry)
    bookkeeping.reclaim(t, q.name, content)


def overcounted(t: Turn, q: Queue, living: int, content: Runs) -> tuple[tuple[int, Runs], ...]:
    """Return, for each surviving mirror, the messages that it counts as delivered and the promoted mirror requeues.

    Before 3.13.0 the promoted mirror does not broadcast the requeue
    (`rabbit_mirror_queue_master:promote_backing_queue_state`).
    """
    if t.settings.profile.requeues_at_mirrors:
        return ()
    known = dict(q.overcounted)
    abreast = [node for node in q.mirrors if living >> node & 1 and node in q.synchronised]
    counted = ((node, runs.union(known.get(node, EMPTY), q.unacknowledged)) for node in abreast)
    taken_back = ((node, runs.common(numbers, content)) for node, numbers in counted)
    return tuple(pair for pair in taken_back if pair[1])


def keep_masters_copy(t: Turn, q: Queue, gone: int, entry: int | None) -> None:
    """Reduce the content of a queue without a master to what is on the disk of its master's node; the rest is lost."""
    content = q.content
    kept = runs.minus(on_disks(t, q, [q.master])[q.master] or EMPTY, q.unwritten)
    bookkeeping.lose(t, q.name, runs.minus(content, kept), loss_with_process(t, q), because=entry)
    q.uncounted_from = uncounted_from(t, q, kept)
    known = q.redelivered if t.settings.profile.remembers_returns else q.delivered
    q.redelivered = runs.common(known, kept) if q.stopped else kept
    q.contents = with_content(q.contents, on_disks(t, q, nodes_of(gone)) | {q.master: kept})
    q.unacknowledged = q.unwritten = EMPTY


def loss_with_process(t: Turn, q: Queue) -> str:
    """Return the cause of losing messages that the queue's last process held and its node's disk does not keep."""
    if q.owner is not None:
        return "exclusive_queue"
    if t.is_running(q.master) and not q.crashed >> q.master & 1:
        return "dropped_replicas"
    if q.durable and t.nodes[q.master].virgin:
        return "disk_lost"
    return "transient_message" if q.durable else "transient_queue"


def keep_orphaned_mirrors(t: Turn, q: Queue, bits: int) -> None:
    """Keep the mirrors at `bits`, which waited for the master, with those of their messages that the master has.

    They are orphaned if the queue's policy no longer asks for mirrors.
    """
    held = {node: runs.common(q.contents[node] or EMPTY, q.content) for node in nodes_of(bits)}
    q.contents, q.lagging, q.overcounted = with_content(q.contents, held), (), ()
    q.orphaned_mirrors = () if is_replicated(q) else q.mirrors
    orphaned_gm = 0 if q.orphaned_gm == NOWHERE or not t.is_running(q.orphaned_gm) else 1 << q.orphaned_gm
    q.orphaned_group = bits_of(q.orphaned_mirrors) | orphaned_gm if q.orphaned_mirrors else 0
    q.orphaned_publishes, q.not_promotable = (), 0


# The messages on disks


def on_disks(turn: Turn, queue: Queue, nodes: Iterable[int]) -> dict[int, Runs | None]:
    """Return the messages that the ended replicas at `nodes` have on their disks; None for a replica without a copy.

    A copy has the persistent messages of a durable queue. There is none if the disk is empty, or if the replica deleted
    it because its node still runs; a process that crashed deletes nothing.
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
    """Return the first message whose delivery a master forgets when it starts with `kept` messages; 0 if none.

    At a controlled stop the master writes down up to which message it has delivered all. A transient message that was
    not delivered by then never will be, so this count never passes it (`rabbit_variable_queue`, next_deliver_seq_id;
    seen on a 3.10.8 cluster). After any other end, all messages on its disk count as delivered.
    """
    if not (queue.stopped and turn.settings.profile.counts_deliveries):
        return 0
    never = runs.minus(runs.minus(queue.content, kept), queue.delivered)
    return queue.uncounted_from or (never[0][0] if never else 0)


PORTS = (
    "holds_all", "begin_copy", "note_silent", "purge_copies", "delete_copies", "fill_copies", "leave_on_disks",
    "inherit", "keep_masters_copy", "keep_orphaned_mirrors",
)  # fmt: skip
"""The names of the ports, which each kernel implements."""
