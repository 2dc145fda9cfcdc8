"""A mirror that should take over and refuses to, for it is not synchronised: what it leaves behind in its group.

Source: `rabbit_mirror_queue_slave`, gm_deaths, for ha-promote-on-failure when-synced.
"""

from __future__ import annotations

from hawb.engine.classic.burial import bury_mirrors, count_unburied, leave_unburied
from hawb.engine.classic.copies import delete_copies, leave_on_disks
from hawb.engine.classic.failover_ports import disk_record, keep_disk_record
from hawb.engine.classic.journal import PROMOTION_REFUSED, say_promotion_refused
from hawb.engine.classic.outage import abandon, answer_in_vain
from hawb.engine.classic.ports import NO_RECORD, forget_replicas, note_recoverable
from hawb.engine.classic.record import alive_bits, mirror_bits
from hawb.engine.classic.record_ports import forget_synchronised, strike_mirrors
from hawb.engine.cluster.node_ports import next_number
from hawb.engine.core.randomness import GROUP_RING, below
from hawb.engine.core.state import NOWHERE
from hawb.raft.ports import bits_in

SHARED = True  # the kernel of studies compiles this module


def refuse_promotion(t, q, heir):
    """The mirror that should take over deletes its copy and ends instead; the queue waits for its master's node. Its
    member of the group it leaves behind, so that the others never hear that it is gone: they strike out the dead, and
    live on as mirrors that wait for it (`rabbit_mirror_queue_slave`, gm_deaths; seen on 3.10.8 clusters). Where it is
    the first to hear of the death nobody else does, and the record stays as it is."""
    if q.abandoned:
        answer_in_vain(t, q, False)
    others = alive_bits(t, q) & mirror_bits(t, q) & ~(1 << heir)
    dead = mirror_bits(t, q) & ~others & ~(1 << heir)
    on_disk = disk_record(t, q)
    unwritten = not others or (not q.abandoned and hears_first(t, q, others))
    if not q.abandoned or others:
        q.unburied = q.unburied_synchronised = 0
    if not others:
        q.unburied |= int(not q.abandoned) << q.master
        count_unburied(t, q, dead)
    say_promotion_refused(t, q, heir)
    q.hollow = heir
    strike_mirrors(t, q, dead | 1 << heir)
    forget_synchronised(t, q)
    if not unwritten:
        note_recoverable(t, q)
    leave_on_disks(t, q, dead)
    delete_copies(t, q, 1 << heir)
    forget_replicas(t, q, 1 << heir)
    if q.abandoned:
        answer_in_vain(t, q, True)
    else:
        abandon(t, q, PROMOTION_REFUSED)
    if unwritten:
        keep_disk_record(t, q, on_disk)


def hears_first(t, q, others):
    """Whether the mirror that refuses, or what it left behind, hears of a death before any other mirror: who stands
    behind the dead in the ring of the group does, where mirrors join behind any member (`gm:join_group`). It matters
    where the record on disk names mirrors, which those that hear would strike out, and is drawn there alone."""
    if disk_record(t, q) == NO_RECORD:
        return False
    return below(1 + bits_in(others), t.setup.seed, GROUP_RING, next_number(t), 0) == 0


def heed_hollow(t, q, dead):
    """Whoever dies, the one that would take over is a member of the group whose process is gone. Mirrors that live
    strike out the dead, if they hear of it, and wait for it; where none does, the dead stay on the record."""
    living = mirror_bits(t, q) & ~dead
    if not living:
        leave_unburied(t, q, dead)
        return
    on_disk = disk_record(t, q)
    unwritten = dead != 0 and hears_first(t, q, living)
    q.unburied = q.unburied_synchronised = 0
    bury_mirrors(t, q, dead)
    if unwritten:
        keep_disk_record(t, q, on_disk)


def bury_hollow(q):
    """What a mirror that refused has left behind is gone with its node; the record still counts it."""
    if q.hollow != NOWHERE:
        q.unburied |= 1 << q.hollow
        q.hollow = NOWHERE
