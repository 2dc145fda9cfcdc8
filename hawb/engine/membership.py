"""Nodes stop, die, boot and wait, and what that means for the processes and clients on them.

Source: `rabbit_node_monitor`, `rabbit_mnesia`, `rabbit_amqqueue:on_node_down`, `rabbit_mirror_queue_misc:on_vhost_up`;
boot order as observed on 3.10.8.
"""

from __future__ import annotations

from collections.abc import Iterator

from hawb.engine import (
    alarms,
    confirms,
    connections,
    disks,
    failover,
    metadata,
    mirroring,
    outage,
    partition_handling,
    queues,
    quorum_sight,
    raft_inputs,
    sides,
)
from hawb.engine.access import is_replicated
from hawb.engine.events import BootAttempt, BootGivesUp, MirrorJoins, NodeGoneNoticed, ShutDown, Stopped
from hawb.engine.operations import NODE_DOWN
from hawb.engine.state import BOOTING, DOWN, NOWHERE, PAUSED, RUNNING, STOPPING, WAITING, Queue
from hawb.engine.turn import TIMER, Turn

BOOT_RETRIES = 10
"""How often a booting node tries to load its tables each time that it needs them (mnesia_table_loading_retry_limit)."""


def stop(turn: Turn, nodes: list[int]) -> None:
    """Controlled shutdown of nodes, all at the same moment."""
    for node in checked(turn, nodes, (RUNNING, PAUSED), "not running"):
        entry = turn.emit("node_stopping", node=node)
        if turn.nodes[node].status == PAUSED:
            end(turn, node, "node_stopped", entry)
        else:
            turn.schedule(0, ShutDown(node), entry)


def kill(turn: Turn, nodes: list[int]) -> None:
    """Nodes die without warning, all at the same moment; peers see the connections break."""
    latency_us = turn.settings.timing.link_latency_us
    for node in strike(turn, nodes, "node_killed"):
        turn.schedule(latency_us, NodeGoneNoticed(node))


def power_off(turn: Turn, nodes: list[int]) -> None:
    """Hosts lose power, all at the same moment: nobody tells the peers, who find out when net_ticktime is over. What
    had not been written to disk by then is on no disk."""
    for node in strike(turn, nodes, "node_lost_power"):
        turn.change_node(node, silent=True)
        for name in turn.queue_names():
            disks.lose_unwritten(turn, name, node)
        raft_inputs.links_silent(turn, [(min(node, other), max(node, other)) for other in turn.running()])
        turn.schedule(metadata.ticktime_us(turn), NodeGoneNoticed(node), priority=TIMER)


def strike(turn: Turn, nodes: list[int], how: str) -> Iterator[int]:
    """Nodes are gone from one moment to the next. Gives those that others have to notice the absence of, each with its
    side in focus."""
    struck = checked(turn, nodes, (RUNNING, STOPPING, BOOTING, WAITING, PAUSED), "not running")
    known = [node for node in struck if sides.is_up(turn, node)]
    for node in known:
        sides.remember(turn, node)
    for node in struck:
        turn.change_node(node, status=DOWN, awaits=None)
    for node in struck:
        turn.because = None
        turn.look_from(node)
        turn.because = turn.emit(how, node=node)
        raft_inputs.node_down(turn)
        if node in known:
            for name in masters_on(turn, node):
                turn.emit("master_down", node=node, queue=name, reason=how)
                mirroring.end_master(turn, name, stopped=False)
            yield node


def end(turn: Turn, node: int, how: str, because: int | None = None) -> None:
    """A node whose broker has stopped goes down altogether, and so it can no longer be seen."""
    turn.change_node(node, status=DOWN, awaits=None)
    turn.because = turn.emit(how, node=node, because=because)
    for _side in turn.each_side():
        partition_handling.decide_who_pauses(turn)
        partition_handling.pause(turn)


def start(turn: Turn, nodes: list[int]) -> None:
    """Nodes boot."""
    for node in checked(turn, nodes, DOWN, "already running"):
        boot = turn.nodes[node].boots + 1
        turn.change_node(node, status=BOOTING, boots=boot)
        entry = turn.emit("node_booting", node=node)
        turn.schedule(turn.settings.timing.start_us, BootAttempt(node, boot), entry)
    partition_handling.look_again(turn)


def checked(turn: Turn, nodes: list[int], status: str | tuple[str, ...], otherwise: str) -> list[int]:
    """Those of `nodes` that are in `status`; the others are an error of the step."""
    fit = [node for node in nodes if turn.nodes[node].status in status]
    for node in nodes:
        if node not in fit:
            turn.refuse(None, f"node '{turn.settings.names[node]}' is {otherwise}")
    return fit


# Going down


