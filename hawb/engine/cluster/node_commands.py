"""Stops, kills, power losses and starts of nodes: for which nodes they are possible, and what RabbitMQ refuses. Their
consequences are in `hawb.engine.cluster.stopping` and `hawb.engine.cluster.booting`."""

from __future__ import annotations

from hawb.engine.cluster import partition_handling, stopping
from hawb.engine.core.state import BOOTING, DOWN, PAUSED, RUNNING, STOPPING, WAITING, bits_of
from hawb.engine.core.turn import Turn

DOING_SOMETHING = (RUNNING, STOPPING, BOOTING, WAITING, PAUSED)
"""The statuses in which a node can be killed."""


def stop(turn: Turn, nodes: list[int]) -> None:
    """Controlled shutdown of nodes, all at the same moment."""
    for node in checked(turn, nodes, (RUNNING, PAUSED), "not running"):
        stopping.stop(turn, node)


def kill(turn: Turn, nodes: list[int]) -> None:
    """Nodes die without warning, all at the same moment."""
    stopping.kill(turn, bits_of(checked(turn, nodes, DOING_SOMETHING, "not running")))


def power_off(turn: Turn, nodes: list[int]) -> None:
    """Hosts lose power, all at the same moment."""
    stopping.power_off(turn, bits_of(checked(turn, nodes, DOING_SOMETHING, "not running")))


def start(turn: Turn, nodes: list[int]) -> None:
    """Nodes boot, one after the other as they are named."""
    for node in checked(turn, nodes, (DOWN,), "already running"):
        partition_handling.boot_again(turn, node)
    partition_handling.look_again(turn)


def checked(turn: Turn, nodes: list[int], statuses: tuple[str, ...], otherwise: str) -> list[int]:
    """Those of `nodes` that are in one of the `statuses`; the others are an error of the step."""
    fit = [node for node in dict.fromkeys(nodes) if turn.nodes[node].status in statuses]
    for node in nodes:
        if node not in fit:
            turn.refuse(None, f"node '{turn.settings.names[node]}' is {otherwise}")
    return fit
