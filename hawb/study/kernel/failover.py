"""Replicas die, and what is left of a queue: `hawb.engine.failover`, `burial`, `refusal` and `outage`."""

from __future__ import annotations

from hawb.rules import promotion
from hawb.study.compiled import inner, rule
from hawb.study.kernel import windows
from hawb.study.kernel.answers import forget_replicas
from hawb.study.kernel.deliveries import deliver, detach, is_awaited, release, subscribe
from hawb.study.kernel.metadata import stall
from hawb.study.kernel.mirrors import (
    add_mirrors,
    drop_mirrors,
    end_master,
    leave_sync,
    mirror_bits,
    strike_mirrors,
    synchronise_drained,
)
from hawb.study.kernel.node_rules import is_unmissed
from hawb.study.kernel.publishing import keep
from hawb.study.kernel.state import (
    ADDING,
    AFTER,
    AUTOMATIC_SYNC,
    CANCELLED,
    COPIED,
    COUNT,
    ENDED,
    FIRST_NODE,
    KIND,
    POLICY_TAKES_EFFECT,
    PUBLISH,
    REPLICA_GONE,
    RESUME,
    RETURNING,
    STRUCK,
    A,
    B,
    C,
    D,
    count_times,
    is_running,
    is_synchronised,
    linked,
    listed,
    move_row,
    running_bits,
    schedule,
    waits_for_heir,
    without,
)

NOBODY = promotion.NOBODY
WHEN_SYNCED, ALWAYS = promotion.WHEN_SYNCED, promotion.ALWAYS

candidate = rule(promotion.candidate)
refuses_on_failure = rule(promotion.refuses_on_failure)
takes_mirrors_down = rule(promotion.takes_mirrors_down)


@inner
def alive_bits(t):
    """The queue's replicas that are running processes."""
    bits = mirror_bits(t) & running_bits(t)
    return bits | 1 << t.queue.master if t.queue.up else bits & ~(1 << t.queue.master)


@inner
def bury(t, at_once):
    """The survivors act on the deaths of the others. While they take a master for alive that has gone they leave
    everything to it, and so they do, unless it has to be settled `at_once`, while a node does not answer."""
    queue = t.queue
    replicas = mirror_bits(t) | 1 << queue.master
    alive = alive_bits(t)
    stalled = not at_once and queue.mirrors and stall(t, REPLICA_GONE, 0)
    if stalled or (not queue.abandoned and is_unmissed(t, queue.master)):
        missed = 0
        for node in range(t.setup.nodes):
            if (replicas & ~alive) >> node & 1 and not is_unmissed(t, node):
                missed |= 1 << node
        forget_replicas(t, missed)
        return
    if not queue.up and is_running(t, queue.master):
        drop_unreachable(t, alive)
        alive = alive_bits(t)
    dead = mirror_bits(t) & ~alive
    if queue.hollow and is_running(t, queue.hollow - 1):
        heed_hollow(t, dead)
        return
    bury_hollow(t)
    heir = candidate(queue.master, t.mirrors[: queue.mirrors], listed(t.available, alive))
    nobody_new = queue.abandoned and not dead and not queue.unburied
    synchronised = queue.synchronised
    for k in range(queue.unburied):
        synchronised += t.unburied[k, 1]
    if heir == queue.master or nobody_new:
        bury_mirrors(t, dead)
    elif heir == NOBODY:
        leave_unburied(t, dead)
    elif refuses_on_failure(synchronised, t.setup.promote_on_failure if t.setup.mirrored else ALWAYS):
        refuse_promotion(t, heir)
    else:
        promote(t, heir)


@inner
def drop_unreachable(t, alive):
    """A master's process is gone and its node is not: mirrors that are out of its reach do not hear of it."""
    silent = 0
    for node in range(t.setup.nodes):
        if alive >> node & 1 and not linked(t, t.queue.master, node):
            silent |= 1 << node
    if silent:
        drop_mirrors(t, silent)


