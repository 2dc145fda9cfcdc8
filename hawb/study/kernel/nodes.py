"""Nodes stop, die, boot, wait and pause: `hawb.engine.membership` and `partition_handling`, for a whole network."""

from __future__ import annotations

from hawb.engine import membership, partition_handling
from hawb.rules import partitions
from hawb.study.compiled import inner, rule
from hawb.study.kernel.answers import client_gone
from hawb.study.kernel.deliveries import close
from hawb.study.kernel.failover import bury, end_master, lose_unwritten, recover, shut_down_master
from hawb.study.kernel.metadata import release_stalled, unstall_deaths
from hawb.study.kernel.mirrors import mirror_bits, strike_mirrors, wanted
from hawb.study.kernel.state import (
    BOOT,
    BOOT_GIVES_UP,
    BOOTING,
    CLOSED,
    DOWN,
    LOOK_AROUND,
    MIRROR_JOINS,
    NOBODY,
    NODE_GONE,
    PAUSED,
    RUNNING,
    SHUT_DOWN,
    STOPPED,
    STOPPING,
    TIMER,
    WAITING,
    is_planned,
    is_running,
    link_us,
    linked,
    listed,
    look_from,
    look_from_outside,
    put,
    running_bits,
    runs_anywhere,
    schedule,
    unschedule,
)

BOOT_RETRIES, POLL_US = membership.BOOT_RETRIES, partition_handling.POLL_US
IGNORE, PAUSE_MINORITY, PAUSE_IF_ALL_DOWN = range(3)
"""What cluster_partition_handling does to nodes that see few others; autoheal only heals."""

has_majority = rule(partitions.has_majority)
is_preferred = rule(partitions.is_preferred)


# What a person or a fault does


@inner
def stop(t, node):
    """Controlled shutdown of a node."""
    look_from_outside(t)
    if t.status[node] == PAUSED:
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
            t.queue.silent |= 1 << node
            lose_unwritten(t, node)
            put(t, t.setup.ticktime_us, TIMER, NODE_GONE, node, 0, 0, 0)


@inner
def struck(t, bits):
    """Nodes are gone from one moment to the next; those whose absence others have to notice, as bits."""
    known = 0
    for node in range(t.setup.nodes):
        if bits >> node & 1:
            known |= int(runs_anywhere(t, node) or t.status[node] == STOPPING) << node
            t.status[node], t.awaits[node] = DOWN, 0
    return known


@inner
def end_master_at(t, node):
    """A master goes with its node."""
    if t.queue.up and t.queue.master == node:
        end_master(t, 0)


@inner
def start(t, bits):
    """Nodes boot, those that are down."""
    look_from_outside(t)
    for node in range(t.setup.nodes):
        if bits >> node & 1 and t.status[node] == DOWN:
            boot_again(t, node)
    look_again(t)


@inner
def end(t, node):
    """A node whose broker has stopped goes down altogether, and so it can no longer be seen."""
    t.status[node], t.awaits[node] = DOWN, 0
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
    t.status[node] = STOPPING
    if serves:
        shut_down_master(t)
    schedule(t, t.setup.link_us, NODE_GONE, node)
    schedule(t, t.setup.stop_us, STOPPED, node, t.boots[node])


@inner
def stopped(t, node, boot):
    """A controlled shutdown is complete. A node that did it by itself waits until it may come back."""
    if t.status[node] != STOPPING or t.boots[node] != boot:
        return
    if t.awaits[node]:
        t.status[node] = PAUSED
        look_again(t)
    else:
        end(t, node)


@inner
def notice_gone(t, gone):
    """Whoever still took a node for running learns that it is gone."""
    t.queue.silent &= ~(1 << gone)
    miss(t, 1 << gone)
    release_stalled(t)


@inner
def miss(t, gone):
    """The side in focus learns that nodes are gone. Those that run on another side have only gone from here."""
    dead = 0
    for node in range(t.setup.nodes):
        if is_running(t, node):
            t.believes[node] &= ~gone
        dead |= gone & int(not runs_anywhere(t, node)) << node
    decide_who_pauses(t)
    for node in range(t.setup.nodes):
        if dead >> node & 1:
            client_gone(t, node)
    if (mirror_bits(t) | 1 << t.queue.master | 1 << t.queue.hollow >> 1) & gone:
        bury(t, 0)
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


# cluster_partition_handling


@inner
def seen(t, node):
    """The nodes whose Erlang node a node takes for connected, itself among them."""
    bits = 1 << node
    for other in range(t.setup.nodes):
        status = t.status[other]
        if t.status[node] == RUNNING:
            known = t.believes[node] >> other & 1 or status not in (DOWN, RUNNING)
        else:
            known = status != DOWN
        bits |= int(bool(known)) << other
    return bits


