"""Search for the worst case of a cluster with many queues: each kind of queue alone, one queue of each.

Queues of one kind have the same type, policies, arguments and numbers of replicas, on nodes in the same states; which
nodes these are makes no difference, but to random choices. Faults harm each queue by itself, so the shortest story for
one queue is that of the cluster, and a search with one queue ends where one with all of them would take hours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from hawb.planning.explore import Progress, Question, explore
from hawb.scenario.document import QueueEntry, Scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run


class Kind(NamedTuple):
    """A kind of queue: its queues, the cluster with the first one alone, and the answer of the search there."""

    queues: tuple[str, ...]
    begins: Scenario
    answer: Progress

    @property
    def is_harmed(self) -> bool:
        """Return True if a story harms its queues."""
        return self.answer.story is not None


class Worst(Struct, frozen=True):
    """The answers for all kinds of queues of a cluster."""

    question: Question
    kinds: tuple[Kind, ...]

    @property
    def worst(self) -> Kind:
        """Return the kind with the shortest story that does harm; without any, that with the least complete search."""
        found = [kind for kind in self.kinds if kind.is_harmed]
        unfinished = [kind for kind in self.kinds if not kind.answer.over]
        return min(found or unfinished or self.kinds, key=lambda kind: kind.answer.depth)

    @property
    def answer(self) -> Progress:
        """Return the answer for the cluster: the worst kind's, with the states and steps of all searches."""
        answers = [kind.answer for kind in self.kinds]
        states, tried = sum(one.states for one in answers), sum(one.tried for one in answers)
        return replace(self.worst.answer, states=states, tried=tried)

    @property
    def harmed(self) -> list[str]:
        """Return the queues of all kinds that a story harms."""
        return [queue for kind in self.kinds if kind.is_harmed for queue in kind.queues]


def worst_of_kinds(scenario: Scenario, question: Question, states: int, *, replicated: bool) -> Worst | None:
    """Search for each kind of queue of an imported cluster, in at most about `states` states each.

    With `replicated`, leave out queues with one replica. Return None if there is no queue.
    """
    kinds = tuple(_searched(scenario, entries, question, states) for entries in alike(scenario, replicated=replicated))
    return Worst(question, kinds) if kinds else None


def _searched(scenario: Scenario, entries: tuple[QueueEntry, ...], question: Question, states: int) -> Kind:
    begins, answer = replace(scenario, queues=entries[:1]), Progress()
    for answer in explore(Run.of(begins), question, at_a_time=1):
        if answer.states >= states:
            break
    return Kind(tuple(entry.queue for entry in entries), begins, answer)


def alike(scenario: Scenario, *, replicated: bool) -> Iterator[tuple[QueueEntry, ...]]:
    """Yield the queues of each kind; without `replicated`, those with one replica too."""
    known, kinds = outcome(Run.of(scenario)), {}
    for entry in scenario.queues:
        queue = known["queues"][entry.queue]
        first, *others = queue.get("members") or [queue.get("master"), *queue["mirrors"]]
        kind = (
            queue["type"], queue["durable"], queue["policy"], queue["operator_policy"], repr(entry.arguments),
            known["nodes"].get(first), sorted(known["nodes"][node] for node in others), queue["state"],
            len(queue.get("synchronised_mirrors") or ()), queue["messages"] == 0,
        )  # fmt: skip
        if others or not replicated:
            kinds.setdefault(repr(kind), []).append(entry)
    return map(tuple, kinds.values())
