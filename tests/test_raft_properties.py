"""Any program of faults: what Raft promises is so after every event, and when the faults end the group gets well.

The programs are good enough to find each of the deliberate bugs below.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import raft_cluster
from conftest import LONG, SEED
from hypothesis import HealthCheck, given, seed, settings
from msgspec.structs import replace
from raft_cluster import ViolationError
from raft_programs import PROGRAMS, Program, drawn, end_well, play

from hawb.engine import raft, raft_election, raft_replication
from hawb.engine.raft_log import Log
from hawb.engine.raft_member import Member, restart
from hawb.engine.raft_messages import AppendEntriesReply
from hawb.rules.quorum import majority


@given(PROGRAMS)
@seed(SEED)
@settings(max_examples=5_000 if LONG else 200, suppress_health_check=list(HealthCheck))
def test_any_program(program: Program):
    end_well(play(program))


# Deliberate bugs


def best_match(leader: Member) -> int:
    return max(leader.log.written, *(peer.match_index for peer in leader.peers), 0)


def own_unwritten(leader: Member) -> int:
    own = [leader.log.last_index] if leader.id in leader.members else []
    return sorted([*own, *(peer.match_index for peer in leader.peers)], reverse=True)[majority(len(leader.members)) - 1]


def by_count(leader: Member, out: list) -> Member:
    index = raft_replication.agreed_commit(leader)
    return raft_replication._commit(leader, index, out) if index > leader.commit_index else leader


def answer_with(last_index: Callable[[Member], int]) -> Callable:
    def reply(member: Member, leader: int, success: bool, next_index: int, out: list) -> Member:
        last, commit = last_index(member), member.commit_index
        out.append(AppendEntriesReply(member.id, leader, member.term, success, next_index, last, commit))
        return member

    return reply


def write_of_any_generation(log: Log, _: int, index: int) -> Log:
    return replace(log, written=max(log.written, min(index, log.last_index)))


BUGS = {
    "votes twice in a term": (raft_election, "may_vote", lambda member, candidate: True),
    "does not look at the log before it votes": (raft_election, "up_to_date", lambda asking, log: True),
    "is elected by half of the members": (raft_election, "majority", lambda members_count: (members_count + 1) // 2),
    "forgets its vote when it restarts": (
        raft_cluster, "restart", lambda member: replace(restart(member), voted_for=None)),
    "forgets its term when it restarts": (
        raft_cluster, "restart", lambda member: replace(restart(member), term=member.log.last_term, voted_for=None)),
    "commits on a minority": (raft_replication, "agreed_commit", best_match),
    "commits an entry of an older term by count": (raft_replication, "advance", by_count),
    "counts entries that the leader has not written": (raft_replication, "agreed_commit", own_unwritten),
    "counts entries that a follower has not written": (
        raft_replication, "_reply", answer_with(lambda member: member.agreed)),
    "answers with entries that may not be the leader's": (
        raft_replication, "_reply", answer_with(lambda member: member.log.written)),
    "takes entries wherever they come": (Log, "agrees", lambda log, index, term: True),
    "counts its own vote though it has left": (
        raft_election, "has_majority", lambda member: len(member.votes) >= majority(len(member.members))),
    "changes two members at once": (raft, "may_change_members", lambda leader: True),
    "counts the write of an entry that was driven out": (Log, "write", write_of_any_generation),
}  # fmt: skip


@pytest.mark.parametrize("bug", BUGS)
def test_the_programs_find(bug: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(*BUGS[bug])
    assert any(goes_wrong(drawn(seed)) for seed in range(1_500))


def goes_wrong(program: Program) -> bool:
    """Whether a promise is broken, or a member finds itself where it cannot be."""
    try:
        end_well(play(program))
    except (ViolationError, RuntimeError):
        return True
    return False
