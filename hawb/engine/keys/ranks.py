"""The numbers of a queue's messages as a key has them: how many were published before them cannot matter."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache, reduce
from itertools import accumulate

from hawb.engine.core import runs
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.state import Side, State
from hawb.engine.keys import quorum_key

KEPT = 1 << 14
"""The number of cached parts of keys: states of one search differ in few parts. A queue's part takes some kilobytes."""


def present(sides: tuple[Side, ...], state: State, name: str) -> Runs:
    """Return the messages of a queue that exist anywhere: in replicas, with clients or under way."""
    queues = [side.queues[name] for side in sides if name in side.queues]
    held = [content for queue in queues for content in queue.contents if content]
    held += [
        part
        for consumer in state.consumers.values()
        if consumer.queue == name
        for part in (consumer.held, consumer.stale, consumer.settled_early)
    ]
    held += [share.numbers for waiting in state.unconfirmed for share in waiting.shares if share.queue == name]
    held += [queue.pending for queue in queues]
    held += [numbers for queue in queues for _, numbers, _ in queue.orphaned_publishes]
    held += quorum_key.numbers_of(state, name) if name in state.groups else ()
    held += [
        run.numbers for one in state.publishers.values() if one.queue == name for run in one.unanswered
    ]
    return together(frozenset(held))


@lru_cache(KEPT)
def together(held: frozenset[Runs]) -> Runs:
    """Return the union of sets of messages."""
    return runs.normal(pair for part in held for pair in part)


class Ranks:
    """A renumbering of a queue's messages: the n-th smallest of those `present` becomes n."""

    def __init__(self, present: Runs):
        self.present = present
        self._known: dict[Runs, Runs] = {EMPTY: EMPTY}
        self._firsts = [first for first, _ in self.present]
        self._before = [0, *accumulate(last - first + 1 for first, last in self.present)]

    def rank(self, number: int) -> int:
        """Return the new number of a message that is present."""
        at = bisect_right(self._firsts, number) - 1
        return self._before[at] + number - self._firsts[at]

    def before(self, number: int) -> int:
        """Return how many of the messages present have smaller numbers."""
        return runs.size(runs.common(self.present, ((0, number - 1),)))

    def __call__(self, numbers: Runs) -> Runs:
        """Return the new numbers of those of the messages that are present."""
        known = self._known.get(numbers)
        if known is None:
            present = runs.common(numbers, self.present)
            known = runs.normal([(self.rank(first), self.rank(last)) for first, last in present])
            self._known[numbers] = known
        return known


@lru_cache(KEPT)
def ranks_of(present: Runs) -> Ranks:
    """Return the renumbering of the messages `present`, from a cache."""
    return Ranks(present)


def in_their_order(rank: Ranks, numbers: Runs) -> Runs:
    """Return numbers that need not be sorted, renumbered."""
    return reduce(runs.chain, (rank((pair,)) for pair in numbers), EMPTY) if len(numbers) > 1 else rank(numbers)
