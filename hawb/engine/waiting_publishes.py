"""What publishers send while nobody is master of a queue: its mirrors have it from the channels, and wait.

Source: `rabbit_channel:deliver_to_queues`, `rabbit_channel:handle_publishing_queue_down`, `rabbit_mirror_queue_slave`.
"""

from __future__ import annotations

from collections.abc import Callable

from hawb.engine import publishing, settling
from hawb.engine.operations import Publish
from hawb.engine.state import Parked, Queue, bits_of, nodes_of
from hawb.engine.turn import Turn

COPIED, STRUCK = 1, 2
"""What becomes of messages that wait for a queue whose master is gone: its heir has them, or nobody."""


def answer(t: Turn, q: Queue, kept_by: int, hollow: int = 0) -> None:
    """What publishers sent while nobody was master no master has, but the mirrors `kept_by`, if they were there by
    then; `hollow` is where a process ended whose member of the group is left."""
    for parked in taken_out(q, lambda _: True):
        keepers = tuple(node for node in nodes_of(kept_by) if node not in parked.operation.lacked_by)
        struck = publishing.strike(parked, q.name, keepers, tuple(nodes_of(hollow)))
        t.schedule(0, struck.operation, step=parked.step)


def answer_unheld(t: Turn, q: Queue, holders: int, ended: bool) -> None:
    """What publishers sent while nobody was master nobody has, if none of the mirrors `holders` was there by then;
    `ended` is whether the last one that had it ended by itself."""
    for parked in taken_out(q, lambda operation: not holders & ~bits_of(operation.lacked_by)):
        t.schedule(0, publishing.strike(parked, q.name, ended=ended).operation, step=parked.step)


def taken_out(q: Queue, chosen: Callable[[Publish], bool]) -> list[Parked]:
    """What publishers sent and is chosen waits no more."""
    taken = [one for one in q.parked if isinstance(one.operation, Publish) and chosen(one.operation)]
    q.parked = tuple(one for one in q.parked if one not in taken)
    return taken


def keep(t: Turn, q: Queue, how: int) -> None:
    """What waits for a queue whose master is gone: answers reach nobody; messages its heir has, or nobody."""
    waiting = [settling.unheard(parked) for parked in q.parked]
    if how == COPIED:
        q.parked = tuple(publishing.copied(t, parked, q.name) for parked in waiting)
    elif how == STRUCK:
        q.parked = tuple(publishing.strike(parked, q.name) for parked in waiting)
    else:
        q.parked = tuple(waiting)
