"""Changes of the cluster's metadata while a node does not answer.

Source: Mnesia. A transaction on exchanges, queues or policies, or on who belongs to the cluster, needs every node that
counts as running. With one of them silent it waits until that one answers again, or is missed. A failover is one too,
but that it waits is left out.
"""

from __future__ import annotations

from hawb.engine.state import Parked
from hawb.engine.turn import Turn


def ticktime_us(turn: Turn) -> int:
    """How long it takes until a node that says nothing is taken for dead (net_ticktime)."""
    return round(turn.settings.net_ticktime_s * 1_000_000)


def answers(turn: Turn) -> bool:
    """Whether every node of the side in focus that counts as running answers every other."""
    running = turn.running()
    return not any(
        turn.nodes[other].silent or not turn.linked(node, other)
        for node in running
        for other in turn.nodes[node].believes_running
    )


def stall(turn: Turn, change: object) -> bool:
    """Lets a change of the metadata, an event that has a `node`, wait if it has to; False if it need not."""
    if answers(turn):
        return False
    turn.stalled = (*turn.stalled, Parked(turn.next_number(), change, turn.step))
    turn.emit("metadata_stalled", node=change.node)
    return True


def release(turn: Turn) -> None:
    """Somebody answers again or was missed: what has waited is tried again."""
    stalled, turn.stalled = turn.stalled, ()
    for parked in stalled:
        turn.schedule(0, parked.operation, step=parked.step)
