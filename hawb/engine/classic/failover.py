"""Replicas die, and what is left of a queue: a mirror takes over, or nobody does until the master's node is back.

Source: `rabbit_mirror_queue_misc:remove_from_queue`, `rabbit_mirror_queue_slave:promote_me`,
`rabbit_mirror_queue_coordinator`, `rabbit_mirror_queue_master:terminate`, `gm`. The decisions themselves stand in
`hawb.rules.promotion`; this module carries them out. What becomes of the dead is in `burial`, of a mirror that refuses
in `refusal`, and of a queue that nobody serves in `outage`.

Surviving replicas act on one view of who is dead: gm tells each of them only after it has received all that the dead
had broadcast, so a promoted mirror never misses what another survivor saw. Here that is one event for each queue.
"""

from __future__ import annotations

from hawb.engine.classic.burial import bury_mirrors, leave_unburied
from hawb.engine.classic.copies import delete_copies, inherit, note_silent
from hawb.engine.classic.crash_record import fall_with_node
from hawb.engine.classic.failover_ports import (
    adopt_limits,
    detach,
    follow_new_master,
    heirless_bits,
    listed,
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
    blame,
    say_master_down,
    say_mirrors_removed,
    say_mirrors_stopped,
    say_promoted,
)
from hawb.engine.classic.mirrors import drop_mirrors, end_master, synchronise_drained
from hawb.engine.classic.orphaned_mirrors import heed as heed_strays
from hawb.engine.classic.orphaned_mirrors import is_alone
from hawb.engine.classic.outage import abandon
from hawb.engine.classic.ports import (
    ADDING,
    ALL_REPLICAS,
    AT_HAND,
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
from hawb.engine.classic.record_ports import is_alive, mirroring_of, mirrors, strike_mirrors, synchronised
from hawb.engine.classic.refusal import bury_hollow, heed_hollow, refuse_promotion
from hawb.engine.classic.waiting_publishes import COPIED
from hawb.engine.classic.waiting_publishes import keep as keep_waiting
from hawb.engine.cluster.node_ports import is_running, linked
from hawb.engine.cluster.reachability import is_unmissed
from hawb.engine.core.bookkeeping import note_promotion
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
        abandon(t, q, MIRRORS_STOPPED)


def bury(t, q, at_once):
    """The survivors of a queue act on the deaths of the others (`rabbit_mirror_queue_misc:remove_from_queue`). While
    they take a master for alive that has gone they leave everything to it, and so they do, unless it has to be settled
    `at_once`, while a node that counts as running does not answer; then only channels know who is dead."""
    stalled = not at_once and len(mirrors(t, q)) > 0 and stall(t, q, REPLICA_GONE)
    if stalled or (not q.abandoned and is_unmissed(t, q.master)):
        forget_replicas(t, q, missed_bits(t, q))
        return
    if fall_with_node(t, q) or heed_strays(t, q):
        return
    if is_alone(t, q) and not q.up and not q.abandoned:
        end_with_master(t, q, heirless_bits(t, q))
        abandon(t, q, NO_MIRROR)
        return
    if not q.up and is_running(t, q.master):
        drop_unreachable(t, q)
    alive = alive_bits(t, q)
    dead = mirror_bits(t, q) & ~alive
    if q.hollow != NOWHERE and is_running(t, q.hollow):
        heed_hollow(t, q, dead)
        return
    bury_hollow(q)
    heir = candidate(q.master, mirrors(t, q), listed(t, alive))
    counted = len(synchronised(t, q)) + bits_in(q.unburied_synchronised)
    if heir == q.master or (q.abandoned and not dead and not q.unburied):
        bury_mirrors(t, q, dead)
    elif heir == NOBODY:
        leave_unburied(t, q, dead)
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
    q.master, q.up, q.abandoned, q.hollow = heir, True, False, NOWHERE
    q.depth_unknown = q.unburied = q.unburied_synchronised = 0
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
