"""What nodes need of the kernel: `hawb.engine.nodes.ports`, for a trial."""

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
    next_number,
    put,
    running_bits,
    runs_anywhere,
    schedule,
)

__all__ = [
    "BOOTING", "DOWN", "PAUSED", "RUNNING", "STOPPING", "WAITING", "below", "bits_in", "is_running", "linked",
    "look_from", "look_from_outside", "next_number", "running_bits", "runs_anywhere",
]  # fmt: skip
"""The ports that stand elsewhere."""

# What is so


@inner
def sides(t):
    """The sides that there are, by their numbers: in a network that is whole one."""
    return range(1)


@inner
def focused(t):
    """The side in focus."""
    return 0


@inner
def focus_on(t, side):
    """Puts a side in focus; whether there is one of that number."""
    return True


@inner
def members(t):
    """The members of the cluster, as bits: all nodes."""
    return (1 << t.setup.nodes) - 1


@inner
def ranked(t, k):
    """The k-th node in the order in which they are listed."""
    return k


@inner
def connections_at(t, node):
    """How many connections clients have to a node. In a network that is whole nobody asks."""
    return 0


# What is to happen


@inner
def begin_to_boot(t, node):
    """A node's broker starts: in a while it will have booted as far as its tables."""
    schedule(t, t.setup.start_us, BOOT, node, t.nodes[node].boots)


@inner
def begin_to_stop(t, node):
    """A node's broker is told to stop."""
    schedule(t, 0, SHUT_DOWN, node)


begin_to_pause = begin_to_stop
"""A node's broker is to stop by itself."""


@inner
def look_in(t, delay_us):
    """Nodes look around then, unless that is planned already."""
    if not is_planned(t, LOOK_AROUND):
        put(t, delay_us, TIMER, LOOK_AROUND, 0, 0, 0, 0)


@inner
def wait_with_boot(t, node, awaited, delay_us):
    """A booting node waits for others, and after a while gives up."""
    put(t, delay_us, TIMER, BOOT_GIVES_UP, node, t.nodes[node].boots, 0, 0)


# What nobody is told

cause = blame = say_healing = say_gave_up = nothing
"""Why something happens, that nodes are about to restart, and that one has waited for others in vain."""
