"""Publisher confirms: a channel waits for every replica that it sent a message to.

Source: `rabbit_channel` and `unconfirmed_messages` (3.8.0 and later). The channel stops waiting for a replica that goes
down; when none is left, the message is confirmed if one of them had answered, and nacked otherwise. A message routed to
several queues is confirmed or nacked as one.

A transaction has one answer for all its messages (`rabbit_channel:maybe_complete_tx`): tx.commit-ok when every replica
has answered, and a closed channel where a confirming one would have sent a nack. Nothing is rolled back: a queue keeps
the messages that it has taken, although the transaction failed. What the channel itself rejects while it carries out
tx.commit, in place of a quorum queue, does not make the transaction fail: `rabbit_channel:handle_method` of tx.commit
writes `committing` over the `failed` of `record_rejects`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from hawb.engine.clients import answers
from hawb.engine.clients.client_state import NEVER_US, ORPHANED_GM_US, Share, Unconfirmed
from hawb.engine.clients.steady import steady_confirms
from hawb.engine.cluster.reachability import receives_answers
from hawb.engine.core import runs
from hawb.engine.core.events import ConfirmsDue
from hawb.engine.core.operations import Publish
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.state import NOWHERE, WaitingOperation
from hawb.engine.core.turn import Turn


def await_answers(
    turn: Turn, node: int, shares: tuple[Share, ...], *, transaction: bool, publisher: str | None = None
) -> None:
    """Let a channel at `node` wait for its messages' replicas."""
    number = turn.next_number()
    waiting = Unconfirmed(number, node, shares, transaction, turn.step, publisher)
    turn.unconfirmed = (*turn.unconfirmed, waiting)
    due_us = (due_us for share in shares for _, due_us in share.due_us if due_us < NEVER_US)
    turn.schedule(max(due_us, default=turn.now_us) - turn.now_us, ConfirmsDue(number, node))


def due(turn: Turn, event: ConfirmsDue) -> None:
    """Answer a channel's messages for which all remaining replicas have answered."""
    _update(turn, lambda share: share, lambda waiting: waiting.number == event.number)


def replica_answers(turn: Turn, queue: str, node: int, delay_us: int) -> None:
    """Schedule the answers of a replica that was silent and has received all its messages, after `delay_us`."""
    due_us = turn.now_us + delay_us + turn.settings.timing.fsync_us

    def heard(share: Share) -> Share:
        pairs = tuple((at, due_us if (at, us) == (node, NEVER_US) else us) for at, us in share.due_us)
        return replace(share, due_us=pairs) if share.queue == queue else share

    for waiting in turn.unconfirmed:
        if turn.is_here(waiting.node) and any(share.queue == queue for share in waiting.shares):
            turn.schedule(due_us - turn.now_us, ConfirmsDue(waiting.number, waiting.node))
    _update(turn, heard, lambda waiting: turn.is_here(waiting.node))
    steady_confirms.replica_answers(turn, queue, node, due_us)


def group_answers(turn: Turn, queue: str, node: int, numbers: Runs, rejected: Runs, delay_us: int) -> None:
    """Answer messages of a channel at `node` that a quorum queue has taken or `rejected`, after `delay_us`.

    A channel nacks a message that one queue rejects without waiting for the other queues that it was routed to.
    """
    left: list[Unconfirmed] = []
    for waiting in turn.unconfirmed:
        share = next((one for one in waiting.shares if one.queue == queue and runs.common(one.numbers, numbers)), None)
        if share is None or waiting.node != node:
            left.append(waiting)
            continue
        answers_us = ((NOWHERE, turn.now_us + delay_us),)
        taken = runs.common(share.numbers, runs.minus(numbers, rejected))
        refused = runs.common(share.numbers, rejected)
        parts = [
            replace(share, numbers=taken, due_us=answers_us),
            replace(share, numbers=refused, due_us=answers_us, rejected=EMPTY if waiting.transaction else refused),
            replace(share, numbers=runs.minus(share.numbers, numbers)),
        ]
        parts = [part for part in parts if part.numbers]
        if waiting.transaction:
            others = tuple(one for one in waiting.shares if one is not share)
            left.append(_goes_on(turn, waiting, (*others, *parts)))
        else:
            left.extend(_goes_on(turn, waiting, _shares_of(waiting, share, part)) for part in parts)
    turn.unconfirmed = tuple(left)
    steady_confirms.group_answers(turn, queue, node, numbers, rejected, turn.now_us + delay_us)


