"""Write to the ledger: messages lost, removed or returned, promotions, and the time a queue was down.

Several sides of a partition may hold the same message. It has left a queue only when no side holds it any more.
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine.classic import places
from hawb.engine.core import runs
from hawb.engine.core.ledger import Loss
from hawb.engine.core.runs import Runs
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn


def lose(turn: Turn, queue: str, numbers: Runs, cause: str, because: int | None = None) -> None:
    """Count messages as lost, except those that another side still holds."""
    numbers = runs.minus(numbers, turn.held_elsewhere(queue))
    if not numbers:
        return
    account = turn.account(queue)
    turn.book(queue, lost=runs.union(account.lost, numbers))
    entry = turn.emit("messages_lost", queue=queue, because=because, ids=numbers, cause=cause)
    turn.losses.append(Loss(queue, numbers, cause, entry))


def refuse(turn: Turn, queue: str, numbers: Runs, reason: str) -> None:
    """Book messages that no queue takes."""
    places.skip(turn, queue, numbers)
    turn.book(queue, refused=runs.union(turn.account(queue).refused, numbers))
    turn.emit("messages_refused", queue=queue, ids=numbers, reason=reason)


def take_after_all(turn: Turn, queue: str, numbers: Runs, event: str = "messages_taken_after_all") -> None:
    """Move messages in the ledger from refused to accepted.

    A mirror that has been promoted has them, or a channel sends them again.
    """
    if numbers:
        turn.book(queue, refused=runs.minus(turn.account(queue).refused, numbers))
        turn.emit(event, queue=queue, ids=numbers)


def take_back(turn: Turn, queue: str, numbers: Runs) -> None:
    """Book messages as back in the queue that were lost or removed, because an old copy is served again."""
    if not numbers:
        return
    had = turn.account(queue)
    noted = tuple((reason, again) for reason, left in had.removed if (again := runs.common(left, numbers)))
    turn.ledger[queue] = replace(had.with_returned(numbers), left_one_side=had.left_one_side + noted)
    turn.emit("messages_returned", queue=queue, ids=numbers)
    left = [replace(loss, numbers=runs.minus(loss.numbers, numbers)) if loss.queue == queue else loss
            for loss in turn.losses]  # fmt: skip
    turn.losses = [loss for loss in left if loss.numbers]


def reclaim(turn: Turn, queue: str, content: Runs) -> None:
    """Take back the messages of `content` that count as lost or as having left; it is served from now on."""
    account = turn.account(queue)
    gone = runs.normal(pair for part in (account.lost, *dict(account.removed).values()) for pair in part)
    take_back(turn, queue, runs.common(gone, content))


def count_times(turn: Turn, name: str) -> None:
    """Start or stop the clocks of a queue: without a master on any side, and synchronising."""
    found = [side.queues[name] for side in turn.sides.values() if name in side.queues]
    account = turn.account(name)
    down = account.down.end if not found or any(queue.up for queue in found) else account.down.begin
    syncing = account.syncing.begin if any(queue.sync for queue in found) else account.syncing.end
    turn.book(name, down=down(turn.now_us), syncing=syncing(turn.now_us))


def note_promotion(turn: Turn, queue: Queue, synchronised: bool) -> None:
    """Count a promotion of a mirror, synchronised or not."""
    account = turn.account(queue.name)
    turn.book(
        queue.name,
        promotions=account.promotions + 1,
        unsynchronised_promotions=account.unsynchronised_promotions + (not synchronised),
    )


def remove(turn: Turn, queue: str, numbers: Runs, reason: str) -> None:
    """Book messages as removed from the queue for `reason`.

    For messages that another side still holds, only note the reason until that side drops them.
    """
    if numbers:
        still = runs.common(numbers, turn.held_elsewhere(queue))
        turn.ledger[queue] = turn.account(queue).with_removed(reason, runs.minus(numbers, still))
        if still:
            turn.book(queue, left_one_side=(*turn.account(queue).left_one_side, (reason, still)))


def give_up(turn: Turn, queue: str, numbers: Runs, cause: str, because: int | None = None) -> None:
    """Book messages that the current side has dropped, unless any side still holds them.

    Messages that left the queue on another side for a noted reason count as removed, all others as lost.
    """
    gone = runs.minus(numbers, runs.union(turn.held_elsewhere(queue), turn.held_here(queue)))
    for reason, noted in turn.account(queue).left_one_side:
        turn.ledger[queue] = turn.account(queue).with_removed(reason, runs.common(gone, noted))
        gone = runs.minus(gone, noted)
    lose(turn, queue, gone, cause, because)
