"""Strays: mirrors that stay on the record of a master that came back without a policy that mirrors.

They are in no group with that master, and it does not hear of them. They keep the messages that channels sent while
they waited, and those that channels send now. As soon as another member of their own group dies, and no member is left
whose process has ended (`failover.refuse_promotion`), the first stray finds itself the only one on the record that its
group knows, and takes over with just these messages, though the master runs: two processes then serve one queue, and
the master's messages are out of reach.

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


def heed(t: Turn, q: Queue) -> bool:
    """If a member of the strays' group has died, lets the first stray take over; returns whether it did."""
    lost = q.stray_group & ~bits_of(t.running())
    if not lost:
        return False
    q.stray_group &= ~lost
    q.strays = tuple(node for node in q.strays if q.stray_group >> node & 1)
    if not q.strays or q.stray_group != bits_of(q.strays):
        return False
    take_over(t, q, next(node for node in q.mirrors if node in q.strays))
    return True


def leave(t: Turn, q: Queue) -> None:
    """Leaves mirrors that wait for a master alone, if policy asks for no mirrors: nobody tells them that there is a
    master again, or none any more. They keep the messages that channels sent them, and the channels wait on."""
    if is_replicated(q):
        return
    waiting = alive_bits(t, q) & mirror_bits(t, q)
    if waiting:
        orphaned_gm = 0 if q.orphaned_gm == NOWHERE else 1 << q.orphaned_gm & bits_of(t.running())
        waiting_publishes.answer(t, q, waiting, orphaned_gm)


def is_alone(t: Turn, q: Queue) -> bool:
    """Whether no mirror takes over when the master dies, so that the queue waits for the master's node: the mirrors are
    in no group with it, or were in the group of a stray that took over, and end with it, though they count as
    synchronised."""
    others = mirror_bits(t, q) & ~q.heirless
    return bool(q.strays) or (q.heirless != 0 and not others)


def take_over(t: Turn, q: Queue, heir: int) -> None:
    """A stray becomes master with the messages that channels have sent it since it began to wait, and those that it had
    as a mirror before."""
    was, had, sent = q.master, q.content, q.astray
    own = q.contents[heir] or EMPTY
    mirrors = tuple(node for node in q.strays if node != heir)
    t.because = say_master_down(t, q, LEFT_BEHIND)
    entry = say_promoted(t, q, heir)
    subscriptions.detach(t, q.name, was)
    q.master, q.mirrors, q.synchronised, q.up, q.abandoned, q.absent = heir, mirrors, (), True, False, False
    q.contents = with_content(q.contents, {was: None, heir: own} | dict.fromkeys(mirrors, EMPTY))
    q.redelivered, q.unacknowledged, q.unwritten, q.uncounted_from = own, EMPTY, EMPTY, 0
    q.strays, q.stray_group, q.astray, q.lagging, q.heirless = (), 0, (), (), bits_of(mirrors)
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
    """The new master takes messages that a channel has sent, as far as it has room, and answers for them now."""
    if numbers:
        copied = replace(operation, copied=(q.name,), count=runs.size(numbers))
        share = publishing.take(t, copied, q, numbers)
        delay_us = t.link_us(q.master, operation.node) + t.settings.timing.fsync_us
        confirms.group_answers(t, q.name, operation.node, numbers, share.rejected, delay_us)
