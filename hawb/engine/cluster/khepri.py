"""Khepri: the metadata store of 4.3, a Raft group of all members of the cluster.

A declaration, deletion, binding or policy is a command in the group's log, so it needs a leader and a majority of
members. A read uses the node's own copy and works behind links that are cut. Each side of a partition has such a copy:
a side without a majority changes nothing, and takes over the other side's changes once links are mended
(`hawb.engine.cluster.links`). A change that cannot be written waits for a leader for at most `STORE_PATIENCE_US`
(`hawb.engine.cluster.node_ports`).

The group is simulated as those of quorum queues (`hawb.engine.raft_groups`), with one difference: a change is committed
as soon as its leader can commit, without a message for it, since no queue observes that round over the links. A node's
member runs from the moment when the node looks for the others as it boots, before its broker serves.

Source: `rabbit_khepri` (`setup`, `init`, khepri_default_timeout), `khepri_machine`.
"""

from __future__ import annotations

from msgspec.structs import astuple, replace

from hawb.engine.classic.mirrors import end_master
from hawb.engine.classic.outage import await_master
from hawb.engine.cluster.node_ports import place_of_change
from hawb.engine.core import bookkeeping, runs
from hawb.engine.core.events import MetadataAsked, MetadataChanged, MetadataCommitted, MetadataTimesOut, NodeMarked
from hawb.engine.core.naming import described, split_queue
from hawb.engine.core.operations import Bind, ConnectionFails, Declare, Delete
from hawb.engine.core.runs import EMPTY
from hawb.engine.core.state import (
    DOWN,
    NOWHERE,
    QUORUM,
    WAITING,
    Proposed,
    Queue,
    StoreView,
    WaitingOperation,
    with_content,
)
from hawb.engine.core.turn import Turn
from hawb.engine.queues import exchanges, expiry, lifecycle
from hawb.engine.raft_groups import hosting
from hawb.engine.raft_groups.flowing import (
    commit_at_once,
    elect_at_once,
    remove_member_of_store,
    replace_member_of_store,
)
from hawb.engine.raft_groups.group import STORE, Proposal, standing
from hawb.engine.raft_groups.leadership import can_commit, hosts, refresh
from hawb.engine.raft_groups.ports import METADATA
from hawb.rules.quorum import majority


def stand(turn: Turn) -> None:
    """Create the store of a cluster at the start: all members are in its group, and the first running node leads."""
    members, first = tuple(node for node, value in enumerate(turn.nodes) if value.member), turn.first_running()
    turn.groups[STORE] = standing(STORE, turn.next_number(), members, 0)
    group, turn.focus.store = turn.groups.own(STORE), StoreView()
    if first != NOWHERE and can_commit(turn, group, first):
        elect_at_once(turn, group, first)
        turn.focus.store = StoreView(first, True)


# Changes


def changed(turn: Turn, _event: MetadataChanged) -> None:
    """Append a change to the log and commit it, if a leader can commit."""
    group = turn.groups.own(STORE)
    if any(can_commit(turn, group, leader.id) for leader in group.leaders() if hosts(turn, group, leader.id)):
        commit_at_once(turn, group, METADATA, 1, 0)


def takes_members(turn: Turn, node: int) -> bool:
    """Return True if `node` reaches a leader that can add members."""
    view = turn.sides[turn.nodes[node].side].store
    return view.up and turn.linked(node, view.master)


def node_joins(turn: Turn, node: int) -> None:
    """Add a new node to the group, with nothing on its disk yet. Remove its old member first if it had one."""
    replace_member_of_store(turn, turn.groups.own(STORE), node)


def gains_majority_without(turn: Turn, origin: int, node: int) -> bool:
    """Return True if `origin` reaches a leader that has a majority only once the member on `node` is removed.

    The removal counts from when it is in the leader's log (seen on a 4.3.6 cluster).
    """
    view, group = turn.sides[turn.nodes[origin].side].store, turn.groups[STORE]
    if view.up or view.master == NOWHERE or not turn.linked(origin, view.master):
        return False
    left = [other for other in group.members[view.master].members if other != node]
    here = [other for other in left if hosts(turn, group, other) and turn.linked(view.master, other)]
    return len(here) >= majority(len(left))


def takes_leave(turn: Turn, node: int) -> bool:
    """Return True if a node that is down reaches a leader, with or without a majority, to report that it leaves.

    Where there is no leader, the node's own vote may elect one, because its member runs while the node is reset
    (`khepri_cluster:do_reset`; seen on a 4.3.6 cluster).
    """
    group, running = turn.groups.own(STORE), turn.running()
    if turn.focus.store.master == NOWHERE and running:
        turn.change_node(node, status=WAITING)
        hosting.member_up(turn, group, node)
        # The member with the longest log has to lead first: the other members get its entries from there.
        for candidate in (*running, node, *running):
            if turn.focus.store.master not in running and candidate in group.members:
                elect_at_once(turn, group, candidate)
                refresh(turn, group)
        turn.change_node(node, status=DOWN)
        hosting.member_down(turn, group)
    return turn.focus.store.master != NOWHERE


def node_leaves(turn: Turn, node: int) -> None:
    """Remove a node's member from the group, unless it is the only one."""
    if turn.focus.store.master != NOWHERE and len(turn.groups[STORE].members) > 1:
        remove_member_of_store(turn, turn.groups.own(STORE), turn.focus.store.master, node)


