"""The answers that publishers get about their messages, and where the ledger books them.

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
"""The event that tells of an answer and the field of the ledger that books it, by whether the messages are a
transaction's and whether they are confirmed. The end of a channel is told as the error of its step."""


def tell(turn: Turn, queue: str, numbers: Runs, publisher: str | None, *, transaction: bool, confirmed: bool) -> None:
    """Confirms messages to their publisher, or nacks them; `publisher` is the steady publisher, if one sent them."""
    told, field = ANSWERS[transaction, confirmed]
    if field is not None:
        turn.book(queue, **{field: runs.union(getattr(turn.account(queue), field), numbers)})
    turn.emit(told, queue=queue, ids=numbers)
    if publisher is not None and confirmed:
        turn.change_publisher(publisher, confirmed=turn.publishers[publisher].confirmed + runs.size(numbers))


def fail(turn: Turn, step: int, publisher: str | None) -> None:
    """Closes the channel of a transaction that failed; a steady publisher, which has no other channel, ends with it."""
    if publisher is not None and turn.publishers[publisher].closed:
        return
    turn.refuse(406, "PRECONDITION_FAILED - partial tx completion", step)
    if publisher is not None:
        close(turn, turn.publishers[publisher], "transaction_failed")


def say_nothing(turn: Turn, queue: str, numbers: Runs, reason: str) -> None:
    """Notes that a publisher never gets its answer: the node of its channel is gone, or the connection to it."""
    turn.emit("messages_unanswered", queue=queue, ids=numbers, reason=reason)
