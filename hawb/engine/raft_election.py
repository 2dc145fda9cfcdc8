"""How a Raft group chooses a leader: pre-vote, vote, and a leader that hands over.

As Ra does it (`ra_server`), and as the Raft paper says (section 5.2, 5.4.1; pre-vote: Ongaro's thesis, 9.6). Where Ra
has changed its mind the later way is taken: a pre-vote is no vote, and a candidate answers pre-votes too. Votes are
counted by who gave them, so one that arrives twice counts once; Ra, on links that lose and double nothing, counts
answers and tells rounds apart by a token.

Source: `ra_server` (`handle_follower`, `handle_pre_vote`, `handle_candidate`); the Raft paper, 5.2 and 5.4.1.
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine.raft_log import NOOP, Log
from hawb.engine.raft_member import (
    CANDIDATE,
    FOLLOWER,
    LEADER,
    PRE_VOTE,
    START_ELECTION_TIMER,
    Member,
    Peer,
    is_gone,
)
from hawb.engine.raft_messages import (
    ElectionTimeout,
    PreVote,
    PreVoteResult,
    RequestVote,
    RequestVoteResult,
    TryBecomeLeader,
)
from hawb.engine.raft_replication import append, enforce_leadership
from hawb.rules.quorum import majority


def on_election_timeout(member: Member, _: ElectionTimeout, out: list) -> Member:
    """Asks whether it would be elected; one that was already told so and then not elected goes straight for the next
    term. Who has left the group, or leads it, does nothing."""
    if member.role == LEADER or is_gone(member):
        return member
    return _ask_for_votes(member, out) if member.role == CANDIDATE else _ask_for_pre_votes(member, out)


def on_try_become_leader(member: Member, message: TryBecomeLeader, out: list) -> Member:
    """Does as if the leader were gone."""
    if message.term < member.term or member.role != FOLLOWER:
        return member
    return on_election_timeout(member, ElectionTimeout(), out)


def on_pre_vote(member: Member, message: PreVote, out: list) -> Member:
    """Grants it to whose log is as up to date as its own. A leader says instead that it is there; a follower with
    a better log says nothing and prepares to be elected itself."""
    if member.role == LEADER and member.transferring_to is None:
        return enforce_leadership(member, out)
    granted = message.term == member.term and up_to_date(message, member.log)
    if not granted and message.term == member.term and member.role == FOLLOWER:
        out.append(START_ELECTION_TIMER)
    else:
        out.append(PreVoteResult(member.id, message.source, member.term, granted))
    return member


def on_pre_vote_result(member: Member, message: PreVoteResult, out: list) -> Member:
    """With a majority, the election itself."""
    if member.role != PRE_VOTE or message.term < member.term or not message.granted:
        return member
    member = replace(member, votes=member.votes | {message.source})
    return _ask_for_votes(member, out) if has_majority(member) else member


def on_request_vote(member: Member, message: RequestVote, out: list) -> Member:
    """Votes once in a term, and only for whose log is as up to date as its own."""
    granted = message.term == member.term and may_vote(member, message.source) and up_to_date(message, member.log)
    out.append(RequestVoteResult(member.id, message.source, member.term, granted))
    return replace(member, voted_for=message.source, role=FOLLOWER) if granted else member


def on_request_vote_result(member: Member, message: RequestVoteResult, out: list) -> Member:
    """With a majority, it leads."""
    if member.role != CANDIDATE or message.term < member.term or not message.granted:
        return member
    member = replace(member, votes=member.votes | {message.source})
    return _lead(member, out) if has_majority(member) else member


def may_vote(member: Member, candidate: int) -> bool:
    """Whether its vote of this term is not another's."""
    return member.voted_for is None or member.voted_for == candidate


def up_to_date(asking: PreVote | RequestVote, log: Log) -> bool:
    """Whether a candidate's log is at least as up to date: a later last term, or the same and at least as long."""
    return (asking.last_term, asking.last_index) >= (log.last_term, log.last_index)


def has_majority(member: Member) -> bool:
    """Whether most members have granted it their votes, its own among them if it is a member."""
    return len(member.votes.intersection(member.members)) >= majority(len(member.members))


def _ask_for_pre_votes(member: Member, out: list) -> Member:
    member = replace(member, role=PRE_VOTE, leader=None, votes=frozenset((member.id,)), asked=0)
    if has_majority(member):
        return _ask_for_votes(member, out)
    return _ask(PreVote, member, out)


def _ask_for_votes(member: Member, out: list) -> Member:
    member = replace(
        member,
        term=member.term + 1,
        voted_for=member.id,
        role=CANDIDATE,
        leader=None,
        votes=frozenset((member.id,)),
        agreed=member.commit_index,
    )
    if has_majority(member):
        return _lead(member, out)
    return _ask(RequestVote, member, out)


def _ask(question: type[PreVote | RequestVote], member: Member, out: list) -> Member:
    last_index, last_term = member.log.last_index, member.log.last_term
    others = (other for other in member.members if other != member.id)
    out.extend(question(member.id, other, member.term, last_index, last_term) for other in others)
    out.append(START_ELECTION_TIMER)
    return member


def _lead(member: Member, out: list) -> Member:
    """Takes it that all have what it has, and appends the entry that commits what came before."""
    next_index = member.log.last_index + 1
    peers = tuple(Peer(other, next_index) for other in member.members if other != member.id)
    member = replace(member, role=LEADER, leader=member.id, votes=frozenset(), peers=peers)
    return append(member, NOOP, out)
