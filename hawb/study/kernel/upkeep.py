"""Upkeep of a trial: clients that reconnect, nodes that are started, planned work.

`hawb.study.engine_trial` and `hawb.study.work` say what each does.
"""

from __future__ import annotations

from hawb.rules import health_checks
from hawb.study import histories
from hawb.study.compiled import inner, rule
from hawb.study.kernel.client_times import watch_clients
from hawb.study.kernel.closing import close as close_publisher
from hawb.study.kernel.closing import close_with_nodes
from hawb.study.kernel.disks import lose_nodes, replace
from hawb.study.kernel.going_down import kill, power_off, start_nodes, stop
from hawb.study.kernel.node_rules import is_writable_anywhere
from hawb.study.kernel.publishing import open_publisher
from hawb.study.kernel.state import (
    ACTIVE,
    CONSUME,
    CONSUMER_CLOSES,
    DECLARE,
    DOWN,
    MANUAL_SYNC,
    NEVER,
    NODE_DRAINS,
    NONE,
    REBALANCE,
    hand_to_engine,
    is_running,
    link_us,
    look_from,
    look_from_outside,
    next_due_us,
    running_bits,
    runs_anywhere,
    schedule,
)
from hawb.study.kernel.steady import next_change_us
from hawb.study.kernel.steady_ports import NODE_DOWN
from hawb.study.work import LOOK_US

START, STOP, KILL, POWER_OFF = histories.START, histories.STOP, histories.KILL, histories.POWER_OFF
LOSE_DISK = histories.LOSE_DISK
CONSUMERS_AWAY, CONSUMERS_BACK = histories.CONSUMERS_AWAY, histories.CONSUMERS_BACK
RATE, BURST = histories.RATE, histories.BURST
MAINTENANCE, ROLLING_UPGRADE = histories.MAINTENANCE, histories.ROLLING_UPGRADE

mirror_check_applies = rule(health_checks.mirror_check_applies)


@inner
def next_us(t):
    """Return when the next event or change is due; NEVER if there is none."""
    return min(next_due_us(t), next_change_us(t))


@inner
def idle(t):
    """Return the nodes that are down though nothing keeps them down, as bits."""
    bits = 0
    for node in range(t.setup.nodes):
        if t.wanted[node] and t.nodes[node].status == DOWN:
            bits |= 1 << node
    return bits & ~kept_down(t)


@inner
def start_idle(t):
    """Start those of them that have their disks."""
    bits = idle(t) & ~t.moment.virgin
    if bits:
        start_nodes(t, bits)


@inner
def is_content(t):
    """Return True if clients are connected as they want, and nothing is left to do."""
    return are_connected(t) and not idle(t) and not t.work.left and not t.moment.without_member


@inner
def are_connected(t):
    """Return True if publisher and consumer are connected as they want."""
    return follows_rate(t, t.publisher) and is_where_it_wants(t)


@inner
def is_where_it_wants(t):
    """Return True if the consumer is subscribed, or stays away, as it wants."""
    return (t.consumer.state == ACTIVE) == bool(t.consumer.wanted)


@inner
def follows_rate(t, p):
    """Return True if a publisher publishes at the present rate."""
    rate = t.rates[t.moment.bursts, t.moment.hour]
    if p.closed:
        return rate[0] == 0
    return p.clock.per_ticks == rate[0] and p.clock.per_us == rate[1]


@inner
def watch_metadata(t):
    """Note since when metadata can be changed from no node."""
    book = t.book
    if is_writable_anywhere(t):
        if book.metadata_down_since != NEVER:
            book.metadata_down_us += t.moment.now_us - book.metadata_down_since
            book.metadata_down_since = NEVER
    elif book.metadata_down_since == NEVER:
        book.metadata_down_since = t.moment.now_us


