"""The dead of a classic queue: mirrors that are struck out of its record, and replicas that stay on it because nobody
is left to strike them out.

Source: `rabbit_mirror_queue_misc:remove_from_queue`, `gm`.
"""

from __future__ import annotations

from hawb.engine.classic.copies import leave_on_disks
from hawb.engine.classic.failover_ports import is_there
from hawb.engine.classic.journal import DIED, NO_MIRROR, say_mirrors_removed
from hawb.engine.classic.mirrors import add_mirrors
from hawb.engine.classic.outage import abandon, answer_in_vain
from hawb.engine.classic.ports import (
    AT_HAND,
    AUTOMATIC_SYNC,
    NO_RECORD,
    forget_replicas,
    note_recoverable,
    plan,
    release,
)
from hawb.engine.classic.record_ports import mirroring_of, strike_mirrors, synchronised
from hawb.engine.classic.synchronisation import leave_sync
from hawb.rules.promotion import takes_mirrors_down

SHARED = True  # the kernel of studies compiles this module


def bury_mirrors(t, q, dead):
    """Mirrors that died are struck out and, under ha-mode exactly, others started."""
    if not dead:
        return
    say_mirrors_removed(t, q, dead, DIED)
    strike_mirrors(t, q, dead)
    note_recoverable(t, q)
    leave_on_disks(t, q, dead)
    forget_replicas(t, q, dead)
    if q.abandoned:
        answer_in_vain(t, q, False)
        return
    if q.syncing:
        leave_sync(t, q, dead)
    add_mirrors(t, q, 0, NO_RECORD, 0)
    release(t, q)
    plan(t, q, 0, AUTOMATIC_SYNC, 0, 0, AT_HAND)


def leave_unburied(t, q, dead):
    """Nobody is left to strike the dead out of the record, unless a master that was shut down has taken its group along
    (`rabbit_mirror_queue_misc:stop_all_slaves` empties `gm_pids`). A mirror that joins finds them there and dead
    (`gm:validate_members`), and does what a mirror does whose master has died."""
    count_unburied(t, q, dead)
    if not q.abandoned:
        if q.stopped and takes_group_along(t, q):
            q.unburied = q.unburied_synchronised = 0
        else:
            q.unburied |= 1 << q.master
        abandon(t, q, NO_MIRROR)
    if is_there(t, q):
        if not mirroring_of(t, q).mirrored:
            q.unburied = q.unburied_synchronised = 0
        bury_mirrors(t, q, dead)


def count_unburied(t, q, dead):
    """Mirrors that are dead stay on the record, as synchronised as they were."""
    q.unburied |= dead
    for node in synchronised(t, q):
        q.unburied_synchronised |= dead & 1 << node


def takes_group_along(t, q):
    """Whether a master that is shut down leaves its group without a member, and so without anybody who is missed."""
    return takes_mirrors_down(len(synchronised(t, q)), mirroring_of(t, q).promote_on_shutdown)
