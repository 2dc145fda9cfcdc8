"""Elections of a Raft group: pre-vote, vote, and leadership transfer.

It follows Ra (`ra_server`) and the Raft paper (section 5.2, 5.4.1; pre-vote: Ongaro's thesis, 9.6). Where Ra's releases
differ the later way is taken: a pre-vote is no vote, and a candidate answers pre-votes too. Votes are counted by their
voters, so one that arrives twice counts once; Ra, on links that lose and duplicate nothing, counts answers and
distinguishes rounds by a token.

Source: `ra_server` (`handle_follower`, `handle_pre_vote`, `handle_candidate`); the Raft paper, 5.2 and 5.4.1.
"""

from __future__ import annotations

from hawb.raft.log import NOOP
from hawb.raft.member import CANDIDATE, FOLLOWER, LEADER, NOWHERE, PRE_VOTE, Member
from hawb.raft.messages import (
    PRE_VOTE_RESULT,
    PRE_VOTE_RPC,
    REQUEST_VOTE_RESULT,
    REQUEST_VOTE_RPC,
    PreVote,
    PreVoteResult,
    RequestVote,
    RequestVoteResult,
    TryBecomeLeader,
)
from hawb.raft.ports import (
    Out,
    bits_in,
    forget_peers,
    lose_unwritten,
    members_of,
    send_message,
    start_election_timer,
    start_peers,
)
from hawb.raft.replication import append, enforce_leadership, is_gone
from hawb.rules.quorum import majority

SHARED = True  # the kernel of studies compiles this module


def begin_term(t: Out, member: Member, term: int) -> None:
    """Make a member a follower in a newer term, without a vote and a known leader."""
    member.term, member.voted_for, member.role, member.leader = term, NOWHERE, FOLLOWER, NOWHERE
    member.votes, member.agreed, member.asked, member.transferring_to = 0, member.commit_index, 0, NOWHERE
    start_election_timer(t, member)


def begin_again(t: object, member: Member) -> None:
    """Restart a member after a crash: what was not on disk is lost.

    The state machine starts from the log's snapshot and receives all that is committed again (Ra stores last_applied
    too, which only saves time).
    """
    lose_unwritten(t, member)
    member.role, member.leader, member.votes, member.asked, member.transferring_to = FOLLOWER, NOWHERE, 0, 0, NOWHERE
    member.commit_index = member.agreed = member.snapshot_index
    forget_peers(t, member)


def on_election_timeout(t: Out, member: Member) -> None:
    """Ask for pre-votes; a candidate that was not elected starts an election in the next term at once.

    A member that has left the group, or leads it, does nothing.
    """
    if member.role == LEADER or is_gone(t, member):
        return
    if member.role == CANDIDATE:
        ask_for_votes(t, member)
    else:
        ask_for_pre_votes(t, member)


def on_try_become_leader(t: Out, member: Member, message: TryBecomeLeader) -> None:
    """Start an election, as if the leader were gone."""
    if message.term >= member.term and member.role == FOLLOWER:
        on_election_timeout(t, member)


def on_pre_vote(t: Out, member: Member, message: PreVote) -> None:
    """Grant a pre-vote to a candidate whose log is at least as up to date as the member's own.

    A leader answers by reporting that it leads. A follower with a better log does not answer and sets its election
    timer.
    """
    if member.role == LEADER and member.transferring_to == NOWHERE:
        enforce_leadership(t, member)
        return
    granted = message.term == member.term and up_to_date(message, member)
    if not granted and message.term == member.term and member.role == FOLLOWER:
        start_election_timer(t, member)
    else:
        send_message(t, PRE_VOTE_RESULT, member, message.source, granted)


def on_pre_vote_result(t: Out, member: Member, message: PreVoteResult) -> None:
    """Count a pre-vote; with a majority, start the election itself."""
    if member.role == PRE_VOTE and message.term >= member.term and message.granted:
        member.votes |= 1 << message.source
        if has_majority(t, member):
            ask_for_votes(t, member)


def on_request_vote(t: Out, member: Member, message: RequestVote) -> None:
    """Vote once in a term, and only for a candidate whose log is at least as up to date as the member's own."""
    granted = message.term == member.term and may_vote(member, message.source) and up_to_date(message, member)
    send_message(t, REQUEST_VOTE_RESULT, member, message.source, granted)
    if granted:
        member.voted_for, member.role = message.source, FOLLOWER


def on_request_vote_result(t: Out, member: Member, message: RequestVoteResult) -> None:
    """Count a vote; with a majority, become leader."""
    if member.role == CANDIDATE and message.term >= member.term and message.granted:
        member.votes |= 1 << message.source
        if has_majority(t, member):
            lead(t, member)


def may_vote(member: Member, candidate: int) -> bool:
    """Return True if the member has not voted for another candidate in this term."""
    return member.voted_for == NOWHERE or member.voted_for == candidate


def up_to_date(asking: Member | PreVote | RequestVote, member: Member) -> bool:
    """Return True if a candidate's log is at least as up to date as the member's.

    Its last term is later, or the same with at least as many entries. `asking` is the candidate or its request.
    """
    if asking.last_term != member.last_term:
        return asking.last_term > member.last_term
    return asking.last_index >= member.last_index


def has_majority(t: Out, member: Member) -> bool:
    """Return True if a majority of members has granted it their votes, its own among them if it is a member."""
    members = members_of(t, member)
    return bits_in(member.votes & members) >= majority(bits_in(members))


def ask_for_pre_votes(t: Out, member: Member) -> None:
    """Ask the other members for pre-votes."""
    member.role, member.leader, member.votes, member.asked = PRE_VOTE, NOWHERE, 1 << member.id, 0
    if has_majority(t, member):
        ask_for_votes(t, member)
    else:
        ask(t, PRE_VOTE_RPC, member)


def ask_for_votes(t: Out, member: Member) -> None:
    """Start a term, vote for itself, and ask the other members for votes."""
    member.term += 1
    member.voted_for, member.role, member.leader, member.votes = member.id, CANDIDATE, NOWHERE, 1 << member.id
    member.agreed = member.commit_index
    if has_majority(t, member):
        lead(t, member)
    else:
        ask(t, REQUEST_VOTE_RPC, member)


def ask(t: Out, question: int, member: Member) -> None:
    """Send a request to all other members, and set the election timer."""
    members, other = members_of(t, member), 0
    while members >> other:
        if members >> other & 1 and other != member.id:
            send_message(t, question, member, other, member.last_index, member.last_term)
        other += 1
    start_election_timer(t, member)


def lead(t: Out, member: Member) -> None:
    """Become leader: initialise each peer's next index, and append the entry that commits all before it."""
    member.role, member.leader, member.votes = LEADER, member.id, 0
    start_peers(t, member)
    append(t, member, NOOP, 1, 0)
