"""The answers that publishers get about their messages, and their ledger entries.

Source: `rabbit_channel` (`send_confirms_and_nacks`, `maybe_complete_tx`).
"""

from __future__ import annotations

from hawb.engine.clients.steady.closing import close
from hawb.engine.core import runs
from hawb.engine.core.runs import Runs
from hawb.engine.core.turn import Turn

ANSWERS: dict[tuple[bool, bool], tuple[str, str | None]] = {
    (False, True): ("messages_confirmed", "confirmed"),
    (False, False): ("messages_nacked", "nacked"),
    (True, True): ("transaction_committed", "confirmed"),
    (True, False): ("transaction_failed", None),
}
"""The trace event of an answer and the ledger's field for it, by whether the messages are a transaction's and whether
they are confirmed. A closed channel appears as the error of its step."""


def answer_publisher(
    turn: Turn, queue: str, numbers: Runs, publisher: str | None, *, transaction: bool, confirmed: bool
) -> None:
    """Confirm messages to their publisher, or nack them; `publisher` is the steady publisher, if one sent them."""
    event, field = ANSWERS[transaction, confirmed]
    if field is not None:
        turn.book(queue, **{field: runs.union(getattr(turn.account(queue), field), numbers)})
    turn.emit(event, queue=queue, ids=numbers)
    if publisher is not None and confirmed:
        turn.change_publisher(publisher, confirmed=turn.publishers[publisher].confirmed + runs.size(numbers))


def fail(turn: Turn, step: int, publisher: str | None) -> None:
    """Close the channel of a transaction that failed; a steady publisher, which has no other channel, ends with it."""
    if publisher is not None and turn.publishers[publisher].closed:
        return
    turn.refuse(406, "PRECONDITION_FAILED - partial tx completion", step)
    if publisher is not None:
        close(turn, turn.publishers[publisher], "transaction_failed")


def say_nothing(turn: Turn, queue: str, numbers: Runs, reason: str) -> None:
    """Record that a publisher never gets its answer: its channel's node or connection is gone."""
    turn.emit("messages_unanswered", queue=queue, ids=numbers, reason=reason)
