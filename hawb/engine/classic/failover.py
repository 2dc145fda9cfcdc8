"""Replicas die, and what is left of a queue: a mirror takes over, or nobody does until the master's node is back.

Source: `rabbit_mirror_queue_misc:remove_from_queue`, `rabbit_mirror_queue_slave:promote_me`,
`rabbit_mirror_queue_coordinator`, `rabbit_mirror_queue_master:terminate`, `gm`. The decisions themselves stand in
`hawb.rules.promotion`; this module carries them out: `remove_from_queue` decides, `promote` and `refuse_promotion` act.
A queue without a master is in `outage`. A mirror refuses in `rabbit_mirror_queue_slave`, gm_deaths, under
ha-promote-on-failure when-synced.

Surviving replicas act on one view of who is dead: gm tells each of them only after it has received all that the dead
had broadcast, so a promoted mirror never misses what another survivor saw. Here that is one event for each queue.
"""

from __future__ import annotations

from hawb.engine.classic.copies import delete_copies, inherit, leave_on_disks, note_silent
from hawb.engine.classic.crash_record import fall_with_node
from hawb.engine.classic.failover_ports import (
    adopt_limits,
    detach,
    disk_record,
    follow_new_master,
    is_there,
    keep_disk_record,
    listed,
    not_promotable_bits,
    stall,
)
from hawb.engine.classic.journal import (
    DIED,
    MASTER_SHUTDOWN,
    MIRRORS_STOPPED,
    NO_MIRROR,
    NODE_STOPPED,
    OUT_OF_REACH,
    PROMOTED,
    PROMOTION_REFUSED,
    blame,
    say_master_down,
    say_mirrors_removed,
    say_mirrors_stopped,
    say_promoted,
    say_promotion_refused,
)
from hawb.engine.classic.mirrors import add_mirrors, drop_mirrors, end_master, synchronise_drained
from hawb.engine.classic.orphaned_mirrors import is_alone, promote_orphaned_mirror
from hawb.engine.classic.outage import answer_lost_publishes, await_master
from hawb.engine.classic.ports import (
    ADDING,
    ALL_REPLICAS,
    AT_HAND,
    AUTOMATIC_SYNC,
    NO_RECORD,
    POLICY_TAKES_EFFECT,
    REPLICA_GONE,
    count_times,
    deliver,
    forget_replicas,
    note_recoverable,
    plan,
    release,
)
from hawb.engine.classic.record import alive_bits, is_synchronised, mirror_bits
from hawb.engine.classic.record_ports import (
    forget_synchronised,
    is_alive,
    mirroring_of,
    mirrors,
    strike_mirrors,
    synchronised,
)
from hawb.engine.classic.synchronisation import leave_sync
from hawb.engine.classic.waiting_publishes import COPIED
from hawb.engine.classic.waiting_publishes import keep as keep_waiting
from hawb.engine.cluster.node_ports import is_running, linked, next_number
from hawb.engine.cluster.reachability import is_unmissed
from hawb.engine.core.bookkeeping import note_promotion
from hawb.engine.core.randomness import GROUP_RING, below
from hawb.engine.core.state import NOWHERE
from hawb.engine.queues.transient import spared
from hawb.raft.ports import bits_in
from hawb.rules.promotion import NOBODY, candidate, refuses_on_failure, takes_mirrors_down

SHARED = True  # the kernel of studies compiles this module


def shut_down_master(t, q):
    """A master ends in a controlled way. With no mirror synchronised and ha-promote-on-shutdown when-synced it takes
    its mirrors with it, and the queue waits for this node."""
    say_master_down(t, q, NODE_STOPPED)
    end_master(t, q, True)
    asked = mirroring_of(t, q)
    if not alive_bits(t, q) or not asked.mirrored:
        return
    if takes_mirrors_down(len(synchronised(t, q)), asked.promote_on_shutdown):
        say_mirrors_stopped(t, q)
        drop_mirrors(t, q, ALL_REPLICAS, MASTER_SHUTDOWN)
        await_master(t, q, MIRRORS_STOPPED)


