"""A node boots: for which nodes it waits, and what it does once it has its tables.

Source: `rabbit_mnesia`, `rabbit_node_monitor`; boot order as observed on 3.10.8. With Khepri, nodes boot in any order:
`rabbit_khepri` (`setup`, khepri_leader_wait_retry_timeout).
"""

from __future__ import annotations

from hawb.engine.cluster.booting_ports import return_to_queues, run_pending_removals, say_refused, store_starts
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
from hawb.engine.cluster.stopping import notice_pending_down
from hawb.engine.core.state import BOOTING, DOWN, NOTHING, NOWHERE, RUNNING, WAITING
from hawb.engine.core.turn import Turn
from hawb.raft.ports import bits_in
from hawb.rules.quorum import majority

SHARED = True  # the kernel of studies compiles this module

BOOT_RETRIES = 10
"""The number of times that a booting node tries to load its tables (mnesia_table_loading_retry_limit)."""


def boot(t: Turn, node: int, number: int) -> None:
    """Boot a node up to the loading of its tables. Then let it wait for nodes that may have later tables, or come up.

    `number` is the node's boot count; the event of an earlier boot does nothing. A node that is no member shuts down
    again.
    """
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


def finds_another(t: Turn, node: int) -> bool:
    """Return True if a booting node reaches the Mnesia of another node that waits as well.

    Such a node first needs the tables of the cluster and gives up when it cannot load them (`rabbit_mnesia:init_db`).
    """
    for other in range(t.setup.nodes):
        if other != node and t.nodes[other].status == WAITING and linked(t, node, other):
            return True
    return False


def awaited(t: Turn, node: int) -> int:
    """Return the nodes for which a booting node waits, as bits.

    These are the nodes that it believed running when it went down, except those that also wait and did not see it go
    down. The set is empty if the node reaches a running member, from which it can load its tables.
    """
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


def lacked_by_store(t: Turn, node: int) -> int:
    """Return the members of the metadata store that a booting node lacks, as bits.

    A member is lacking if it has not been started or the node does not reach it. The set is empty if a majority of the
    members is there. A node that the other members have forgotten lacks all of them: the log on its disk still names
    them, and they do not answer it (seen on a 4.3.6 node).
    """
    bits = 0
    for other in range(t.setup.nodes):
        started = runs_anywhere(t, other) or t.nodes[other].status == WAITING
        bits |= int(not started or not linked(t, node, other) or is_forgotten(t, node)) << other
    bits &= members(t)
    return 0 if bits_in(members(t) & ~bits) >= majority(bits_in(members(t))) else bits


def found_first(t: Turn, node: int) -> int:
    """Return the running node whose side of the partition a booting node joins; NOWHERE if it reaches none.

    A node of its own side comes before those of other sides; among equals the first in the scenario's order.
    """
    found = NOWHERE
    for k in range(t.setup.nodes):
        other = ranked(t, k)
        if runs_anywhere(t, other) and linked(t, node, other):
            if t.nodes[other].side == t.nodes[node].side:
                return other
            found = other if found == NOWHERE else found
    return found


def let_waiting_nodes_in(t: Turn) -> None:
    """Bring up every waiting node that no longer has to wait."""
    node = 0
    while node < t.setup.nodes:
        if t.nodes[node].status == WAITING and not awaited(t, node):
            come_up(t, node)
            node = -1
        node += 1


def give_up(t: Turn, node: int, number: int) -> None:
    """Shut down a booting node that has waited for the last time."""
    if t.nodes[node].status == WAITING and t.nodes[node].boots == number:
        say_gave_up(t, node, awaited(t, node))
        t.nodes[node].status = DOWN


def come_up(t: Turn, node: int) -> None:
    """Finish the boot of a node: it joins the cluster and its queues.

    It serves from its disk the queues whose master it still is. It joins as an empty mirror the queues for which policy
    asks it to. Nodes that had not noticed that it went down notice it now, and pending removals of its replicas run
    first.
    """
    notice_pending_down(t, node)
    run_pending_removals(t)
    find_records(t, node, found_first(t, node))
    value, others = t.nodes[node], running_bits(t)
    value.status, value.believes, value.awaits = RUNNING, others, NOTHING
    value.drained = value.may_boot_alone = False
    for other in range(t.setup.nodes):
        if others >> other & 1:
            t.nodes[other].believes |= 1 << node
    return_to_queues(t, node, others)
    look_again(t)
