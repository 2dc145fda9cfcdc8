"""Membership of the cluster: nodes join, are reset, are forgotten by the others, or lose their disks.

Source: `rabbit_mnesia` (`join_cluster`, `reset`, `forget_cluster_node`), `rabbit_amqqueue:forget_all_durable`, the
guide's #promotion-while-down; a forgotten node of a 3.10.8 cluster did not boot.

A forgotten node's queues come back with the messages on the disk of a promotion candidate. These may be fewer than the
last master had, and may include messages that have left the queue since that disk was written, which are delivered
again.
"""

from __future__ import annotations

from hawb.engine import streams
from hawb.engine.classic import copies
from hawb.engine.cluster import booting, khepri, metadata, node_commands, partitions, stopping
from hawb.engine.cluster.booting_ports import INCONSISTENT
from hawb.engine.cluster.lost_disks import lose_disks
from hawb.engine.cluster.node_ports import running_bits
from hawb.engine.core import bookkeeping, runs
from hawb.engine.core.events import NodeForgotten, NodeReset
from hawb.engine.core.naming import described
from hawb.engine.core.runs import EMPTY
from hawb.engine.core.state import BOOTING, DOWN, NOWHERE, RUNNING, STOPPING, WAITING, with_content
from hawb.engine.core.turn import Turn
from hawb.engine.queues import lifecycle
from hawb.engine.quorum import visibility
from hawb.engine.raft_groups import inputs, member_changes
from hawb.engine.raft_groups.group import STORE
from hawb.rules import promotion

NO_NODE_ONLINE = "no_running_cluster_nodes: no other member is online"


def join(turn: Turn, node: int) -> None:
    """Make a node that knows of no cluster a member, and boot it.

    With Khepri the cluster first forgets the old member of a node that has lost its disk
    (`khepri_cluster:reset_remotely_and_join_locked`).
    """
    value, name = turn.nodes[node], turn.settings.names[node]
    if value.status != DOWN:
        turn.refuse(None, still_running(name))
    elif value.member and not value.virgin:
        turn.refuse(None, f"already_member: '{name}' is already a member of this cluster")
    elif (value.member or not value.virgin) and not turn.setup.khepri:
        turn.refuse(None, disagreement(turn, node))
    elif (found := booting.found_first(turn, node)) == NOWHERE:
        turn.refuse(None, NO_NODE_ONLINE)
    elif turn.setup.khepri and not khepri.takes_members(turn, found):
        turn.refuse(None, khepri.timed_out(turn, found))
    else:
        turn.change_node(node, member=True, virgin=False, side=turn.nodes[found].side)
        turn.look_from(node)
        turn.change_node(node, believes=running_bits(turn))
        turn.because = turn.emit("node_joined", node=node)
        if turn.setup.khepri:
            khepri.node_joins(turn, node)
        node_commands.start(turn, [node])


def disagreement(turn: Turn, node: int) -> str:
    """Return the refusal of a node on whose membership it and the other members disagree.

    The text first names the side that takes the node for a member (`rabbit_mnesia`; as a 3.10.8 cluster printed it).
    """
    names, others = turn.settings.names, [other for other in turn.running() if other != node]
    first = names[others[0]] if others else "another"
    thinks, other = (first, names[node]) if turn.nodes[node].member else (names[node], first)
    return INCONSISTENT.format(node=thinks, other=other)


def reset(turn: Turn, node: int) -> None:
    """Reset a node that is down: it forgets the cluster and everything on its disk, and the other members forget it.

    The only member becomes an empty cluster. A node whose disk was lost knows of no member to inform
    (`rabbit_mnesia:leave_cluster`), so the others still count it.
    """
    value, name = turn.nodes[node], turn.settings.names[node]
    alone = value.member and not any(other.member for place, other in enumerate(turn.nodes) if place != node)
    leaves = value.member and not value.virgin
    if value.status != DOWN:
        turn.refuse(None, still_running(name))
    elif leaves and not alone and not turn.running():
        turn.refuse(None, NO_NODE_ONLINE)
    elif not alone and value.member and defer_reset(turn, node):
        return
    else:
        turn.because = turn.emit("node_reset", node=node)
        if leaves:
            leave(turn, node, "node_reset")
        if alone:
            turn.policies = turn.operator_policies = ()
        member = alone or (value.member and value.virgin)
        turn.change_node(node, member=member, virgin=not alone, believes=0, remembers=None)