def remove_from_queue(t, q, at_once):
    """The survivors of a queue act on the deaths of the others (`rabbit_mirror_queue_misc:remove_from_queue`). While
    they take a master for alive that has gone they leave everything to it, and so they do, unless it has to be settled
    `at_once`, while a node that counts as running does not answer; then only channels know who is dead."""
    stalled = not at_once and len(mirrors(t, q)) > 0 and stall(t, q, REPLICA_GONE)
    if stalled or (not q.awaits_master and is_unmissed(t, q.master)):
        forget_replicas(t, q, missed_bits(t, q))
        return
    if fall_with_node(t, q) or promote_orphaned_mirror(t, q):
        return
    if is_alone(t, q) and not q.up and not q.awaits_master:
        end_with_master(t, q, not_promotable_bits(t, q))
        await_master(t, q, NO_MIRROR)
        return
    if not q.up and is_running(t, q.master):
        drop_unreachable(t, q)
    alive = alive_bits(t, q)
    dead = mirror_bits(t, q) & ~alive
    if q.orphaned_gm != NOWHERE and is_running(t, q.orphaned_gm):
        skip_promotion(t, q, dead)
        return
    note_orphaned_gm_dead(q)
    heir = candidate(q.master, mirrors(t, q), listed(t, alive))
    counted = len(synchronised(t, q)) + bits_in(q.dead_gm_synchronised)
    if heir == q.master or (q.awaits_master and not dead and not q.dead_gm_members):
        remove_dead_mirrors(t, q, dead)
    elif heir == NOBODY:
        leave_dead_in_group(t, q, dead)
    elif refuses_on_failure(counted, mirroring_of(t, q).promote_on_failure):
        refuse_promotion(t, q, heir)
    else:
        promote(t, q, heir)


def missed_bits(t, q):
    """The replicas that are gone and whose nodes nobody takes for running any more."""
    dead, missed = (mirror_bits(t, q) | 1 << q.master) & ~alive_bits(t, q), 0
    for node in range(t.setup.nodes):
        missed |= int(dead >> node & 1 == 1 and not is_unmissed(t, node)) << node
    return missed


def end_with_master(t, q, bits):
    """Mirrors end as their master does, and nobody writes which could be recovered."""
    say_mirrors_removed(t, q, bits, DIED)
    strike_mirrors(t, q, bits)
    delete_copies(t, q, bits)
    forget_replicas(t, q, bits)


def drop_unreachable(t, q):
    """A master's process is gone and its node is not. Mirrors behind links that drop everything do not hear of it, and
    whoever is master next begins without them."""
    silent = 0
    for node in mirrors(t, q):
        silent |= int(is_alive(t, q, node) and not linked(t, q.master, node)) << node
    if silent:
        drop_mirrors(t, q, silent, OUT_OF_REACH)


def promote(t, q, heir):
    """The oldest mirror becomes master with what it holds, which is nothing if it has joined since the master died;
    what only the old master held is lost, since a replica that comes back is wiped."""
    was, left_out, counted = q.master, spared(t, q), is_synchronised(t, q, heir)
    living = alive_bits(t, q) & ~(1 << heir)
    gone = (mirror_bits(t, q) | 1 << was) & ~living & ~(1 << heir)
    entry = say_promoted(t, q, heir)
    detach(t, q)
    inherit(t, q, heir, living, gone, entry)
    strike_mirrors(t, q, gone | 1 << heir)
    note_recoverable(t, q)
    q.master, q.up, q.awaits_master, q.orphaned_gm = heir, True, False, NOWHERE
    q.depth_unknown = q.dead_gm_members = q.dead_gm_synchronised = 0
    note_silent(t, q)
    note_promotion(t, q, counted)
    count_times(t, q)
    blame(t, entry)
    forget_replicas(t, q, gone)
    follow_new_master(t, q, was)
    adopt_limits(t, q)
    keep_waiting(t, q, COPIED)
    synchronise_drained(t, q, PROMOTED)
    plan(t, q, 0, POLICY_TAKES_EFFECT, ADDING, left_out, AT_HAND)
    release(t, q)
    deliver(t, q)


def remove_dead_mirrors(t, q, dead):
    """Mirrors that died are struck out and, under ha-mode exactly, others started."""
    if not dead:
        return
    say_mirrors_removed(t, q, dead, DIED)
    strike_mirrors(t, q, dead)
    note_recoverable(t, q)
    leave_on_disks(t, q, dead)
    forget_replicas(t, q, dead)
    if q.awaits_master:
        answer_lost_publishes(t, q, False)
        return
    if q.syncing:
        leave_sync(t, q, dead)
    add_mirrors(t, q, 0, NO_RECORD, 0)
    release(t, q)
    plan(t, q, 0, AUTOMATIC_SYNC, 0, 0, AT_HAND)


