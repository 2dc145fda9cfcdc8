"""Nodes stop and go down, and the remaining nodes notice. `hawb.engine.cluster.booting` brings them back.

Source: `rabbit` (stop, prep_stop), `rabbit_node_monitor:handle_dead_rabbit`, `rabbit_amqqueue:on_node_down`.
"""

from __future__ import annotations

from hawb.engine.cluster.metadata import retry_changes
from hawb.engine.cluster.node_ports import (
    begin_to_stop,
    blame,
    cause,
    focus_on,
    focused,
    is_running,
    look_from,
    look_from_outside,
    runs_anywhere,
    sides,
)
from hawb.engine.cluster.partition_handling import boot_again, decide_who_pauses, look_again, pause
from hawb.engine.cluster.reachability import is_believed, is_up
from hawb.engine.cluster.remembered import remember
from hawb.engine.cluster.stopping_ports import (
    KILLED,
    LOST_POWER,
    cancel_node_down,
    clients_gone,
    close_masters_consumers,
    disconnect,
    end_masters,
    fall_silent,
    give_masters_away,
    lose_unwritten,
    publishers_gone,
    remove_dead_replicas,
    say_down,
    say_nodes_down,
    say_paused,
    say_stopped,
    say_stopping,
    schedule_node_down,
    shut_down_masters,
    will_have_stopped,
)
from hawb.engine.core.agenda import REACTION, TIMER
from hawb.engine.core.state import DOWN, NOTHING, PAUSED, RESTART, STOPPING
from hawb.engine.core.turn import Turn
from hawb.engine.raft_groups.inputs import node_down as members_down
from hawb.engine.raft_groups.inputs import node_noticed_down as members_noticed_down
from hawb.engine.raft_groups.member_changes import drain as stop_members

SHARED = True  # the kernel of studies compiles this module

# Operators and faults


def stop(t: Turn, node: int) -> None:
    """Shut down a node in a controlled way. A paused node has no broker to stop and goes down at once."""
    look_from_outside(t)
    if t.nodes[node].status == PAUSED:
        say_stopping(t, node)
        end(t, node)
    elif runs_anywhere(t, node):
        begin_to_stop(t, node)


def kill(t: Turn, nodes: int) -> None:
    """Kill nodes, given as bits, all at the same moment; the other nodes see their connections break."""
    down, missed = take_down(t, nodes)
    for node in range(t.setup.nodes):
        if down >> node & 1:
            die(t, node, missed, KILLED)
            if missed >> node & 1:
                schedule_node_down(t, node, t.setup.link_us, REACTION)


def power_off(t: Turn, nodes: int) -> None:
    """Cut the power of hosts, given as bits, all at the same moment.

    The other nodes notice when net_ticktime is over. What had not been written to disk by then is lost.
    """
    down, missed = take_down(t, nodes)
    for node in range(t.setup.nodes):
        if down >> node & 1:
            die(t, node, missed, LOST_POWER)
            if missed >> node & 1:
                t.nodes[node].silent = True
                lose_unwritten(t, node)
                fall_silent(t, node)
                schedule_node_down(t, node, t.setup.ticktime_us, TIMER)


def take_down(t: Turn, nodes: int) -> tuple[int, int]:
    """Take nodes down at once.

    Return the nodes that were up, and those of them that other nodes have to notice, both as bits.
    """
    look_from_outside(t)
    down = missed = 0
    for node in range(t.setup.nodes):
        if nodes >> node & 1 and t.nodes[node].status != DOWN:
            down |= 1 << node
            missed |= int(is_up(t, node)) << node
    for node in range(t.setup.nodes):
        if missed >> node & 1:
            remember(t, node)
    for node in range(t.setup.nodes):
        if down >> node & 1:
            t.nodes[node].status, t.nodes[node].awaits = DOWN, NOTHING
    return down, missed


def die(t: Turn, node: int, missed: int, how: str) -> None:
    """End what runs on a node that went down at once."""
    look_from(t, node)
    say_down(t, node, how)
    members_down(t)
    if missed >> node & 1:
        end_masters(t, node, how)


# A controlled shutdown


def shut_down(t: Turn, node: int) -> None:
    """Shut down a node's broker.

    Connections close first, so that masters on the node requeue what their clients hold, and drop what has expired or
    exceeds a limit by then. Each master then decides what becomes of its mirrors. Source: `rabbit`, whose listeners are
    the last to start and the first to stop; a 3.10.8 cluster.
    """
    if not is_running(t, node) or close_masters_consumers(t, node):
        return
    t.nodes[node].status = STOPPING
    shut_down_masters(t, node)
    remember(t, node)
    members_down(t)
    schedule_node_down(t, node, t.setup.link_us, REACTION)
    will_have_stopped(t, node)


def stopped(t: Turn, node: int, boot: int) -> None:
    """Complete a controlled shutdown; `boot` is the node's boot count, and the event of an earlier boot does nothing.

    A node that stopped by itself pauses until it may come back, or boots at once.
    """
    if t.nodes[node].status != STOPPING or t.nodes[node].boots != boot:
        return
    if t.nodes[node].awaits == NOTHING:
        end(t, node)
    elif t.nodes[node].awaits == RESTART:
        say_stopped(t, node)
        boot_again(t, node)
    else:
        t.nodes[node].status = PAUSED
        say_paused(t, node)
        look_again(t)


def end(t: Turn, node: int) -> None:
    """Take a node down whose broker has stopped, so that its Erlang node can no longer be seen."""
    t.nodes[node].status, t.nodes[node].awaits = DOWN, NOTHING
    say_stopped(t, node)
    focus = focused(t)
    for side in sides(t):
        if focus_on(t, side):
            decide_who_pauses(t)
            pause(t)
    focus_on(t, focus)


# The remaining nodes


def node_gone(t: Turn, node: int) -> None:
    """Let each side that still takes a node for running notice that it is down."""
    focus, first = focused(t), cause(t)
    t.nodes[node].silent = False
    own = t.nodes[node].side
    for side in sides(t):
        if focus_on(t, side) and (side == own or is_believed(t, node)):
            blame(t, first)
            on_nodes_down(t, 1 << node)
    focus_on(t, focus)
    retry_changes(t)


def on_nodes_down(t: Turn, gone: int) -> None:
    """Let the current side notice that nodes, given as bits, are gone: with clients' channels, queues and mirrors.

    Nodes that run on another side are gone from this side only.
    """
    dead = 0
    for node in range(t.setup.nodes):
        if is_running(t, node):
            t.nodes[node].believes &= ~gone
        dead |= gone & int(not runs_anywhere(t, node)) << node
    say_nodes_down(t, gone)
    decide_who_pauses(t)
    publishers_gone(t, dead)
    members_noticed_down(t)
    remove_dead_replicas(t, gone, dead)
    clients_gone(t, gone, dead)
    pause(t)


def notice_pending_down(t: Turn, node: int) -> None:
    """Let nodes that have not noticed yet that a node went down notice it now."""
    before = cause(t)
    if cancel_node_down(t, node):
        node_gone(t, node)
    blame(t, before)


def drain(t: Turn, node: int) -> None:
    """Drain a node: close its clients' connections and stop its members of quorum queues.

    Give its masters away where the release does so.
    """
    if is_running(t, node):
        disconnect(t, node)
        stop_members(t, node)
        give_masters_away(t, node)
