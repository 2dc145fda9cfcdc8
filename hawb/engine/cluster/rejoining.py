"""Sides of a cluster with Khepri rejoin; no node has to restart.

Metadata is one log, which only a majority extends. Once links are mended, a side without a majority takes over what the
other side did meanwhile. Its nodes keep running, with the processes of the queues that they host. A queue that the
majority has deleted meanwhile is deleted with its messages.

Source: `rabbit_khepri`, `rabbit_node_monitor` (4.3, without partition handling), `rabbit_amqqueue:on_node_up`.
"""

from __future__ import annotations

from hawb.engine.core import bookkeeping
from hawb.engine.core.agenda import EVENT, SIDE
from hawb.engine.core.mutable_side import MutableSide
from hawb.engine.core.state import CLASSIC, NOWHERE, Queue, bits_of
from hawb.engine.core.turn import Turn, place_of
from hawb.engine.queues.policy_changes import OPERATOR, USER, reconsider


def rejoin(turn: Turn) -> None:
    """Make all sides one after links are mended: all running nodes take each other for running."""
    running = bits_of(node for node in range(len(turn.nodes)) if turn.runs_anywhere(node))
    for node, value in enumerate(turn.nodes):
        if running >> node & 1:
            value.believes = running & ~(1 << node)
    if len(turn.sides) > 1:
        best = best_side(turn)
        turn.emit("sides_rejoined", nodes=turn.settings.named(nodes_on(turn, best)))
        for side in [side for side in turn.sides.values() if side is not best]:
            take_in(turn, best, side)
        turn.focus = best
        for name in turn.queue_names():
            bookkeeping.count_times(turn, name)


def nodes_on(turn: Turn, side: MutableSide) -> list[int]:
    """Return the nodes of a side."""
    return [node for node, value in enumerate(turn.nodes) if value.side == side.number]


def best_side(turn: Turn) -> MutableSide:
    """Return the side that could write metadata; the first one if none could, since all then have the same metadata."""
    return next((side for side in turn.sides.values() if side.store.up), next(iter(turn.sides.values())))


def take_in(turn: Turn, best: MutableSide, side: MutableSide) -> None:
    """Merge a side into the best one, which learns of the processes of that side's queues.

    Messages that only the merged side counted as a queue's are given up.
    """
    for entry in sorted(entry for entry in turn.agenda if entry[SIDE] == side.number):
        turn.agenda.remove(entry)
        if place_of(entry[EVENT]) is not None or is_hosted(turn, side, getattr(entry[EVENT], "queue", None)):
            due_us, priority, _, cause, step, _, event = entry
            turn.agenda.add((due_us, priority, turn.next_number(), cause, step, best.number, event))
    hosted = [name for name in side.queues if is_hosted(turn, side, name)]
    turn.focus = best
    for name in list(side.queues):
        queue = side.queues.pop(name)
        if name in hosted and name in best.queues:
            queue = adopt(turn, best, queue)
        if not queue.has_group:
            bookkeeping.give_up(turn, name, queue.content, "side_given_up")
    for node in nodes_on(turn, side):
        turn.nodes[node].side = best.number
    del turn.sides[side.number]


def is_hosted(turn: Turn, side: MutableSide, name: str | None) -> bool:
    """Return True if a classic queue's process is on a node of a side."""
    queue = side.queues.get(name) if name is not None else None
    hosted = queue is not None and queue.type == CLASSIC and queue.master != NOWHERE
    return hosted and turn.nodes[queue.master].side == side.number


def adopt(turn: Turn, best: MutableSide, queue: Queue) -> Queue:
    """Put back a queue whose process was out of sight, under the majority's policies; return its record of before."""
    had, best.queues[queue.name] = best.queues[queue.name], queue
    best.own(queue.name)
    for kind in (USER, OPERATOR):
        reconsider(turn, queue.name, kind)
    return had