def delete_by_half(turn: Turn, queue: Queue) -> None:
    """Empty and end a classic queue's process while its record cannot be deleted in a minority.

    The process deletes its messages, ends, and only then has the record deleted, so a queue without a process remains
    (`rabbit_amqqueue_process:terminate_delete`; seen on a 4.3.6 cluster).
    """
    if not queue.up:
        return
    expiry.stop_timers(turn, queue)
    deleted = runs.minus(queue.content, turn.account(queue.name).lost)
    bookkeeping.remove(turn, queue.name, deleted, "deleted")
    queue.unacknowledged, queue.redelivered = EMPTY, EMPTY
    queue.contents = with_content(queue.contents, {queue.master: EMPTY})
    held = runs.size(deleted)
    turn.emit("master_down", node=queue.master, queue=queue.name, reason="metadata_timed_out", messages=held)
    end_master(turn, queue, False)
    await_master(turn, queue, "deleted_by_half")


# Waiting changes


def reach_leader(turn: Turn, event: MetadataAsked) -> None:
    """Append a waiting change to the log of a leader without a majority.

    It is committed once that leader has a majority again, and never if another member is elected first: no other member
    is asked (`khepri_machine:process_sync_command`).
    """
    waiting, view = waiting_as(turn, event.number), turn.focus.store
    node = NOWHERE if waiting is None else place_of_change(turn, waiting.operation)
    if waiting is None or view.up or view.master == NOWHERE or node == NOWHERE or not turn.linked(node, view.master):
        return
    turn.waiting_changes = tuple(Proposed(*astuple(one)) if one is waiting else one for one in turn.waiting_changes)
    proposal = Proposal(waiting.number, waiting.operation, node, waiting.step)
    hosting.command(turn, turn.groups.own(STORE), view.master, proposal)


def waiting_as(turn: Turn, number: int) -> WaitingOperation | None:
    """Return the change that waits under a number; None if it no longer waits."""
    return next((one for one in turn.waiting_changes if one.number == number), None)


def commit_late(turn: Turn, event: MetadataCommitted) -> None:
    """Commit a change that had reached a leader without a majority.

    If its client has timed out meanwhile, a declaration leaves a record without a queue process (seen on a 4.3.6
    cluster).
    """
    waiting, operation = waiting_as(turn, event.number), event.operation
    if waiting is not None:
        turn.waiting_changes = tuple(one for one in turn.waiting_changes if one is not waiting)
        turn.unschedule(MetadataTimesOut(event.number))
        turn.schedule(0, operation, step=waiting.step)
    elif isinstance(operation, Declare) and operation.queue not in turn.queues:
        lifecycle.leave_record(turn, operation)
    elif isinstance(operation, Delete) and operation.queue in turn.queues:
        lifecycle.remove(turn, operation.queue, "client")
    elif isinstance(operation, Bind):
        # A client whose declaration of the exchange was refused has not sent its binding.
        (exchanges.bind if is_declared(turn, operation) else exchanges.declare)(turn, operation)


# Time-outs


def times_out(turn: Turn, event: MetadataTimesOut) -> None:
    """Fail an operation that has waited too long; a client's connection fails with it.

    A node that waits to be marked as drained is drained without the mark.
    """
    waiting = waiting_as(turn, event.number)
    if waiting is None:
        return
    turn.waiting_changes = tuple(one for one in turn.waiting_changes if one is not waiting)
    operation = waiting.operation
    if isinstance(operation, Declare | Delete | Bind):
        turn.refuse(541, f"INTERNAL_ERROR{why_not(turn, operation)}")
        vhost, _ = split_queue(operation.queue)
        turn.schedule(0, ConnectionFails(operation.connection, operation.node, vhost))
    elif isinstance(operation, NodeMarked):
        turn.schedule(0, replace(operation, given_up=True))
    else:
        turn.refuse(None, timed_out(turn, operation.node))


def is_declared(turn: Turn, operation: Bind) -> bool:
    """Return True if the exchange exists to which a queue is bound."""
    vhost, _ = split_queue(operation.queue)
    return exchanges.exists(turn, vhost, operation.exchange)


def timed_out(turn: Turn, node: int) -> str:
    """Return the text that `rabbitmqctl` prints when a command at `node` times out."""
    return f"Khepri has timed out on node {turn.settings.names[node]}.\nKhepri cluster could be in minority."


def why_not(turn: Turn, operation: Declare | Delete | Bind) -> str:
    """Return the error text of a client's operation that timed out.

    Source: `rabbit_amqqueue`, `rabbit_quorum_queue:declare_queue`, `rabbit_channel`.
    """
    if isinstance(operation, Delete):
        return " - The operation to delete the queue from the metadata store timed out"
    if isinstance(operation, Bind):
        if is_declared(turn, operation):
            return " - Could not add binding due to timeout"
        vhost, _ = split_queue(operation.queue)
        exchange = f"exchange '{operation.exchange}' in vhost '{vhost}'"
        return f" - failed to declare {exchange} because the operation timed out"
    kind = "quorum " if dict(operation.arguments).get("x-queue-type") == QUORUM else ""
    name, node = described(operation.queue), turn.settings.names[operation.node]
    return f" - Could not declare {kind}{name} on node '{node}' because the metadata store operation timed out"