@inner
def fulfilled(t, node):
    """Whether a node sees enough of the others."""
    others = listed(t.available, seen(t, node))
    if t.setup.handling == PAUSE_MINORITY:
        return has_majority(len(others), t.setup.nodes)
    return is_preferred(others, t.preferred[: t.setup.preferred])


@inner
def decide_who_pauses(t):
    """Running nodes that see too few of the others are to pause."""
    if t.setup.handling == IGNORE:
        return
    for node in range(t.setup.nodes):
        if is_running(t, node) and not t.awaits[node] and not fulfilled(t, node):
            t.awaits[node] = 1


@inner
def pause(t):
    """Those that are to pause begin to stop."""
    for node in range(t.setup.nodes):
        if is_running(t, node) and t.awaits[node]:
            schedule(t, 0, SHUT_DOWN, node)


@inner
def look_again(t):
    """Something has come back, or gone: in a second paused nodes look whether they may go on."""
    for node in range(t.setup.nodes):
        if t.status[node] == PAUSED and not is_planned(t, LOOK_AROUND):
            put(t, POLL_US, TIMER, LOOK_AROUND, 0, 0, 0, 0)


@inner
def look_around(t):
    """The second is over."""
    for node in range(t.setup.nodes):
        if t.status[node] == PAUSED and fulfilled(t, node):
            boot_again(t, node)


@inner
def boot_again(t, node):
    """A node's broker starts."""
    t.status[node], t.boots[node], t.awaits[node] = BOOTING, t.boots[node] + 1, 0
    schedule(t, t.setup.start_us, BOOT, node, t.boots[node])


# Coming up


@inner
def boot(t, node, boot):
    """A node has booted as far as its tables. Who may know more than it does it waits for."""
    if t.status[node] != BOOTING or t.boots[node] != boot:
        return
    t.status[node] = WAITING
    let_waiting_nodes_in(t)
    if t.status[node] == WAITING:
        rounds = t.setup.lone_boot_rounds
        for other in range(t.setup.nodes):
            if other != node and t.status[other] == WAITING and linked(t, node, other):
                rounds = 1
        put(t, rounds * BOOT_RETRIES * t.setup.boot_retry_us, TIMER, BOOT_GIVES_UP, node, boot, 0, 0)


@inner
def must_wait(t, node):
    """Whether a booting node waits for another: one that it believed running when it went, unless that waits as well
    and did not see it go. With any node running it waits for nobody."""
    if running_bits(t):
        return False
    for other in range(t.setup.nodes):
        if t.believes[node] >> other & 1 and (t.status[other] != WAITING or not t.believes[other] >> node & 1):
            return True
    return False


@inner
def let_waiting_nodes_in(t):
    """Brings up every waiting node that need not wait (any longer)."""
    node = 0
    while node < t.setup.nodes:
        if t.status[node] == WAITING and not must_wait(t, node):
            come_up(t, node)
            node = -1
        node += 1


@inner
def give_up_boot(t, node, boot):
    """A node has waited for the last time and exits."""
    if t.status[node] == WAITING and t.boots[node] == boot:
        t.status[node] = DOWN


@inner
def come_up(t, node):
    """A node joins its cluster: it serves the queue whose master it still is from its disk, and joins it as an empty
    mirror where policy wants it."""
    if unschedule(t, NODE_GONE, node):
        notice_gone(t, node)
    settle_stalled(t)
    find_side(t, node)
    others = running_bits(t)
    t.status[node], t.believes[node], t.awaits[node], t.drained[node] = RUNNING, others, 0, 0
    for other in range(t.setup.nodes):
        if others >> other & 1:
            t.believes[other] |= 1 << node
    queue = t.queue
    if not others and queue.master != node:
        queue.unburied, queue.hollow, queue.absent, queue.mirrors, queue.synchronised = 0, 0, 1, 0, 0
    return_to_queue(t, node)
    look_again(t)


@inner
def settle_stalled(t):
    """What others had still to settle as a node comes up is settled."""
    if unstall_deaths(t):
        bury(t, 1)


@inner
def find_side(t, node):
    """A node that comes up takes over the records of those that it finds."""


@inner
def return_to_queue(t, node):
    """What the queue makes of a node that is back."""
    queue = t.queue
    if queue.absent and queue.master != node:
        return
    strike_mirrors(t, 1 << node)
    if queue.master == node:
        if not queue.up:
            recover(t)
        return
    if t.setup.mirrored:
        replicas = mirror_bits(t) | 1 << queue.master | 1 << node
        if node in wanted(t, replicas):
            schedule(t, link_us(t, queue.master, node), MIRROR_JOINS, node, 1)
