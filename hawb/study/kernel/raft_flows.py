"""What flows to a leader, and is committed without time passing: `hawb.engine.raft_host.commit_at_once`."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.quorum_group import apply_up_to, take_committed
from hawb.study.kernel.quorum_state import (
    AGREED,
    ASKED,
    COMMIT,
    COMMIT_HEARD,
    COMMIT_SENT,
    COMMITTED,
    FIRST,
    FOLLOWER,
    GENERATION,
    LAST,
    LAST_TERM,
    LEADER,
    LEADING,
    MATCH,
    NEXT,
    RECEIVING,
    ROLE,
    SAY,
    SECOND,
    SEND,
    TARGET,
    TERM,
    WRITE,
    WRITTEN,
)
from hawb.study.kernel.quorum_view import hosted, latest_leader, level
from hawb.study.kernel.raft import on_message
from hawb.study.kernel.raft_log import bits_in, is_member, note_run
from hawb.study.kernel.raft_messages import write
from hawb.study.kernel.raft_replication import append, on_written
from hawb.study.kernel.state import KIND


@inner
def commit_at_once(t, says, count, size_bytes):
    """A leader that can commit takes in what flowed to it since the last event, which by now every member that it
    reaches has on disk."""
    here, everybody = hosted(t), t.setup.members
    node = latest_leader(t, everybody)
    others = here & ~(1 << node)
    t.book.bytes_replicated += bits_in(others) * count * size_bytes
    if is_steady(t, node, others):
        pass_on(t, node, others, says, count)
        t.queue.abreast = here
    else:
        pump(t, node, others | 1 << node, says, count)
        level(t)


@inner
def is_steady(t, node, others):
    """Whether a leader and all that it reaches are abreast of each other, so that nothing else is on its way."""
    leads = t.members[node]
    last = leads[LAST]
    if leads[COMMIT] != last or leads[WRITTEN] != last or t.queue.applied != last:
        return False
    if leads[ROLE] != LEADING or bits_in(others) + 1 < t.setup.majority:
        return False
    for other in range(t.setup.nodes):
        if other == node or not is_member(t, other):
            continue
        peer, member = t.peers[node, other], t.members[other]
        reached = others >> other & 1
        if peer[RECEIVING] if reached else not peer[RECEIVING] and peer[NEXT] != last + 1:
            return False
        if reached:
            if peer[NEXT] != last + 1 or peer[MATCH] != last or member[ASKED]:
                return False
            if peer[COMMIT_SENT] != last or peer[COMMIT_HEARD] != last:
                return False
            if member[LAST] != last or member[LAST_TERM] != leads[LAST_TERM] or member[WRITTEN] != last:
                return False
            if member[COMMIT] != last or member[AGREED] != last or member[TERM] != leads[TERM]:
                return False
            if member[ROLE] != FOLLOWER or member[LEADER] != node:
                return False
    return True


@inner
def pass_on(t, node, others, says, count):
    """What `pump` comes to then."""
    leads = t.members[node]
    note_run(t, leads[LAST] + 1, leads[TERM], says)
    last = leads[LAST] + count
    leads[LAST_TERM] = leads[TERM]
    for other in range(t.setup.nodes):
        if other != node and is_member(t, other):
            peer, member = t.peers[node, other], t.members[other]
            if not peer[RECEIVING]:
                peer[NEXT], peer[COMMIT_SENT] = last + 1, last
            if others >> other & 1:
                peer[MATCH] = peer[COMMIT_HEARD] = last
                member[LAST] = member[WRITTEN] = member[COMMIT] = member[AGREED] = last
                member[LAST_TERM] = leads[TERM]
    leads[LAST] = leads[WRITTEN] = leads[COMMIT] = last
    apply_up_to(t, last)


@inner
def pump(t, node, here, says, count):
    """Carries what members say to each other until nobody says any more, without time passing."""
    t.queue.pumped = 0
    member = t.members[node]
    last, generation = member[LAST], member[GENERATION]
    t.queue.out = 0
    if member[ROLE] == LEADING:
        append(t, node, says, count)
    write(t, node, last, generation)
    carry(t, node, here)
    head = 0
    while head < t.queue.pumped:
        for column in range(len(t.message)):
            t.message[column] = t.pump[head % len(t.pump), column]
        head += 1
        node = t.message[TARGET]
        member = t.members[node]
        last, generation = member[LAST], member[GENERATION]
        t.queue.out = 0
        if t.message[KIND] == SAY:
            on_written(t, node, t.message[FIRST], t.message[SECOND])
        else:
            on_message(t, node, t.message)
        write(t, node, last, generation)
        if t.queue.pumped - head + t.queue.out > len(t.pump):
            raise OverflowError("members say more at once than a trial has room for")
        carry(t, node, here)


@inner
def carry(t, node, here):
    """What a member wants done is done without time passing, as far as those hear who are here."""
    for k in range(t.queue.out):
        wanted = t.out[k]
        if wanted[KIND] == COMMITTED:
            take_committed(t, node, wanted[FIRST], wanted[SECOND])
        elif wanted[KIND] == WRITE or (wanted[KIND] == SEND and here >> wanted[TARGET] & 1):
            row = t.pump[t.queue.pumped % len(t.pump)]
            for column in range(len(wanted)):
                row[column] = wanted[column]
            if wanted[KIND] == WRITE:
                row[KIND], row[TARGET] = SAY, node
            t.queue.pumped += 1