@inner
def bury_mirrors(t, dead):
    """Mirrors that died are struck out and, under ha-mode exactly, others started."""
    if not dead:
        return
    strike_dead(t, dead)
    if t.queue.abandoned:
        answer_in_vain(t, 0)
        return
    if t.queue.syncing:
        leave_sync(t, dead)
    add_mirrors(t, 0)
    release(t)
    schedule(t, 0, AUTOMATIC_SYNC)


@inner
def strike_dead(t, dead):
    """Mirrors that died are on no record any more."""
    drop_mirrors(t, dead)


@inner
def count_unburied(t, node, counted):
    """A dead replica stays on the record, counted as synchronised or not."""
    t.unburied[t.queue.unburied, 0], t.unburied[t.queue.unburied, 1] = node, counted
    t.queue.unburied += 1


@inner
def leave_unburied(t, dead):
    """Nobody is left to strike the dead out of the record, unless a master that was shut down has taken its group
    along."""
    queue, setup = t.queue, t.setup
    on_shutdown = setup.promote_on_shutdown if setup.mirrored else WHEN_SYNCED
    taken_along = queue.stopped and takes_mirrors_down(queue.synchronised, on_shutdown)
    first = not queue.abandoned
    if first:
        queue.unburied = 0
        count_unburied(t, queue.master, 0)
    for k in range(queue.mirrors):
        if dead >> t.mirrors[k] & 1:
            count_unburied(t, t.mirrors[k], int(is_synchronised(t, t.mirrors[k])))
    if first and taken_along:
        queue.unburied = 0
    if first:
        abandon(t)
    if not setup.mirrored:
        queue.unburied = 0
    bury_mirrors(t, dead)


@inner
def refuse_promotion(t, heir):
    """The mirror that should take over deletes its copy and ends; the queue waits for its master's node, and other
    mirrors that live wait for the one that is gone."""
    queue = t.queue
    others = alive_bits(t) & mirror_bits(t) & ~(1 << heir)
    if not queue.abandoned or others:
        queue.unburied = 0
    if not queue.abandoned and not others:
        count_unburied(t, queue.master, 0)
    for k in range(queue.mirrors):
        if t.mirrors[k] != heir and not others:
            count_unburied(t, t.mirrors[k], int(is_synchronised(t, t.mirrors[k])))
    dead = mirror_bits(t) & ~others & ~(1 << heir)
    queue.hollow, queue.synchronised = heir + 1, 0
    leave_mirrors(t, heir, dead)
    if queue.abandoned:
        answer_in_vain(t, 1)
    else:
        abandon(t)


@inner
def leave_mirrors(t, heir, dead):
    """A mirror that refused and others that are dead are mirrors no more. For the dead channels wait until the queue is
    given up."""
    t.queue.mirrors = without(t.mirrors, t.queue.mirrors, dead | 1 << heir)
    t.queue.lagging &= ~(dead | 1 << heir)
    forget_replicas(t, 1 << heir)


@inner
def heed_hollow(t, dead):
    """Whoever dies, the one that would take over is a member of the group whose process is gone. Mirrors that live
    strike out the dead, and wait for it; where none does, the dead stay on the record."""
    if dead == mirror_bits(t):
        leave_unburied(t, dead)
    else:
        t.queue.unburied = 0
        bury_mirrors(t, dead)


@inner
def bury_hollow(t):
    """What a mirror that refused has left behind is gone with its node; the record still counts it."""
    if t.queue.hollow:
        count_unburied(t, t.queue.hollow - 1, 0)
        t.queue.hollow = 0


@inner
def answer_in_vain(t, ended):
    """The last mirror that waited for a master is gone, or ended by itself: what publishers sent meanwhile nobody
    has."""
    if waits_for_heir(t):
        return
    how = STRUCK | ENDED if ended and t.setup.strays_confirm else STRUCK
    left = 0
    for k in range(t.queue.parked):
        row = t.parked[k]
        if row[KIND] == PUBLISH:
            schedule(t, 0, PUBLISH, row[A], row[B], row[C] | how, row[D])
        else:
            move_row(t.parked, k, left)
            left += 1
    t.queue.parked = left


@inner
def lose(t, after, last):
    """What the queue had taken after `after` up to `last` is gone for good."""
    windows.copy(t.content, t.lost, after, last)
    windows.cut(t.content, after, last)