def leave_dead_in_group(t, q, dead):
    """Nobody is left to strike the dead out of the record, unless a master that was shut down has taken its group along
    (`rabbit_mirror_queue_misc:stop_all_slaves` empties `gm_pids`). A mirror that joins finds them there and dead
    (`gm:validate_members`), and does what a mirror does whose master has died."""
    count_dead_members(t, q, dead)
    if not q.awaits_master:
        if q.stopped and takes_group_along(t, q):
            q.dead_gm_members = q.dead_gm_synchronised = 0
        else:
            q.dead_gm_members |= 1 << q.master
        await_master(t, q, NO_MIRROR)
    if is_there(t, q):
        if not mirroring_of(t, q).mirrored:
            q.dead_gm_members = q.dead_gm_synchronised = 0
        remove_dead_mirrors(t, q, dead)


def count_dead_members(t, q, dead):
    """Mirrors that are dead stay on the record, as synchronised as they were."""
    q.dead_gm_members |= dead
    for node in synchronised(t, q):
        q.dead_gm_synchronised |= dead & 1 << node


def takes_group_along(t, q):
    """Whether a master that is shut down leaves its group without a member, and so without anybody who is missed."""
    return takes_mirrors_down(len(synchronised(t, q)), mirroring_of(t, q).promote_on_shutdown)


def refuse_promotion(t, q, heir):
    """The mirror that should take over deletes its copy and ends instead; the queue waits for its master's node. Its
    member of the group it leaves behind, so that the others never hear that it is gone: they strike out the dead, and
    live on as mirrors that wait for it (`rabbit_mirror_queue_slave`, gm_deaths; seen on 3.10.8 clusters). Where it is
    the first to hear of the death nobody else does, and the record stays as it is."""
    if q.awaits_master:
        answer_lost_publishes(t, q, False)
    others = alive_bits(t, q) & mirror_bits(t, q) & ~(1 << heir)
    dead = mirror_bits(t, q) & ~others & ~(1 << heir)
    on_disk = disk_record(t, q)
    unwritten = not others or (not q.awaits_master and hears_first(t, q, others))
    if not q.awaits_master or others:
        q.dead_gm_members = q.dead_gm_synchronised = 0
    if not others:
        q.dead_gm_members |= int(not q.awaits_master) << q.master
        count_dead_members(t, q, dead)
    say_promotion_refused(t, q, heir)
    q.orphaned_gm = heir
    strike_mirrors(t, q, dead | 1 << heir)
    forget_synchronised(t, q)
    if not unwritten:
        note_recoverable(t, q)
    leave_on_disks(t, q, dead)
    delete_copies(t, q, 1 << heir)
    forget_replicas(t, q, 1 << heir)
    if q.awaits_master:
        answer_lost_publishes(t, q, True)
    else:
        await_master(t, q, PROMOTION_REFUSED)
    if unwritten:
        keep_disk_record(t, q, on_disk)


def hears_first(t, q, others):
    """Whether the mirror that refuses, or what it left behind, hears of a death before any other mirror: who stands
    behind the dead in the ring of the group does, where mirrors join behind any member (`gm:join_group`). It matters
    where the record on disk names mirrors, which those that hear would strike out, and is drawn there alone."""
    if disk_record(t, q) == NO_RECORD:
        return False
    return below(1 + bits_in(others), t.setup.seed, GROUP_RING, next_number(t), 0) == 0


def skip_promotion(t, q, dead):
    """Whoever dies, the one that would take over is a member of the group whose process is gone. Mirrors that live
    strike out the dead, if they hear of it, and wait for it; where none does, the dead stay on the record."""
    living = mirror_bits(t, q) & ~dead
    if not living:
        leave_dead_in_group(t, q, dead)
        return
    on_disk = disk_record(t, q)
    unwritten = dead != 0 and hears_first(t, q, living)
    q.dead_gm_members = q.dead_gm_synchronised = 0
    remove_dead_mirrors(t, q, dead)
    if unwritten:
        keep_disk_record(t, q, on_disk)


def note_orphaned_gm_dead(q):
    """What a mirror that refused has left behind is gone with its node; the record still counts it."""
    if q.orphaned_gm != NOWHERE:
        q.dead_gm_members |= 1 << q.orphaned_gm
        q.orphaned_gm = NOWHERE
