"""When members stand for election.

Members that miss their leader do so one after the other, in an order drawn from the seed, so that the first has been
elected when `election_s` is over, unless another has a better log. One that could not win, since it does not reach a
majority, does not try before something has come back: its asking would change nothing.

Source: `ra_server_proc`, `aten`, `rabbit_quorum_queue`.
"""

from __future__ import annotations

from hawb.engine.raft_groups.leadership import hosts
from hawb.engine.raft_groups.ports import (
    ELECTION_DUE,
    ask_who_leads,
    drawn,
    has_given_up,
    hosted,
    is_held_back,
    is_member,
    is_planned,
    member_of,
    plan,
    reached,
)
from hawb.raft.election import up_to_date
from hawb.raft.member import FOLLOWER, LEADER, NOWHERE
from hawb.raft.ports import bits_in, members_of
from hawb.rules.quorum import majority

SHARED = True  # the kernel of studies compiles this module

LEAST_PATIENCE_US = 1_000
"""However short elections are made, a member that was not elected waits before it asks again."""


def call_elections(t, g):
    """Members that miss their leader get ready to be elected."""
    for node in range(t.setup.nodes):
        if hosts(t, g, node) and misses_leader(t, g, node):
            arm(t, g, node)


def misses_leader(t, g, node):
    """Whether a member knows of no leader that runs."""
    if not is_member(t, g, node) or member_of(t, g, node).role == LEADER:
        return False
    leader = member_of(t, g, node).leader
    if leader == NOWHERE or not is_member(t, g, leader) or member_of(t, g, leader).role != LEADER:
        return True
    return is_suspected(t, g, node, leader)


def is_suspected(t, g, node, other):
    """Whether a node takes another for dead."""
    if reached(t, g, node) >> other & 1:
        return False
    return has_given_up(t, node, other) or not (hosts(t, g, other) or t.nodes[other].silent)


def arm(t, g, node):
    """Sets a member's election timer where a majority hears it. Who was refused for its log, or is a stranger to a
    leader that has struck it off, asks in vain again, and a real one does so for ever: here it rests until somebody
    else is within reach, or that leader gives way."""
    member = member_of(t, g, node)
    group = members_of(t, member)
    if not group:
        ask_who_leads(t, g, member)
    electors = group & (reached(t, g, node) | 1 << node)
    if member.role != FOLLOWER:
        electors = those_who_hear(t, g, member, electors)
    if is_held_back(t, g, node):
        return
    if bits_in(electors) >= majority(bits_in(group)) and not is_planned(t, g, ELECTION_DUE, node):
        plan(t, g, patience_us(t, g, node), ELECTION_DUE, node)


def those_who_hear(t, g, candidate, electors):
    """Those of `electors` that would not turn down a candidate, or pass over it, in any case."""
    found = 0
    for node in range(t.setup.nodes):
        if electors >> node & 1:
            member = member_of(t, g, node)
            is_stranger = member.role == LEADER and not members_of(t, member) >> candidate.id & 1
            found |= int(not is_stranger and up_to_date(candidate, member)) << node
    return found


def patience_us(t, g, node):
    """How long a member waits before it asks: the first in the drawn order so long that after its two rounds of
    questions and answers `election_s` is over, each further one as much longer. Who has asked waits long enough for the
    answers, however slow the links are."""
    round_us = 4 * t.setup.link_us
    apart_us = max(t.setup.election_us, 2 * round_us)
    asked = member_of(t, g, node).role != FOLLOWER
    first_us = max(LEAST_PATIENCE_US, apart_us if asked else t.setup.election_us - round_us)
    return first_us + place(t, g, node) * apart_us


def place(t, g, node):
    """A member's place among those that run, in the order drawn for the latest term."""
    here, before = hosted(t, g), 0
    for other in drawn(t, g, latest_term(t, g)):
        if other == node:
            break
        before += here >> other & 1
    return before


def latest_term(t, g):
    """The latest term of any member."""
    term = 0
    for node in range(t.setup.nodes):
        if is_member(t, g, node):
            term = max(term, member_of(t, g, node).term)
    return term