@inner
def inherit(t, heir, keep_alive):
    """The heir's copy is the queue's, and other mirrors hold of it what they held."""
    lose(t, 0, t.since[heir])
    for node in range(t.setup.nodes):
        if keep_alive >> node & 1:
            t.since[node] = 0 if is_synchronised(t, node) else max(t.since[node], t.since[heir])


@inner
def lose_unwritten(t, node):
    """A host has lost power: messages that a master on it had not yet answered for are not on its disk."""
    if t.queue.master != node:
        return
    windows.clear(t.unwritten)
    for k in range(t.moment.awaiting):
        row = t.awaiting[k]
        if row[FIRST_NODE + t.queue.master] > t.moment.now_us:
            windows.add(t.unwritten, row[AFTER], row[AFTER] + row[COUNT])


@inner
def promote(t, heir):
    """The oldest mirror becomes master with what it holds; what only the old master held is lost."""
    queue = t.queue
    goes_on = detach(t)
    t.book.promotions += 1
    was_synchronised = is_synchronised(t, heir)
    t.book.unsynchronised_promotions += not was_synchronised
    replicas = mirror_bits(t) | 1 << queue.master
    keep_alive = mirror_bits(t) & running_bits(t) & ~(1 << heir)
    inherit(t, heir, keep_alive)
    windows.clear(t.unwritten)
    strike_mirrors(t, replicas & ~keep_alive)
    queue.master, queue.depth_unknown, queue.up, queue.abandoned, queue.unburied = heir, 0, 1, 0, 0
    queue.hollow = 0
    count_times(t)
    forget_replicas(t, replicas & ~keep_alive & ~(1 << heir))
    if goes_on:
        subscribe(t)
    keep(t, COPIED)
    synchronise_drained(t)
    schedule(t, 0, POLICY_TAKES_EFFECT, ADDING)
    release(t)
    deliver(t, False)


@inner
def leaves_memory(t):
    """Whether only disks have the queue's record once its node is gone."""
    return not t.setup.mirrored and not t.setup.keeps_records


@inner
def abandon(t):
    """No replica may serve the queue. It waits for its master's node with what is on that node's disk."""
    queue, living = t.queue, alive_bits(t) & mirror_bits(t)
    forget_replicas(t, (mirror_bits(t) | 1 << queue.master) & ~living)
    goes_on = detach(t)
    if not t.setup.persistent or t.moment.virgin >> queue.master & 1 or is_running(t, queue.master):
        lose(t, 0, queue.taken)
    for k in range(1, t.unwritten[0, 0] + 1):
        lose(t, t.unwritten[k, 0], t.unwritten[k, 1])
    windows.clear(t.unwritten)
    queue.synchronised = 0
    keep(t, 0 if living else STRUCK)
    queue.abandoned, queue.absent = 1, int(leaves_memory(t) and not is_running(t, queue.master))
    release(t)
    if goes_on:
        if is_awaited(t):
            schedule(t, 0, RESUME, t.consumer.subscription, t.consumer.node)
        else:
            t.consumer.state = CANCELLED


@inner
def recover(t):
    """The master's node is back and nobody took over: the queue is served from its disk, and the mirrors that policy
    asks for join empty, in the place of those that had joined before."""
    queue = t.queue
    drop_mirrors(t, mirror_bits(t))
    answer_in_vain(t, 0)
    queue.up, queue.abandoned, queue.unburied, queue.hollow, queue.absent = 1, 0, 0, 0, 0
    count_times(t)
    synchronise_drained(t)
    add_mirrors(t, 1)
    schedule(t, 0, POLICY_TAKES_EFFECT, RETURNING)
    release(t)
    deliver(t, False)


@inner
def shut_down_master(t):
    """A master ends in a controlled way. With no mirror synchronised and ha-promote-on-shutdown when-synced it takes
    its mirrors with it."""
    end_master(t, 1)
    living = mirror_bits(t) & running_bits(t)
    if living and t.setup.mirrored and takes_mirrors_down(t.queue.synchronised, t.setup.promote_on_shutdown):
        drop_mirrors(t, mirror_bits(t))
        abandon(t)
