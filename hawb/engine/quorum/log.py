"""Truncate a quorum queue's log: where it may be cut, and what prevents that.

After enough publishes the queue notes an index as a release cursor. Each member cuts its log at the last cursor before
the oldest message in the queue, delivered or not, or at the end when the queue is empty, if that makes the log enough
entries shorter. A message counts with the index of its enqueue command, but from 3.10 on a message that a client
requeued to a queue without a delivery limit counts with the index of the requeue. So one unacknowledged message keeps
all later entries.

Left out is how 4.3 cuts, after as many bytes as it draws and whatever is still in the queue (`rabbit_fifo:do_snapshot`,
`live_indexes`); its logs are cut here as those of 4.0.

Source: `rabbit_fifo` (`maybe_store_release_cursor`, `update_smallest_raft_index`), `ra_log:update_release_cursor`; the
numbers are `hawb.rules.quorum_costs`'.
"""

from __future__ import annotations

from hawb.engine.core import runs
from hawb.engine.core.runs import EMPTY
from hawb.engine.core.state import QUORUM, Queue
from hawb.engine.core.turn import Turn
from hawb.engine.quorum import fifo
from hawb.engine.raft_groups.group import Group, Proposal
from hawb.raft.membership import on_release_cursor
from hawb.raft.messages import ReleaseCursor
from hawb.rules import quorum_costs
from hawb.rules.quorum_profiles import QUORUM_PROFILES


def cut(turn: Turn, name: str, *, published: bool = False) -> None:
    """Cut the members' logs where they may be cut after a command; `published` is True if it was an enqueue.

    Members that lag cut theirs when they have applied as much.
    """
    queue = turn.queues.get(name)
    if queue is None or queue.type != QUORUM or name not in turn.groups:
        return
    group = turn.groups.own(name)
    if published:
        note_place(turn, queue, group)
    note_requeued(queue, group)
    index = quorum_costs.cut_up_to(group.places, smallest_index(queue, group), group.applied)
    index = max(index, group.cut_at)
    least = QUORUM_PROFILES[turn.settings.profile.version].least_cut
    for member in group.members.values():
        if member.snapshot_index + least < index:
            on_release_cursor([], member, ReleaseCursor(index))
    group.places, group.cut_at = tuple(place for place in group.places if place > index), index


def note_place(turn: Turn, queue: Queue, group: Group) -> None:
    """Note a release cursor, if enough has been published since the last one."""
    profile = QUORUM_PROFILES[turn.settings.profile.version]
    published = turn.numbers.get(queue.name, 0)
    length = runs.size(queue.content)
    interval = quorum_costs.snapshot_interval(length, profile.snapshot_every, profile.snapshot_every_at_most)
    if published - group.published_at_place >= interval:
        group.places, group.published_at_place = (*group.places, group.applied), published


def note_requeued(queue: Queue, group: Group) -> None:
    """Note the index under which the last command requeued messages."""
    if not (queue.fifo and queue.fifo.moved) and not group.requeued:
        return
    content = queue.contents[queue.holder] or EMPTY
    moved = runs.normal(pair for _, these in fifo.of(queue).moved for pair in these)
    fresh = runs.minus(moved, group.moved)
    older = ((index, runs.common(runs.minus(numbers, fresh), content)) for index, numbers in group.requeued)
    noted = (*older, (group.applied, fresh))
    group.moved, group.requeued = moved, tuple((index, numbers) for index, numbers in noted if numbers)


def smallest_index(queue: Queue, group: Group) -> int:
    """Return the index of the oldest message in the queue; NOTHING if the queue is empty."""
    content = queue.contents[queue.holder] or EMPTY
    if not content:
        return quorum_costs.NOTHING
    requeued = runs.normal(pair for _, numbers in group.requeued for pair in numbers)
    indices = [index for index, _ in group.requeued]
    staying = runs.minus(content, requeued)
    if staying:
        member = group.members.get(queue.holder)
        log = () if member is None else member.log.runs
        brought = (run.first for run in log if isinstance(run.command, Proposal)
                   and runs.common(run.command.numbers, staying))  # fmt: skip
        indices.append(next(brought, 1))
    return min(indices)
