"""Changes of the cluster's metadata that have to wait.

Source: Mnesia. A transaction on exchanges, queues, policies or membership needs every node that counts as running. If
one of them is silent, the transaction waits until that node answers again or is noticed as down. A promotion is such a
transaction too (`rabbit_mirror_queue_misc:remove_from_queue`).

Source: Khepri. A command of the store needs a leader and a majority of members (`hawb.engine.cluster.khepri`); without
them it waits, for a limited time.
"""

from __future__ import annotations

from hawb.engine.cluster.node_ports import (
    count_waiting_changes,
    focus_on,
    focused,
    is_deferred,
    is_proposed,
    is_running,
    keep_waiting_changes,
    note_change,
    place_of_change,
    place_of_waiting_change,
    put_off,
    reaches_store,
    sides,
    try_again,
)
from hawb.engine.cluster.reachability import answers
from hawb.engine.core.state import NOWHERE
from hawb.engine.core.turn import Turn

SHARED = True  # the kernel of studies compiles this module


def defer_if_blocked(t: Turn, change: object) -> bool:
    """Make a change of the metadata wait, once, if it has to; return True if it waits."""
    if is_writable(t, place_of_change(t, change)):
        note_change(t)
        return False
    if not is_deferred(t, change):
        put_off(t, change)
    return True


def is_writable(t: Turn, node: int) -> bool:
    """Return True if metadata can be changed from `node` (NOWHERE: from any node) of the current side."""
    return reaches_store(t, node) if t.setup.khepri else answers(t)


def is_writable_anywhere(t: Turn) -> bool:
    """Return True if metadata can be changed from any running node, on any side."""
    focus, found = focused(t), False
    for side in sides(t):
        if not found and focus_on(t, side):
            for node in range(t.setup.nodes):
                found = found or (is_running(t, node) and is_writable(t, node))
    focus_on(t, focus)
    return found


def retry_changes(t: Turn) -> None:
    """Try waiting changes again on the sides on which metadata can be changed.

    Call it when a node answers again, when one is noticed as down, or when the store has a leader.
    """
    focus, kept = focused(t), 0
    for k in range(count_waiting_changes(t)):
        place = place_of_waiting_change(t, k)
        for side in sides(t):
            if focus_on(t, side) and (place == NOWHERE or t.nodes[place].side == side):
                if is_writable(t, place) and not is_proposed(t, k):
                    try_again(t, k)
                else:
                    kept |= 1 << k
    keep_waiting_changes(t, kept)
    focus_on(t, focus)
