"""Publisher confirms: a channel waits for every replica that it sent a message to.

Source: `rabbit_channel` and `unconfirmed_messages` (3.8.0 and later). A replica that goes away is no longer waited for;
when none is left, the message is confirmed if one of them had answered, and nacked otherwise. A message routed to
several queues is confirmed or nacked as one. Transactions are not here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from hawb.engine import runs
from hawb.engine.events import ConfirmsDue
from hawb.engine.state import Share, Unconfirmed
from hawb.engine.turn import Turn


def await_answers(turn: Turn, node: int, shares: tuple[Share, ...]) -> None:
    """A channel at `node` begins to wait for its messages' replicas."""
    number = turn.next_number()
    turn.unconfirmed = (*turn.unconfirmed, Unconfirmed(number, node, shares))
    last_us = max((due_us for share in shares for _, due_us in share.due_us), default=turn.now_us)
    turn.schedule(last_us - turn.now_us, ConfirmsDue(number))


def due(turn: Turn, event: ConfirmsDue) -> None:
    """All replicas that are still there have answered, as far as they can."""
    _update(turn, lambda share: share, lambda waiting: waiting.number == event.number)


def forget_replicas(turn: Turn, queue: str, nodes: Iterable[int]) -> None:
    """A queue's replicas at `nodes` are gone: nobody waits for them any more."""
    gone = frozenset(nodes)
    _update(turn, lambda share: _without(turn, share, gone) if share.queue == queue else share)


def queue_deleted(turn: Turn, queue: str) -> None:
    """A queue is gone by a client's wish: what waited for it counts as confirmed."""
    _update(turn, lambda share: replace(share, due_us=(), answered=True) if share.queue == queue else share)


def client_gone(turn: Turn, node: int) -> None:
    """The node of a channel is gone: its publishers never hear."""
    for waiting in turn.unconfirmed:
        if waiting.node == node:
            _say_nothing(turn, waiting)
    turn.unconfirmed = tuple(waiting for waiting in turn.unconfirmed if waiting.node != node)


def _say_nothing(turn: Turn, waiting: Unconfirmed) -> None:
    for share in waiting.shares:
        turn.emit("messages_unanswered", queue=share.queue, ids=share.numbers, reason="client_node_gone")


def _without(turn: Turn, share: Share, gone: frozenset[int]) -> Share:
    answered = share.answered or any(node in gone and due_us <= turn.now_us for node, due_us in share.due_us)
    return replace(share, due_us=tuple(pair for pair in share.due_us if pair[0] not in gone), answered=answered)


def _update(
    turn: Turn, change: Callable[[Share], Share], chosen: Callable[[Unconfirmed], bool] = lambda waiting: True
) -> None:
    """Applies `change` to the shares of the chosen, and answers the publishers who need wait no longer."""
    left = []
    for waiting in turn.unconfirmed:
        if chosen(waiting):
            waiting = replace(waiting, shares=tuple(map(change, waiting.shares)))
            if all(due_us <= turn.now_us for share in waiting.shares for _, due_us in share.due_us):
                _answer(turn, waiting)
                continue
        left.append(waiting)
    turn.unconfirmed = tuple(left)


def _answer(turn: Turn, waiting: Unconfirmed) -> None:
    """Confirms if every queue has the messages somewhere, nacks otherwise; on a node that is gone nobody listens."""
    if not turn.is_running(waiting.node):
        _say_nothing(turn, waiting)
        return
    confirmed = all(share.answered or share.due_us for share in waiting.shares)
    for share in waiting.shares:
        (confirm if confirmed else nack)(turn, share.queue, share.numbers)


def confirm(turn: Turn, queue: str, numbers: runs.Runs) -> None:
    """The publisher is told that the broker has the messages."""
    turn.book(queue, confirmed=runs.union(turn.account(queue).confirmed, numbers))
    turn.emit("messages_confirmed", queue=queue, ids=numbers)


def nack(turn: Turn, queue: str, numbers: runs.Runs) -> None:
    """The publisher is told that the broker does not have the messages."""
    turn.book(queue, nacked=runs.union(turn.account(queue).nacked, numbers))
    turn.emit("messages_nacked", queue=queue, ids=numbers)
