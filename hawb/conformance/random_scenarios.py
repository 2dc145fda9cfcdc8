"""Random scenarios over all verbs, with mirrored and quorum queues together, to compare the model and a real cluster.

Scenario `n` of a seed is the same on any machine: every draw is counted (`hawb.engine.core.randomness`). Each has a
beginning, one chapter of faults and two of operations around it (`random_faults`, `random_operations`). Chapters are
dealt from shuffled decks, so that nine scenarios have each fault once, and seventeen have each operation twice.

A real cluster has to answer the same each time, and soon. Left out, because they are racy there:

* RabbitMQ's random choices: the locators `random` and `min-masters`, mirrors of a new queue under `all` or `exactly`
  with more than one candidate. Mirrors are placed by a list of nodes, which has an order; `all` and `exactly` are set
  over them, and where one mirror is to be added then, there is one candidate.
* Steps of the same moment, nodes that go down or come up together, operations while a synchronisation runs, and the
  side of a single cut link that is cut off: the first node to detect it decides. A node loses all of its links, and
  nodes come up one by one.
* Steps that depend on time: publishers and consumers with a rate, and TTLs that are near to the time of a step.
* autoheal: on Erlang 25 a node that rejoins may hang.
* Consumers of the same rank at one queue: the first one with credit gets a message.
* Operations on a queue that is down or has no majority, except publishing: they take a minute each.
* The result of elections: no later step depends on the leader of a quorum queue that has elected it itself, and a queue
  whose leader has to be known is declared again. A new queue has either its first leader as the only member, or one on
  each node.
* Whether a leader that was restarted makes clients send lost messages again: leaders that go down leave a majority, or
  no client publishes.
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
"""The purposes of the draws, separate from those of `hawb.engine.core.randomness`."""

FEW = 3
RACY = {
    "racy": {
        "fields": ["queues.m*.recoverable_mirrors"],
        "reason": "With several mirrors, which of them the record has as recoverable after restarts is luck.",
    }
}
"""The fields that are random with more nodes than `FEW`."""


def random_scenario(seed: int, n: int, version: str = "3.10") -> Scenario:
    """Return scenario `n` (from 0) of a seed, for a profile of the rules."""
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
    """Return card `n` of a deck that is shuffled again whenever it has been dealt out."""
    deal, place = divmod(n, len(deck))
    return deck[randomness.shuffled(tuple(range(len(deck))), seed, purpose, deal, 0)[place]]
