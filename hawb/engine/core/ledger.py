"""What became of every message, and how long each queue could not be used: the record that outcomes report.

The ledger lies beside the state and never decides anything. It balances at every moment: each published number is in
exactly one of the queue's content, `lost`, `refused` and the lists of `removed` (see `imbalance`). What clients were
told or said (`confirmed`, `nacked`, `acknowledged`) may overlap any of them.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.core import runs
from hawb.engine.core.runs import EMPTY, Runs

REMOVALS = ("acknowledged", "expired", "dropped", "dead_lettered", "rejected", "purged", "deleted")


class Outage(Struct, frozen=True):
    """Time spent in a condition: what has been counted, and since when it holds now (None: it does not)."""

    total_us: int = 0
    since_us: int | None = None

    def begin(self, now_us: int) -> Outage:
        """The condition holds from now on."""
        return self if self.since_us is not None else Outage(self.total_us, now_us)

    def end(self, now_us: int) -> Outage:
        """The condition holds no longer."""
        return Outage(self.at(now_us)) if self.since_us is not None else self

    def at(self, now_us: int) -> int:
        """Microseconds spent in the condition until now."""
        return self.total_us + (now_us - self.since_us if self.since_us is not None else 0)


class Account(Struct, frozen=True):
    """One queue name's entry. It outlives the queue. `left_one_side` are messages that left the queue for a reason on
    one side of a partition while another still had them."""

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
        """`numbers` left the queue for `reason`, one of REMOVALS."""
        return replace(
            self,
            removed=tuple((name, runs.union(had, numbers) if name == reason else had) for name, had in self.removed),
        )

    def with_returned(self, numbers: Runs) -> Account:
        """`numbers`, which were lost or had left the queue, are in it again."""
        return replace(
            self,
            lost=runs.minus(self.lost, numbers),
            removed=tuple((name, runs.minus(had, numbers)) for name, had in self.removed),
        )

    def with_delivered(self, numbers: Runs) -> Account:
        """`numbers` were sent to a client."""
        again = runs.common(self.delivered, numbers)
        return replace(
            self,
            delivered=runs.union(self.delivered, numbers),
            delivered_twice=runs.union(self.delivered_twice, again),
        )

    @property
    def lost_confirmed(self) -> int:
        """How many messages the broker had confirmed and no client will get: lost, or confirmed though no queue took
        them."""
        return runs.size(runs.common(self.confirmed, runs.union(self.lost, self.refused)))


class Loss(Struct, frozen=True):
    """Messages that are gone for good; `entry` is the trace entry of the loss, if a trace is written."""

    queue: str
    numbers: Runs
    cause: str
    entry: int | None


def imbalance(account: Account, content: Runs) -> str | None:
    """What is wrong with the books of a queue that holds `content`; None when every message is in exactly one place."""
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
