"""Raft's invariants hold after every event of any program of faults, and the group recovers when the faults end.

The programs find each of the deliberate bugs below.
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

from hawb.raft import election, joining, replication
from hawb.raft.member import NOWHERE, Member
from hawb.raft.messages import AppendEntriesReply, Written
from hawb.raft.ports import Out, bits_in
from hawb.raft.step import HANDLERS, restart
from hawb.rules.quorum import majority


@given(PROGRAMS)
@seed(SEED)
@settings(max_examples=5_000 if LONG else 60, suppress_health_check=list(HealthCheck))
def test_invariants_hold_and_the_group_recovers(program: Program):
    end_well(play(program))


# Deliberate bugs


def best_match(_: Out, leader: Member) -> int:
    return max(leader.log.written, *(peer.match_index for peer in leader.peers), 0)


def own_unwritten(_: Out, leader: Member) -> int:
    own = [leader.log.last_index] if leader.id in leader.members else []
    return sorted([*own, *(peer.match_index for peer in leader.peers)], reverse=True)[majority(len(leader.members)) - 1]


def by_count(t: Out, leader: Member) -> None:
    index = replication.agreed_commit(t, leader)
    if index > leader.commit_index:
        replication.commit(t, leader, index)


def answer_with(last_index: Callable[[Member], int]) -> Callable:
    def reply(t: Out, member: Member, leader: int, success: bool, next_index: int) -> None:
        last, commit = last_index(member), member.commit_index
        t.append(AppendEntriesReply(member.id, leader, member.term, success, next_index, last, commit))

    return reply


def write_of_any_generation(t: Out, member: Member, event: Written) -> None:
    event = replace(event, generation=member.generation, index=min(event.index, member.last_index))
    ON_WRITTEN(t, member, event)


ON_WRITTEN = replication.on_written

BUGS = {
    "votes twice in a term": (election, "may_vote", lambda member, candidate: True),
    "does not look at the log before it votes": (election, "up_to_date", lambda asking, member: True),
    "is elected by half of the members": (election, "majority", lambda members_count: (members_count + 1) // 2),
    "forgets its vote when it restarts": (
        raft_cluster, "restart", lambda member: replace(restart(member), voted_for=NOWHERE)),
    "forgets its term when it restarts": (
        raft_cluster, "restart", lambda member: replace(restart(member), term=member.last_term, voted_for=NOWHERE)),
    "commits on a minority": (replication, "agreed_commit", best_match),
    "commits an entry of an older term by count": (replication, "advance", by_count),
    "counts entries that the leader has not written": (replication, "agreed_commit", own_unwritten),
    "counts entries that a follower has not written": (
        replication, "reply", answer_with(lambda member: member.agreed)),
    "answers with entries that may not be the leader's": (
        replication, "reply", answer_with(lambda member: member.written)),
    "takes entries wherever they come": (replication, "agrees", lambda t, member, index, term: True),
    "counts its own vote though it has left": (
        election, "has_majority", lambda t, member: bits_in(member.votes) >= majority(len(member.members))),
    "changes two members at once": (joining, "may_change_members", lambda t, leader: True),
    "counts the write of an entry that was driven out": (
        HANDLERS, Written, write_of_any_generation),
}  # fmt: skip


@pytest.mark.parametrize("bug", BUGS)
def test_programs_find_each_deliberate_bug(bug: str, monkeypatch: pytest.MonkeyPatch):
    where, what, instead = BUGS[bug]
    (monkeypatch.setitem if where is HANDLERS else monkeypatch.setattr)(where, what, instead)
    assert any(goes_wrong(drawn(seed)) for seed in range(1_500))


def goes_wrong(program: Program) -> bool:
    """Return True if the program breaks an invariant."""
    try:
        end_well(play(program))
    except (ViolationError, RuntimeError):
        return True
    return False
