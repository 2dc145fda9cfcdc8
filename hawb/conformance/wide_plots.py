"""The plots of wide stories: starts and stops of nodes, for all queues of a story together.

A plot is a list of acts, each with its node, by the order in which nodes go down: node 0 is the first one. In every
plot node 0 is down in `MEANWHILE`, when each queue gets messages from each running node, and its settings decide
further steps; all nodes run at the end. No links fail: `random_faults` has that, and Erlang 25 may hang after a
partition, with all queues of the story. Nodes go down and come up one by one.

Where mirrors come together with their master, all queues are mirrored by lists before (`LISTED`): `all` and `exactly`
add several mirrors in a random order.
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


class PlotStep(NamedTuple):
    """An act and its node, by the order in which nodes go down."""

    act: Act
    node: int = 0


Plot = Callable[[int], list[PlotStep]]
"""Returns the acts in a cluster of a number of nodes."""

MEANWHILE, PUBLISH, LISTED = PlotStep(Act.MEANWHILE), PlotStep(Act.PUBLISH), PlotStep(Act.LISTED)


def stop(node: int) -> PlotStep:
    """Return the act that stops a node."""
    return PlotStep(Act.STOP, node)


def kill(node: int) -> PlotStep:
    """Return the act that kills a node."""
    return PlotStep(Act.KILL, node)


def start(node: int) -> PlotStep:
    """Return the act that starts a node."""
    return PlotStep(Act.START, node)


def stopped(_size: int) -> list[PlotStep]:
    """Stop a node and start it again."""
    return [stop(0), MEANWHILE, start(0)]


def killed(_size: int) -> list[PlotStep]:
    """Kill a node and start it again."""
    return [kill(0), MEANWHILE, start(0)]


def two_stopped(_size: int) -> list[PlotStep]:
    """Stop two nodes and start them again, the last to stop first."""
    return [stop(0), MEANWHILE, stop(1), PUBLISH, start(1), start(0)]


def two_killed(_size: int) -> list[PlotStep]:
    """Kill two nodes and start them again, the first to be killed first."""
    return [kill(0), MEANWHILE, kill(1), PUBLISH, start(0), start(1)]


def restarted_one_by_one(size: int) -> list[PlotStep]:
    """Stop and start each node, as for an upgrade."""
    return [stop(0), MEANWHILE, start(0), *(act for node in range(1, size) for act in (stop(node), start(node)))]


def killed_one_by_one(size: int) -> list[PlotStep]:
    """Kill and start each node."""
    return [kill(0), MEANWHILE, start(0), *(act for node in range(1, size) for act in (kill(node), start(node)))]


def all_stopped(size: int) -> list[PlotStep]:
    """Stop all nodes; start the last to stop first, as any other waits for it."""
    others = range(1, size)
    return [stop(0), MEANWHILE, *map(stop, others), start(size - 1), LISTED, *map(start, reversed(range(size - 1)))]


def forced(size: int) -> list[PlotStep]:
    """Stop all nodes; force the first to stop to boot without the others, which know more."""
    return [
        stop(0), MEANWHILE, *map(stop, range(1, size)), PlotStep(Act.FORCE_BOOT), LISTED, *map(start, range(1, size)),
    ]  # fmt: skip


def returned(size: int) -> list[PlotStep]:
    """Start a node that lacks the messages published while it was down, and then kill the other nodes."""
    others = range(1, size)
    return [kill(0), MEANWHILE, start(0), *map(kill, others), PUBLISH, LISTED, *map(start, others)]


def rewritten(_size: int) -> list[PlotStep]:
    """Set many policies, each of which lists the same nodes in another order."""
    storm = PlotStep(Act.REWRITTEN)
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
