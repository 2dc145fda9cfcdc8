"""Act on dead replicas of a mirrored queue: promote a mirror, or leave the queue to wait for its master's node.

Source: `rabbit_mirror_queue_misc:remove_from_queue`, `rabbit_mirror_queue_slave:promote_me`,
`rabbit_mirror_queue_coordinator`, `rabbit_mirror_queue_master:terminate`, `gm`. `hawb.rules.promotion` decides; here
`remove_from_queue` asks it, `promote` and `refuse_promotion` carry the decision out. A queue without a master is in
`outage`. A mirror refuses in `rabbit_mirror_queue_slave`, gm_deaths, under ha-promote-on-failure when-synced.

The surviving replicas act on one view of the dead: gm reports a death to a member only after the member has received
everything that the dead replica had broadcast. A promoted mirror therefore has all that another survivor has. Here that
is one event for each queue.
"""

from __future__ import annotations

from hawb.engine.classic.copies import delete_copies, inherit, leave_on_disks, note_silent
from hawb.engine.classic.failover_ports import (
    adopt_limits,
    defer_if_blocked,
    detach,
    disk_record,
    fall_with_node,
    follow_new_master,
    is_there,
    keep_disk_record,
    listed,
    not_promotable_bits,
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
    remove_mirrors,
    synchronised,
)
from hawb.engine.classic.synchronisation import leave_sync
from hawb.engine.classic.waiting_publishes import COPIED
from hawb.engine.classic.waiting_publishes import keep as keep_waiting
from hawb.engine.cluster.node_ports import is_running, linked, next_number
from hawb.engine.cluster.reachability import is_unnoticed_down
from hawb.engine.core.bookkeeping import note_promotion
from hawb.engine.core.randomness import GROUP_RING, below
from hawb.engine.core.state import NOWHERE, Queue
from hawb.engine.core.turn import Turn
from hawb.engine.queues.transient import excluded
from hawb.raft.ports import bits_in
from hawb.rules.promotion import NO_NODE, candidate, refuses_on_failure, takes_mirrors_down

SHARED = True  # the kernel of studies compiles this module


def shut_down_master(t: Turn, q: Queue) -> None:
    """End a master in a controlled way (`rabbit_mirror_queue_master:terminate`).

    With no mirror synchronised and ha-promote-on-shutdown when-synced it stops its mirrors too, and the queue waits for
    its node.
    """
    say_master_down(t, q, NODE_STOPPED)
    end_master(t, q, True)
    asked = mirroring_of(t, q)
    if not alive_bits(t, q) or not asked.mirrored:
        return
    if takes_mirrors_down(len(synchronised(t, q)), asked.promote_on_shutdown):
        say_mirrors_stopped(t, q)
        drop_mirrors(t, q, ALL_REPLICAS, MASTER_SHUTDOWN)
        await_master(t, q, MIRRORS_STOPPED)


def remove_from_queue(t: Turn, q: Queue, at_once: bool) -> None:
    """Remove the dead replicas from the queue's record, and promote a mirror if the master is among them.

    This is `rabbit_mirror_queue_misc:remove_from_queue`. While the survivors take a dead master for alive, or a node
    that counts as running does not answer, the record stays as it is and only the channels drop dead replicas.
    `at_once` does not wait for such a node.
    """
    deferred = not at_once and len(mirrors(t, q)) > 0 and defer_if_blocked(t, q, REPLICA_GONE)
    if deferred or (not q.awaits_master and is_unnoticed_down(t, q.master)):
        forget_replicas(t, q, down_everywhere_bits(t, q))
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
    chosen = candidate(q.master, mirrors(t, q), listed(t, alive))
    counted = len(synchronised(t, q)) + bits_in(q.dead_gm_synchronised)
    if chosen == q.master or (q.awaits_master and not dead and not q.dead_gm_members):
        remove_dead_mirrors(t, q, dead)
    elif chosen == NO_NODE:
        leave_dead_in_group(t, q, dead)
    elif refuses_on_failure(counted, mirroring_of(t, q).promote_on_failure):
        refuse_promotion(t, q, chosen)
    else:
        promote(t, q, chosen)


def down_everywhere_bits(t: Turn, q: Queue) -> int:
    """Return the dead replicas whose nodes count as down on every running node, as bits."""
    dead, missed = (mirror_bits(t, q) | 1 << q.master) & ~alive_bits(t, q), 0
    for node in range(t.setup.nodes):
        missed |= int(dead >> node & 1 == 1 and not is_unnoticed_down(t, node)) << node
    return missed


def end_with_master(t: Turn, q: Queue, bits: int) -> None:
    """Remove the mirrors that end with their master, and leave the list of recoverable mirrors as it is."""
    say_mirrors_removed(t, q, bits, DIED)
    remove_mirrors(t, q, bits)
    delete_copies(t, q, bits)
    forget_replicas(t, q, bits)


def drop_unreachable(t: Turn, q: Queue) -> None:
    """Remove the mirrors that the ended master's node does not reach.

    The node runs, and links that drop all packets keep these mirrors from learning of the death. The next master begins
    without them.
    """
    silent = 0
    for node in mirrors(t, q):
        silent |= int(is_alive(t, q, node) and not linked(t, q.master, node)) << node
    if silent:
        drop_mirrors(t, q, silent, OUT_OF_REACH)


