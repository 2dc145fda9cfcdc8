"""Masters moved on purpose: transfer of leadership, rebalancing, and maintenance mode.

Source: `rabbit_mirror_queue_misc:transfer_leadership`, `rabbit_amqqueue:rebalance`, `rabbit_maintenance`. A transfer
makes sure of a mirror at its destination and then drops all other replicas, including the master, whether that mirror
is synchronised or not: messages that it did not hold are lost (rabbitmq-server issue 2749). Afterwards policy brings
mirrors back, empty. `hawb.rules.rebalancing` decides which queues rebalancing moves, and where to.

A drained node keeps running, and so do its masters and mirrors; in 3.8.9 it gives away the masters of mirrored queues.
It takes no clients, and the locators random and min-masters pass it over. A boot ends maintenance mode.

Maintenance mode is metadata. With Khepri it is written first, within the time that such a change waits; the node is
drained whether it was written or not (`rabbit_maintenance:drain`, which does not check). Not simulated: a node drained
in a minority is not passed over once there is a majority again, and one revived in a minority is passed over later.
"""

from __future__ import annotations

from hawb.engine import streams
from hawb.engine.classic.journal import JOINED, TRANSFER
from hawb.engine.classic.mirrors import drop_master, drop_mirrors, enlist, synchronise_drained
from hawb.engine.classic.ports import ALL_REPLICAS, wanted
from hawb.engine.classic.record_ports import is_replicated
from hawb.engine.cluster import metadata
from hawb.engine.core import runs
from hawb.engine.core.events import (
    NodeDrains,
    NodeMarked,
    PolicyTakesEffect,
    Rebalance,
    TransferAnswered,
    TransferLeadership,
)
from hawb.engine.core.state import QUORUM, STREAM, Queue, bits_of
from hawb.engine.core.turn import Turn
from hawb.engine.queues.access import defer
from hawb.engine.raft_groups import member_changes
from hawb.rules import rebalancing


def transfer_leadership(turn: Turn, event: TransferLeadership) -> None:
    """Move a queue's master to another node. A queue that synchronises moves afterwards.

    A stream stays where it is while its coordinator is not available; rebalancing does not report that as an error
    (`rabbit_amqqueue`, not_migrated).
    """
    queue = turn.queues.get(event.queue)
    if queue is not None and queue.type == STREAM and not streams.coordinates(turn, turn.first_running()):
        return
    if queue is not None and queue.has_group:
        member_changes.transfer(turn, event.queue, event.node)
        return
    if queue is None or not queue.up or not is_replicated(queue) or not turn.is_running(event.node):
        return
    if queue.sync is not None:
        defer(turn, queue, event)
        return
    turn.because = turn.emit(
        "leadership_transferred", node=event.node, queue=queue.name, was=turn.settings.names[queue.master]
    )
    queue = turn.own(event.queue)
    if event.node not in queue.replicas:
        enlist(turn, queue, event.node)
        synchronise_drained(turn, queue, JOINED)
    drop_mirrors(turn, queue, ALL_REPLICAS & ~(1 << event.node), TRANSFER)
    if queue.master == event.node:
        turn.schedule(0, PolicyTakesEffect(queue.name))
    else:
        drop_master(turn, queue, TRANSFER)
    if event.asked:
        turn.schedule(0, TransferAnswered(queue.name))


def answer_transfer(turn: Turn, event: TransferAnswered) -> None:
    """Refuse a transfer after which no master serves the queue (`wait_for_new_master`)."""
    queue = turn.queues.get(event.queue)
    if queue is None or not queue.up:
        turn.refuse(None, "not_migrated")


def rebalance(turn: Turn, _event: Rebalance) -> None:
    """Run `rabbitmq-queues rebalance all`: move queues, one by one, from the nodes that have too many masters."""
    known = (turn.queues[name] for name in turn.queue_names())
    queues = [queue for queue in known if queue.up and moves(turn, queue)]
    masters = [queue.master for queue in queues]
    lengths = [length(turn, queue) for queue in queues]
    tried = [0] * len(queues)
    hosts = may_get_masters(turn, turn.running())
    if not hosts:
        turn.refuse(None, "badarith: every running node is being drained")
        return
    most = rebalancing.most_masters(len(queues), len(hosts))
    turn.because = turn.emit("rebalance_started", most=most)
    while (moving := rebalancing.next_to_move(masters, lengths, tried, most, turn.running())) != rebalancing.NOTHING:
        tried[moving] = 1
        to = rebalancing.destination(candidates(turn, queues[moving]), masters)
        if to != rebalancing.NOTHING:
            masters[moving] = to
            turn.schedule(0, TransferLeadership(queues[moving].name, to))


def moves(turn: Turn, queue: Queue) -> bool:
    """Return True if rebalancing counts a queue and may move it (`rabbit_amqqueue:filter_per_type`)."""
    if queue.type == STREAM:
        return streams.profile_of(turn).moves_leaders
    return queue.has_group or is_replicated(queue)


def length(turn: Turn, queue: Queue) -> int:
    """Return the length by which rebalancing orders a queue.

    For a classic queue or stream it is the number of messages; for a quorum queue the number of entries in the log of
    the member on the node that is asked, 0 if there is none (`rabbit_quorum_queue:queue_length`).
    """
    if queue.type != QUORUM:
        return runs.size(queue.content)
    member = turn.groups[queue.name].members.get(turn.running()[0])
    return 0 if member is None else member.log.last_index - member.log.snapshot.index


def candidates(turn: Turn, queue: Queue) -> list[int]:
    """Return the nodes to which rebalancing may move a queue's master.

    They are the nodes on which policy wants a replica, or that have a running member, without the master's own node.
    """
    nodes = queue.synchronised if queue.has_group else wanted(turn, queue, bits_of(turn.running()))
    others = [node for node in nodes if node != queue.master]
    return may_get_masters(turn, others)


def may_get_masters(turn: Turn, nodes: list[int]) -> list[int]:
    """Return those of `nodes` to which rebalancing moves masters."""
    spares = turn.settings.profile.rebalance_spares_drained
    return [node for node in nodes if not (spares and turn.nodes[node].drained)]


# Maintenance mode


def drain(turn: Turn, node: int) -> None:
    """Run `rabbitmq-upgrade drain` on a node."""
    if not turn.runs_anywhere(node):
        turn.refuse(None, f"node '{turn.settings.names[node]}' is not running")
        return
    turn.look_from(node)
    mark(turn, NodeMarked(node, turn.nodes[node].boots))


def mark(turn: Turn, event: NodeMarked) -> None:
    """Mark a node as drained in the metadata, if that is possible, and then drain it, if it still runs."""
    if turn.nodes[event.node].boots != event.boots or not turn.runs_anywhere(event.node):
        return
    waits = turn.setup.khepri and not event.given_up and metadata.defer_if_blocked(turn, event)
    if not waits:
        turn.change_node(event.node, drained=True)
        turn.because = turn.emit("node_drained", node=event.node)
        turn.schedule(0, NodeDrains(event.node))


def revive(turn: Turn, node: int) -> None:
    """Run `rabbitmq-upgrade revive` on a node. It changes nothing if the node is not drained."""
    if not turn.runs_anywhere(node):
        turn.refuse(None, f"node '{turn.settings.names[node]}' is not running")
    elif turn.nodes[node].drained:
        turn.change_node(node, drained=False)
        turn.because = turn.emit("node_revived", node=node)
        member_changes.revive(turn, node)
