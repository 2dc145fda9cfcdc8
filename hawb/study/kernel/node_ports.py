"""What nodes need of the kernel: `hawb.engine.cluster.node_ports`, for a trial."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.draws import below
from hawb.study.kernel.raft_log import bits_in
from hawb.study.kernel.silence import nothing
from hawb.study.kernel.state import (
    BOOT,
    BOOT_GIVES_UP,
    BOOTING,
    DOWN,
    LOOK_AROUND,
    MIRROR_JOINS,
    NONE,
    PAUSED,
    RUNNING,
    SHUT_DOWN,
    STOPPING,
    TIMER,
    WAITING,
    is_planned,
    is_running,
    linked,
    look_from,
    look_from_outside,
    move_row,
    next_number,
    put_on_agenda,
    running_bits,
    runs_anywhere,
    schedule,
)

__all__ = [
    "BOOTING", "DOWN", "PAUSED", "RUNNING", "STOPPING", "WAITING", "below", "bits_in", "is_running", "linked",
    "look_from", "look_from_outside", "next_number", "running_bits", "runs_anywhere",
]  # fmt: skip
"""The ports from other modules."""

# Facts


@inner
def sides(t):
    """Return the numbers of all sides: a whole network has one."""
    return range(1)


@inner
def focused(t):
    """Return the number of the current side."""
    return 0


@inner
def focus_on(t, side):
    """Return True: there is one side."""
    return True


@inner
def members(t):
    """Return the members of the cluster, as bits."""
    return (1 << t.setup.nodes) - 1 & ~t.moment.forgotten


@inner
def has_records(t, node):
    """Return True if a node is a member, for the others and for itself, with records on its disk."""
    return not t.moment.virgin >> node & 1


@inner
def is_forgotten(t, node):
    """Return False: no trial has a node that the others have forgotten."""
    return False


@inner
def ranked(t, k):
    """Return the k-th node in the scenario's order."""
    return k


@inner
def connections_at(t, node):
    """Return 0: in a whole network the connections of clients are not counted."""
    return 0


# Scheduling


@inner
def begin_to_boot(t, node):
    """Start a node's broker, and schedule when it has booted as far as its tables."""
    schedule(t, t.setup.start_us, BOOT, node, t.nodes[node].boots)


@inner
def begin_to_stop(t, node):
    """Start the shutdown of a node's broker."""
    schedule(t, 0, SHUT_DOWN, node)


begin_to_pause = begin_to_stop
"""Start the shutdown of a node's broker by itself."""


@inner
def look_in(t, delay_us):
    """Schedule that nodes look around, unless that is scheduled already."""
    if not is_planned(t, LOOK_AROUND):
        put_on_agenda(t, delay_us, TIMER, LOOK_AROUND, 0, 0, 0, 0)


@inner
def wait_with_boot(t, node, awaited, delay_us):
    """Let a booting node wait for others, and schedule when it gives up."""
    put_on_agenda(t, delay_us, TIMER, BOOT_GIVES_UP, node, t.nodes[node].boots, 0, 0)


# Waiting changes of the metadata: rows (kind, node)


@inner
def is_deferred(t, change):
    """Return True if a change waits already."""
    kind, node = change
    for k in range(t.queue.waiting_changes):
        if t.waiting_changes[k, 0] == kind and t.waiting_changes[k, 1] == node:
            return True
    return False


@inner
def put_off(t, change):
    """Make a change wait."""
    next_number(t)
    t.waiting_changes[t.queue.waiting_changes, 0], t.waiting_changes[t.queue.waiting_changes, 1] = change
    t.queue.waiting_changes += 1


@inner
def is_proposed(t, k):
    """Return False: with Mnesia no change is in a leader's log."""
    return False


@inner
def place_of_change(t, change):
    """Return NONE: with Khepri no trial changes metadata."""
    return NONE


@inner
def reaches_store(t, node):
    """Return True: with Khepri no trial changes metadata."""
    return True


@inner
def note_change(t):
    """Do nothing: without Khepri no log has changes of the metadata."""


@inner
def count_waiting_changes(t):
    """Return the number of waiting changes."""
    return t.queue.waiting_changes


@inner
def place_of_waiting_change(t, k):
    """Return the node at which the k-th waiting change is made; NONE for one of all sides."""
    return t.waiting_changes[k, 1] if t.waiting_changes[k, 0] == MIRROR_JOINS else NONE


@inner
def try_again(t, k):
    """Schedule the k-th waiting change on the current side."""
    schedule(t, 0, t.waiting_changes[k, 0], t.waiting_changes[k, 1], int(t.waiting_changes[k, 0] == MIRROR_JOINS))


@inner
def keep_waiting_changes(t, kept):
    """Keep only these waiting changes, given as bits."""
    left = 0
    for k in range(t.queue.waiting_changes):
        if kept >> k & 1:
            move_row(t.waiting_changes, k, left)
            left += 1
    t.queue.waiting_changes = left


# Trace

cause = blame = say_healing = say_gave_up = nothing
"""Causes, restarts and abandoned boots, which a trial does not record."""