@inner
def look(t):
    """Let clients and operators that are not content try again at the next second."""
    watch_metadata(t)
    watch_clients(t)
    if is_content(t):
        t.moment.poll_us = NEVER
    else:
        t.moment.poll_us = min(t.moment.poll_us, (t.moment.now_us // LOOK_US + 1) * LOOK_US)


@inner
def look_after(t):
    """Let clients and operators that are not content try."""
    do_next(t)
    if t.moment.virgin or t.moment.without_member:
        mend(t)
    start_idle(t)
    keep_publishing(t)
    keep_consuming(t)
    watch_metadata(t)
    watch_clients(t)
    t.moment.poll_us = NEVER
    changes_us = min(next_us(t), work_due_us(t))
    if changes_us != NEVER and not is_content(t):
        t.moment.poll_us = max(t.moment.now_us + LOOK_US, -(-changes_us // LOOK_US) * LOOK_US)


@inner
def keep_publishing(t):
    """Connect the publisher if it is not connected, and let it follow its rate."""
    keep_connected(t, t.publisher)


@inner
def keep_connected(t, p):
    """Connect a publisher to the node that it prefers, or the next one that takes clients, if it is not connected.

    Let it follow its rate if it is not blocked.
    """
    if not p.closed:
        if not p.blocked and not follows_rate(t, p):
            look_from_outside(t)
            close_publisher(t, p, NODE_DOWN)
            open_publisher(t, p, p.node)
        return
    node = open_node(t, p.client)
    if node != NONE:
        if t.rates[t.moment.bursts, t.moment.hour][0]:
            look_from_outside(t)
        open_publisher(t, p, node)


@inner
def keep_consuming(t):
    """Connect the consumer, in the same way, if it is not connected and the queue is served.

    Close it if it is not to consume.
    """
    consumer = t.consumer
    if not consumer.wanted and consumer.state == ACTIVE:
        close_consumer(t)
    elif consumer.wanted and consumer.state != ACTIVE:
        node = open_node(t, consumer.client)
        if node != NONE:
            look_from(t, node)
            if t.queue.up and not t.queue.syncing:
                connect(t, node)
                schedule(t, link_us(t, node, t.queue.master), CONSUME, 0, node, 0, consumer.client)


@inner
def close_consumer(t):
    """Let the consumer close its channel."""
    connect(t, t.consumer.node)
    look_from(t, t.consumer.node)
    schedule(t, 0, CONSUMER_CLOSES, t.consumer.client)


@inner
def connect(t, node):
    """Note that a client's connection leads to a node, which counts where sides are compared (`partitioned_nodes`)."""


@inner
def open_node(t, first):
    """Return the first node from `first` on that takes clients, or else the first before it; NONE if none does."""
    found = NONE
    for node in range(t.setup.nodes):
        if runs_anywhere(t, node) and not t.nodes[node].drained:
            if node >= first:
                return node
            if found == NONE:
                found = node
    return found


# Repairs by an operator


@inner
def mend(t):
    """Let empty nodes join again, and restore the queue's part on them."""
    empty = idle(t) & t.moment.virgin
    for node in range(t.setup.nodes):
        if empty >> node & 1:
            replace(t, node)
    if must_force_boot(t):
        force_boot(t)
    restore_queue(t)


@inner
def force_boot(t):
    """Leave a trial to the engine in which a node is forced to boot."""
    hand_to_engine(t)


@inner
def restore_queue(t):
    """Declare the queue that was lost with its node."""
    if t.queue.gone:
        node = open_node(t, 0)
        if node == NONE or not t.setup.client_local:
            hand_to_engine(t)
        schedule(t, 0, DECLARE, node)


@inner
def must_force_boot(t):
    """Return True if all nodes that could run wait for a node that has lost its disk."""
    if running_bits(t) or not t.moment.virgin & ~t.moment.forgotten:
        return False
    kept = kept_down(t) & ~t.moment.virgin
    for node in range(t.setup.nodes):
        kept |= int(not t.wanted[node] and not t.moment.virgin >> node & 1) << node
    return not kept and idle(t) & ~t.moment.virgin != 0


# Planned work


@inner
def kept_down(t):
    """Return the node that is down for planned work, as bits."""
    work = t.work
    return work.left & -work.left if work.away and not work.coming else 0


@inner
def begin_work(t, nodes, down_us):
    """Start work on nodes, unless other work is under way."""
    work = t.work
    if not work.left:
        work.left, work.down_us, work.away, work.coming, work.from_us, work.asked_us = nodes, down_us, 0, 0, 0, 0


@inner
def work_due_us(t):
    """Return when planned work is due, whatever happens to the cluster."""
    work, due_us = t.work, NEVER
    if work.left:
        if work.from_us > t.moment.now_us:
            due_us = work.from_us
        if work.asked_us and work.asked_us + t.setup.await_timeout_us > t.moment.now_us:
            due_us = min(due_us, work.asked_us + t.setup.await_timeout_us)
    return due_us


@inner
def do_next(t):
    """Do the next thing that can be done now."""
    work, now_us = t.work, t.moment.now_us
    if not work.left or now_us < work.from_us:
        return
    node = 0
    while not work.left >> node & 1:
        node += 1
    if work.away:
        work.coming = 1
        if runs_anywhere(t, node):
            bring_back(t, node)
    elif runs_anywhere(t, node):
        work.asked_us = work.asked_us or now_us
        if not (t.nodes[node].drained or may_go(t, node) or now_us >= work.asked_us + t.setup.await_timeout_us):
            return
        if t.setup.drains and not t.nodes[node].drained:
            mark(t, node)
            t.nodes[node].drained = 1
            look_from_outside(t)
            schedule(t, 0, NODE_DRAINS, node)
            close_with_nodes(t)
        else:
            stop(t, node)
            work.away, work.coming, work.asked_us, work.from_us = 1, 0, 0, now_us + work.down_us


@inner
def mark(t, node):
    """Do nothing: marking a node as drained waits for nothing."""


@inner
def bring_back(t, node):
    """Finish the work on a node that is back."""
    work = t.work
    look_from(t, node)
    if t.setup.syncs_by_hand and t.setup.mirrored and t.queue.up:
        look_from_outside(t)
        if t.queue.up:
            schedule(t, 0, MANUAL_SYNC, t.queue.master)
    work.left &= ~(1 << node)
    if t.setup.rebalances and not work.left:
        look_from_outside(t)
        schedule(t, 0, REBALANCE)
    work.away, work.coming, work.from_us = 0, 0, t.moment.now_us + t.setup.between_us


@inner
def may_go(t, node):
    """Return True if the procedure lets a node go down."""
    look_from(t, node)
    queue = t.queue
    if not t.setup.awaits or not mirror_check_applies(t.setup.nodes):
        return True
    if not t.setup.mirrored or not queue.up or queue.master != node:
        return True
    for k in range(queue.synchronised):
        if is_running(t, t.synchronised[k]):
            return True
    return False


# The history


@inner
def act(t, kind, about):
    """Apply the next entry of the history."""
    if kind == START:
        for node in range(t.setup.nodes):
            if about >> node & 1:
                t.wanted[node] = 1
        start_idle(t)
    elif kind in (KILL, STOP, POWER_OFF, LOSE_DISK):
        keep_down(t, kind, about)
    elif kind == CONSUMERS_AWAY:
        send_away(t)
    elif kind == CONSUMERS_BACK:
        let_consume(t)
    elif kind == MAINTENANCE:
        begin_work(t, about, t.setup.maintenance_us)
    elif kind == ROLLING_UPGRADE:
        begin_work(t, about, t.setup.upgrade_us)
    else:
        change_rate(t, kind, about)
    close_with_nodes(t)
    look(t)


@inner
def keep_down(t, kind, nodes):
    """Take nodes down that something keeps down."""
    for node in range(t.setup.nodes):
        if nodes >> node & 1:
            t.wanted[node] = 0
            if kind == STOP:
                stop(t, node)
    if kind == KILL:
        kill(t, nodes)
    elif kind == POWER_OFF:
        power_off(t, nodes)
    elif kind == LOSE_DISK:
        lose_nodes(t, nodes)


@inner
def change_rate(t, kind, about):
    """Apply a new hour of the day, or the start or end of a burst."""
    if kind == RATE:
        t.moment.hour = about
    elif kind == BURST:
        t.moment.bursts = about
    follow_rate(t)


@inner
def follow_rate(t):
    """Apply the present rate to the publisher."""
    if not t.publisher.closed:
        keep_publishing(t)


@inner
def send_away(t):
    """Close the consumer's channel, and keep it closed."""
    t.consumer.wanted = 0
    if t.consumer.node != NONE:
        close_consumer(t)


@inner
def let_consume(t):
    """Let the consumer consume again."""
    t.consumer.wanted = 1
