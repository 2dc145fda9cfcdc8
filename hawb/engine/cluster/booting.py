"""Whom a booting node waits for, and what happens as it comes up.

Source: `rabbit_mnesia`, `rabbit_node_monitor`; boot order as observed on 3.10.8. With Khepri in whatever order nodes
went: `rabbit_khepri` (`setup`, khepri_leader_wait_retry_timeout).
"""

from __future__ import annotations

from hawb.engine.cluster.booting_ports import return_to_queues, say_refused, settle_stalled, store_starts
from hawb.engine.cluster.node_ports import (
    has_records,
    is_forgotten,
    linked,
    members,
    ranked,
    running_bits,
    runs_anywhere,
    say_gave_up,
    wait_with_boot,
)
from hawb.engine.cluster.partition_handling import look_again
from hawb.engine.cluster.partitions import find_records
from hawb.engine.cluster.stopping import miss_late
from hawb.engine.core.state import BOOTING, DOWN, NOTHING, NOWHERE, RUNNING, WAITING
from hawb.raft.ports import bits_in
from hawb.rules.quorum import majority

SHARED = True  # the kernel of studies compiles this module

BOOT_RETRIES = 10
"""How often a booting node tries to load its tables each time that it needs them (mnesia_table_loading_retry_limit)."""


def boot(t, node, number):
    """A node has booted as far as its tables; `number` tells this boot from its others. Who may know more than it does
    it waits for."""
    if t.nodes[node].status != BOOTING or t.nodes[node].boots != number:
        return
    if not has_records(t, node) and not is_forgotten(t, node):
        t.nodes[node].status = DOWN
        say_refused(t, node)
        return
    t.nodes[node].status = WAITING
    store_starts(t, node)
    let_waiting_nodes_in(t)
    if t.nodes[node].status == WAITING:
        rounds = 1 if finds_another(t, node) else t.setup.lone_boot_rounds
        wait_with_boot(t, node, awaited(t, node), rounds * BOOT_RETRIES * t.setup.boot_retry_us)


def finds_another(t, node):
    """Whether a booting node connects to the Mnesia of another that waits as well. It needs the tables of the cluster
    first of all then, and gives up when that fails (`rabbit_mnesia:init_db`)."""
    for other in range(t.setup.nodes):
        if other != node and t.nodes[other].status == WAITING and linked(t, node, other):
            return True
    return False


def awaited(t, node):
    """The nodes for which a booting node waits: those it believed running when it went, unless they wait as well and
    did not see it go. With any member running that it reaches it waits for nobody, since it can load its tables from
    there. As bits."""
    bits = 0
    if t.setup.khepri:
        return lacked_by_store(t, node)
    if t.nodes[node].may_boot_alone or found_first(t, node) != NOWHERE:
        return bits
    for other in range(t.setup.nodes):
        if t.nodes[node].believes >> other & 1:
            waits = t.nodes[other].status == WAITING and t.nodes[other].believes >> node & 1
            bits |= int(not waits or not linked(t, node, other)) << other
    return bits


def lacked_by_store(t, node):
    """The members of the metadata store that have not been started, or that a booting node does not reach, as bits;
    none where it is one of a majority that has. One that the others have forgotten waits for all of them, in vain: the
    log on its disk still names it, and nobody answers (a 4.3.6 node)."""
    bits = 0
    for other in range(t.setup.nodes):
        started = runs_anywhere(t, other) or t.nodes[other].status == WAITING
        bits |= int(not started or not linked(t, node, other) or is_forgotten(t, node)) << other
    bits &= members(t)
    return 0 if bits_in(members(t) & ~bits) >= majority(bits_in(members(t))) else bits


def found_first(t, node):
    """The running node whose side a node joins when it comes up: one of its own side, if such a one runs and is
    reached, or else the first that is reached; NOWHERE if it reaches nobody."""
    found = NOWHERE
    for k in range(t.setup.nodes):
        other = ranked(t, k)
        if runs_anywhere(t, other) and linked(t, node, other):
            if t.nodes[other].side == t.nodes[node].side:
                return other
            found = other if found == NOWHERE else found
    return found


def let_waiting_nodes_in(t):
    """Brings up every waiting node that need not wait (any longer)."""
    node = 0
    while node < t.setup.nodes:
        if t.nodes[node].status == WAITING and not awaited(t, node):
            come_up(t, node)
            node = -1
        node += 1


def give_up(t, node, number):
    """A node has waited for the last time and exits."""
    if t.nodes[node].status == WAITING and t.nodes[node].boots == number:
        say_gave_up(t, node, awaited(t, node))
        t.nodes[node].status = DOWN


def come_up(t, node):
    """A node joins its cluster: it serves the queues whose master it still is from its disk, and joins those that
    policy wants it in as an empty mirror. Peers that had not noticed it go notice it now, and what they had still to
    settle is settled."""
    miss_late(t, node)
    settle_stalled(t)
    find_records(t, node, found_first(t, node))
    value, others = t.nodes[node], running_bits(t)
    value.status, value.believes, value.awaits = RUNNING, others, NOTHING
    value.drained = value.may_boot_alone = False
    for other in range(t.setup.nodes):
        if others >> other & 1:
            t.nodes[other].believes |= 1 << node
    return_to_queues(t, node, others)
    look_again(t)
