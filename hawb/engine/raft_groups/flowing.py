"""Commands that flow to a leader that can commit, and changes of the metadata store: committed without time passing."""

from __future__ import annotations

from hawb.engine.core.turn import Turn
from hawb.engine.raft_groups.group import Group, Proposal
from hawb.engine.raft_groups.hosting import apply_up_to, commit, join_group, leave_group
from hawb.engine.raft_groups.leadership import ALL_NODES, latest_leader, level
from hawb.engine.raft_groups.ports import (
    METADATA,
    begin_member,
    count_replicated,
    enter,
    extend,
    member_of,
    note_abreast,
    offset_of,
    outbox,
    outputs,
    reached,
    record,
)
from hawb.raft.election import on_election_timeout
from hawb.raft.joining import may_change_members
from hawb.raft.member import FOLLOWER, LEADER, NOWHERE, Member, Peer
from hawb.raft.messages import COMMITTED, SEND, WRITE, AnyMessage, Write
from hawb.raft.ports import Out, bits_in, configured_at, members_of, peers_of
from hawb.raft.replication import append, end_step, on_written
from hawb.raft.server import on_message
from hawb.rules.quorum import majority

SHARED = True  # the kernel of studies compiles this module


def takes_flows(t: Turn, g: Group) -> bool:
    """Return True if a leader that can commit appends commands of clients with a rate at once.

    It does not while it transfers leadership, or while a change of members is uncommitted, after which it may not lead;
    nor if it has just stepped down, as a member of a later term answered.
    """
    node = latest_leader(t, g, ALL_NODES)
    if node == NOWHERE:
        return False
    leader = member_of(t, g, node)
    return leader.transferring_to == NOWHERE and configured_at(t, leader) <= leader.commit_index


def commit_at_once(t: Turn, g: Group, says: object, count: int, size_bytes: int) -> None:
    """Commit what flowed to a leader since the last event: `count` commands of a kind.

    By now every member that the leader reaches has them on disk.
    """
    leader = latest_leader(t, g, ALL_NODES)
    others = reached(t, g, leader) & members_of(t, member_of(t, g, leader)) & ~(1 << leader)
    count_replicated(t, g, bits_in(others) * count * size_bytes)
    if is_steady(t, g, leader, others):
        pass_on(t, g, leader, others, says, count)
        note_abreast(t, g, others | 1 << leader)
    else:
        pump(t, g, leader, others | 1 << leader, says, count)
        level(t, g)


def enter_at_once(t: Turn, g: Group, p: Proposal, count: int, size_bytes: int) -> None:
    """Commit messages of a flow whose channel has other proposals under way.

    They become a proposal of `count` messages, which is applied after the earlier ones (`rabbit_fifo_client`, sequence
    numbers).
    """
    leader = latest_leader(t, g, ALL_NODES)
    member, out = member_of(t, g, leader), outbox(t)
    others = reached(t, g, leader) & members_of(t, member) & ~(1 << leader)
    last, generation = member.last_index, member.generation
    count_replicated(t, g, bits_in(others) * count * size_bytes)
    enter(t, g, member, out, p)
    end_step(out, member, last, generation)
    carry_all(t, g, others | 1 << leader, out)
    level(t, g)


def is_steady(t: Turn, g: Group, node: int, others: int) -> bool:
    """Return True if a leader and all members that it reaches have the same log and commit index, and know it."""
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


def is_abreast(peer: Peer, member: Member, leads: Member) -> bool:
    """Return True if a member has written and committed the leader's whole log, and the leader knows it."""
    last = leads.last_index
    if peer.match_index != last or peer.commit_sent != last or peer.commit_index != last or member.asked:
        return False
    if member.last_index != last or member.last_term != leads.last_term or member.written != last:
        return False
    if member.commit_index != last or member.agreed != last or member.term != leads.term:
        return False
    return member.role == FOLLOWER and member.leader == leads.id


def pass_on(t: Turn, g: Group, node: int, others: int, says: object, count: int) -> None:
    """Apply the result of `pump` to members that are level."""
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


def pump(t: Turn, g: Group, node: int, here: int, says: object, count: int) -> None:
    """Exchange members' messages until none is left, without time passing, among the nodes `here`."""
    member, out = member_of(t, g, node), outbox(t)
    last, generation = member.last_index, member.generation
    append(out, member, says, count, offset_of(member, says))
    end_step(out, member, last, generation)
    carry_all(t, g, here, out)


def elect_at_once(t: Turn, g: Group, node: int) -> None:
    """Let a member stand for election, and elect it if it can win, without time passing."""
    member, out = member_of(t, g, node), outbox(t)
    last, generation = member.last_index, member.generation
    on_election_timeout(out, member)
    end_step(out, member, last, generation)
    carry_all(t, g, reached(t, g, node) | 1 << node, out)


def replace_member_of_store(t: Turn, g: Group, node: int) -> None:
    """Add a member on a new node to the metadata store's group; remove its old member first if it had one."""
    leader = record(t, g).master
    if members_of(t, member_of(t, g, leader)) >> node & 1:
        remove_member_of_store(t, g, leader, node)
    await_change_permitted(t, g, leader)
    begin_member(t, g, node, 0)
    join_group(t, g, leader, node)


def remove_member_of_store(t: Turn, g: Group, leader: int, node: int) -> None:
    """Remove a member from the metadata store's group."""
    await_change_permitted(t, g, leader)
    leave_group(t, g, leader, node)


def await_change_permitted(t: Turn, g: Group, leader: int) -> None:
    """Commit the last change of the metadata store's members before the next one, if the leader can commit.

    The command waits for it (`khepri_cluster:wait_for_cluster_change_permitted`).
    """
    if record(t, g).up and not may_change_members(outbox(t), member_of(t, g, leader)):
        commit_at_once(t, g, METADATA, 1, 0)


def carry_all(t: Turn, g: Group, here: int, out: Out) -> None:
    """Deliver members' outputs until none is left, among the nodes `here`."""
    k = 0
    while k < len(outputs(out)):
        output = outputs(out)[k]
        k += 1
        if output.effect == COMMITTED:
            commit(t, g, output)
        elif output.effect == WRITE or (output.effect == SEND and here >> output.target & 1):
            carry(t, g, out, output)


def carry(t: Turn, g: Group, out: Out, output: AnyMessage | Write) -> None:
    """Deliver a message, or complete a disk write."""
    member = member_of(t, g, output.target if output.effect == SEND else output.source)
    last, generation = member.last_index, member.generation
    if output.effect == SEND:
        on_message(out, member, output)
    else:
        on_written(out, member, output)
    end_step(out, member, last, generation)
