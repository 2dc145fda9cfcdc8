"""Changes of the cluster's metadata while a node does not answer.

Source: Mnesia. A transaction on exchanges, queues or policies, or on who belongs to the cluster, needs every node that
counts as running. With one of them silent it waits until that one answers again, or is missed. That a mirror takes over
is one too (`rabbit_mirror_queue_misc:remove_from_queue`).
"""

from __future__ import annotations

from hawb.engine.nodes.sight import answers
from hawb.engine.state import NOWHERE, Parked
from hawb.engine.turn import Turn, place_of


def stall(turn: Turn, change: object) -> bool:
    """Lets a change of the metadata wait if it has to; False if it need not."""
    if answers(turn):
        return False
    if all(parked.operation != change for parked in turn.stalled):
        turn.stalled = (*turn.stalled, Parked(turn.next_number(), change, turn.step))
        turn.emit("metadata_stalled", node=NOWHERE if place_of(change) is None else change.node)
    return True


def release(turn: Turn) -> None:
    """Somebody answers again or was missed: what has waited is tried again on the sides on which everybody answers."""
    stalled, turn.stalled = turn.stalled, ()
    for parked in stalled:
        place = place_of(parked.operation)
        waits = False
        for side in turn.each_side():
            if place is None or turn.nodes[place].side == side:
                if answers(turn):
                    turn.schedule(0, parked.operation, step=parked.step)
                else:
                    waits = True
        turn.stalled = (*turn.stalled, parked) if waits else turn.stalled
