"""Inputs to members of a group, and their outputs: the host delivers their messages and writes their logs.

This module and `elections` decide what `hawb.raft` leaves open:

- A message takes a link's latency and the transfer of the bodies that it carries, and overtakes no other. A cut link
  drops it; when a node or link is back leaders send again what was not answered (Ra does so at each tick, once a
  second).
- A member's log counts once it is on disk, one disk write after it was sent there.

Source: `ra_server_proc`, `rabbit_quorum_queue`.
"""

from __future__ import annotations

from hawb.engine.cluster.node_ports import linked, runs_anywhere
from hawb.engine.core.turn import Turn
from hawb.engine.raft_groups.elections import arm, call_elections, lacks_leader
from hawb.engine.raft_groups.group import GONE, Group, Proposal
from hawb.engine.raft_groups.leadership import ALL_NODES, hosts, latest_leader, level, refresh
from hawb.engine.raft_groups.ports import (
    ELECTION_DUE,
    LEADER_ELECTED,
    LOG_CUT,
    MEMBERS_ABREAST,
    await_handover,
    begin_member,
    behind_us,
    crown,
    drop_member,
    enter,
    has_changed,
    hosted,
    is_committing,
    is_member,
    member_of,
    note_members,
    outbox,
    outputs,
    plan,
    plan_arrival,
    plan_removal,
    plan_write,
    record,
    recorded,
    say_not_changed,
    say_refused_by,
    take_committed,
    transfer_us,
    unplan,
    waiting_of,
)
from hawb.raft.election import begin_again, on_election_timeout
from hawb.raft.joining import join, leave
from hawb.raft.member import LEADER, NOWHERE, Member
from hawb.raft.messages import COMMITTED, SEND, START_TIMER, WRITE, AnyMessage, Committed, Output, Written
from hawb.raft.ports import Out, bits_in, configured_at, members_of
from hawb.raft.replication import end_step, on_tick, on_written
from hawb.raft.server import on_message

SHARED = True  # the kernel of studies compiles this module

BeforeStep = tuple[int, int, int, int, int, int]
"""A member before a step: its role, leader, last index, generation, the index of its configuration, and the member to
which it hands over."""

# Inputs of a member


def message_arrives(t: Turn, g: Group, node: int, message: AnyMessage) -> None:
    """Pass a message to a running member."""
    member, out = member_of(t, g, node), outbox(t)
    before = as_it_is(t, member)
    on_message(out, member, message)
    finish(t, g, member, out, before)


def written(t: Turn, g: Group, node: int, event: Written) -> None:
    """Report to a member that a write to its disk is complete."""
    member, out = member_of(t, g, node), outbox(t)
    before = as_it_is(t, member)
    on_written(out, member, event)
    finish(t, g, member, out, before)


def stand_for_election(t: Turn, g: Group, node: int) -> None:
    """Let a member stand for election."""
    member, out = member_of(t, g, node), outbox(t)
    before = as_it_is(t, member)
    on_election_timeout(out, member)
    finish(t, g, member, out, before)


def election_due(t: Turn, g: Group, node: int) -> None:
    """Let a member whose election timer fires ask for votes, if it still has no leader."""
    if hosts(t, g, node) and lacks_leader(t, g, node):
        stand_for_election(t, g, node)


def command(t: Turn, g: Group, node: int, proposal: Proposal) -> None:
    """Append a client's proposal to the leader's log."""
    member, out = member_of(t, g, node), outbox(t)
    before = as_it_is(t, member)
    enter(t, g, member, out, proposal)
    finish(t, g, member, out, before)


def tick(t: Turn, g: Group, node: int) -> None:
    """Let a leader send the unanswered messages to its followers again."""
    member, out = member_of(t, g, node), outbox(t)
    before = as_it_is(t, member)
    on_tick(out, member)
    finish(t, g, member, out, before)


# Outputs of a member


def as_it_is(t: Turn, member: Member) -> BeforeStep:
    """Return the fields that a step may change and that the host compares afterwards."""
    to = member.transferring_to
    return member.role, member.leader, member.last_index, member.generation, configured_at(t, member), to


