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
    NOBODY,
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
def has_records(t, node):
    """Whether a node is one of the cluster, for the others and for itself, with records on its disk."""
    return not t.moment.virgin >> node & 1


@inner
def is_forgotten(t, node):
    """Whether the others have forgotten a node: in no trial."""
    return False


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
        put_on_agenda(t, delay_us, TIMER, LOOK_AROUND, 0, 0, 0, 0)


@inner
def wait_with_boot(t, node, awaited, delay_us):
    """A booting node waits for others, and after a while gives up."""
    put_on_agenda(t, delay_us, TIMER, BOOT_GIVES_UP, node, t.nodes[node].boots, 0, 0)


# Changes of the metadata that wait: rows (kind, node)


@inner
def is_stalled(t, change):
    """Whether a change waits already."""
    kind, node = change
    for k in range(t.queue.stalled):
        if t.stalled[k, 0] == kind and t.stalled[k, 1] == node:
            return True
    return False


@inner
def put_off(t, change):
    """A change waits."""
    next_number(t)
    t.stalled[t.queue.stalled, 0], t.stalled[t.queue.stalled, 1] = change
    t.queue.stalled += 1


@inner
def is_proposed(t, k):
    """Whether the k-th of them is in a leader's log already: with Mnesia there is none."""
    return False


@inner
def place_of_change(t, change):
    """The node at which a change is made: nobody asks, for with Khepri no trial changes metadata."""
    return NOBODY


@inner
def reaches_store(t, node):
    """Whether metadata can be changed with Khepri, which no trial does."""
    return True


@inner
def count_stalled(t):
    """How many changes wait."""
    return t.queue.stalled


@inner
def place_of_stalled(t, k):
    """The node at which the k-th of them is made; NOBODY for one of all sides."""
    return t.stalled[k, 1] if t.stalled[k, 0] == MIRROR_JOINS else NOBODY


@inner
def try_again(t, k):
    """The k-th of them is tried again on the side in focus."""
    schedule(t, 0, t.stalled[k, 0], t.stalled[k, 1], int(t.stalled[k, 0] == MIRROR_JOINS))


@inner
def keep_stalled(t, kept):
    """Only these go on waiting, given as bits."""
    left = 0
    for k in range(t.queue.stalled):
        if kept >> k & 1:
            move_row(t.stalled, k, left)
            left += 1
    t.queue.stalled = left


# What nobody is told

cause = blame = say_healing = say_gave_up = note_change = nothing
"""Why something happens, that nodes are about to restart, that one has waited for others in vain, and that metadata
changes."""
