"""What flows to a leader that can commit, and is committed without time passing."""

from __future__ import annotations

from hawb.engine.quorum.hosting import apply_up_to, commit, end_step
from hawb.engine.quorum.leadership import EVERYBODY, latest_leader, level
from hawb.engine.quorum.ports import (
    COMMITTED,
    SEND,
    WRITE,
    count_replicated,
    drop_in,
    extend,
    is_written,
    kind_of,
    letter_of,
    member_of,
    next_of,
    note_abreast,
    offset_of,
    outbox,
    postbag,
    reached,
    target_of,
    wishes,
)
from hawb.raft.member import FOLLOWER, LEADER, NOWHERE
from hawb.raft.ports import bits_in, members_of, peers_of
from hawb.raft.replication import append, on_written
from hawb.raft.server import on_message
from hawb.rules.quorum import majority


def commit_at_once(t, g, says, count, size_bytes):
    """A leader that can commit takes in what flowed to it since the last event: `count` commands of a kind, which by
    now every member that it reaches has on disk."""
    leader = latest_leader(t, g, EVERYBODY)
    others = reached(t, g, leader) & members_of(t, member_of(t, g, leader)) & ~(1 << leader)
    count_replicated(t, g, bits_in(others) * count * size_bytes)
    if is_steady(t, g, leader, others):
        pass_on(t, g, leader, others, says, count)
        note_abreast(t, g, others | 1 << leader)
    else:
        pump(t, g, leader, others | 1 << leader, says, count)
        level(t, g)


def is_steady(t, g, node, others):
    """Whether a leader and all that it reaches are abreast of each other, so that nothing else is on its way."""
    leads = member_of(t, g, node)
    last, group = leads.last_index, members_of(t, leads)
    if leads.commit_index != last or leads.written != last or g.applied != last or leads.role != LEADER:
        return False
    if bits_in(others) + (group >> node & 1) < majority(bits_in(group)):
        return False
    for peer in peers_of(t, leads):
        is_next = peer.next_index == last + 1
        if others >> peer.id & 1:
            if peer.receiving or not is_next or not is_abreast(peer, member_of(t, g, peer.id), leads):
                return False
        elif not peer.receiving and not is_next:
            return False
    return True


def is_abreast(peer, member, leads):
    """Whether a member has all that its leader has, on disk and committed, and the leader knows it."""
    last = leads.last_index
    if peer.match_index != last or peer.commit_sent != last or peer.commit_index != last or member.asked:
        return False
    if member.last_index != last or member.last_term != leads.last_term or member.written != last:
        return False
    if member.commit_index != last or member.agreed != last or member.term != leads.term:
        return False
    return member.role == FOLLOWER and member.leader == leads.id


def pass_on(t, g, node, others, says, count):
    """What `pump` comes to then."""
    leads = member_of(t, g, node)
    extend(t, leads, leads, says, count)
    last = leads.last_index
    for peer in peers_of(t, leads):
        if not peer.receiving:
            peer.next_index, peer.commit_sent = last + 1, last
        if others >> peer.id & 1:
            member = member_of(t, g, peer.id)
            peer.match_index = peer.commit_index = last
            extend(t, member, leads, says, count)
            member.agreed = last
    apply_up_to(t, g, last)


def pump(t, g, node, here, says, count):
    """Carries what members say to each other until nobody says any more, without time passing."""
    member, out, post = member_of(t, g, node), outbox(t), postbag(t)
    last, generation = member.last_index, member.generation
    append(out, member, says, count, offset_of(member, says))
    end_step(out, member, last, generation)
    carry(t, g, member, here, out, post)
    node = next_of(post)
    while node != NOWHERE:
        member, out = member_of(t, g, node), outbox(t)
        last, generation = member.last_index, member.generation
        if is_written(post):
            on_written(out, member, letter_of(post))
        else:
            on_message(out, member, letter_of(post))
        end_step(out, member, last, generation)
        carry(t, g, member, here, out, post)
        node = next_of(post)


def carry(t, g, member, here, out, post):
    """What a member wants done is done without time passing, as far as those hear who are here."""
    for wish in wishes(out):
        kind = kind_of(wish)
        if kind == COMMITTED:
            commit(t, g, member, wish)
        elif kind == WRITE or (kind == SEND and here >> target_of(wish) & 1):
            drop_in(post, member.id, wish)
