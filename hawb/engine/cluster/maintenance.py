"""Masters that are moved on purpose: transfer of leadership, rebalancing, and nodes that are put into maintenance mode.

Source: `rabbit_mirror_queue_misc:transfer_leadership`, `rabbit_amqqueue:rebalance`, `rabbit_maintenance`. A transfer
makes sure of a mirror at its destination and then drops all other replicas, the master among them, whether that mirror
is synchronised or not: what it did not hold is lost (rabbitmq-server issue 2749). Afterwards policy brings mirrors
back, empty. What rebalancing moves, and where to, is decided in `hawb.rules.rebalancing`.

A node that is drained runs on, and so do its masters and mirrors, but in 3.8.9 it gives the masters of mirrored queues
away. It takes no clients, and the locators random and min-masters pass it over. A boot ends maintenance mode.

That a node is drained is metadata. With Khepri that is written first, for at most as long as such things wait; the node
is drained whether it was written or not (`rabbit_maintenance:drain`, which does not look). Left out is that nobody
passes over a node that is drained in a minority, once there is a majority again, and that one that is revived in a
minority is passed over later.
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
    """A queue's master moves to another node. A queue that synchronises moves afterwards. A stream whose coordinator is
    not available stays where it is, which is no error of the rebalancing (`rabbit_amqqueue`, not_migrated)."""
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
    """A transfer is refused where nobody has taken over (`wait_for_new_master`)."""
    queue = turn.queues.get(event.queue)
    if queue is None or not queue.up:
        turn.refuse(None, "not_migrated")


def rebalance(turn: Turn, _event: Rebalance) -> None:
    """`rabbitmq-queues rebalance all`: one queue after the other moves from the nodes that have too many masters."""
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
    """Whether rebalancing counts a queue, and may move it (`rabbit_amqqueue:filter_per_type`)."""
    if queue.type == STREAM:
        return streams.profile_of(turn).moves_leaders
    return queue.has_group or is_replicated(queue)


def length(turn: Turn, queue: Queue) -> int:
    """How long rebalancing takes a queue for: its messages, or the entries in the log of a quorum queue's member on the
    node that is asked, 0 where that has none (`rabbit_quorum_queue:queue_length`)."""
    if queue.type != QUORUM:
        return runs.size(queue.content)
    member = turn.groups[queue.name].members.get(turn.running()[0])
    return 0 if member is None else member.log.last_index - member.log.snapshot.index


def candidates(turn: Turn, queue: Queue) -> list[int]:
    """The other nodes that policy wants a replica on, or that have a member which runs, and that may get a master."""
    nodes = queue.synchronised if queue.has_group else wanted(turn, queue, bits_of(turn.running()))
    others = [node for node in nodes if node != queue.master]
    return may_get_masters(turn, others)


def may_get_masters(turn: Turn, nodes: list[int]) -> list[int]:
    """Those of `nodes` to which rebalancing moves masters."""
    spares = turn.settings.profile.rebalance_spares_drained
    return [node for node in nodes if not (spares and turn.nodes[node].drained)]


# Maintenance mode


def drain(turn: Turn, node: int) -> None:
    """`rabbitmq-upgrade drain`"""
    if not turn.runs_anywhere(node):
        turn.refuse(None, f"node '{turn.settings.names[node]}' is not running")
        return
    turn.look_from(node)
    mark(turn, NodeMarked(node, turn.nodes[node].boots))


def mark(turn: Turn, event: NodeMarked) -> None:
    """A node that is to be drained is marked, if that is possible, and then drained, if it still runs."""
    if turn.nodes[event.node].boots != event.boots or not turn.runs_anywhere(event.node):
        return
    waits = turn.setup.khepri and not event.given_up and metadata.stall(turn, event)
    if not waits:
        turn.change_node(event.node, drained=True)
        turn.because = turn.emit("node_drained", node=event.node)
        turn.schedule(0, NodeDrains(event.node))


def revive(turn: Turn, node: int) -> None:
    """`rabbitmq-upgrade revive`. To revive a node that is not drained changes nothing."""
    if not turn.runs_anywhere(node):
        turn.refuse(None, f"node '{turn.settings.names[node]}' is not running")
    elif turn.nodes[node].drained:
        turn.change_node(node, drained=False)
        turn.because = turn.emit("node_revived", node=node)
        member_changes.revive(turn, node)
