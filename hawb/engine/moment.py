"""A moment: a state together with what is kept beside it, trace and ledger.

Moments know the one before them, so going back is following a reference, and two branches share their past.
"""

from __future__ import annotations

from msgspec import Struct

from hawb.engine.ledger import Account, Loss
from hawb.engine.state import State
from hawb.engine.trace import Entry


class Refusal(Struct, frozen=True):
    """A step that RabbitMQ refused: its reply code (None for what rabbitmqctl refuses) and text."""

    step: int
    code: int | None
    text: str


class Moment(Struct, frozen=True):
    """A state, the ledger and the trace up to it, and the moment before."""

    state: State
    ledger: dict[str, Account] = {}
    losses: tuple[Loss, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    entries: tuple[Entry, ...] = ()
    entries_before: int = 0
    before: Moment | None = None

    @property
    def entries_so_far(self) -> int:
        """How many entries its trace has."""
        return self.entries_before + len(self.entries)

    def trace(self, since: int = 0) -> list[Entry]:
        """Everything that happened, from the beginning or from the entry of the number `since` on."""
        chapters = []
        moment: Moment | None = self
        while moment is not None and moment.entries_so_far > since:
            chapters.append(moment.entries[max(since - moment.entries_before, 0) :])
            moment = moment.before
        return [entry for chapter in reversed(chapters) for entry in chapter]