def _shares_of(waiting: Unconfirmed, share: Share, part: Share) -> tuple[Share, ...]:
    """Return the shares of the messages of `part`, which one of the queues has decided."""
    others = [_at_places(one, share.numbers, part.numbers) for one in waiting.shares if one is not share]
    return (part, *(replace(one, due_us=()) for one in others)) if part.rejected else (part, *others)


def _at_places(other: Share, numbers: Runs, some: Runs) -> Share:
    """Return another queue's share of the messages that have the numbers `some` of `numbers` in the first queue."""
    found = EMPTY
    for first, last in some:
        before = runs.size(runs.common(numbers, runs.run(1, first - 1)))
        until = before + last - first + 1
        found = runs.union(found, runs.minus(runs.head(other.numbers, until), runs.head(other.numbers, before)))
    return replace(other, numbers=found, rejected=runs.common(other.rejected, found))


def _goes_on(turn: Turn, waiting: Unconfirmed, shares: tuple[Share, ...]) -> Unconfirmed:
    """Return a channel's wait with these shares, and schedule its check.

    It checks when the last answer under way has arrived.
    """
    number = turn.next_number()
    under_way_us = [due_us for share in shares for _, due_us in share.due_us if due_us < NEVER_US]
    if under_way_us:
        turn.schedule(max(0, max(under_way_us) - turn.now_us), ConfirmsDue(number, waiting.node), step=waiting.step)
    return replace(waiting, number=number, shares=shares)


def forget_replicas(turn: Turn, queue: str, nodes: Iterable[int]) -> None:
    """Stop waiting, on the current side, for a queue's replicas at `nodes`."""
    gone = frozenset(nodes)
    _update(
        turn,
        lambda share: _without(turn, share, gone) if share.queue == queue else share,
        lambda waiting: turn.is_here(waiting.node),
    )
    steady_confirms.forget_replicas(turn, queue, gone)


def orphaned_mirrors_gone(turn: Turn, nodes: Iterable[int]) -> None:
    """Drop the confirms that wait for orphaned mirrors whose group had a member on one of `nodes`, which are down.

    The other members of such a group see the death, find no record of the queue that names them, and end.
    """
    gone = frozenset(nodes)

    def without_them(share: Share) -> Share:
        queue, orphaned = turn.queues.get(share.queue), [at for at, due_us in share.due_us if due_us >= NEVER_US]
        if gone.isdisjoint(orphaned) or (queue is not None and not gone.isdisjoint((queue.master, *queue.mirrors))):
            return share
        return replace(share, due_us=(), answered=share.answered or turn.settings.profile.orphaned_mirrors_confirm)

    def loses_one(waiting: Unconfirmed) -> bool:
        return turn.is_here(waiting.node) and any(without_them(share) is not share for share in waiting.shares)

    _update(turn, without_them, loses_one)


def replica_crashed(turn: Turn, queue: str, node: int) -> None:
    """Nack at once the messages that wait for a crashed process at `node`, whichever other replicas have confirmed."""
    here = [waiting for waiting in turn.unconfirmed if turn.is_here(waiting.node)]
    affected = [waiting for waiting in here if _waits_for(turn, waiting, queue, node)]
    turn.unconfirmed = tuple(waiting for waiting in turn.unconfirmed if waiting not in affected)
    for waiting in affected:
        _answer(turn, waiting, confirmed=False)
    steady_confirms.replica_crashed(turn, queue, node)
    forget_replicas(turn, queue, [node])


