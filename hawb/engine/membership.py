"""Nodes stop and die, and what that means for the processes and clients on them. How they come back is in
`hawb.engine.booting.boot_order`.

Source: `rabbit_node_monitor`, `rabbit_amqqueue:on_node_down`.
"""

from __future__ import annotations

from collections.abc import Iterator

from hawb.engine import (
    alarms,
    confirms,
    connections,
    disks,
    metadata,
    queues,
    quorum_sight,
    raft_inputs,
    sides,
)
from hawb.engine.classic.failover import bury, shut_down_master
from hawb.engine.classic.mirrors import end_master
from hawb.engine.events import NodeGoneNoticed, ShutDown, Stopped
from hawb.engine.nodes import partition_handling, sight
from hawb.engine.nodes.ports import begin_to_stop
from hawb.engine.operations import NODE_DOWN
from hawb.engine.state import (
    BOOTING,
    DOWN,
    NOTHING,
    PAUSED,
    RESTART,
    RUNNING,
    STOPPING,
    WAITING,
    Queue,
    bits_of,
    nodes_of,
)
from hawb.engine.turn import TIMER, Turn


def stop(turn: Turn, nodes: list[int]) -> None:
    """Controlled shutdown of nodes, all at the same moment."""
    for node in checked(turn, nodes, (RUNNING, PAUSED), "not running"):
        if turn.nodes[node].status == PAUSED:
            end(turn, node, "node_stopped", turn.emit("node_stopping", node=node))
        else:
            begin_to_stop(turn, node)


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
        turn.schedule(turn.setup.ticktime_us, NodeGoneNoticed(node), priority=TIMER)


def strike(turn: Turn, nodes: list[int], how: str) -> Iterator[int]:
    """Nodes are gone from one moment to the next. Gives those that others have to notice the absence of, each with its
    side in focus."""
    struck = checked(turn, nodes, (RUNNING, STOPPING, BOOTING, WAITING, PAUSED), "not running")
    known = [node for node in struck if sight.is_up(turn, node)]
    for node in known:
        sides.remember(turn, node)
    for node in struck:
        turn.change_node(node, status=DOWN, awaits=NOTHING)
    for node in struck:
        turn.because = None
        turn.look_from(node)
        turn.because = turn.emit(how, node=node)
        raft_inputs.node_down(turn)
        if node in known:
            for name in masters_on(turn, node):
                turn.emit("master_down", node=node, queue=name, reason=how)
                end_master(turn, turn.own(name), False)
            yield node


def end(turn: Turn, node: int, how: str, because: int | None = None) -> None:
    """A node whose broker has stopped goes down altogether, and so it can no longer be seen."""
    turn.change_node(node, status=DOWN, awaits=NOTHING)
    turn.because = turn.emit(how, node=node, because=because)
    for _side in turn.each_side():
        partition_handling.decide_who_pauses(turn)
        partition_handling.pause(turn)


def start(turn: Turn, nodes: list[int]) -> None:
    """Nodes boot."""
    for node in checked(turn, nodes, DOWN, "already running"):
        partition_handling.boot_again(turn, node)
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
        shut_down_master(turn, turn.own(name))
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
    if node.awaits == NOTHING:
        end(turn, event.node, "node_stopped")
    elif node.awaits == RESTART:
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
        if side == own or sight.is_believed(turn, event.node):
            turn.because = cause
            notice_gone(turn, [event.node])
    metadata.release(turn)


def notice_gone(turn: Turn, gone: list[int]) -> None:
    """The side in focus learns that nodes are gone: their clients' channels, their queues, their mirrors. Those that
    run on another side have only gone from here."""
    watchers = turn.running()
    for node in watchers:
        turn.nodes[node].believes &= ~bits_of(gone)
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
        if queue.type == "classic" and not hearers(queue).isdisjoint(gone):
            bury(turn, turn.own(name), False)
    turn.because = cause
    confirms.strays_gone(turn, dead)
    if not watchers:
        forget_transient(turn)
    for node in gone:
        if node in dead:
            close_clients(turn, node, NODE_DOWN)
        else:
            close_exclusive_queues(turn, node)
            quorum_sight.out_of_reach(turn, [node])
        alarms.node_gone(turn, node)
    partition_handling.pause(turn)


def hearers(queue: Queue) -> set[int]:
    """The nodes whose loss a queue acts on."""
    return {queue.master, queue.hollow, *queue.mirrors, *nodes_of(queue.stray_group)}


def forget_transient(turn: Turn) -> None:
    """With the last node the records of queues that are not durable go too."""
    for name in turn.queue_names():
        if turn.queues[name].abandoned and not turn.queues[name].durable:
            queues.remove(turn, name, "node_down")


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
