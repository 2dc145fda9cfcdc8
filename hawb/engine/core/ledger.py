"""The ledger: what became of every message, and how long each queue could not be used.

The ledger stands beside the state and decides nothing. It balances at every moment: each published number is in exactly
one of the queue's content, `lost`, `refused` and the lists of `removed` (`imbalance` checks it). `confirmed`, `nacked`
and `acknowledged` may overlap any of these.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.core import runs
from hawb.engine.core.runs import EMPTY, Runs

REMOVALS = ("acknowledged", "expired", "dropped", "dead_lettered", "rejected", "purged", "deleted")


class Outage(Struct, frozen=True):
    """The total time spent in a condition, and the time since which the condition holds (None: it does not hold)."""

    total_us: int = 0
    since_us: int | None = None

    def begin(self, now_us: int) -> Outage:
        """Return a copy in which the condition holds since `now_us`; unchanged if it held already."""
        return self if self.since_us is not None else Outage(self.total_us, now_us)

    def end(self, now_us: int) -> Outage:
        """Return a copy in which the condition has ended at `now_us`; unchanged if it did not hold."""
        return Outage(self.at(now_us)) if self.since_us is not None else self

    def at(self, now_us: int) -> int:
        """Return the microseconds spent in the condition until now."""
        return self.total_us + (now_us - self.since_us if self.since_us is not None else 0)


class Account(Struct, frozen=True):
    """The account of one queue name. It outlives the queue.

    `left_one_side` are messages that left the queue, each with the reason, on one side of a partition while another
    side still held them.
    """

    published: int = 0
    confirmed: Runs = EMPTY
    nacked: Runs = EMPTY
    acknowledged: Runs = EMPTY
    delivered: Runs = EMPTY
    delivered_twice: Runs = EMPTY
    lost: Runs = EMPTY
    refused: Runs = EMPTY
    removed: tuple[tuple[str, Runs], ...] = tuple((reason, EMPTY) for reason in REMOVALS)
    down: Outage = Outage()
    syncing: Outage = Outage()
    promotions: int = 0
    unsynchronised_promotions: int = 0
    elections: int = 0
    bytes_replicated: int = 0
    left_one_side: tuple[tuple[str, Runs], ...] = ()

    def with_removed(self, reason: str, numbers: Runs) -> Account:
        """Return the account with `numbers` removed for `reason`, one of REMOVALS."""
        return replace(
            self,
            removed=tuple((name, runs.union(had, numbers) if name == reason else had) for name, had in self.removed),
        )

    def with_returned(self, numbers: Runs) -> Account:
        """Return the account with `numbers`, which were lost or removed, back in the queue."""
        return replace(
            self,
            lost=runs.minus(self.lost, numbers),
            removed=tuple((name, runs.minus(had, numbers)) for name, had in self.removed),
        )

    def with_delivered(self, numbers: Runs) -> Account:
        """Return the account with `numbers` delivered to a client."""
        again = runs.common(self.delivered, numbers)
        return replace(
            self,
            delivered=runs.union(self.delivered, numbers),
            delivered_twice=runs.union(self.delivered_twice, again),
        )

    @property
    def lost_confirmed(self) -> int:
        """Return how many confirmed messages no client will get: lost, or taken by no queue."""
        return runs.size(runs.common(self.confirmed, runs.union(self.lost, self.refused)))


class Loss(Struct, frozen=True):
    """Messages that are lost. `entry` is the number of the trace entry, if a trace is written."""

    queue: str
    numbers: Runs
    cause: str
    entry: int | None


def imbalance(account: Account, content: Runs) -> str | None:
    """Return what is wrong with the account of a queue that holds `content`; None if each message is in one place."""
    places = [("ids", content), ("lost", account.lost), ("refused", account.refused), *account.removed]
    seen: Runs = EMPTY
    for place, numbers in places:
        twice = runs.common(seen, numbers)
        if twice:
            return f"{twice} stands in {place} and in another place"
        seen = runs.union(seen, numbers)
    if seen != runs.run(1, account.published):
        return f"{account.published} messages were published, but {seen} are accounted for"
    return None
