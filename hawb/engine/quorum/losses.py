"""Committed messages that a quorum queue loses when too many members lose their disks or are removed by force.

Raft guarantees that an elected leader has all committed entries (section 5.4.3 of the paper), as long as disks keep
what was written to them. A member that comes back without its disk votes as if it had never had an entry
(`ra_server:init`), so that a member which lacks committed entries may be elected. Its log is the queue's history from
then on; entries after its end are lost.

Two things are not simulated: a real queue also forgets acknowledgements after that end, so that it delivers these
messages again; and it loses messages that clients hold only once they are returned, so here they stay.

Source: `ra_server:init`, `rabbit_fifo`; the Raft paper, 5.4.3; 3.10.8 clusters.
"""

from __future__ import annotations

from hawb.engine.core import bookkeeping, runs
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.turn import Turn
from hawb.engine.queues.contents import drop
from hawb.engine.raft_groups.group import Group, proposals
from hawb.raft.member import Member


def end_with_log(turn: Turn, group: Group, leader: Member) -> None:
    """Lose the applied entries that a new leader's log lacks. The last entry of its log is the no-op of its term."""
    name, end = group.name, leader.log.last_index - 1
    if end >= group.applied:
        return
    group.applied, group.places, group.cut_at = end, (), min(group.cut_at, leader.snapshot_index)
    if name in turn.queues:
        queue = turn.queues[name]
        had = queue.contents[queue.holder] or EMPTY
        lost = runs.minus(had, runs.union(kept(turn, name, leader), queue.unacknowledged))
        drop(turn, name, lost)
        cause, because = last_lost_copy(turn, name)
        bookkeeping.lose(turn, name, lost, cause, because=because)


CAUSES = {"disk_lost": "disk_lost", "node_reset": "disk_lost", "shrunk_by_force": "shrunk_by_force"}
"""Why members have lost what they had on disk, by the event that records it."""


def last_lost_copy(turn: Turn, name: str) -> tuple[str, int | None]:
    """Return why a queue's members last lost what they had on disk, and the number of the entry that reports it."""
    entries = (*turn.before.trace(), *turn.entries)
    about = (entry for entry in reversed(entries) if entry.event in CAUSES and entry.queue in (name, None))
    return next(((CAUSES[entry.event], entry.number) for entry in about), ("disk_lost", None))


def kept(turn: Turn, name: str, leader: Member) -> Runs:
    """Return the messages that a leader has: committed ones that it applied, and those in the rest of its log."""
    if leader.log.last_index == 1:
        return EMPTY
    logged = runs.normal(pair for one in proposals(leader.log, leader.commit_index) for pair in one.numbers)
    return runs.union(turn.queues[name].contents[leader.id] or EMPTY, logged)
