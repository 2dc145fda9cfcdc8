"""Members without a leader stand for election.

They do so one after the other, in an order drawn from the seed, so that the first one is elected when `election_s` is
over, unless another member has a better log. A member that does not reach a majority cannot win, and does not try
before a node or link has come back: its requests would change nothing.

Source: `ra_server_proc`, `aten`, `rabbit_quorum_queue`.
"""

from __future__ import annotations

from hawb.engine.cluster.node_ports import linked
from hawb.engine.core.turn import Turn
from hawb.engine.raft_groups.group import Group
from hawb.engine.raft_groups.leadership import ALL_NODES, hosts, latest_leader
from hawb.engine.raft_groups.ports import (
    ELECTION_DUE,
    behind_us,
    drawn,
    has_given_up,
    hosted,
    is_member,
    is_planned,
    lacks_coordinator,
    member_of,
    plan,
    plan_question,
    reached,
)
from hawb.raft.election import up_to_date
from hawb.raft.member import FOLLOWER, LEADER, NOWHERE, Member
from hawb.raft.ports import bits_in, members_of
from hawb.rules.quorum import majority

SHARED = True  # the kernel of studies compiles this module

LEAST_PATIENCE_US = 1_000
"""The least time before a member that was not elected asks again, however short elections are."""


def call_elections(t: Turn, g: Group) -> None:
    """Set the election timer of each member without a leader."""
    for node in range(t.setup.nodes):
        if hosts(t, g, node) and lacks_leader(t, g, node):
            arm(t, g, node)


def lacks_leader(t: Turn, g: Group, node: int) -> bool:
    """Return True if a member knows of no running leader."""
    if not is_member(t, g, node) or member_of(t, g, node).role == LEADER:
        return False
    leader = member_of(t, g, node).leader
    if leader == NOWHERE or not is_member(t, g, leader) or member_of(t, g, leader).role != LEADER:
        return True
    return is_suspected(t, g, node, leader)


def is_suspected(t: Turn, g: Group, node: int, other: int) -> bool:
    """Return True if a node sees another one as down."""
    if reached(t, g, node) >> other & 1:
        return False
    return has_given_up(t, node, other) or not (hosts(t, g, other) or t.nodes[other].silent)


def arm(t: Turn, g: Group, node: int) -> None:
    """Set a member's election timer if it reaches a majority that may vote for it.

    A member that was refused because of its log, or that a leader has removed, asks again for ever in RabbitMQ. In hawb
    it rests until another member is in reach, or that leader steps down.
    """
    member = member_of(t, g, node)
    group = members_of(t, member)
    if not group:
        ask_who_leads(t, g, member)
    electors = group & (reached(t, g, node) | 1 << node)
    if member.role != FOLLOWER:
        electors = possible_voters(t, g, member, electors)
    if lacks_coordinator(t, g, node):
        return
    if bits_in(electors) >= majority(bits_in(group)) and not is_planned(t, g, ELECTION_DUE, node):
        plan(t, g, patience_us(t, g, node), ELECTION_DUE, node)


def ask_who_leads(t: Turn, g: Group, member: Member) -> None:
    """Let a member that has lost its disk ask for votes, as every member does that starts without a leader.

    It cannot be elected, but the leader answers it: the leader sends nothing else to a member whose log it counts as
    complete.
    """
    left = ALL_NODES
    leader = latest_leader(t, g, left)
    while leader != NOWHERE:
        if linked(t, member.id, leader):
            plan_question(t, g, member, leader, max(t.setup.link_us, behind_us(t, g, member.id, leader)))
        left &= ~(1 << leader)
        leader = latest_leader(t, g, left)


def possible_voters(t: Turn, g: Group, candidate: Member, electors: int) -> int:
    """Return the `electors`, as bits, that may vote for a candidate: they do not ignore it, and need not refuse it."""
    found = 0
    for node in range(t.setup.nodes):
        if electors >> node & 1:
            member = member_of(t, g, node)
            is_outsider = member.role == LEADER and not members_of(t, member) >> candidate.id & 1
            found |= int(not is_outsider and up_to_date(candidate, member)) << node
    return found


def patience_us(t: Turn, g: Group, node: int) -> int:
    """Return how long a member waits before it asks for votes, in microseconds.

    The first member in the drawn order waits so long that its two rounds of requests and replies end when `election_s`
    is over, and each further one as much longer. A member that has asked waits long enough for replies over slow links.
    """
    round_us = 4 * t.setup.link_us
    apart_us = max(t.setup.election_us, 2 * round_us)
    asked = member_of(t, g, node).role != FOLLOWER
    first_us = max(LEAST_PATIENCE_US, apart_us if asked else t.setup.election_us - round_us)
    return first_us + place(t, g, node) * apart_us


def place(t: Turn, g: Group, node: int) -> int:
    """Return a member's place among the running ones, in the order drawn for the latest term."""
    here, before = hosted(t, g), 0
    for other in drawn(t, g, latest_term(t, g)):
        if other == node:
            break
        before += here >> other & 1
    return before


def latest_term(t: Turn, g: Group) -> int:
    """Return the latest term of any member."""
    term = 0
    for node in range(t.setup.nodes):
        if is_member(t, g, node):
            term = max(term, member_of(t, g, node).term)
    return term
