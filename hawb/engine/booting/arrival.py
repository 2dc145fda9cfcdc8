"""What a node that comes up finds, and what the queues make of it: what `hawb.engine.booting.boot_order` needs of a
turn.

Source: `rabbit_mnesia`, `rabbit_node_monitor`, `rabbit_mirror_queue_misc:on_vhost_up`.
"""

from __future__ import annotations

from hawb.engine import failover, membership, mirroring, outage, quorum_sight, raft_inputs, sides
from hawb.engine.access import is_replicated
from hawb.engine.events import MirrorJoins
from hawb.engine.state import NOWHERE, Queue
from hawb.engine.turn import Turn

INCONSISTENT = "inconsistent_cluster: Node '{node}' thinks it's clustered with node '{other}', but '{other}' disagrees"
"""What is told of a node that is a member for some and none for others (`rabbit_mnesia:check_nodes_consistency`)."""
BOOT_REFUSALS = {
    (True, True): ("wiped", "node '{node}' has not joined the cluster since its disk was lost"),
    (False, False): ("forgotten", INCONSISTENT),
    (False, True): ("not_joined", "node '{node}' has not joined the cluster"),
}
"""Why a node may not boot as one of the cluster, by whether it is a member and whether it is virgin."""


def may_join(turn: Turn, node: int) -> bool:
    """Whether a node that boots is one of the cluster, for the others and for itself."""
    return turn.nodes[node].member and not turn.nodes[node].virgin


def say_refused(turn: Turn, node: int) -> None:
    """A node thinks that it is one of the others, who disagree, so it exits (`rabbit_mnesia:check_nodes_consistency`).
    One that knows of no others would run as a cluster of its own, which is no part of this one: a 3.10.8 node did so
    whose disk was lost. It asks all others; the last one's answer is told."""
    value = turn.nodes[node]
    reason, text = BOOT_REFUSALS[value.member, value.virgin]
    turn.because = turn.emit("node_boot_refused", node=node, reason=reason)
    asked = [other for other, known in enumerate(turn.nodes) if other != node and known.member]
    running = [other for other in asked if turn.runs_anywhere(other)]
    names = turn.settings.names
    turn.refuse(None, text.format(node=names[node], other=names[(running or asked or [node])[-1]]))


def meet_late(turn: Turn, node: int) -> None:
    """Peers that had not noticed a node go notice it as it comes up, and what they had still to settle is settled."""
    membership.notice_if_gone(turn, node)
    failover.settle_stalled(turn)


def find_records(turn: Turn, node: int, found: int) -> None:
    """A node that comes up has the records of the node that it has found, or else its own, and its side is in focus."""
    if found != NOWHERE:
        sides.take_over_records(turn, node, turn.nodes[found].side)
    elif turn.nodes[node].may_boot_alone:
        sides.go_back(turn, node)
    turn.look_from(node)


def return_to_queues(turn: Turn, node: int, others: int) -> None:
    """What queues make of a node that is back among others, or alone."""
    turn.change_node(node, remembers=None)
    cause = turn.emit("node_running", node=node)
    if not others:
        load_records(turn, node)
    for name in turn.queue_names():
        turn.because = cause
        if turn.queues[name].type == "classic":
            return_to_queue(turn, name, node)
    turn.because = cause
    raft_inputs.node_up(turn, node)
    quorum_sight.node_back(turn, node)


def load_records(turn: Turn, node: int) -> None:
    """The first node to come up knows from its disk which queues there are, and puts its own into memory. Which
    processes the others had it has from nobody: nothing joins them before their masters' nodes are back
    (`rabbit_amqqueue:recover`, `rabbit_mirror_queue_misc:on_vhost_up`)."""
    for name in turn.queue_names():
        queue = turn.queues[name]
        if queue.type == "classic" and queue.master != node:
            turn.change_queue(name, unburied=(), hollow=NOWHERE, absent=True, mirrors=(), synchronised=())


def still_recoverable(turn: Turn, queue: Queue, node: int) -> tuple[int, ...]:
    """The mirrors that could be recovered offline once a node is up: it and the other running nodes tell each other so,
    and each strikes out whoever has no synchronised mirror. One that is up alone nobody strikes out
    (`rabbit_amqqueue:maybe_clear_recoverable_node`, `rabbit_node_monitor:notify_node_up`)."""
    met = turn.running() if len(turn.running()) > 1 else []
    return tuple(
        mirror
        for mirror in queue.recoverable
        if mirror not in met or (mirror in queue.synchronised and mirror != node)
    )


def return_to_queue(turn: Turn, name: str, node: int) -> None:
    """What one queue makes of a node that is back. A mirror that it had is struck off the list and its copy deleted: it
    comes back as another, if at all."""
    queue = turn.queues[name]
    if queue.absent and queue.master != node:
        turn.change_queue(name, contents=mirroring.with_content(queue.contents, {node: None}))
        return
    queue = turn.change_queue(
        name,
        mirrors=tuple(mirror for mirror in queue.mirrors if mirror != node),
        synchronised=tuple(mirror for mirror in queue.synchronised if mirror != node),
        recoverable=still_recoverable(turn, queue, node),
        crashed=queue.crashed - {node},
        crashes=tuple(pair for pair in queue.crashes if pair[0] != node),
    )
    if queue.master == node:
        if not queue.up:
            outage.return_master(turn, name)
        return
    queue = turn.change_queue(name, contents=mirroring.with_content(queue.contents, {node: None}))
    if outage.is_full_of_the_dead(queue):
        return
    if is_replicated(queue) and node in mirroring.wanted(turn, queue, sorted({*queue.replicas, queue.master, node})):
        turn.schedule(turn.link_us(queue.master, node), MirrorJoins(name, node, returning=True))


PORTS = ("may_join", "say_refused", "meet_late", "find_records", "return_to_queues")
"""The names of what others have to have."""