def shut_down(turn: Turn, event: ShutDown) -> None:
    """The broker ends on a node: connections close, so that masters there get back what their clients hold, and let go
    of what has expired or is too much by then; each master decides what becomes of its mirrors. Source: `rabbit`, whose
    listeners are the last to start and the first to go; a 3.10.8 cluster."""
    if not turn.is_running(event.node):
        return
    masters = masters_on(turn, event.node)
    theirs = [one for one in turn.consumers.values()
              if one.state != "closed" and one.node == event.node and one.queue in masters]  # fmt: skip
    if theirs:
        connections.close_consumers(turn, theirs, NODE_DOWN)
        turn.schedule(0, event)
        return
    turn.change_node(event.node, status=STOPPING)
    for name in masters:
        failover.shut_down_master(turn, name)
    sides.remember(turn, event.node)
    raft_inputs.node_down(turn)
    timing = turn.settings.timing
    turn.schedule(timing.link_latency_us, NodeGoneNoticed(event.node))
    turn.schedule(timing.stop_us, Stopped(event.node, turn.nodes[event.node].boots))


def masters_on(turn: Turn, node: int) -> list[str]:
    """The classic queues whose master runs on a node, in alphabetical order."""
    return [
        name
        for name in turn.queue_names()
        if (queue := turn.queues[name]).master == node and queue.up and queue.type == "classic"
    ]


def stopped(turn: Turn, event: Stopped) -> None:
    """A controlled shutdown is complete. A node that did it by itself waits until it may come back, or comes back at
    once."""
    node = turn.nodes[event.node]
    if (node.status, node.boots) != (STOPPING, event.boot):
        return
    if node.awaits is None:
        end(turn, event.node, "node_stopped")
    elif node.awaits == partition_handling.RESTART:
        turn.emit("node_stopped", node=event.node)
        partition_handling.boot_again(turn, event.node)
    else:
        turn.change_node(event.node, status=PAUSED)
        turn.emit("node_paused", node=event.node)
        partition_handling.look_again(turn)


def node_gone_noticed(turn: Turn, event: NodeGoneNoticed) -> None:
    """Whoever still took a node for running learns that it is gone."""
    turn.change_node(event.node, silent=False)
    own, cause = turn.nodes[event.node].side, turn.because
    for side in turn.each_side():
        if side == own or any(event.node in turn.nodes[node].believes_running for node in turn.running()):
            turn.because = cause
            notice_gone(turn, [event.node])
    metadata.release(turn)


def notice_gone(turn: Turn, gone: list[int]) -> None:
    """The side in focus learns that nodes are gone: their clients' channels, their queues, their mirrors. Those that
    run on another side have only gone from here."""
    watchers = turn.running()
    for node in watchers:
        turn.change_node(node, believes_running=turn.nodes[node].believes_running.difference(gone))
    first = turn.because
    for node in gone:
        turn.because = turn.emit("node_down_noticed", node=node, because=first, by=turn.settings.named(watchers))
    cause = turn.because
    dead = [node for node in gone if not turn.runs_anywhere(node)]
    partition_handling.decide_who_pauses(turn)
    for node in dead:
        confirms.client_gone(turn, node)
        quorum_sight.channels_gone(turn, node)
    raft_inputs.node_missed(turn)
    for name in turn.queue_names():
        turn.because = cause
        queue = turn.queues[name]
        if queue.type == "classic" and not {queue.master, queue.hollow, *queue.mirrors}.isdisjoint(gone):
            failover.bury(turn, name)
    turn.because = cause
    confirms.strays_gone(turn, dead)
    if not watchers:
        outage.forget_transient(turn)
    for node in gone:
        if node in dead:
            close_clients(turn, node, NODE_DOWN)
        else:
            close_exclusive_queues(turn, node)
            quorum_sight.out_of_reach(turn, [node])
        alarms.node_gone(turn, node)
    partition_handling.pause(turn)


def notice_if_gone(turn: Turn, node: int) -> None:
    """Whoever has not noticed yet that a node went notices it now."""
    event, before = NodeGoneNoticed(node), turn.because
    turn.because = turn.cause_of(event)
    if turn.unschedule(event):
        node_gone_noticed(turn, event)
    turn.because = before


def close_clients(turn: Turn, node: int, reason: str) -> None:
    """Connections of clients at a node are gone, with their consumers and exclusive queues."""
    connections.node_gone(turn, node)
    theirs = (consumer for consumer in turn.consumers.values() if consumer.node == node)
    connections.close_consumers(turn, theirs, reason)
    close_exclusive_queues(turn, node)


def close_exclusive_queues(turn: Turn, node: int) -> None:
    """The exclusive queues of connections to a node go with them."""
    for name in turn.queue_names():
        owner, vhost = turn.queues[name].owner, turn.queues[name].vhost
        if owner is not None and owner[1] == node:
            queues.connection_gone(turn, owner, vhost)


