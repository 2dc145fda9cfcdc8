"""The host of the group: `hawb.engine.raft_host` for a whole network, where nobody is silent, no disk is lost and the
members stay the same."""

from __future__ import annotations

from hawb.raft.member import LEADER, NOWHERE
from hawb.raft.messages import APPEND_ENTRIES_RPC
from hawb.study.compiled import inner
from hawb.study.kernel.quorum_group import enter, take_committed
from hawb.study.kernel.quorum_state import (
    ASKS,
    COMMITTED,
    ELECTION_DUE,
    ENQUEUE,
    ENTRY_FIRST,
    ENTRY_LAST,
    FIFTH,
    FIRST,
    LEADER_ELECTED,
    LOG_CUT,
    MEMBERS_ABREAST,
    PROPOSED,
    PUT_COUNT,
    RAFT_ARRIVES,
    RAFT_WRITTEN,
    SECOND,
    SEND,
    SOURCE,
    TARGET,
    TERM_SENT,
    THIRD,
    TYPE,
    WRITE,
)
from hawb.study.kernel.quorum_view import hosted, hosts, latest_leader, level, note_hosts, refresh
from hawb.study.kernel.raft import append, begin_again, on_election_timeout, on_message, on_tick, on_written, write
from hawb.study.kernel.raft_log import has_entry, is_member
from hawb.study.kernel.raft_timers import arm, call_elections, misses_leader
from hawb.study.kernel.state import KIND, TIME, A, B, schedule, unschedule

# What happens at a member


@inner
def arrive(t, message):
    """A message reaches a member that runs."""
    node = message[A]
    if hosts(t, node):
        member = t.members[node]
        role, leader, last, generation = member.role, member.leader, member.last_index, member.generation
        t.queue.out = 0
        on_message(t, member, t.letter)
        finish(t, node, role, leader, last, generation)


@inner
def written(t, message):
    """A member's disk has done what it was asked for."""
    node = message[A]
    if hosts(t, node) and t.nodes[node].boots == message[B]:
        member = t.members[node]
        role, leader, last, generation = member.role, member.leader, member.last_index, member.generation
        t.queue.out = 0
        on_written(t, member, t.letter)
        finish(t, node, role, leader, last, generation)


@inner
def stand_for_election(t, node):
    """A member asks to be elected."""
    member = t.members[node]
    role, leader, last, generation = member.role, member.leader, member.last_index, member.generation
    t.queue.out = 0
    on_election_timeout(t, member)
    finish(t, node, role, leader, last, generation)


@inner
def election_due(t, node):
    """A member's timer is over: it asks for votes if it still misses a leader."""
    if hosts(t, node) and misses_leader(t, node):
        stand_for_election(t, node)


@inner
def command(t, node, proposal):
    """A leader takes what a client asks, a row of `waiting`, into its log."""
    member = t.members[node]
    role, leader, last, generation = member.role, member.leader, member.last_index, member.generation
    t.queue.out = 0
    if role == LEADER:
        count = max(1, proposal[PUT_COUNT]) if proposal[ASKS] == ENQUEUE else 1
        enter(t, proposal, last + 1, last + count, member.term)
        append(t, member, PROPOSED, count, 0)
    finish(t, node, role, leader, last, generation)


@inner
def tick(t, node):
    """A leader sends again."""
    member = t.members[node]
    role, leader, last, generation = member.role, member.leader, member.last_index, member.generation
    t.queue.out = 0
    on_tick(t, member)
    finish(t, node, role, leader, last, generation)


@inner
def finish(t, node, role, leader, last, generation):
    """What a member wants done after a step is done; before it the member was so."""
    member = t.members[node]
    write(t, member, last, generation)
    for k in range(t.queue.out):
        do(t, node, t.out[k])
    if not misses_leader(t, node):
        unschedule(t, ELECTION_DUE, node)
    if member.role == LEADER and role != LEADER:
        t.queue.holder = node
        schedule(t, t.setup.link_us, LEADER_ELECTED, node)
    stepped_down = role == LEADER and member.role != LEADER
    if (member.role != role or member.leader != leader) and not (stepped_down and t.queue.committed):
        refresh(t)
    if level(t):
        schedule(t, 0, MEMBERS_ABREAST)
    if stepped_down:
        call_elections(t)
    if member.generation != generation:
        schedule(t, 0, LOG_CUT)


@inner
def do(t, node, wanted):
    """One thing that a member wants done."""
    if wanted[KIND] == SEND:
        send(t, wanted)
    elif wanted[KIND] == WRITE:
        row = t.moment.agenda
        schedule(t, t.setup.fsync_us, RAFT_WRITTEN, node, t.nodes[node].boots)
        t.agenda[row, FIRST], t.agenda[row, SECOND] = wanted[FIRST], wanted[SECOND]
    elif wanted[KIND] == COMMITTED:
        take_committed(t, node, wanted[FIRST], wanted[SECOND])
    else:
        arm(t, node)


@inner
def send(t, message):
    """A message leaves, and overtakes none that was sent before over the same link."""
    delay_us = t.setup.link_us + transfer_us(t, message)
    for row in range(t.moment.agenda):
        planned = t.agenda[row]
        if planned[KIND] == RAFT_ARRIVES and planned[A] == message[TARGET] and planned[B] == message[SOURCE]:
            delay_us = max(delay_us, planned[TIME] - t.moment.now_us)
    row = t.moment.agenda
    schedule(t, delay_us, RAFT_ARRIVES, message[TARGET], message[SOURCE], message[TYPE], message[TERM_SENT])
    for column in range(FIRST, FIFTH + 1):
        t.agenda[row, column] = message[column]


@inner
def transfer_us(t, message):
    """How long the bodies of the messages in it take, which count as replicated."""
    if message[TYPE] != APPEND_ENTRIES_RPC or message[THIRD] == message[FIRST]:
        return 0
    count = 0
    for k in range(t.queue.entries):
        entry = t.entries[k]
        is_in_it = message[FIRST] < entry[ENTRY_LAST] and entry[ENTRY_FIRST] <= message[THIRD]
        if is_in_it and entry[ASKS] == ENQUEUE and has_entry(t, message[SOURCE], entry, message[FIRST]):
            count += min(entry[ENTRY_LAST], message[THIRD]) - max(entry[ENTRY_FIRST], message[FIRST] + 1) + 1
    sent_bytes = count * t.setup.size_bytes
    t.book.bytes_replicated += sent_bytes
    return sent_bytes * 1_000_000 // t.setup.network_bytes_per_s


# Nodes


@inner
def member_down(t):
    """A node is gone, noticed or not: nothing is committed with it any more."""
    note_hosts(t)
    refresh(t)
    level(t)


@inner
def stop_member(t, node):
    """A member's process ends, while its node runs on: the others notice at once."""
    t.queue.stopped |= 1 << node
    member_down(t)
    call_elections(t)


@inner
def member_up(t, node):
    """A node is up: its member begins with what is on its disk, leaders send what was missed, and who misses a leader
    gets ready."""
    t.queue.stopped &= ~(1 << node)
    note_hosts(t)
    if is_member(t, node):
        begin_again(t, t.members[node])
    schedule(t, 0, LOG_CUT)
    left = hosted(t)
    while left:
        leader = latest_leader(t, left)
        if leader == NOWHERE:
            break
        left &= ~(1 << leader)
        tick(t, leader)
    call_elections(t)
    refresh(t)
    level(t)
