"""What flows to a leader, and is committed without time passing: `hawb.engine.raft_host.commit_at_once`."""

from __future__ import annotations

from hawb.raft.member import FOLLOWER, LEADER
from hawb.study.compiled import inner
from hawb.study.kernel.quorum_group import apply_up_to, take_committed
from hawb.study.kernel.quorum_state import COMMITTED, FIRST, SAY, SECOND, SEND, TARGET, WRITE
from hawb.study.kernel.quorum_view import hosted, latest_leader, level
from hawb.study.kernel.raft import append, on_message, on_written, peer_of, write
from hawb.study.kernel.raft_log import bits_in, is_member, note_run
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
    last = leads.last_index
    if leads.commit_index != last or leads.written != last or t.queue.applied != last:
        return False
    if leads.role != LEADER or bits_in(others) + 1 < t.setup.majority:
        return False
    for other in range(t.setup.nodes):
        if other == node or not is_member(t, other):
            continue
        peer, member = peer_of(t, leads, other), t.members[other]
        reached = others >> other & 1
        if peer.receiving if reached else not peer.receiving and peer.next_index != last + 1:
            return False
        if reached:
            if peer.next_index != last + 1 or peer.match_index != last or member.asked:
                return False
            if peer.commit_sent != last or peer.commit_index != last:
                return False
            if member.last_index != last or member.last_term != leads.last_term or member.written != last:
                return False
            if member.commit_index != last or member.agreed != last or member.term != leads.term:
                return False
            if member.role != FOLLOWER or member.leader != node:
                return False
    return True


@inner
def pass_on(t, node, others, says, count):
    """What `pump` comes to then."""
    leads = t.members[node]
    note_run(t, leads.last_index + 1, leads.term, says)
    last = leads.last_index + count
    leads.last_term = leads.term
    for other in range(t.setup.nodes):
        if other != node and is_member(t, other):
            peer, member = peer_of(t, leads, other), t.members[other]
            if not peer.receiving:
                peer.next_index, peer.commit_sent = last + 1, last
            if others >> other & 1:
                peer.match_index = peer.commit_index = last
                member.last_index = member.written = member.commit_index = member.agreed = last
                member.last_term = leads.term
    leads.last_index = leads.written = leads.commit_index = last
    apply_up_to(t, last)


@inner
def pump(t, node, here, says, count):
    """Carries what members say to each other until nobody says any more, without time passing."""
    t.queue.pumped = 0
    member = t.members[node]
    last, generation = member.last_index, member.generation
    t.queue.out = 0
    if member.role == LEADER:
        append(t, member, says, count, 0)
    write(t, member, last, generation)
    carry(t, node, here)
    head = 0
    while head < t.queue.pumped:
        for column in range(len(t.message)):
            t.message[column] = t.pump[head % len(t.pump), column]
        head += 1
        node = t.message[TARGET]
        member = t.members[node]
        last, generation = member.last_index, member.generation
        t.queue.out = 0
        if t.message[KIND] == SAY:
            on_written(t, member, t.letter)
        else:
            on_message(t, member, t.letter)
        write(t, member, last, generation)
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
