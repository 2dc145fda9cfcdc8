"""The ports of `hawb.engine.cluster.booting`: the records a booting node finds, and its queues' reactions.

Source: `rabbit_mnesia`, `rabbit_node_monitor`.
"""

from __future__ import annotations

from hawb.engine.classic.failover import remove_from_queue
from hawb.engine.classic.returning import load_record, return_to
from hawb.engine.core.events import ReplicaGone
from hawb.engine.core.state import CLASSIC, Queue
from hawb.engine.core.turn import Turn
from hawb.engine.quorum import visibility
from hawb.engine.raft_groups import hosting, inputs
from hawb.engine.raft_groups.group import STORE

INCONSISTENT = "inconsistent_cluster: Node '{node}' thinks it's clustered with node '{other}', but '{other}' disagrees"
"""The refusal of a node that disagrees with others on its membership (`rabbit_mnesia:check_nodes_consistency`)."""
BOOT_REFUSALS = {
    (True, True): ("wiped", "node '{node}' has not joined the cluster since its disk was lost"),
    (False, False): ("forgotten", INCONSISTENT),
    (False, True): ("not_joined", "node '{node}' has not joined the cluster"),
}
"""Reason and text of the refusal to boot, by whether the node is a member and whether it is virgin."""


def say_refused(turn: Turn, node: int) -> None:
    """Record that a booting node exits because other nodes disagree on its membership, and refuse the step.

    Source: `rabbit_mnesia:check_nodes_consistency`. The node asks all other members; the text names the last one that
    answers. A node that knows of no other would run as a cluster of its own, which is outside of the simulated cluster
    (a 3.10.8 node whose disk was lost did so).
    """
    value = turn.nodes[node]
    reason, text = BOOT_REFUSALS[value.member, value.virgin]
    turn.because = turn.emit("node_boot_refused", node=node, reason=reason)
    asked = [other for other, known in enumerate(turn.nodes) if other != node and known.member]
    running = [other for other in asked if turn.runs_anywhere(other)]
    names = turn.settings.names
    turn.refuse(None, text.format(node=names[node], other=names[(running or asked or [node])[-1]]))


def store_starts(turn: Turn, node: int) -> None:
    """Start a booting node's member of the metadata store, if there is one."""
    if turn.setup.khepri:
        hosting.member_up(turn, turn.groups.own(STORE), node)


def run_pending_removals(turn: Turn) -> None:
    """Run the pending removals of replicas before a node comes up.

    The node then finds each queue either served or down.
    """
    waiting = [one.operation for one in turn.waiting_changes if isinstance(one.operation, ReplicaGone)]
    turn.waiting_changes = tuple(one for one in turn.waiting_changes if one.operation not in waiting)
    for _side in turn.each_side():
        for name in (event.queue for event in waiting if event.queue in turn.queues):
            remove_from_queue(turn, turn.own(name), True)


def load_group_record(turn: Turn, queue: Queue, node: int, *, alone: bool) -> None:
    """Read the record of a quorum queue or stream into memory if the booting node has a member of it.

    All running nodes then have the record (`find_local_durable_queues`, `is_recoverable`, `recover`). The first node to
    boot without a member leaves the record on disk. With Khepri every node has every record.
    """
    queue.absent = (queue.absent or alone) and node not in queue.members and not turn.setup.khepri


def return_to_queues(turn: Turn, node: int, others: int) -> None:
    """Let the queues react to a node that has come up, beside the nodes `others` (bits) or alone."""
    turn.change_node(node, remembers=None)
    cause = turn.emit("node_running", node=node)
    names = list(turn.queue_names())
    classic = [name for name in names if turn.queues[name].type == CLASSIC]
    in_groups = [name for name in names if turn.queues[name].type != CLASSIC]
    if not others:
        for name in classic:
            load_record(turn, turn.own(name), node)
    for name in in_groups:
        load_group_record(turn, turn.own(name), node, alone=not others)
    for name in classic:
        turn.because = cause
        if name in turn.queues:
            return_to(turn, turn.own(name), node)
    turn.because = cause
    inputs.node_up(turn, node)
    visibility.node_back(turn, node)


PORTS = ("say_refused", "store_starts", "find_records", "run_pending_removals", "return_to_queues")
"""The ports that engine and kernel both implement."""
