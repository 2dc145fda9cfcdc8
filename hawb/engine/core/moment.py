"""A moment: a state together with what is kept beside it, trace and ledger.

Moments know the one before them, so going back is following a reference, and two branches share their past.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from msgspec import Struct

from hawb.engine.core.ledger import Account, Loss
from hawb.engine.core.state import State
from hawb.engine.core.trace import Entry


class Refusal(Struct, frozen=True):
    """A step that RabbitMQ refused: its reply code (None for what rabbitmqctl refuses) and text."""

    step: int
    code: int | None
    text: str


class Moment(Struct, frozen=True):
    """A state, the ledger and the trace up to it, and the moment before. `refused` and `entries` are what came since
    that."""

    state: State
    ledger: dict[str, Account] = {}
    losses: tuple[Loss, ...] = ()
    refused: tuple[Refusal, ...] = ()
    entries: tuple[Entry, ...] = ()
    entries_before: int = 0
    before: Moment | None = None

    @property
    def entries_so_far(self) -> int:
        """How many entries its trace has."""
        return self.entries_before + len(self.entries)

    @property
    def refusals(self) -> list[Refusal]:
        """All refusals from the beginning on."""
        return [refusal for moment in reversed(list(self._back())) for refusal in moment.refused]

    def refusals_since(self, earlier: Moment) -> list[Refusal]:
        """Return the refusals that came after an earlier moment of the same story, or after the one before that if this
        moment goes on from there."""
        later = takewhile(lambda moment: moment is not earlier and moment is not earlier.before, self._back())
        found = [refusal for moment in reversed(list(later)) for refusal in moment.refused]
        return [refusal for refusal in found if refusal not in earlier.refused]

    def trace(self, since: int = 0) -> list[Entry]:
        """Everything that happened, from the beginning or from the entry of the number `since` on."""
        told = takewhile(lambda moment: moment.entries_so_far > since, self._back())
        chapters = [moment.entries[max(since - moment.entries_before, 0) :] for moment in told]
        return [entry for chapter in reversed(chapters) for entry in chapter]

    def _back(self) -> Iterator[Moment]:
        moment: Moment | None = self
        while moment is not None:
            yield moment
            moment = moment.before