def _waits_for(turn: Turn, waiting: Unconfirmed, queue: str, node: int) -> bool:
    return any(
        share.queue == queue and at == node and turn.now_us < due_us < ORPHANED_GM_US
        for share in waiting.shares
        for at, due_us in share.due_us
    )


def queue_deleted(turn: Turn, queue: str) -> None:
    """Confirm messages that waited for a queue that a client has deleted."""
    _update(
        turn,
        lambda share: replace(share, due_us=(), answered=True) if share.queue == queue else share,
        lambda waiting: turn.is_here(waiting.node),
    )
    steady_confirms.queue_deleted(turn, queue)


def client_gone(turn: Turn, node: int, reason: str = "client_node_gone") -> None:
    """Drop the waits of channels whose node or connection is gone: their publishers get no answer."""
    for waiting in turn.unconfirmed:
        if waiting.node == node:
            _say_nothing(turn, waiting, reason)
    turn.unconfirmed = tuple(waiting for waiting in turn.unconfirmed if waiting.node != node)
    for name in turn.queue_names():
        waiting = tuple(_without_channel(one, node) for one in turn.queues[name].waiting)
        if waiting != turn.queues[name].waiting:
            turn.change_queue(name, waiting=waiting)
    steady_confirms.client_gone(turn, node, reason)


def _without_channel(one: WaitingOperation, node: int) -> WaitingOperation:
    """Mark a waiting publish whose channel ended with its node: it still waits, but no channel gets its confirm.

    A channel that a client opens later on this node is another one.
    """
    if not isinstance(one.operation, Publish) or one.operation.node != node:
        return one
    return replace(one, operation=replace(one.operation, without_channel=True))


def _say_nothing(turn: Turn, waiting: Unconfirmed, reason: str) -> None:
    for share in waiting.shares:
        answers.say_nothing(turn, share.queue, share.numbers, reason)


def _without(turn: Turn, share: Share, gone: frozenset[int]) -> Share:
    answered = share.answered or any(node in gone and due_us <= turn.now_us for node, due_us in share.due_us)
    left = tuple(pair for pair in share.due_us if pair[0] not in gone)
    waits = any(due_us != ORPHANED_GM_US for _, due_us in left)
    return replace(share, due_us=left if waits else (), answered=answered)


def _update(
    turn: Turn, change: Callable[[Share], Share], chosen: Callable[[Unconfirmed], bool] = lambda waiting: True
) -> None:
    """Apply `change` to the shares of the chosen waits, and answer publishers whose wait is over."""
    left = []
    for waiting in turn.unconfirmed:
        if chosen(waiting):
            waiting = replace(waiting, shares=tuple(map(change, waiting.shares)))
            if all(due_us <= turn.now_us for share in waiting.shares for _, due_us in share.due_us):
                _answer(turn, waiting, confirmed=all(map(_is_taken, waiting.shares)))
                continue
        left.append(waiting)
    turn.unconfirmed = tuple(left)


def _is_taken(share: Share) -> bool:
    """Return True if the queue has the messages: a replica has answered, and the master has rejected none."""
    return not share.rejected and bool(share.answered or share.due_us)


def _answer(turn: Turn, waiting: Unconfirmed, *, confirmed: bool) -> None:
    """Send a publisher its confirms, or nacks if a queue lacks the messages. Fail its transaction if one is nacked."""
    if not receives_answers(turn, waiting.node):
        _say_nothing(turn, waiting, "client_node_gone")
        return
    for share in waiting.shares:
        answers.answer_publisher(
            turn, share.queue, share.numbers, waiting.publisher, transaction=waiting.transaction, confirmed=confirmed
        )
    if waiting.transaction and not confirmed:
        answers.fail(turn, waiting.step, waiting.publisher)
