"""Links between nodes that drop everything, and what comes of it: `hawb.engine.links`."""

from __future__ import annotations

from hawb.engine import chance
from hawb.study.compiled import inner
from hawb.study.kernel import deliveries, steady_ports, windows
from hawb.study.kernel.answers import EVERY, settle_batches
from hawb.study.kernel.books import note_silent
from hawb.study.kernel.boot_order import let_waiting_nodes_in
from hawb.study.kernel.cut_state import (
    focus_on,
    is_here,
    linked,
    look_from,
    look_from_outside,
)
from hawb.study.kernel.deliveries import is_sent, note_sent, release
from hawb.study.kernel.going_down import miss
from hawb.study.kernel.metadata import release_stalled
from hawb.study.kernel.node_rules import look_again, pause, see_between, seen_from, sees
from hawb.study.kernel.record_ports import is_alive
from hawb.study.kernel.replicas import finish_late
from hawb.study.kernel.sides import split
from hawb.study.kernel.state import (
    AT,
    BEAT,
    CONFIRMS_DUE,
    COUNT,
    DELIVERY_ARRIVES,
    FIRST_NODE,
    LINKS_TIME_OUT,
    NEVER,
    NUMBERED,
    PER_BEATS,
    PER_US,
    POLICY_TAKES_EFFECT,
    START_US,
    TIMER,
    hand_over,
    link_us,
    next_number,
    put,
    schedule,
    unschedule,
)

CUT_OFF = chance.CUT_OFF
lacked_by_others = steady_ports.lacked_up_to
receive_now, deliver_now, arrive_now = deliveries.receive, deliveries.deliver, deliveries.arrive


# Cut


@inner
def cut(t, bits, others):
    """From now on the links between some nodes and others drop everything."""
    look_from_outside(t)
    if not bits or not others:
        return
    focus, t.net.severed, t.net.cut_number = t.net.focus, 1, next_number(t)
    for node in range(t.setup.nodes):
        if bits >> node & 1:
            t.cut[node] |= others
        if others >> node & 1:
            t.cut[node] |= bits
    for number in range(1, t.net.last_side + 1):
        if focus_on(t, number):
            note_silent(t, t.queue)
    focus_on(t, focus)
    put(t, t.setup.ticktime_us, TIMER, LINKS_TIME_OUT, t.net.cut_number, 0, 0, 0)


@inner
def purged_at(t, node):
    """After which message a mirror holds all that empties itself now."""
    return t.queue.lag_from if t.queue.lagging >> node & 1 else t.queue.taken


@inner
def lacked_up_to(t, q, node):
    """The last of the messages that a mirror lacks; 0 if it lacks none."""
    if not q.lagging >> node & 1:
        return lacked_by_others(t, q, node)
    windows.clear(t.here)
    windows.copy_all(t.content, t.here)
    for k in range(1, t.behind[0, 0] + 1):
        windows.cut(t.here, max(t.behind[k, 0], t.since[node]), t.behind[k, 1])
    return t.here[t.here[0, 0], 1] if t.here[0, 0] else 0


# Healed


@inner
def heal(t):
    """All links work again."""
    look_from_outside(t)
    if not t.net.severed:
        return
    for node in range(t.setup.nodes):
        t.cut[node] = 0
    focus, t.net.severed = t.net.focus, 0
    for number in range(1, t.net.last_side + 1):
        if focus_on(t, number):
            unschedule(t, LINKS_TIME_OUT, t.net.cut_number)
            catch_up(t)
    focus_on(t, focus)
    send_held_up(t)
    release_stalled(t)
    let_waiting_nodes_in(t)
    look_again(t)


@inner
def catch_up(t):
    """Mirrors that nobody had missed yet get what was on its way to them, and answer; who waited goes on."""
    queue = t.queue
    if not queue.up:
        release(t)
        return
    late, queue.lagging = queue.lagging, 0
    for k in range(queue.mirrors):
        if late >> t.mirrors[k] & 1 and is_alive(t, queue, t.mirrors[k]):
            replica_answers(t, t.mirrors[k])
    finish_late(t, queue)
    release(t)
    schedule(t, t.setup.link_us, POLICY_TAKES_EFFECT, 0)


