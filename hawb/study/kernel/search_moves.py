"""Steps in a search: those that are possible (`hawb.planning.moves`), their actions, and time that passes."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.answers import settle_batches
from hawb.study.kernel.boot_order import boot, give_up_boot
from hawb.study.kernel.going_down import kill, node_gone, power_off, shut_down, start_nodes, stop, stopped
from hawb.study.kernel.network_rules import heal
from hawb.study.kernel.node_rules import look_around
from hawb.study.kernel.partitioned_state import first_running, look_from, look_from_outside
from hawb.study.kernel.partitioned_trial import cut_between
from hawb.study.kernel.raft_log import bits_in
from hawb.study.kernel.replicas import (
    finish_sync,
    join,
    remove_from_queue,
    synchronise,
    synchronise_by_hand,
    take_effect,
)
from hawb.study.kernel.search_nodes import lose_disk_of
from hawb.study.kernel.search_queue import publish
from hawb.study.kernel.search_state import order_sides, renumber
from hawb.study.kernel.state import (
    AUTOMATIC_SYNC,
    BOOT,
    BOOT_GIVES_UP,
    CONFIRMS_DUE,
    DOWN,
    LOOK_AROUND,
    MANUAL_SYNC,
    MIRROR_JOINS,
    NEVER,
    NODE_GONE,
    NONE,
    POLICY_TAKES_EFFECT,
    PRIORITY,
    PUBLISH,
    REACTION,
    REPLICA_GONE,
    SHUT_DOWN,
    STOPPED,
    SYNC_FINISHED,
    earliest,
    link_us,
    next_due_us,
    row_due_us,
    runs_anywhere,
    schedule,
)
from hawb.study.kernel.trial import happen

WAIT, PUBLISH_ONE, START, SYNC_QUEUE, HEAL, STOP, KILL, POWER_OFF, PARTITION, WIPE = range(10)
"""Verbs, in the order in which they are tried (`hawb.planning.moves.MOVES`)."""
GROUP, SECOND_GROUP = 255, 8
"""The bits of the first of two groups of nodes, and the place of the second's first bit."""


# Events


@inner
def handle(t, number, kind, a, b, c, d):
    """Handle an event, of the kinds that a search has."""
    if kind == CONFIRMS_DUE:
        settle_batches(t, a)
    elif kind == POLICY_TAKES_EFFECT:
        take_effect(t, t.queue, a, b)
    elif kind == AUTOMATIC_SYNC:
        synchronise(t, t.queue)
    elif kind == MANUAL_SYNC:
        synchronise_by_hand(t, t.queue, a)
    elif kind == SYNC_FINISHED:
        finish_sync(t, t.queue, a)
    elif kind == MIRROR_JOINS:
        join(t, t.queue, a, b, False)
    elif kind == NODE_GONE:
        node_gone(t, a)
    elif kind == SHUT_DOWN:
        shut_down(t, a)
    elif kind == STOPPED:
        stopped(t, a, b)
    elif kind == BOOT:
        boot(t, a, b)
    elif kind == BOOT_GIVES_UP:
        give_up_boot(t, a, b)
    elif kind == LOOK_AROUND:
        look_around(t)
    elif kind == REPLICA_GONE:
        remove_from_queue(t, t.queue, False)
    elif kind == PUBLISH:
        publish(t, b, c)


@inner
def one(t):
    """Handle the next event."""
    row = earliest(t)
    t.moment.now_us = max(t.moment.now_us, row_due_us(t, row))
    happen(t, row)


@inner
def is_settled(t):
    """Return True if only timers are left."""
    for row in range(t.moment.agenda):
        if t.agenda[row, PRIORITY] == REACTION:
            return False
    return True


@inner
def let_happen(t, time_us):
    """Handle everything due up to a time; for NEVER until only timers are left.

    There is one such loop, so that events are compiled once.
    """
    while not is_settled(t) if time_us == NEVER else next_due_us(t) <= time_us:
        one(t)


@inner
def pass_time(t, time_us):
    """Handle everything due up to a time, and set the time to it."""
    let_happen(t, time_us)
    t.moment.now_us = max(t.moment.now_us, time_us)


@inner
def let_settle(t):
    """Handle events until only timers are left."""
    if not is_settled(t):
        renumber(t)
        let_happen(t, NEVER)