def finish(t: Turn, g: Group, member: Member, out: Out, before: BeforeStep) -> None:
    """Act on a member's outputs after a step; `before` is what `as_it_is` returned before it."""
    role, leader, last, generation, configured, transferring_to = before
    node = member.id
    end_step(out, member, last, generation)
    for output in outputs(out):
        do(t, g, output)
    retired = retire(t, g)
    if retired:
        plan(t, g, 0, LOG_CUT, node)
        call_elections(t, g)
    if not lacks_leader(t, g, node):
        unplan(t, g, ELECTION_DUE, node)
    if member.role == LEADER and role != LEADER:
        crown(t, g, member)
        plan(t, g, t.setup.link_us, LEADER_ELECTED, node)
    members, known = members_of(t, member), recorded(t, g)
    if known and members != known and latest_leader(t, g, ALL_NODES) == node:
        note_members(t, g, members)
    steps_down = role == LEADER and member.role != LEADER
    changed = member.role != role or member.leader != leader or configured_at(t, member) != configured
    # A leader that has left the group still sends out what it has committed; once that is done the queue looks again.
    if (changed or retired) and not (steps_down and is_committing(t, g)):
        refresh(t, g)
    if level(t, g):
        plan(t, g, 0, MEMBERS_ABREAST, node)
    if steps_down:
        call_elections(t, g)
    if member.generation != generation:
        plan(t, g, 0, LOG_CUT, node)
    if member.transferring_to != NOWHERE and transferring_to == NOWHERE:
        await_handover(t, g, node)


def do(t: Turn, g: Group, output: Output) -> None:
    """Carry out one output of a member.

    Term and vote are written before anything is sent. All members share one simulated queue, so a snapshot does not
    change it.
    """
    if output.effect == SEND:
        send(t, g, output)
    elif output.effect == WRITE:
        plan_write(t, g, output)
    elif output.effect == START_TIMER:
        arm(t, g, output.source)
    elif output.effect == COMMITTED:
        commit(t, g, output)
    else:
        say_refused_by(t, output)


def send(t: Turn, g: Group, message: AnyMessage) -> None:
    """Send a message, which overtakes none that was sent before over the same link."""
    if linked(t, message.source, message.target):
        delay_us = t.setup.link_us + transfer_us(t, g, message)
        plan_arrival(t, g, message, max(delay_us, behind_us(t, g, message.source, message.target)))


def commit(t: Turn, g: Group, output: Committed) -> None:
    """Apply entries to the queue that no member has committed before."""
    last = take_committed(t, g, output)
    if last > g.applied:
        apply_up_to(t, g, last)


def apply_up_to(t: Turn, g: Group, index: int) -> None:
    """Mark entries up to `index` as applied. Different entries at those indices in other logs are dropped."""
    g.applied = index
    for p in waiting_of(t, g):
        if p.node == GONE:
            plan(t, g, 0, LOG_CUT, NOWHERE)
            break


# Members start and stop


def member_up(t: Turn, g: Group, node: int) -> None:
    """Start a member from its disk.

    Leaders send what it missed, and members without a leader set their election timers.
    """
    g.stopped &= ~(1 << node)
    if is_member(t, g, node):
        begin_again(t, member_of(t, g, node))
    else:
        start_anew(t, g, node)
    plan(t, g, 0, LOG_CUT, node)
    look_around(t, g)


def look_around(t: Turn, g: Group) -> None:
    """Let leaders send the entries that members have missed, once a node or link is back.

    Members without a leader set their election timers.
    """
    left = hosted(t, g)
    leader = latest_leader(t, g, left)
    while leader != NOWHERE:
        tick(t, g, leader)
        left &= ~(1 << leader)
        leader = latest_leader(t, g, left)
    call_elections(t, g)
    refresh(t, g)
    level(t, g)


def member_down(t: Turn, g: Group) -> None:
    """Update a group after a node went down, noticed or not: nothing is committed with its member any more."""
    refresh(t, g)
    level(t, g)


def stop_member(t: Turn, g: Group, node: int) -> None:
    """Stop a member's process while its node keeps running: the other members notice at once."""
    g.stopped |= 1 << node
    member_down(t, g)
    call_elections(t, g)


# Members come and go


def start_anew(t: Turn, g: Group, node: int) -> None:
    """Start a member whose disk was lost.

    If no member has anything left, it starts the group anew (`rabbit_quorum_queue:recover`; a real one starts with the
    record's members in any case). A member that the record lacks is not started, though other members may not know of
    its removal.
    """
    members, known = recorded(t, g), 0
    for other in range(t.setup.nodes):
        if is_member(t, g, other):
            known |= members_of(t, member_of(t, g, other))
    if members >> node & 1 and known >> node & 1:
        begin_member(t, g, node, 0)
    elif members >> node & 1 and not known:
        begin_member(t, g, node, members)