def promote(t: Turn, q: Queue, promoted: int) -> None:
    """Make the oldest mirror the master, with the messages that it holds.

    A mirror that joined after the master died holds none. Messages that only the old master held are lost, because a
    replica that comes back deletes its copy.
    """
    was, left_out, counted = q.master, excluded(t, q), is_synchronised(t, q, promoted)
    living = alive_bits(t, q) & ~(1 << promoted)
    gone = (mirror_bits(t, q) | 1 << was) & ~living & ~(1 << promoted)
    entry = say_promoted(t, q, promoted)
    detach(t, q)
    inherit(t, q, promoted, living, gone, entry)
    remove_mirrors(t, q, gone | 1 << promoted)
    note_recoverable(t, q)
    q.master, q.up, q.awaits_master, q.orphaned_gm = promoted, True, False, NOWHERE
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


def remove_dead_mirrors(t: Turn, q: Queue, dead: int) -> None:
    """Remove dead mirrors from the record and, under ha-mode exactly, start others."""
    if not dead:
        return
    say_mirrors_removed(t, q, dead, DIED)
    remove_mirrors(t, q, dead)
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


def leave_dead_in_group(t: Turn, q: Queue, dead: int) -> None:
    """Keep the dead replicas in the record's group, since no mirror is left to remove them.

    The next mirror that joins finds the dead replicas there (`gm:validate_members`) and acts as if its master had died.
    A master that stopped in a controlled way together with its mirrors has emptied the group before
    (`rabbit_mirror_queue_misc:stop_all_slaves` clears `gm_pids`).
    """
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


def count_dead_members(t: Turn, q: Queue, dead: int) -> None:
    """Count dead mirrors as members of the group, each as synchronised as it was."""
    q.dead_gm_members |= dead
    for node in synchronised(t, q):
        q.dead_gm_synchronised |= dead & 1 << node


def takes_group_along(t: Turn, q: Queue) -> bool:
    """Return True if a master that is shut down leaves its group without members."""
    return takes_mirrors_down(len(synchronised(t, q)), mirroring_of(t, q).promote_on_shutdown)


def refuse_promotion(t: Turn, q: Queue, node: int) -> None:
    """Delete the promotion candidate's copy and end its queue process; the queue waits for its master's node.

    The candidate's gm process goes on, so that the other mirrors do not learn that the queue process has ended. They
    remove the dead and wait for the candidate (`rabbit_mirror_queue_slave`, gm_deaths; 3.10.8 clusters did so). If the
    candidate is the first to learn of the death, no other mirror learns of it, and the record on disk stays as it was.
    """
    if q.awaits_master:
        answer_lost_publishes(t, q, False)
    others = alive_bits(t, q) & mirror_bits(t, q) & ~(1 << node)
    dead = mirror_bits(t, q) & ~others & ~(1 << node)
    on_disk = disk_record(t, q)
    unwritten = not others or (not q.awaits_master and learns_first(t, q, others))
    if not q.awaits_master or others:
        q.dead_gm_members = q.dead_gm_synchronised = 0
    if not others:
        q.dead_gm_members |= int(not q.awaits_master) << q.master
        count_dead_members(t, q, dead)
    say_promotion_refused(t, q, node)
    q.orphaned_gm = node
    remove_mirrors(t, q, dead | 1 << node)
    forget_synchronised(t, q)
    if not unwritten:
        note_recoverable(t, q)
    leave_on_disks(t, q, dead)
    delete_copies(t, q, 1 << node)
    forget_replicas(t, q, 1 << node)
    if q.awaits_master:
        answer_lost_publishes(t, q, True)
    else:
        await_master(t, q, PROMOTION_REFUSED)
    if unwritten:
        keep_disk_record(t, q, on_disk)


def learns_first(t: Turn, q: Queue, others: int) -> bool:
    """Return True if the mirror that refuses, or its orphaned gm process, learns of a death before any other mirror.

    gm reports a death to the neighbour of the dead member in the group's ring, where mirrors join at random places
    (`gm:join_group`). The order matters only if the record on disk names mirrors, since a mirror that learns of the
    death first would remove them there; only then is a random number drawn.
    """
    if disk_record(t, q) == NO_RECORD:
        return False
    return below(1 + bits_in(others), t.setup.seed, GROUP_RING, next_number(t), 0) == 0


def skip_promotion(t: Turn, q: Queue, dead: int) -> None:
    """Remove dead mirrors without promoting any, since the oldest member of the group is an orphaned gm process.

    The running mirrors remove the dead if one of them learns of the death, and go on waiting for that process to
    promote itself. Without running mirrors the dead stay in the record's group.
    """
    living = mirror_bits(t, q) & ~dead
    if not living:
        leave_dead_in_group(t, q, dead)
        return
    on_disk = disk_record(t, q)
    unwritten = dead != 0 and learns_first(t, q, living)
    q.dead_gm_members = q.dead_gm_synchronised = 0
    remove_dead_mirrors(t, q, dead)
    if unwritten:
        keep_disk_record(t, q, on_disk)


def note_orphaned_gm_dead(q: Queue) -> None:
    """Count an orphaned gm process whose node went down as a dead member of the group."""
    if q.orphaned_gm != NOWHERE:
        q.dead_gm_members |= 1 << q.orphaned_gm
        q.orphaned_gm = NOWHERE
