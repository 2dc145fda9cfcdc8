"""The plots of wide stories: what happens to nodes, for all queues of a story together.

A plot is a list of acts, each with the node that it is for, by the order in which nodes go: node 0 is the first one.
Whatever the plot, node 0 is down in `MEANWHILE`, when each queue gets messages from each node that runs, and its
settings say what else is done to it; all nodes run at the end. No links fail: `random_faults` has that, and Erlang 25
may hang after a partition, with all queues of the story. Nodes go and come one by one.

Where mirrors come together with their master, all queues are mirrored by lists before (`LISTED`): `all` and `exactly`
add several mirrors in an order that is luck.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple


class Act(Enum):
    """An act of a story, beside its beginning and its end."""

    STOP = "stop"
    KILL = "kill"
    START = "start"
    FORCE_BOOT = "force_boot"
    MEANWHILE = "meanwhile"
    PUBLISH = "publish"
    LISTED = "listed"
    REWRITTEN = "rewritten"


class Happening(NamedTuple):
    """An act, and the node that it is for, by its place in the order in which nodes go."""

    act: Act
    node: int = 0


Plot = Callable[[int], list[Happening]]
"""Gives the acts in a cluster of so many nodes."""

MEANWHILE, PUBLISH, LISTED = Happening(Act.MEANWHILE), Happening(Act.PUBLISH), Happening(Act.LISTED)


def stop(node: int) -> Happening:
    return Happening(Act.STOP, node)


def kill(node: int) -> Happening:
    return Happening(Act.KILL, node)


def start(node: int) -> Happening:
    return Happening(Act.START, node)


def stopped(_size: int) -> list[Happening]:
    return [stop(0), MEANWHILE, start(0)]


def killed(_size: int) -> list[Happening]:
    return [kill(0), MEANWHILE, start(0)]


def two_stopped(_size: int) -> list[Happening]:
    return [stop(0), MEANWHILE, stop(1), PUBLISH, start(1), start(0)]


def two_killed(_size: int) -> list[Happening]:
    return [kill(0), MEANWHILE, kill(1), PUBLISH, start(0), start(1)]


def restarted_one_by_one(size: int) -> list[Happening]:
    """Each node is stopped and started again, as for an upgrade."""
    return [stop(0), MEANWHILE, start(0), *(act for node in range(1, size) for act in (stop(node), start(node)))]


def killed_one_by_one(size: int) -> list[Happening]:
    return [kill(0), MEANWHILE, start(0), *(act for node in range(1, size) for act in (kill(node), start(node)))]


def all_stopped(size: int) -> list[Happening]:
    """All nodes stop; the last to stop is started first, as any other waits for it."""
    others = range(1, size)
    return [stop(0), MEANWHILE, *map(stop, others), start(size - 1), LISTED, *map(start, reversed(range(size - 1)))]


def forced(size: int) -> list[Happening]:
    """All nodes stop; the first to stop is forced to boot without the others, which know more."""
    return [
        stop(0), MEANWHILE, *map(stop, range(1, size)), Happening(Act.FORCE_BOOT), LISTED, *map(start, range(1, size)),
    ]  # fmt: skip


def returned(size: int) -> list[Happening]:
    """A node comes back without the messages that came meanwhile, and then the others go."""
    others = range(1, size)
    return [kill(0), MEANWHILE, start(0), *map(kill, others), PUBLISH, LISTED, *map(start, others)]


def rewritten(_size: int) -> list[Happening]:
    """A storm of policies, each of which lists the same nodes in another order."""
    storm = Happening(Act.REWRITTEN)
    return [storm, storm, stop(0), MEANWHILE, storm, storm, start(0), storm]


PLOTS: dict[str, Plot] = {
    plot.__name__.replace("_", " "): plot
    for plot in (
        stopped, killed, two_stopped, two_killed, restarted_one_by_one, killed_one_by_one, all_stopped, forced,
        returned, rewritten,
    )
}  # fmt: skip
FEW_LEFT = tuple(
    plot.__name__.replace("_", " ") for plot in (restarted_one_by_one, killed_one_by_one, all_stopped, forced, returned)
)
"""The plots in which a master may come back to several nodes that have no mirror of it."""