@inner
def replica_answers(t, node):
    """A mirror that was silent has got everything: its answers are under way, one for all that waits for them."""
    due_us = t.moment.now_us + link_us(t, t.queue.master, node) + t.setup.fsync_us
    for k in range(t.moment.awaiting):
        row = t.awaiting[k]
        if is_here(t, row[AT]):
            schedule(t, due_us - t.moment.now_us, CONFIRMS_DUE, row[NUMBERED], row[AT])
            if row[FIRST_NODE + node] == NEVER:
                row[FIRST_NODE + node] = due_us
    settle_batches(t, EVERY)
    for k in range(t.moment.unanswered):
        row = t.unanswered[k]
        if is_here(t, row[AT]) and row[FIRST_NODE + node] == NEVER:
            answer_together(t, row, node, due_us)


@inner
def answer_together(t, row, node, due_us):
    """A mirror answers then for all messages of a row: they count as published with its last one."""
    last_us = row[START_US] - (-(row[BEAT] + row[COUNT] - 1) * row[PER_US] // row[PER_BEATS])
    row[START_US], row[PER_BEATS], row[PER_US], row[BEAT] = last_us - 1, row[COUNT], 1, 1
    row[FIRST_NODE + node] = due_us - last_us


# Deliveries on their way


@inner
def receive(t, sender, after, last):
    """The client has messages, unless nothing passes between its node and the one that sent them."""
    client = t.consumer.node
    if linked(t, sender, client) or not is_sent(t, sender, client):
        receive_now(t, sender, after, last)
        return
    known = t.net.sender == sender and t.net.receiver == client
    if windows.common(t.held_up, after, last) or (t.net.deliveries and not known):
        hand_over(t)
    windows.add(t.held_up, after, last)
    t.net.sender, t.net.receiver, t.net.held_now = sender, client, 1


@inner
def deliver(t, flowing):
    """Sends all that is ready to the consumer, if it is subscribed; what nothing passes of is on its way."""
    t.net.held_now = 0
    deliver_now(t, flowing)
    t.net.deliveries += t.net.held_now


@inner
def arrive(t, number, sender):
    """A delivery reaches the client, or is on its way still."""
    t.net.held_now = 0
    arrive_now(t, number, sender)
    t.net.deliveries += t.net.held_now


@inner
def send_held_up(t):
    """What was on its way arrives a link's latency later, each delivery by itself."""
    if t.net.deliveries:
        schedule(t, t.setup.link_us, DELIVERY_ARRIVES, t.net.sender)
        number = t.moment.counter
        if t.moment.sent + t.held_up[0, 0] > len(t.sent):
            hand_over(t)
            return
        for k in range(1, t.held_up[0, 0] + 1):
            note_sent(t, number, t.held_up[k, 0], t.held_up[k, 1])
        t.moment.counter += t.net.deliveries - 1
        forget_held_up(t)


@inner
def forget_held_up(t):
    """Nothing is on its way any more."""
    windows.clear(t.held_up)
    t.net.deliveries = 0


# Timed out


@inner
def time_out(t, number):
    """Links have been silent for net_ticktime: the nodes at their ends take each other for dead, and those between
    them too."""
    if not t.net.severed or number != t.net.cut_number:
        return
    lost = 0
    for node in range(t.setup.nodes):
        t.lost_links[node] = lost_to(t, node)
        lost |= t.lost_links[node]
    if not lost:
        return
    for node in range(t.setup.nodes):
        t.nodes[node].believes &= ~t.lost_links[node]
    for a in range(t.setup.nodes):
        for b in range(a + 1, t.setup.nodes):
            if t.lost_links[a] >> b & 1:
                see_between(t, a, b)
    last_side = t.net.last_side
    for number in range(1, last_side + 1):
        if focus_on(t, number):
            fall_apart(t)
    if t.net.deliveries and not sees(t, t.net.sender, t.net.receiver):
        forget_held_up(t)
    release_stalled(t)
    look_again(t)


@inner
def lost_to(t, node):
    """The nodes that a node sees no more, as bits."""
    bits = 0
    for other in range(t.setup.nodes):
        bits |= int(bool(not linked(t, node, other) and sees(t, node, other))) << other
    return bits


@inner
def fall_apart(t):
    """The side in focus becomes as many as there are groups of nodes that see each other, and each acts on it."""
    up, left = split(t), 0
    for node in range(t.setup.nodes):
        if up >> node & 1:
            left = up & ~seen_from(t, node, up)
            break
    if not left:
        pause(t)
        return
    left = up
    for node in range(t.setup.nodes):
        if left >> node & 1:
            group = seen_from(t, node, up)
            left &= ~group
            look_from(t, node)
            miss(t, up & ~group)
