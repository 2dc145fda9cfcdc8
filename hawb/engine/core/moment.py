"""A moment: a state with its ledger and trace.

A moment refers to the one before it. To go back is to follow that reference, and two branches of a story share their
past.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from msgspec import Struct

from hawb.engine.core.ledger import Account, Loss
from hawb.engine.core.state import State
from hawb.engine.core.trace import Entry
from hawb.raft.messages import OfElection


class Refusal(Struct, frozen=True):
    """A step that RabbitMQ refused: its reply code (None for a refusal by rabbitmqctl) and text."""

    step: int
    code: int | None
    text: str


class Ballot(Struct, frozen=True):
    """A member of a Raft group sends a request for a (pre-)vote, or the answer to one, or a message of these arrives.

    It is due at `due_us`. It does not arrive if its link is cut meanwhile, or its target goes down.
    """

    t_us: int
    group: str
    message: OfElection
    due_us: int
    arrived: bool


class Moment(Struct, frozen=True):
    """A state with its ledger, and the moment before.

    `refused`, `entries` and `ballots` are what came since that moment. A group's first election has no ballots.
    """

    state: State
    ledger: dict[str, Account] = {}
    losses: tuple[Loss, ...] = ()
    refused: tuple[Refusal, ...] = ()
    entries: tuple[Entry, ...] = ()
    entries_before: int = 0
    before: Moment | None = None
    ballots: tuple[Ballot, ...] = ()

    @property
    def entries_so_far(self) -> int:
        """Return the number of entries of the whole trace."""
        return self.entries_before + len(self.entries)

    @property
    def refusals(self) -> list[Refusal]:
        """Return all refusals since the beginning."""
        return [refusal for moment in reversed(list(self._back())) for refusal in moment.refused]

    def refusals_since(self, earlier: Moment) -> list[Refusal]:
        """Return the refusals that came after an earlier moment of the same story.

        If this moment branches off the one before `earlier`, return those since that one.
        """
        later = takewhile(lambda moment: moment is not earlier and moment is not earlier.before, self._back())
        found = [refusal for moment in reversed(list(later)) for refusal in moment.refused]
        return [refusal for refusal in found if refusal not in earlier.refused]

    def trace(self, since: int = 0) -> list[Entry]:
        """Return the trace from the entry with the number `since` on."""
        recent = takewhile(lambda moment: moment.entries_so_far > since, self._back())
        chapters = [moment.entries[max(since - moment.entries_before, 0) :] for moment in recent]
        return [entry for chapter in reversed(chapters) for entry in chapter]

    def all_ballots(self) -> list[Ballot]:
        """Return all ballots since the beginning, in the order of time."""
        return [ballot for moment in reversed(list(self._back())) for ballot in moment.ballots]

    def _back(self) -> Iterator[Moment]:
        moment: Moment | None = self
        while moment is not None:
            yield moment
            moment = moment.before
