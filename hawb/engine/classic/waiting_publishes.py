"""Messages that publishers send while a queue has no master.

Channels send them to the mirrors, where they wait. A client's queue.delete waits as long as any of these mirrors runs.

Source: `rabbit_channel:deliver_to_queues`, `rabbit_channel:handle_publishing_queue_down`, `rabbit_mirror_queue_slave`,
`rabbit_classic_queue:wait_for_promoted_or_stopped`.
"""

from __future__ import annotations

from collections.abc import Callable

from hawb.engine.clients import publishing, settling
from hawb.engine.core.operations import Delete, Publish
from hawb.engine.core.state import Queue, WaitingOperation, bits_of, nodes_of
from hawb.engine.core.turn import Turn
from hawb.engine.queues.access import release

COPIED, LOST_WITH_MASTER = 1, 2
"""Where messages are that wait for a queue without a master: on the promoted mirror, or on no replica."""


def answer(t: Turn, q: Queue, kept_by: int, orphaned_gm: int = 0) -> None:
    """End the wait of messages that only mirrors hold: those of `kept_by` (bits) that had joined when they were sent.

    `orphaned_gm` is the node of an orphaned gm process, as a bit.
    """
    for one in taken_out(q, lambda _: True):
        keepers = tuple(node for node in nodes_of(kept_by) if node not in one.operation.lacked_by)
        lost = publishing.lost_with_master(one, q.name, keepers, tuple(nodes_of(orphaned_gm)))
        t.schedule(0, lost.operation, step=one.step)


def answer_unheld(t: Turn, q: Queue, holders: int, ended: bool) -> None:
    """End the wait of messages that none of the mirrors `holders` (bits) has, since they joined later.

    `ended` is True if the last mirror that had them ended by itself.
    """
    for one in taken_out(q, lambda operation: not holders & ~bits_of(operation.lacked_by)):
        t.schedule(0, publishing.lost_with_master(one, q.name, ended=ended).operation, step=one.step)
    if not holders:
        release(t, q.name, Delete)


def taken_out(q: Queue, chosen: Callable[[Publish], bool]) -> list[WaitingOperation]:
    """Take the chosen publishes off a queue's waiting operations, and return them."""
    taken = [one for one in q.waiting if isinstance(one.operation, Publish) and chosen(one.operation)]
    q.waiting = tuple(one for one in q.waiting if one not in taken)
    return taken


def keep(t: Turn, q: Queue, how: int) -> None:
    """Update the operations that wait for a queue whose master is gone.

    No process receives acknowledgements any more. Messages are at the promoted mirror if `how` is COPIED, at no replica
    if it is LOST_WITH_MASTER.
    """
    waiting = [settling.unheard(one) for one in q.waiting]
    if how == COPIED:
        q.waiting = tuple(publishing.copied(t, one, q.name) for one in waiting)
    elif how == LOST_WITH_MASTER:
        q.waiting = tuple(publishing.lost_with_master(one, q.name) for one in waiting)
    else:
        q.waiting = tuple(waiting)
