"""When members stand for election: `hawb.engine.raft_host`, for nodes of which none is silent."""

from __future__ import annotations

from hawb.engine import chance, raft_host
from hawb.raft.member import FOLLOWER, LEADER, NOWHERE
from hawb.study.compiled import inner
from hawb.study.draws import below
from hawb.study.kernel.quorum_state import ELECTION_DUE
from hawb.study.kernel.quorum_view import hosts
from hawb.study.kernel.raft import up_to_date
from hawb.study.kernel.raft_log import is_member
from hawb.study.kernel.state import KIND, A, schedule

ELECTION, LEAST_PATIENCE_US = chance.ELECTION, raft_host.LEAST_PATIENCE_US


@inner
def misses_leader(t, node):
    """Whether a member knows of no leader that runs."""
    if not is_member(t, node) or t.members[node].role == LEADER:
        return False
    leader = t.members[node].leader
    return leader == NOWHERE or t.members[leader].role != LEADER or not hosts(t, leader)


@inner
def call_elections(t):
    """Members that miss their leader get ready to be elected."""
    for node in range(t.setup.nodes):
        if hosts(t, node) and misses_leader(t, node):
            arm(t, node)


@inner
def arm(t, node):
    """Sets a member's election timer where a majority hears it."""
    member, electors = t.members[node], 0
    for other in range(t.setup.nodes):
        hears = is_member(t, other) and (other == node or hosts(t, other))
        if hears and (member.role == FOLLOWER or up_to_date(member, t.members[other])):
            electors += 1
    if electors < t.setup.majority:
        return
    for row in range(t.moment.agenda):
        if t.agenda[row, KIND] == ELECTION_DUE and t.agenda[row, A] == node:
            return
    schedule(t, patience_us(t, node), ELECTION_DUE, node)


@inner
def patience_us(t, node):
    """How long a member waits before it asks, by its place in the drawn order of those that run."""
    round_us = 4 * t.setup.link_us
    apart_us = max(t.setup.election_us, 2 * round_us)
    asked = t.members[node].role != FOLLOWER
    first_us = max(LEAST_PATIENCE_US, apart_us if asked else t.setup.election_us - round_us)
    return first_us + place(t, node) * apart_us


@inner
def place(t, node):
    """A member's place among those that run, in the order drawn for the latest term."""
    term = 0
    for other in range(t.setup.nodes):
        if is_member(t, other):
            term = max(term, t.members[other].term)
    if t.queue.drawn_for != term:
        draw_order(t, term)
    before = k = 0
    while t.drawn[k] != node:
        before += hosts(t, t.drawn[k])
        k += 1
    return before


@inner
def draw_order(t, term):
    """Writes the members into `drawn`, in the random order of a term: `hawb.engine.chance.shuffled`."""
    count, t.queue.drawn_for = 0, term
    for node in range(t.setup.nodes):
        if is_member(t, node):
            t.drawn[count] = node
            count += 1
    for i in range(count - 1, 0, -1):
        j = below(i + 1, t.setup.seed, ELECTION, t.queue.number, 16 * term + count - 1 - i)
        t.drawn[i], t.drawn[j] = t.drawn[j], t.drawn[i]