def lose_member(t: Turn, g: Group, node: int) -> None:
    """Remove a member's log from its node's disk."""
    drop_member(t, g, node)
    plan(t, g, 0, LOG_CUT, node)
    refresh(t, g)
    level(t, g)


def add_member(t: Turn, g: Group, leader: int, node: int) -> None:
    """Let a leader add a member on a node, whose log is empty.

    A member that a drain had stopped is gone since its removal; the new one starts on the drained node.
    """
    if not is_member(t, g, node) or g.stopped >> node & 1:
        begin_member(t, g, node, 0)
        g.stopped &= ~(1 << node)
    join_group(t, g, leader, node)


def join_group(t: Turn, g: Group, leader: int, node: int) -> None:
    """Append to a leader's log that a member joins, unless the leader refuses that."""
    member, out = member_of(t, g, leader), outbox(t)
    before = as_it_is(t, member)
    say_not_changed(t, join(out, member, node))
    finish(t, g, member, out, before)


def leave_group(t: Turn, g: Group, leader: int, node: int) -> None:
    """Append to a leader's log that a member leaves, unless the leader refuses that."""
    member, out = member_of(t, g, leader), outbox(t)
    before = as_it_is(t, member)
    say_not_changed(t, leave(out, member, node))
    finish(t, g, member, out, before)


def remove_member(t: Turn, g: Group, leader: int, node: int) -> None:
    """Append the removal of a member to the leader's log, where it counts at once.

    Source: `ra:remove_member`, after_log_append.
    """
    leave_group(t, g, leader, node)
    if node != leader and not members_of(t, member_of(t, g, leader)) >> node & 1:
        plan_removal(t, g, leader, node)


def remove_member_of_forgotten(t: Turn, g: Group, node: int) -> None:
    """Remove the member on a node that the cluster forgets, if there is a leader and another member."""
    leader = record(t, g).master
    if leader != NOWHERE and bits_in(recorded(t, g)) > 1:
        remove_member(t, g, leader, node)


def removal_written(t: Turn, g: Group, leader: int, removed: int) -> None:
    """Delete a removed member with its disk, whether or not its removal is committed (`ra:force_delete_server`).

    The leader has to reach its node. The deletion follows a transaction on the queue's record, by the end of which the
    leader has written the removal; if the leader goes down before, the member is still there when it comes back. A
    leader that removes itself stays until that is committed; a real one is deleted as soon as the other members have
    been sent its entries.
    """
    if hosts(t, g, leader):
        member = member_of(t, g, leader)
        has_left = is_member(t, g, removed) and not members_of(t, member) >> removed & 1
        is_reached = linked(t, leader, removed) or not runs_anywhere(t, removed)
        if has_left and is_reached and configured_at(t, member) <= member.written:
            lose_member(t, g, removed)


def retire(t: Turn, g: Group) -> bool:
    """Delete members that have left the group for good; return True if there were any.

    A member on a node that is down is not started again (`rabbit_quorum_queue:delete_member`,
    `rabbit_amqqueue:find_recoverable_queues`).
    """
    if not has_changed(t, g):
        return False
    latest = latest_configured(t, g)
    retired = False
    if configured_at(t, latest) <= latest.commit_index:
        for node in range(t.setup.nodes):
            if is_member(t, g, node) and not members_of(t, latest) >> node & 1:
                drop_member(t, g, node)
                retired = True
    return retired


def latest_configured(t: Turn, g: Group) -> Member:
    """Return the member that has committed most; among equals, one with the latest change of the members."""
    found = NOWHERE
    for node in range(t.setup.nodes):
        if is_member(t, g, node) and (found == NOWHERE or is_configured_later(t, g, node, found)):
            found = node
    return member_of(t, g, found)


def is_configured_later(t: Turn, g: Group, node: int, other: int) -> bool:
    """Return True if a member has committed more than another or, if as much, has a later change of the members.

    A member that knows of no group has committed nothing, and comes last.
    """
    member, than = member_of(t, g, node), member_of(t, g, other)
    if not members_of(t, than) or not members_of(t, member):
        return members_of(t, member) > members_of(t, than)
    if member.commit_index != than.commit_index:
        return member.commit_index > than.commit_index
    return configured_at(t, member) > configured_at(t, than)
