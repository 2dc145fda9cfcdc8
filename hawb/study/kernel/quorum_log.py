"""The length of logs: `hawb.engine.quorum.log`."""

from __future__ import annotations

from hawb.rules import quorum_costs
from hawb.study.compiled import inner, rule
from hawb.study.kernel import windows
from hawb.study.kernel.fifo import has_of, move_row_to, note_row, note_staying, waits
from hawb.study.kernel.quorum_group import pending
from hawb.study.kernel.quorum_state import ENQUEUE
from hawb.study.kernel.raft_log import compact, has_entry, is_member
from hawb.study.kernel.state import NEVER

NOTHING = quorum_costs.NOTHING
snapshot_interval = rule(quorum_costs.snapshot_interval)
cut_up_to = rule(quorum_costs.cut_up_to)


@inner
def cut(t, published):
    """Let members cut their logs where they may, after a command."""
    queue, setup = t.queue, t.setup
    if published:
        length = windows.total(t.held) + waits(t) + pending(t)
        interval = snapshot_interval(length, setup.snapshot_every, setup.snapshot_every_at_most)
        if t.book.published - queue.published_at_place >= interval:
            if queue.places == len(t.places):
                raise OverflowError("more places where a log may be cut than a trial has room for")
            t.places[queue.places] = queue.applied
            queue.places += 1
            queue.published_at_place = t.book.published
    note_requeued(t)
    index = max(cut_up_to(t.places[: queue.places], smallest_index(t), queue.applied), queue.cut_at)
    for node in range(setup.nodes):
        member = t.members[node]
        may_be_cut = index <= min(member.commit_index, member.written)
        if is_member(t, t.queue, node) and member.snapshot_index + setup.least_cut < index and may_be_cut:
            compact(t, member, index)
    left = 0
    for k in range(queue.places):
        if t.places[k] > index:
            t.places[left] = t.places[k]
            left += 1
    queue.places, queue.cut_at = left, index


@inner
def smallest_index(t):
    """Return the index of the oldest message in the queue; NOTHING if it is empty."""
    if not t.ready[0, 0] and not t.returns[0, 0] and not t.held[0, 0]:
        return NOTHING
    smallest, staying = NEVER, windows.total(t.held) + waits(t)
    for k in range(t.queue.requeued):
        staying -= t.requeued[k, 2] - t.requeued[k, 1]
        smallest = min(smallest, t.requeued[k, 0])
    return min(smallest, brought_by(t)) if staying else smallest


@inner
def brought_by(t):
    """Return the index of the first entry in the leader's log with messages that are still there.

    1 if all have flowed.
    """
    leader, first = t.queue.holder, NEVER
    if not is_member(t, t.queue, leader):
        return 1
    for k in range(t.queue.entries):
        entry = t.entries[k]
        if entry.asks == ENQUEUE and has_entry(t, leader, entry, t.members[leader].snapshot_index):
            after, last = entry.after, entry.after + entry.count
            staying = has_of(t, after, last)
            for j in range(t.queue.requeued):
                staying -= max(0, min(last, t.requeued[j, 2]) - max(after, t.requeued[j, 1]))
            if staying:
                first = min(first, max(entry.first, t.members[leader].snapshot_index + 1))
    return 1 if first == NEVER else first


@inner
def note_requeued(t):
    """Count messages that the last command brought late as appended again with it."""
    queue, count = t.queue, 0
    if not queue.moved and not queue.requeued:
        return
    for k in range(queue.requeued):
        count = note_staying(t, t.staying, count, t.requeued[k, 0], t.requeued[k, 1], t.requeued[k, 2])
    windows.clear(t.fresh)
    for k in range(queue.moved):
        windows.add(t.fresh, t.moved[k, 1], t.moved[k, 2])
    for k in range(1, t.moved_before[0, 0] + 1):
        windows.remove(t.fresh, t.moved_before[k, 0], t.moved_before[k, 1])
    for k in range(1, t.fresh[0, 0] + 1):
        count = note_row(t.staying, count, queue.applied, t.fresh[k, 0], t.fresh[k, 1])
    for k in range(count):
        move_row_to(t.staying[k], t.requeued[k])
    queue.requeued = count
    windows.clear(t.moved_before)
    for k in range(queue.moved):
        windows.add(t.moved_before, t.moved[k, 1], t.moved[k, 2])
