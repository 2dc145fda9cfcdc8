"""Define the clusters of notebook 26, whose worst case is searched for, and the search."""

from __future__ import annotations

from msgspec import Struct

from hawb.cluster import Cluster
from hawb.planning.explore import Progress, Question, explore
from hawb.planning.moves import MOVES, Spent
from hawb.views.planning.exploration import report

QUEUE, MESSAGES = "orders", 5


class Worst(Struct, frozen=True):
    """The result of a search: its question, and its answer."""

    question: Question
    answer: Progress

    @property
    def cluster(self) -> Cluster:
        """Return the story that was found, played. Raise ValueError if there is none."""
        if self.answer.story is None:
            raise ValueError("there is no story: the search has found none")
        return Cluster.of(self.answer.story)

    def __repr__(self) -> str:
        return report(self.question, self.answer, with_story=True)


def mirrored(mode: str | int = 2, handling: str = "ignore", **settings: str) -> Cluster:
    """Return a cluster of three nodes with a mirrored queue and messages.

    `mode` is the number of replicas or "all". `settings` are the policy's other keys, such as
    `promote_on_failure="when-synced"`.
    """
    keys = {f"ha-{name.replace('_', '-')}": value for name, value in settings.items()}
    among = {"ha-mode": "all"} if mode == "all" else {"ha-mode": "exactly", "ha-params": mode}
    cluster = Cluster("a", "b", "c", version="3.10", title="A mirrored queue", cluster_partition_handling=handling)
    return cluster.set_policy("ha", f"^{QUEUE}$", among | keys).declare(QUEUE, node="a").publish(QUEUE, MESSAGES)


def quorum() -> Cluster:
    """Return a cluster of three nodes with a quorum queue of three members and messages."""
    cluster = Cluster("a", "b", "c", version="3.10", title="A quorum queue")
    return cluster.declare(QUEUE, node="a", arguments={"x-queue-type": "quorum"}).publish(QUEUE, MESSAGES)


def worst(cluster: Cluster, goal: str, faults: int, operations: int, verbs: str = "") -> Worst:
    """Search for the shortest story that ends in a goal (`hawb.planning.goals.GOALS`).

    It has at most so many faults and operations, of these verbs, or of all. The cluster is not changed.
    """
    question = Question(goal, Spent(faults, operations), frozenset(verbs.split() or MOVES))
    *_, last = explore(cluster.run, question)
    return Worst(question, last)