@inner
def stand_at(t, time_us):
    """Let time pass until the moment that a step at a time finds, with whatever is in flight then."""
    renumber(t)
    pass_time(t, time_us - 1)
    t.moment.now_us = max(t.moment.now_us, time_us)
    look_from_outside(t)


# Actions


@inner
def act(t, verb, about, wait_us):
    """Take a step."""
    if verb == WAIT:
        pass_time(t, t.moment.now_us + wait_us)
    elif verb == PUBLISH_ONE:
        publish_one(t, about)
    elif verb == START:
        start_nodes(t, about)
    elif verb == SYNC_QUEUE:
        begin_to_synchronise(t)
    elif verb == HEAL:
        heal(t)
    elif verb == STOP:
        stop(t, node_of(about))
    elif verb == KILL:
        kill(t, about)
    elif verb == POWER_OFF:
        power_off(t, about)
    elif verb == PARTITION:
        cut_between(t, about & GROUP, about >> SECOND_GROUP)
    elif verb == WIPE:
        lose_disk_of(t, node_of(about))


@inner
def begin_to_synchronise(t):
    """Let an operator synchronise the queue's mirrors."""
    if t.queue.mirrored and t.queue.up and first_running(t) != NONE:
        schedule(t, 0, MANUAL_SYNC, t.queue.master)


@inner
def node_of(bits):
    """Return the only node of a set."""
    node = 0
    while not bits >> node & 1:
        node += 1
    return node


@inner
def publish_one(t, bits):
    """Let a client publish a message at a node, unless that is being drained and takes no clients."""
    node = node_of(bits)
    if t.nodes[node].drained:
        return
    look_from(t, node)
    t.net.connected |= bits
    schedule(t, link_us(t, node, t.queue.master) if t.queue.up else 0, PUBLISH, 1, node)


@inner
def running_anywhere(t):
    """Return the nodes that run, on whatever side, as bits."""
    bits = 0
    for node in range(t.setup.nodes):
        bits |= int(runs_anywhere(t, node)) << node
    return bits


# Possible steps


@inner
def nodes_for(t, verb, k, subset):
    """Return the nodes, as bits, of the k-th step of a verb that may be possible, given the k-th set of nodes.

    Return 0 if there is no such step, 1 for a step that names no node.
    """
    if verb == PUBLISH_ONE:
        return first_of(t, k)
    if verb in (WAIT, SYNC_QUEUE, HEAL):
        return int(k == 0 and bool(is_asked(t, verb)))
    running = running_anywhere(t)
    if verb == KILL:
        return subset if not subset & ~running else 0
    if verb == PARTITION:
        apart = subset & ~running or subset & running & -running or t.net.severed or t.net.sides > 1
        return 0 if apart else running & ~subset | subset << SECOND_GROUP
    if subset & subset - 1 or subset >> t.setup.nodes:
        return 0
    if verb in (STOP, POWER_OFF):
        return subset & running
    down = t.nodes[node_of(subset)].status == DOWN
    return subset if down and (verb == START or not t.moment.virgin & subset) else 0


@inner
def first_of(t, k):
    """Return the first node that runs on the k-th side, as a bit; 0 if there is none."""
    if k < order_sides(t):
        for node in range(t.setup.nodes):
            if t.nodes[node].side == t.order[k] and runs_anywhere(t, node):
                return 1 << node
    return 0


@inner
def is_asked(t, verb):
    """Return True if there is anything to wait for, to synchronise, or to heal."""
    if verb == WAIT:
        return t.net.severed or t.net.sides > 1 or any_silent(t)
    if verb == HEAL:
        return t.net.severed
    return t.queue.up and not t.queue.syncing and t.queue.synchronised < t.queue.mirrors


@inner
def any_silent(t):
    """Return True if a node has gone down without any node having noticed."""
    for node in range(t.setup.nodes):
        if t.nodes[node].silent:
            return True
    return False


@inner
def faults_of(verb, nodes):
    """Return the number of faults of a step."""
    return bits_in(nodes) if verb == KILL else int(verb in (POWER_OFF, PARTITION, WIPE))


@inner
def operations_of(verb):
    """Return the number of operations of a step."""
    return int(verb in (PUBLISH_ONE, START, SYNC_QUEUE, HEAL, STOP))