# Coming up


def boot(turn: Turn, event: BootAttempt) -> None:
    """A node has booted as far as its tables. Who may know more than it does it waits for."""
    node = turn.nodes[event.node]
    if (node.status, node.boots) != (BOOTING, event.boot):
        return
    if not node.member or node.virgin:
        refuse_boot(turn, event.node)
        return
    turn.change_node(event.node, status=WAITING)
    let_waiting_nodes_in(turn)
    if turn.nodes[event.node].status == WAITING:
        turn.emit("node_waiting", node=event.node, waits_for=turn.settings.named(awaited(turn, event.node)))
        retries_us = BOOT_RETRIES * turn.settings.timing.boot_retry_us
        rounds = 1 if finds_another(turn, event.node) else turn.settings.profile.lone_boot_rounds
        turn.schedule(rounds * retries_us, BootGivesUp(event.node, event.boot), priority=TIMER)


def finds_another(turn: Turn, node: int) -> bool:
    """Whether a booting node connects to the Mnesia of another that waits as well. It needs the tables of the cluster
    first of all then, and gives up when that fails (`rabbit_mnesia:init_db`)."""
    return any(
        value.status == WAITING and other != node and turn.linked(node, other)
        for other, value in enumerate(turn.nodes)
    )


INCONSISTENT = "inconsistent_cluster: Node '{node}' thinks it's clustered with node '{other}', but '{other}' disagrees"
"""What is told of a node that is a member for some and none for others (`rabbit_mnesia:check_nodes_consistency`)."""
BOOT_REFUSALS = {
    (True, True): ("wiped", "node '{node}' has not joined the cluster since its disk was lost"),
    (False, False): ("forgotten", INCONSISTENT),
    (False, True): ("not_joined", "node '{node}' has not joined the cluster"),
}
"""Why a node may not boot as one of the cluster, by whether it is a member and whether it is virgin."""


def refuse_boot(turn: Turn, node: int) -> None:
    """A node thinks that it is one of the others, who disagree, so it exits (`rabbit_mnesia:check_nodes_consistency`).
    One that knows of no others would run as a cluster of its own, which is no part of this one: a 3.10.8 node did so
    whose disk was lost. It asks all others; the last one's answer is told."""
    value = turn.change_node(node, status=DOWN)
    reason, text = BOOT_REFUSALS[value.member, value.virgin]
    turn.because = turn.emit("node_boot_refused", node=node, reason=reason)
    asked = [other for other, known in enumerate(turn.nodes) if other != node and known.member]
    running = [other for other in asked if turn.runs_anywhere(other)]
    names = turn.settings.names
    turn.refuse(None, text.format(node=names[node], other=names[(running or asked or [node])[-1]]))


def awaited(turn: Turn, node: int) -> list[int]:
    """The nodes for which a booting node waits: those it believed running when it went, unless they wait as well and
    did not see it go. With any member running that it reaches it waits for nobody, since it can load its tables from
    there."""
    if turn.nodes[node].may_boot_alone or sides.reachable_side(turn, node) is not None:
        return []
    return [
        other
        for other in sorted(turn.nodes[node].believes_running)
        if turn.nodes[other].status != WAITING
        or node not in turn.nodes[other].believes_running
        or not turn.linked(node, other)
    ]


def let_waiting_nodes_in(turn: Turn) -> None:
    """Brings up every waiting node that need not wait (any longer)."""
    while ready := [n for n, node in enumerate(turn.nodes) if node.status == WAITING and not awaited(turn, n)]:
        come_up(turn, ready[0])


def give_up(turn: Turn, event: BootGivesUp) -> None:
    """A node has waited for the last time and exits."""
    node = turn.nodes[event.node]
    if (node.status, node.boots) == (WAITING, event.boot):
        waits_for = turn.settings.named(awaited(turn, event.node))
        turn.change_node(event.node, status=DOWN)
        turn.emit("node_gave_up", node=event.node, waits_for=waits_for)


def come_up(turn: Turn, node: int) -> None:
    """A node joins its cluster: it serves the queues whose master it still is from its disk, and joins those that
    policy wants it in as an empty mirror. Peers that had not noticed it go notice it now."""
    notice_if_gone(turn, node)
    failover.settle_stalled(turn)
    side = sides.reachable_side(turn, node)
    if side is not None:
        sides.take_over_records(turn, node, side)
    elif turn.nodes[node].may_boot_alone:
        sides.go_back(turn, node)
    turn.look_from(node)
    others = frozenset(turn.running())
    turn.change_node(
        node, status=RUNNING, believes_running=others, drained=False, awaits=None, may_boot_alone=False, remembers=None
    )
    for other in others:
        turn.change_node(other, believes_running=turn.nodes[other].believes_running | {node})
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
    partition_handling.look_again(turn)


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
