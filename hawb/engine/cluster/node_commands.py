"""Stops, kills, power losses and starts of nodes: the nodes for which they are possible, and what RabbitMQ refuses.

Their consequences are in `hawb.engine.cluster.stopping` and `hawb.engine.cluster.booting`.
"""

from __future__ import annotations

from hawb.engine.cluster import partition_handling, stopping
from hawb.engine.core.state import BOOTING, DOWN, PAUSED, RUNNING, STOPPING, WAITING, bits_of
from hawb.engine.core.turn import Turn

DOING_SOMETHING = (RUNNING, STOPPING, BOOTING, WAITING, PAUSED)
"""The statuses in which a node can be killed."""


def stop(turn: Turn, nodes: list[int]) -> None:
    """Shut down nodes in a controlled way, all at the same moment."""
    for node in checked(turn, nodes, (RUNNING, PAUSED), "not running"):
        stopping.stop(turn, node)


def kill(turn: Turn, nodes: list[int]) -> None:
    """Kill nodes without warning, all at the same moment."""
    stopping.kill(turn, bits_of(checked(turn, nodes, DOING_SOMETHING, "not running")))


def power_off(turn: Turn, nodes: list[int]) -> None:
    """Cut the power of nodes' hosts, all at the same moment."""
    stopping.power_off(turn, bits_of(checked(turn, nodes, DOING_SOMETHING, "not running")))


def start(turn: Turn, nodes: list[int]) -> None:
    """Boot nodes one after the other, in the order given."""
    for node in checked(turn, nodes, (DOWN,), "already running"):
        partition_handling.boot_again(turn, node)
    partition_handling.look_again(turn)


def checked(turn: Turn, nodes: list[int], statuses: tuple[str, ...], otherwise: str) -> list[int]:
    """Return those of `nodes` that are in one of the `statuses`; refuse the step for each of the rest."""
    fit = [node for node in dict.fromkeys(nodes) if turn.nodes[node].status in statuses]
    for node in nodes:
        if node not in fit:
            turn.refuse(None, f"node '{turn.settings.names[node]}' is {otherwise}")
    return fit
