"""Nodes stop and die, and those that are left miss them. How they come back is in `hawb.engine.cluster.booting`.

Source: `rabbit` (stop, prep_stop), `rabbit_node_monitor:handle_dead_rabbit`, `rabbit_amqqueue:on_node_down`.
"""

from __future__ import annotations

from hawb.engine.cluster.metadata import release_stalled
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
    be_missed,
    clients_gone,
    close_masters_consumers,
    disconnect,
    end_masters,
    fall_silent,
    give_masters_away,
    lose_unwritten,
    publishers_gone,
    remove_dead_replicas,
    say_missed,
    say_paused,
    say_stopped,
    say_stopping,
    say_struck,
    shut_down_masters,
    will_have_stopped,
    withdraw_missed,
)
from hawb.engine.core.agenda import REACTION, TIMER
from hawb.engine.core.state import DOWN, NOTHING, PAUSED, RESTART, STOPPING
from hawb.engine.raft_groups.inputs import node_down as members_down
from hawb.engine.raft_groups.inputs import node_missed as members_missed
from hawb.engine.raft_groups.member_changes import drain as stop_members

SHARED = True  # the kernel of studies compiles this module

# What a person or a fault does


def stop(t, node):
    """Controlled shutdown of a node. One that has paused has no broker any more that would have to stop."""
    look_from_outside(t)
    if t.nodes[node].status == PAUSED:
        say_stopping(t, node)
        end(t, node)
    elif runs_anywhere(t, node):
        begin_to_stop(t, node)


def kill(t, nodes):
    """Nodes, given as bits, die without warning, all at the same moment; others see the connections break."""
    struck, missed = strike(t, nodes)
    for node in range(t.setup.nodes):
        if struck >> node & 1:
            die(t, node, missed, KILLED)
            if missed >> node & 1:
                be_missed(t, node, t.setup.link_us, REACTION)


def power_off(t, nodes):
    """Hosts, given as bits, lose power, all at the same moment: nobody tells the others, who find out when net_ticktime
    is over. What had not been written to disk by then is on no disk."""
    struck, missed = strike(t, nodes)
    for node in range(t.setup.nodes):
        if struck >> node & 1:
            die(t, node, missed, LOST_POWER)
            if missed >> node & 1:
                t.nodes[node].silent = True
                lose_unwritten(t, node)
                fall_silent(t, node)
                be_missed(t, node, t.setup.ticktime_us, TIMER)


def strike(t, nodes):
    """Nodes are gone from one moment to the next. Which of them were there, and which of those others have to miss, as
    bits."""
    look_from_outside(t)
    struck = missed = 0
    for node in range(t.setup.nodes):
        if nodes >> node & 1 and t.nodes[node].status != DOWN:
            struck |= 1 << node
            missed |= int(is_up(t, node)) << node
    for node in range(t.setup.nodes):
        if missed >> node & 1:
            remember(t, node)
    for node in range(t.setup.nodes):
        if struck >> node & 1:
            t.nodes[node].status, t.nodes[node].awaits = DOWN, NOTHING
    return struck, missed


def die(t, node, missed, how):
    """What runs on a node is gone with it."""
    look_from(t, node)
    say_struck(t, node, how)
    members_down(t)
    if missed >> node & 1:
        end_masters(t, node, how)


# A controlled shutdown


def shut_down(t, node):
    """The broker ends on a node: connections close, so that masters there get back what their clients hold, and let go
    of what has expired or is too much by then; each master decides what becomes of its mirrors. Source: `rabbit`, whose
    listeners are the last to start and the first to go; a 3.10.8 cluster."""
    if not is_running(t, node) or close_masters_consumers(t, node):
        return
    t.nodes[node].status = STOPPING
    shut_down_masters(t, node)
    remember(t, node)
    members_down(t)
    be_missed(t, node, t.setup.link_us, REACTION)
    will_have_stopped(t, node)


def stopped(t, node, boot):
    """A controlled shutdown is complete; `boot` tells this life of the node from its others. A node that did it by
    itself waits until it may come back, or comes back at once."""
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


def end(t, node):
    """A node whose broker has stopped goes down altogether, and so it can no longer be seen."""
    t.nodes[node].status, t.nodes[node].awaits = DOWN, NOTHING
    say_stopped(t, node)
    focus = focused(t)
    for side in sides(t):
        if focus_on(t, side):
            decide_who_pauses(t)
            pause(t)
    focus_on(t, focus)


# Those that are left


def node_gone(t, node):
    """Whoever still took a node for running learns that it is gone, each side for itself."""
    focus, first = focused(t), cause(t)
    t.nodes[node].silent = False
    own = t.nodes[node].side
    for side in sides(t):
        if focus_on(t, side) and (side == own or is_believed(t, node)):
            blame(t, first)
            miss(t, 1 << node)
    focus_on(t, focus)
    release_stalled(t)


def miss(t, gone):
    """The side in focus learns that nodes, given as bits, are gone: their clients' channels, their queues, their
    mirrors. Those that run on another side have only gone from here."""
    dead = 0
    for node in range(t.setup.nodes):
        if is_running(t, node):
            t.nodes[node].believes &= ~gone
        dead |= gone & int(not runs_anywhere(t, node)) << node
    say_missed(t, gone)
    decide_who_pauses(t)
    publishers_gone(t, dead)
    members_missed(t)
    remove_dead_replicas(t, gone, dead)
    clients_gone(t, gone, dead)
    pause(t)


def miss_late(t, node):
    """Whoever has not noticed yet that a node went notices it now."""
    before = cause(t)
    if withdraw_missed(t, node):
        node_gone(t, node)
    blame(t, before)


def drain(t, node):
    """A node closes its clients' connections, stops its members of quorum queues, and gives masters away where its
    version does so."""
    if is_running(t, node):
        disconnect(t, node)
        stop_members(t, node)
        give_masters_away(t, node)