def force_reset(turn: Turn, node: int) -> None:
    """Reset a node that is down. Other nodes still count it as a member (`rabbit_mnesia:force_reset`).

    With Khepri it is refused (`rabbit_db:force_reset`).
    """
    if turn.nodes[node].status != DOWN:
        turn.refuse(None, still_running(turn.settings.names[node]))
    elif turn.setup.khepri:
        turn.refuse(None, "Forced reset is unsupported with Khepri")
    else:
        wipe(turn, node)


def stand_alone(turn: Turn, node: int) -> None:
    """Make a node the only member of a cluster with Khepri, with its copy of the metadata.

    Source: `rabbit_khepri:force_shrink_member_to_current_member`. The node runs, or waits for others as it boots; the
    other members are not informed. Records stay: classic queues of other nodes are down, quorum queues keep their
    members.
    """
    name = turn.settings.names[node]
    others = [other for other, value in enumerate(turn.nodes) if other != node and value.status != DOWN]
    if not turn.setup.khepri:
        turn.refuse(None, f"This command is not supported by node {name}")
    elif turn.nodes[node].status not in (RUNNING, WAITING) or turn.nodes[node].virgin:
        turn.refuse(None, f"node '{name}' is not running")
    elif others:
        turn.refuse(
            None,
            f"not simulated: force_standalone_khepri_boot of node '{name}' while '{turn.settings.names[others[0]]}' is "
            "up, because there would then be two clusters; accepted once all other nodes are down",
        )
    else:
        for other in [other for other, value in enumerate(turn.nodes) if other != node and value.member]:
            stopping.notice_pending_down(turn, other)
            turn.change_node(other, member=False, coordinates=streams.has_streams(turn))
        turn.because = turn.emit("node_stands_alone", node=node)
        partitions.drop_unheld(turn, turn.because)
        inputs.stand_alone(turn, STORE, node)
        booting.let_waiting_nodes_in(turn)


def defer_reset(turn: Turn, node: int) -> bool:
    """Return True if the reset of a node has to wait until the other members can remove it.

    The reset starts Mnesia, or the member of Khepri's group, on the node. It is new to the other nodes: those that had
    not noticed that the node went down notice it now.
    """
    stopping.notice_pending_down(turn, node)
    if turn.setup.khepri and khepri.takes_leave(turn, node):
        return False
    return metadata.defer_if_blocked(turn, NodeReset(node))


def still_running(name: str) -> str:
    """Return the refusal of an operation that needs the node to be down."""
    return f"mnesia_unexpectedly_running: Mnesia is still running on node '{name}'"


def force_boot(turn: Turn, node: int) -> None:
    """Boot a node that is down from its own records, whichever node stopped after it.

    Source: `rabbit_mnesia:force_load_next_boot`. With Khepri it is a plain start (`rabbit_db:force_load_on_next_boot`).
    """
    name = turn.settings.names[node]
    if turn.nodes[node].status != DOWN:
        turn.refuse(None, f"rabbit_running: RabbitMQ is still running on node '{name}'")
    elif turn.setup.khepri:
        node_commands.start(turn, [node])
    elif knows_same_queues(turn, node):
        turn.change_node(node, may_boot_alone=True)
        node_commands.start(turn, [node])


