"""Nodes stop, die and are missed: `hawb.engine.membership`, for a whole network."""

from __future__ import annotations

from hawb.engine.state import NOTHING, RESTART
from hawb.study.compiled import inner
from hawb.study.kernel.answers import client_gone
from hawb.study.kernel.copies import lose_unwritten
from hawb.study.kernel.deliveries import close
from hawb.study.kernel.metadata import release_stalled
from hawb.study.kernel.node_rules import boot_again, decide_who_pauses, is_up, look_again, pause
from hawb.study.kernel.record_rules import mirror_bits
from hawb.study.kernel.replicas import bury, end_master, shut_down_master
from hawb.study.kernel.state import (
    CLOSED,
    DOWN,
    NOBODY,
    NODE_GONE,
    PAUSED,
    SHUT_DOWN,
    STOPPED,
    STOPPING,
    TIMER,
    is_running,
    look_from,
    look_from_outside,
    put,
    runs_anywhere,
    schedule,
    unschedule,
)

# What a person or a fault does


@inner
def stop(t, node):
    """Controlled shutdown of a node."""
    look_from_outside(t)
    if t.nodes[node].status == PAUSED:
        end(t, node)
    elif runs_anywhere(t, node):
        schedule(t, 0, SHUT_DOWN, node)


@inner
def kill(t, bits):
    """Nodes die without warning, all at the same moment."""
    look_from_outside(t)
    known = struck(t, bits)
    for node in range(t.setup.nodes):
        if known >> node & 1:
            look_from(t, node)
            end_master_at(t, node)
            schedule(t, t.setup.link_us, NODE_GONE, node)


@inner
def power_off(t, bits):
    """Hosts lose power, all at the same moment: others find out when net_ticktime is over, and what had not been
    written to disk is on none."""
    look_from_outside(t)
    known = struck(t, bits)
    for node in range(t.setup.nodes):
        if known >> node & 1:
            look_from(t, node)
            end_master_at(t, node)
            t.nodes[node].silent = True
            lose_unwritten(t, node)
            put(t, t.setup.ticktime_us, TIMER, NODE_GONE, node, 0, 0, 0)


@inner
def struck(t, bits):
    """Nodes are gone from one moment to the next; those whose absence others have to notice, as bits."""
    known = 0
    for node in range(t.setup.nodes):
        if bits >> node & 1:
            known |= int(is_up(t, node)) << node
            t.nodes[node].status, t.nodes[node].awaits = DOWN, 0
    return known


@inner
def end_master_at(t, node):
    """A master goes with its node."""
    if t.queue.up and t.queue.master == node:
        end_master(t, t.queue, False)


@inner
def start(t, bits):
    """Nodes boot, those that are down."""
    look_from_outside(t)
    for node in range(t.setup.nodes):
        if bits >> node & 1 and t.nodes[node].status == DOWN:
            boot_again(t, node)
    look_again(t)


@inner
def end(t, node):
    """A node whose broker has stopped goes down altogether, and so it can no longer be seen."""
    t.nodes[node].status, t.nodes[node].awaits = DOWN, 0
    decide_who_pauses(t)
    pause(t)


# Going down


@inner
def shut_down(t, node):
    """The broker ends on a node."""
    if not is_running(t, node):
        return
    serves = t.queue.up and t.queue.master == node
    if serves and t.consumer.node == node and t.consumer.state != CLOSED:
        close(t)
        schedule(t, 0, SHUT_DOWN, node)
        return
    t.nodes[node].status = STOPPING
    if serves:
        shut_down_master(t, t.queue)
    schedule(t, t.setup.link_us, NODE_GONE, node)
    schedule(t, t.setup.stop_us, STOPPED, node, t.nodes[node].boots)


@inner
def stopped(t, node, boot):
    """A controlled shutdown is complete. A node that did it by itself waits until it may come back, or comes back at
    once."""
    if t.nodes[node].status != STOPPING or t.nodes[node].boots != boot:
        return
    if t.nodes[node].awaits == NOTHING:
        end(t, node)
    elif t.nodes[node].awaits == RESTART:
        boot_again(t, node)
    else:
        t.nodes[node].status = PAUSED
        look_again(t)


@inner
def notice_gone(t, gone):
    """Whoever still took a node for running learns that it is gone."""
    t.nodes[gone].silent = False
    miss(t, 1 << gone)
    release_stalled(t)


@inner
def notice_if_gone(t, node):
    """Whoever has not noticed yet that a node went notices it now."""
    if unschedule(t, NODE_GONE, node):
        notice_gone(t, node)


@inner
def miss(t, gone):
    """The side in focus learns that nodes are gone. Those that run on another side have only gone from here."""
    dead = 0
    for node in range(t.setup.nodes):
        if is_running(t, node):
            t.nodes[node].believes &= ~gone
        dead |= gone & int(not runs_anywhere(t, node)) << node
    decide_who_pauses(t)
    for node in range(t.setup.nodes):
        if dead >> node & 1:
            client_gone(t, node)
    hollow = 1 << t.queue.hollow if t.queue.hollow != NOBODY else 0
    if (mirror_bits(t, t.queue) | 1 << t.queue.master | hollow) & gone:
        bury(t, t.queue, False)
    if t.consumer.node != NOBODY and dead >> t.consumer.node & 1:
        close(t)
    pause(t)


@inner
def drain(t, node):
    """A node in maintenance mode closes its clients' connections."""
    if is_running(t, node):
        client_gone(t, node)
        if t.consumer.node == node:
            close(t)
