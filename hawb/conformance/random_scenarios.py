"""Random scenarios over the whole vocabulary, of mirrored and quorum queues side by side, for the model and a real
cluster to be compared by.

Scenario `n` of a seed is the same on any machine: every draw is counted (`hawb.engine.core.randomness`). Each has a
beginning, one chapter of faults and two of operations around it (`random_faults`, `random_operations`). Chapters are
dealt from shuffled decks, so that after every nine scenarios each fault, and after every seventeen each operation
twice, has had its turn.

A real cluster has to answer the same each time, and soon. Left out, because they are racy there:

* What RabbitMQ chooses at random: the locators `random` and `min-masters`, mirrors of a new queue under `all` or
  `exactly` with more than one candidate. Mirrors are placed by a list of nodes, which has an order; `all` and
  `exactly` are set over them, and where one mirror is to be added then, there is one candidate.
* Steps of the same moment, nodes that go or come together, operations while a synchronisation runs, and which end of a
  single cut link is cut off: who notices first decides. A node loses all of its links, and nodes come one by one.
* What depends on time: publishers and consumers with a rate, and TTLs that are near to the time of a step.
* autoheal: on Erlang 25 a node that rejoins may hang.
* Consumers of the same rank at one queue: who gets a message depends on whose credit came first.
* Operations on a queue that is down or has no majority, but publishing: they take a minute each.
* Who is elected: no later step says who leads a quorum queue that has elected its leader itself, and a queue whose
  leader has to be known is declared anew. A new queue has either its first leader as the only member, or one on each
  node.
* Whether a leader that was restarted has clients send again what was lost: leaders that go leave a majority, or nobody
  publishes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hawb.conformance.random_cast import LOOK, Cast, beginning
from hawb.conformance.random_faults import FAULTS
from hawb.conformance.random_operations import OPERATIONS
from hawb.engine.core import randomness
from hawb.scenario.document import Scenario
from hawb.scenario.load import read_scenario

T = TypeVar("T")

DRAWS, DECK_OF_FAULTS, DECK_OF_OPERATIONS = 50, 51, 52
"""The purposes of the draws, apart from those of `hawb.engine.core.randomness`."""

FEW = 3
RACY = {
    "racy": {
        "fields": ["queues.m*.recoverable_mirrors"],
        "reason": "With several mirrors, which of them the record has as recoverable after restarts is luck.",
    }
}
"""The fields that are luck with more nodes than `FEW`."""


def random_scenario(seed: int, n: int, version: str = "3.10") -> Scenario:
    """Scenario `n` (from 0) of a seed, for a profile of the rules."""
    cast = Cast(seed, DRAWS, n)
    before, fault, after = (
        dealt(OPERATIONS, seed, DECK_OF_OPERATIONS, 2 * n),
        dealt(FAULTS, seed, DECK_OF_FAULTS, n),
        dealt(OPERATIONS, seed, DECK_OF_OPERATIONS, 2 * n + 1),
    )
    steps = [*beginning(cast), *before(cast)]
    cast.masters.clear()
    steps += [*fault(cast), LOOK, *after(cast)]
    title = f"Random scenario {n} of seed {seed}: {before.__name__}, {fault.__name__}, {after.__name__}"
    file = {"scenario": title, "cluster": cast.cluster | {"version": version}, "steps": steps}
    return read_scenario(file | (RACY if len(cast.nodes) > FEW else {}))


def dealt(deck: Sequence[T], seed: int, purpose: int, n: int) -> T:
    """Card `n` of a deck that is shuffled again whenever it has been dealt out."""
    deal, place = divmod(n, len(deck))
    return deck[randomness.shuffled(tuple(range(len(deck))), seed, purpose, deal, 0)[place]]
