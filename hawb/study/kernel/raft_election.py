"""How a leader is chosen: `hawb.engine.raft_election`."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.quorum_state import (
    AGREED,
    ASKED,
    BASE_INDEX,
    BASE_TERM,
    CANDIDATE,
    COMMIT,
    COMMIT_HEARD,
    COMMIT_SENT,
    FIRST,
    FOLLOWER,
    LAST,
    LAST_TERM,
    LEADER,
    LEADING,
    MATCH,
    MOST_TERMS,
    NEXT,
    NOOP,
    NOWHERE,
    PRE_VOTE_ASKED,
    PRE_VOTE_TOLD,
    PRE_VOTING,
    RECEIVING,
    ROLE,
    SECOND,
    SOURCE,
    START_TIMER,
    TERM,
    TERM_SENT,
    VOTE_ASKED,
    VOTE_TOLD,
    VOTED_FOR,
    VOTES,
)
from hawb.study.kernel.raft_log import bits_in, is_member
from hawb.study.kernel.raft_messages import say, tell
from hawb.study.kernel.raft_replication import append, send_to

# Elections


@inner
def begin_term(t, node, term):
    """A follower in a newer term."""
    member = t.members[node]
    member[TERM], member[VOTED_FOR], member[ROLE], member[LEADER] = term, NOWHERE, FOLLOWER, NOWHERE
    member[VOTES], member[AGREED], member[ASKED] = 0, member[COMMIT], 0
    say(t, START_TIMER, node, 0, 0)


@inner
def ask_to_be_elected(t, node):
    """The time without a leader is over."""
    role = t.members[node, ROLE]
    if role == CANDIDATE:
        ask_for_votes(t, node)
    elif role != LEADING:
        member = t.members[node]
        member[ROLE], member[LEADER], member[VOTES], member[ASKED] = PRE_VOTING, NOWHERE, 1 << node, 0
        if t.setup.majority == 1:
            ask_for_votes(t, node)
        else:
            ask(t, node, PRE_VOTE_ASKED)


@inner
def ask_for_votes(t, node):
    """A new term, in which it votes for itself."""
    member = t.members[node]
    member[TERM] += 1
    member[VOTED_FOR], member[ROLE], member[LEADER], member[VOTES] = node, CANDIDATE, NOWHERE, 1 << node
    member[AGREED] = member[COMMIT]
    if t.setup.majority == 1:
        lead(t, node)
    else:
        ask(t, node, VOTE_ASKED)


@inner
def ask(t, node, question):
    """Asks all others."""
    member = t.members[node]
    for other in range(t.setup.nodes):
        if other != node and is_member(t, other):
            tell(t, question, node, other, member[LAST], member[LAST_TERM], 0, 0, 0)
    say(t, START_TIMER, node, 0, 0)


@inner
def lead(t, node):
    """Takes it that all have what it has, and appends the entry that commits what came before."""
    member = t.members[node]
    for other in range(t.setup.nodes):
        peer = t.peers[node, other]
        peer[NEXT], peer[MATCH], peer[COMMIT_SENT], peer[COMMIT_HEARD], peer[RECEIVING] = member[LAST] + 1, 0, 0, 0, 0
    member[ROLE], member[LEADER], member[VOTES] = LEADING, node, 0
    begun = t.terms[member[TERM] % MOST_TERMS]
    begun[0], begun[BASE_INDEX], begun[BASE_TERM] = member[TERM], member[LAST], member[LAST_TERM]
    append(t, node, NOOP, 1)


@inner
def up_to_date(t, node, index, term):
    """Whether a log that ends so is at least as up to date as a member's."""
    member = t.members[node]
    return term > member[LAST_TERM] or (term == member[LAST_TERM] and index >= member[LAST])


@inner
def is_elected(t, node):
    """Whether most members have granted it their votes."""
    return bits_in(t.members[node, VOTES]) >= t.setup.majority


@inner
def on_pre_vote(t, node, message):
    """Grants it to whose log is as up to date; a leader says that it is there."""
    member = t.members[node]
    if member[ROLE] == LEADING:
        for other in range(t.setup.nodes):
            if other != node and is_member(t, other) and not t.peers[node, other, RECEIVING]:
                send_to(t, node, other)
        return
    same = message[TERM_SENT] == member[TERM]
    granted = same and up_to_date(t, node, message[FIRST], message[SECOND])
    if same and not granted and member[ROLE] == FOLLOWER:
        say(t, START_TIMER, node, 0, 0)
    else:
        tell(t, PRE_VOTE_TOLD, node, message[SOURCE], int(granted), 0, 0, 0, 0)


@inner
def on_vote_asked(t, node, message):
    """Votes once in a term, and only for whose log is as up to date."""
    member = t.members[node]
    granted = message[TERM_SENT] == member[TERM] and member[VOTED_FOR] in (NOWHERE, message[SOURCE])
    granted = granted and up_to_date(t, node, message[FIRST], message[SECOND])
    tell(t, VOTE_TOLD, node, message[SOURCE], int(granted), 0, 0, 0, 0)
    if granted:
        member[VOTED_FOR], member[ROLE] = message[SOURCE], FOLLOWER


@inner
def on_told(t, node, message, role):
    """Somebody has answered to who asked in a role."""
    member = t.members[node]
    if member[ROLE] == role and message[TERM_SENT] >= member[TERM] and message[FIRST]:
        member[VOTES] |= 1 << message[SOURCE]
        if is_elected(t, node):
            if role == CANDIDATE:
                lead(t, node)
            else:
                ask_for_votes(t, node)
