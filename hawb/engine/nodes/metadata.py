"""Changes of the cluster's metadata while a node does not answer.

Source: Mnesia. A transaction on exchanges, queues or policies, or on who belongs to the cluster, needs every node that
counts as running. With one of them silent it waits until that one answers again, or is missed. That a mirror takes over
is one too (`rabbit_mirror_queue_misc:remove_from_queue`).
"""

from __future__ import annotations

from hawb.engine.nodes.ports import (
    count_stalled,
    focus_on,
    focused,
    is_stalled,
    keep_stalled,
    place_of_stalled,
    put_off,
    sides,
    try_again,
)
from hawb.engine.nodes.sight import answers
from hawb.engine.state import NOWHERE


def stall(t, change):
    """Lets a change of the metadata wait, once, if it has to; whether it does."""
    if answers(t):
        return False
    if not is_stalled(t, change):
        put_off(t, change)
    return True


def release_stalled(t):
    """Somebody answers again or was missed: what has waited is tried again on the sides on which everybody answers."""
    focus, kept = focused(t), 0
    for k in range(count_stalled(t)):
        place = place_of_stalled(t, k)
        for side in sides(t):
            if focus_on(t, side) and (place == NOWHERE or t.nodes[place].side == side):
                if answers(t):
                    try_again(t, k)
                else:
                    kept |= 1 << k
    keep_stalled(t, kept)
    focus_on(t, focus)
