"""Messages that publishers send while a queue has no master: its mirrors have them from the channels, and wait. A
client that deletes the queue waits for as long as any of these mirrors lives.

Source: `rabbit_channel:deliver_to_queues`, `rabbit_channel:handle_publishing_queue_down`, `rabbit_mirror_queue_slave`,
`rabbit_classic_queue:wait_for_promoted_or_stopped`.
"""

from __future__ import annotations

from collections.abc import Callable

from hawb.engine.clients import publishing, settling
from hawb.engine.core.operations import Delete, Publish
from hawb.engine.core.state import Parked, Queue, bits_of, nodes_of
from hawb.engine.core.turn import Turn
from hawb.engine.queues.access import release

COPIED, STRUCK = 1, 2
"""What becomes of messages that wait for a queue whose master is gone: its heir has them, or no replica."""


def answer(t: Turn, q: Queue, kept_by: int, orphaned_gm: int = 0) -> None:
    """Ends the wait of messages that were sent while there was no master: no master has them, but the mirrors `kept_by`
    if they were there by then; `orphaned_gm` is the node of an orphaned gm process, as a bit."""
    for parked in taken_out(q, lambda _: True):
        keepers = tuple(node for node in nodes_of(kept_by) if node not in parked.operation.lacked_by)
        struck = publishing.strike(parked, q.name, keepers, tuple(nodes_of(orphaned_gm)))
        t.schedule(0, struck.operation, step=parked.step)


def answer_unheld(t: Turn, q: Queue, holders: int, ended: bool) -> None:
    """Ends the wait of messages that were sent while there was no master, and that no replica has, since none of the
    mirrors `holders` was there by then; `ended` is whether the last mirror that had them ended by itself."""
    for parked in taken_out(q, lambda operation: not holders & ~bits_of(operation.lacked_by)):
        t.schedule(0, publishing.strike(parked, q.name, ended=ended).operation, step=parked.step)
    if not holders:
        release(t, q.name, Delete)


def taken_out(q: Queue, chosen: Callable[[Publish], bool]) -> list[Parked]:
    """Takes the chosen publishes off a queue's waiting operations, and returns them."""
    taken = [one for one in q.parked if isinstance(one.operation, Publish) and chosen(one.operation)]
    q.parked = tuple(one for one in q.parked if one not in taken)
    return taken


def keep(t: Turn, q: Queue, how: int) -> None:
    """Changes the operations that wait for a queue after its master is gone: answers reach nobody; messages are with
    its heir, or with no replica."""
    waiting = [settling.unheard(parked) for parked in q.parked]
    if how == COPIED:
        q.parked = tuple(publishing.copied(t, parked, q.name) for parked in waiting)
    elif how == STRUCK:
        q.parked = tuple(publishing.strike(parked, q.name) for parked in waiting)
    else:
        q.parked = tuple(waiting)
