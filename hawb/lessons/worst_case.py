"""Clusters whose worst case is looked for in notebook 26, and the search as a notebook calls it."""

from __future__ import annotations

from msgspec import Struct

from hawb.cluster import Cluster
from hawb.planning.explore import Progress, Question, explore
from hawb.planning.moves import MOVES, Spent
from hawb.views.planning.exploration import report

QUEUE, MESSAGES = "orders", 5


class Worst(Struct, frozen=True):
    """What a search has found: its question, and its answer."""

    question: Question
    answer: Progress

    @property
    def cluster(self) -> Cluster:
        """The story, played. Raises ValueError where there is none."""
        if self.answer.story is None:
            raise ValueError("there is no story: the search has found none")
        return Cluster.of(self.answer.story)

    def __repr__(self) -> str:
        return report(self.question, self.answer, with_story=True)


def mirrored(mode: str | int = 2, handling: str = "ignore", **settings: str) -> Cluster:
    """Three nodes and a mirrored queue with some messages: `mode` copies or "all", and the policy's other keys, as
    `promote_on_failure="when-synced"`."""
    keys = {f"ha-{name.replace('_', '-')}": value for name, value in settings.items()}
    among = {"ha-mode": "all"} if mode == "all" else {"ha-mode": "exactly", "ha-params": mode}
    cluster = Cluster("a", "b", "c", version="3.10", title="A mirrored queue", cluster_partition_handling=handling)
    return cluster.set_policy("ha", f"^{QUEUE}$", among | keys).declare(QUEUE, node="a").publish(QUEUE, MESSAGES)


def quorum() -> Cluster:
    """Three nodes and a quorum queue of three with some messages."""
    cluster = Cluster("a", "b", "c", version="3.10", title="A quorum queue")
    return cluster.declare(QUEUE, node="a", arguments={"x-queue-type": "quorum"}).publish(QUEUE, MESSAGES)


def worst(cluster: Cluster, goal: str, faults: int, operations: int, verbs: str = "") -> Worst:
    """The shortest story that ends in a goal (`hawb.planning.goals.GOALS`), of at most so many faults and operations
    and of these verbs, or of all. The cluster stays as it is."""
    question = Question(goal, Spent(faults, operations), frozenset(verbs.split() or MOVES))
    *_, last = explore(cluster.run, question)
    return Worst(question, last)
