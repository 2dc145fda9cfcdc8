"""Orphaned mirrors stay on the record of a master that came back without a policy that mirrors the queue.

They are not in that master's gm group, and it does not know them. They keep the messages that channels sent while they
waited, and those that channels send now. When another member of their own group dies, and the group has no orphaned gm
process left (`failover.refuse_promotion`), the first of them finds itself the oldest recorded member of its group. It
becomes master with just these messages, although the old master runs: two processes then serve one queue, and clients
no longer reach the old master's messages.

Source: `rabbit_mirror_queue_misc:remove_from_queue`, which goes by `gm_pids`; 3.8.9 and 3.10.8 clusters.
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine.classic import waiting_publishes
from hawb.engine.classic.journal import LEFT_BEHIND, PROMOTED, blame, say_master_down, say_promoted
from hawb.engine.classic.mirrors import synchronise_drained
from hawb.engine.classic.record import alive_bits, mirror_bits
from hawb.engine.classic.record_ports import is_replicated
from hawb.engine.clients import confirms, consuming, publishing, subscriptions
from hawb.engine.core import bookkeeping, runs
from hawb.engine.core.runs import EMPTY
from hawb.engine.core.state import NOWHERE, Queue, bits_of, with_content
from hawb.engine.core.turn import Turn
from hawb.engine.queues.access import release


def promote_orphaned_mirror(t: Turn, q: Queue) -> bool:
    """Promote the first orphaned mirror if a member of its group has died; return True if one was promoted."""
    lost = q.orphaned_group & ~bits_of(t.running())
    if not lost:
        return False
    q.orphaned_group &= ~lost
    q.orphaned_mirrors = tuple(node for node in q.orphaned_mirrors if q.orphaned_group >> node & 1)
    if not q.orphaned_mirrors or q.orphaned_group != bits_of(q.orphaned_mirrors):
        return False
    take_over(t, q, next(node for node in q.mirrors if node in q.orphaned_mirrors))
    return True


def leave_orphaned_mirrors(t: Turn, q: Queue) -> None:
    """Handle the loss of a mirroring policy: the mirrors become orphans, and channels go on waiting for them.

    These mirrors keep the messages that channels sent them, since no master confirms or drops these messages.
    """
    if is_replicated(q):
        return
    waiting = alive_bits(t, q) & mirror_bits(t, q)
    if waiting:
        orphaned_gm = 0 if q.orphaned_gm == NOWHERE else 1 << q.orphaned_gm & bits_of(t.running())
        waiting_publishes.answer(t, q, waiting, orphaned_gm)


def is_alone(t: Turn, q: Queue) -> bool:
    """Return True if no mirror can replace the master, so that the queue waits for the master's node.

    The mirrors are orphaned, or they are those of an orphaned mirror that became master: these end with that master,
    although they count as synchronised.
    """
    others = mirror_bits(t, q) & ~q.not_promotable
    return bool(q.orphaned_mirrors) or (q.not_promotable != 0 and not others)


def take_over(t: Turn, q: Queue, promoted: int) -> None:
    """Promote the orphaned mirror at a node to master.

    It has the messages that it held as a mirror, and those that channels have sent it since it became an orphan.
    """
    was, had, sent = q.master, q.content, q.orphaned_publishes
    own = q.contents[promoted] or EMPTY
    mirrors = tuple(node for node in q.orphaned_mirrors if node != promoted)
    t.because = say_master_down(t, q, LEFT_BEHIND)
    entry = say_promoted(t, q, promoted)
    subscriptions.detach(t, q.name, was)
    q.master, q.mirrors, q.synchronised, q.up, q.awaits_master, q.absent = promoted, mirrors, (), True, False, False
    q.contents = with_content(q.contents, {was: None, promoted: own} | dict.fromkeys(mirrors, EMPTY))
    q.redelivered, q.unacknowledged, q.unwritten, q.uncounted_from = own, EMPTY, EMPTY, 0
    q.orphaned_mirrors, q.orphaned_group, q.orphaned_publishes, q.lagging = (), 0, (), ()
    q.not_promotable = bits_of(mirrors)
    kept = runs.normal([*own, *(pair for _, numbers, _ in sent for pair in numbers)])
    bookkeeping.lose(t, q.name, runs.minus(had, kept), "unsynchronised_promotion", because=entry)
    bookkeeping.reclaim(t, q.name, own)
    bookkeeping.take_after_all(t, q.name, runs.common(t.account(q.name).refused, kept))
    bookkeeping.note_promotion(t, q, synchronised=False)
    bookkeeping.count_times(t, q.name)
    blame(t, entry)
    synchronise_drained(t, q, PROMOTED)
    now = t.step
    for operation, numbers, t.step in sent:
        take(t, q, operation, runs.minus(numbers, own))
    t.step = now
    release(t, q.name)
    consuming.deliver(t, q.name)


def take(t: Turn, q: Queue, operation: publishing.Publish, numbers: runs.Runs) -> None:
    """Enqueue messages that a channel sent earlier, as far as the queue's limits allow, and confirm them now."""
    if numbers:
        copied = replace(operation, copied=(q.name,), count=runs.size(numbers))
        share = publishing.take(t, copied, q, numbers)
        delay_us = t.link_us(q.master, operation.node) + t.settings.timing.fsync_us
        confirms.group_answers(t, q.name, operation.node, numbers, share.rejected, delay_us)
