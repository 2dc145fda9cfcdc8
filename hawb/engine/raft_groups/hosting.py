"""Inputs to members of a group, and their outputs: the host delivers their messages and writes their logs.

This module and `elections` decide what `hawb.raft` leaves open:

- A message takes a link's latency and the transfer of the bodies that it carries, and overtakes no other. A cut link
  drops it; when a node or link is back leaders send again what was not answered (Ra does so at each tick, once a
  second).
- A member's log counts once it is on disk, one disk write after it was sent there.

Source: `ra_server_proc`, `rabbit_quorum_queue`.
"""

from __future__ import annotations

from hawb.engine.cluster.node_ports import linked
from hawb.engine.core.turn import Turn
from hawb.engine.raft_groups.elections import arm, call_elections, lacks_leader
from hawb.engine.raft_groups.group import GONE, Group, Proposal
from hawb.engine.raft_groups.leadership import hosts, latest_leader, level, refresh
from hawb.engine.raft_groups.ports import (
    ELECTION_DUE,
    LEADER_ELECTED,
    LOG_CUT,
    MEMBERS_ABREAST,
    await_handover,
    behind_us,
    crown,
    enter,
    hosted,
    is_committing,
    is_member,
    member_of,
    note_members,
    outbox,
    outputs,
    plan,
    plan_arrival,
    plan_write,
    retire,
    say_refused_by,
    start_anew,
    take_committed,
    transfer_us,
    unplan,
    waiting_of,
)
from hawb.raft.election import begin_again, on_election_timeout
from hawb.raft.member import LEADER, NOWHERE, Member
from hawb.raft.messages import COMMITTED, SEND, START_TIMER, WRITE, AnyMessage, Committed, Output, Written
from hawb.raft.ports import Out, configured_at
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
    """Report to a member that its disk has written what it asked for."""
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
    """Let a leader send again what was not answered."""
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
    note_members(t, g, member)
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
    """Act on one output of a member.

    Term and vote are written before anything is sent. The queue is one for all members, so a snapshot changes nothing
    in it.
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
    """Let leaders send what was missed, once a node or link is back.

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