def knows_same_queues(turn: Turn, node: int) -> bool:
    """Return True if a node may boot from the records on its disk; otherwise refuse the step.

    Refuse it if the disk has a record of a deleted queue, while the other nodes have a later quorum queue of that name.
    A real node would serve the deleted classic queue, or bring a member of the deleted quorum queue to the later one.
    """
    remembered = turn.nodes[node].remembers
    known = {} if remembered is None else remembered.queues
    other = next((name for name, queue in known.items() if not queue.has_group and name in turn.groups), None)
    if other is None and remembered is not None:
        other = next((name for name, number in sorted(remembered.groups.items())
                      if name in turn.groups and turn.groups[name].number != number), None)  # fmt: skip
    if other is not None:
        kind = f"{known[other].type} queue"
        turn.refuse(
            None,
            f"not simulated: {described(other)} as the {kind} that node '{turn.settings.names[node]}' has on its disk, "
            "while others know another quorum queue; accepted is a node that went down after its declaration",
        )
    return other is None


def has_its_members(turn: Turn, node: int) -> bool:
    """Return True unless the other nodes have forgotten a node and removed its members of quorum queues.

    If they have, refuse the step: on its own disk, a real node still has these members, which hawb does not simulate.
    """
    remembered = turn.nodes[node].remembers
    theirs = () if remembered is None or turn.nodes[node].member else remembered.queues.values()
    group = next((queue.name for queue in theirs if queue.has_group and node in queue.members), None)
    if group is not None:
        turn.refuse(
            None,
            f"not simulated: the member of {described(group)} on node '{turn.settings.names[node]}', which the other "
            "nodes have forgotten; accepted is a node that they still consider a member",
        )
    return group is None


def forget_offline(turn: Turn, node: int, origin: int) -> None:
    """Let the node `origin`, which is down, forget another node while no node runs or boots.

    `origin` then counts as the last node to stop and boots without waiting (`rabbit_mnesia:remove_node_offline_node`).
    Only the records on its own disk count: changes that other nodes made later are lost, also that they forgot nodes.
    With Khepri the command does not exist.
    """
    known = known_members(turn, origin)
    name, at = turn.settings.names[node], turn.settings.names[origin]
    if turn.setup.khepri:
        turn.refuse(None, "not_supported")
    elif turn.nodes[origin].status != DOWN:
        turn.refuse(None, f"online_node_offline_flag: node '{at}' is running")
    elif node not in known or node == origin:
        turn.refuse(None, f"not_a_cluster_node: node '{name}' is not in the cluster")
    elif origin not in known or turn.nodes[origin].virgin:
        turn.refuse(None, f"not_a_cluster_node: node '{at}' is not in the cluster")
    elif any(other.status != DOWN for place, other in enumerate(turn.nodes) if place != node):
        turn.refuse(None, "removing_node_from_offline_node: other members are running")
    elif turn.nodes[node].status != DOWN:
        turn.refuse(None, still_runs(name))
    elif knows_same_queues(turn, origin) and has_its_members(turn, origin):
        turn.because = turn.emit("node_forgotten", node=node, origin=at)
        for other in range(len(turn.nodes)):
            turn.change_node(other, member=other in known)
        partitions.go_back(turn, origin)
        turn.change_node(origin, may_boot_alone=True)
        leave(turn, node, "node_forgotten")


def known_members(turn: Turn, node: int) -> frozenset[int]:
    """Return the nodes that a node which is down takes for members, by its disk."""
    remembered = turn.nodes[node].remembers
    if remembered is not None:
        return remembered.members
    return frozenset(other for other, value in enumerate(turn.nodes) if value.member)


def forget_cluster_node(turn: Turn, node: int, origin: int) -> None:
    """Run `rabbitmqctl forget_cluster_node` on `origin`, for a member that is down.

    Queues whose master it had go to a promotion candidate or are deleted. With Khepri RabbitMQ first checks whether the
    node runs, and removes the queues' members on it before the node itself, whether or not that succeeds.
    """
    name = turn.settings.names[node]
    if origin == NOWHERE:
        turn.refuse(None, "no node is running")
    elif not turn.is_running(origin):
        turn.refuse(None, f"offline_node_no_offline_flag: node '{turn.settings.names[origin]}' is not running")
    elif not turn.nodes[node].member:
        turn.refuse(None, f"not_a_cluster_node: node '{name}' is not in the cluster")
    elif turn.setup.khepri and turn.nodes[node].status == DOWN:
        written = khepri.gains_majority_without(turn, origin, node)
        member_changes.forget(turn, node, fails=not written and not metadata.is_writable(turn, origin))
        if written or not metadata.defer_if_blocked(turn, NodeForgotten(origin, node)):
            remove_node(turn, node, origin)
    elif not turn.setup.khepri and metadata.defer_if_blocked(turn, NodeForgotten(origin, node)):
        return
    elif turn.nodes[node].status != DOWN:
        turn.refuse(None, still_runs(name))
    else:
        remove_node(turn, node, origin)
        member_changes.forget(turn, node)


def remove_node(turn: Turn, node: int, origin: int) -> None:
    """Remove a node that is down from the cluster."""
    turn.because = turn.emit("node_forgotten", node=node, origin=turn.settings.names[origin])
    leave(turn, node, "node_forgotten")


def still_runs(name: str) -> str:
    """Return the refusal to forget a node that runs or boots, as `rabbitmqctl` of 3.10.8 printed it."""
    return f"RabbitMQ on node {name} must be stopped with 'rabbitmqctl -n {name} stop_app' before it can be removed"


def wipe(turn: Turn, node: int) -> None:
    """Lose a node's disk, and kill the node if it is up. The other nodes still count it as a member."""
    if turn.nodes[node].status in (RUNNING, STOPPING, BOOTING, WAITING):
        node_commands.kill(turn, [node])
    turn.change_node(node, virgin=True, remembers=None)
    turn.because = turn.emit("disk_lost", node=node)
    lose_copies(turn, node, "disk_lost")


# The queues of nodes that leave


def leave(turn: Turn, node: int, reason: str) -> None:
    """Take a node that is down out of the cluster, with its queues and copies.

    With Khepri a reset node does not report what it had (`rabbit_khepri:reset`): its classic queues stay on record, and
    are empty once it has joined again.
    """
    stopping.notice_pending_down(turn, node)
    cause = turn.because
    turn.change_node(node, member=False, coordinates=streams.outlives(turn))
    if turn.setup.khepri:
        khepri.node_leaves(turn, node)
    if not (turn.setup.khepri and reason == "node_reset"):
        for name in turn.queue_names():
            turn.because = cause
            queue = turn.queues[name]
            if queue.type == "classic" and (queue.durable or turn.setup.khepri) and queue.master == node:
                bequeath(turn, name, reason)
    turn.because = cause
    lose_copies(turn, node, reason)
    visibility.purge(turn, node)


def bequeath(turn: Turn, name: str, reason: str) -> None:
    """Hand over a queue whose master's node has left the cluster.

    The queue waits for the node of a recoverable mirror, with the copy on its disk. Without such a mirror it is
    deleted.
    """
    queue = turn.queues[name]
    members = [node for node, value in enumerate(turn.nodes) if value.member]
    chosen = promotion.offline_candidate(queue.recoverable, queue.master, members, turn.running())
    if chosen == promotion.NO_NODE:
        bookkeeping.lose(turn, name, queue.content, reason)
        lifecycle.remove(turn, name, reason)
        return
    content = copies.on_disks(turn, queue, [chosen])[chosen] or EMPTY
    missing, returned = runs.minus(queue.content, content), runs.minus(content, queue.content)
    turn.because = turn.emit(
        "heir_chosen", node=chosen, queue=name, was=turn.settings.names[queue.master],
        messages=runs.size(content), missing=runs.size(missing),
    )  # fmt: skip
    held = {node: runs.common(queue.contents[node] or EMPTY, content) for node in queue.mirrors}
    turn.change_queue(
        name,
        master=chosen,
        mirrors=tuple(node for node in queue.mirrors if node != chosen),
        contents=with_content(queue.contents, held | {queue.master: None, chosen: content}),
        redelivered=content,
        uncounted_from=0,
    )
    bookkeeping.lose(turn, name, missing, reason)
    bookkeeping.take_back(turn, name, returned)


def lose_copies(turn: Turn, node: int, why: str) -> None:
    """Record the loss of all messages on the disk of a node that is down."""
    cause = turn.because
    member_changes.lose_disk(turn, node)
    lose_disks(turn, 1 << node, why, cause)
