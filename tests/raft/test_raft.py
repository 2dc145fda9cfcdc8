"""The rules of Raft, and where Ra differs. Longer stories are the scripts tests/raft/*.txt."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from raft_cluster import Cluster

from hawb.raft.group import describe, draw
from hawb.raft.log import NOOP, Configuration, Log, Run, Snapshot
from hawb.raft.member import CANDIDATE, FOLLOWER, LEADER, NOWHERE, PRE_VOTE, Member, start
from hawb.raft.messages import (
    AppendEntries,
    AppendEntriesReply,
    Command,
    Committed,
    ElectionTimeout,
    Installed,
    InstallSnapshot,
    Join,
    Leave,
    PreVote,
    PreVoteResult,
    Refused,
    ReleaseCursor,
    RequestVote,
    RequestVoteResult,
    StartElectionTimer,
    Store,
    Tick,
    Write,
    Written,
)
from hawb.raft.step import restart, step

GROUP = (0, 1, 2)
A, B = Run(2, 3, 1, "a"), Run(5, 2, 2, "b")
"""Behind a first entry of term 1: entries 2 to 4 of term 1, 5 and 6 of term 2."""


def log_of(*runs: Run, members: tuple[int, ...] = GROUP) -> Log:
    """Return a log that holds `runs`, all written to disk."""
    log = Log.of(Snapshot(members=members))
    for run in runs:
        log = log.append(run)
    return replace(log, written=log.last_index)


def follower(*runs: Run, term: int = 2, **fields: object) -> Member:
    """Return member 0, a follower with a no-op entry and `runs` in its log."""
    return Member(0, log_of(Run(1, 1, 1, NOOP), *runs), term, **fields)


def elected(*runs: Run, term: int = 2) -> Member:
    """Return member 0 as leader of the term after `term`, with that term's no-op entry."""
    member = step(follower(*runs, term=term), ElectionTimeout())[0]
    member = step(member, PreVoteResult(1, 0, term, True))[0]
    return step(member, RequestVoteResult(1, 0, term + 1, True))[0]


def outputs(kind: type, given: tuple) -> list:
    """Return the outputs of a type."""
    return [output for output in given if isinstance(output, kind)]


# Elections


def test_pre_vote_changes_neither_term_nor_vote():
    member, given = step(follower(voted_for=2), ElectionTimeout())
    assert (member.role, member.term, member.voted_for) == (PRE_VOTE, 2, 2)
    assert outputs(PreVote, given) == [PreVote(0, 1, 2, 1, 1), PreVote(0, 2, 2, 1, 1)]
    assert not outputs(Store, given)


def test_majority_of_pre_votes_starts_an_election_after_storing_the_vote():
    member, given = step(step(follower(), ElectionTimeout())[0], PreVoteResult(1, 0, 2, True))
    assert (member.role, member.term, member.voted_for) == (CANDIDATE, 3, 0)
    assert given[0] == Store()
    assert [request.target for request in outputs(RequestVote, given)] == [1, 2]


def test_repeated_pre_vote_counts_once():
    group = start(0, (0, 1, 2, 3, 4))
    member = step(group, ElectionTimeout())[0]
    for _ in range(3):
        member = step(member, PreVoteResult(1, 0, 0, True))[0]
    assert member.role == PRE_VOTE


def test_replies_of_an_older_term_are_ignored():
    member = step(follower(), ElectionTimeout())[0]
    assert step(member, PreVoteResult(1, 0, 1, True)) == (member, ())


@pytest.mark.parametrize(
    ("last_index", "last_term", "granted"),
    [(4, 1, False), (9, 1, False), (5, 2, False), (6, 2, True), (7, 2, True), (1, 3, True)],
)
def test_vote_is_granted_if_the_candidates_log_is_up_to_date(last_index: int, last_term: int, granted: bool):
    member, given = step(follower(A, B), RequestVote(1, 0, 3, last_index, last_term))
    assert outputs(RequestVoteResult, given) == [RequestVoteResult(0, 1, 3, granted)]
    assert member.voted_for == (1 if granted else NOWHERE)


def test_member_votes_once_per_term_and_repeats_that_vote():
    member = step(follower(), RequestVote(1, 0, 3, 1, 1))[0]
    assert step(member, RequestVote(2, 0, 3, 9, 9))[1] == (RequestVoteResult(0, 2, 3, False),)
    assert step(member, RequestVote(1, 0, 3, 1, 1))[1] == (RequestVoteResult(0, 1, 3, True),)


def test_follower_with_a_newer_log_starts_its_own_election_timer():
    assert step(follower(A), PreVote(1, 0, 2, 1, 1))[1] == (StartElectionTimer(0),)


def test_leader_answers_a_pre_vote_with_append_entries():
    leader = elected()
    member, given = step(leader, PreVote(1, 0, 3, 9, 9))
    assert member.role == LEADER
    assert [type(output) for output in given] == [AppendEntries, AppendEntries]


def test_request_vote_of_a_non_member_is_ignored_but_append_entries_is_not():
    leader = elected()
    assert step(leader, RequestVote(7, 0, 9, 9, 9)) == (leader, ())
    assert step(leader, RequestVote(1, 0, 9, 9, 9))[0].role == FOLLOWER
    assert step(leader, AppendEntries(7, 0, 9, 0, 0, (), 0))[0].leader == 7


def test_two_leaders_in_one_term_raise():
    with pytest.raises(RuntimeError, match="members 0 and 1 lead in the same term, 3"):
        step(elected(), AppendEntries(1, 0, 3, 0, 0, (), 0))


def test_non_member_does_not_start_an_election():
    assert step(start(3), ElectionTimeout()) == (start(3), ())


def test_leaving_member_starts_elections_until_its_removal_is_committed():
    left = follower(Run(2, 1, 2, Configuration((1, 2))), commit_index=1)
    member, given = step(left, ElectionTimeout())
    assert [request.target for request in outputs(PreVote, given)] == [1, 2]
    # Its own vote does not count: one other is no majority of two.
    assert step(member, PreVoteResult(1, 0, 2, True))[0].role == PRE_VOTE
    assert step(replace(left, commit_index=2), ElectionTimeout())[1] == ()


def test_single_member_elects_itself_and_commits_written_entries():
    member, given = step(start(0, (0,)), ElectionTimeout())
    assert (member.role, member.term, member.commit_index) == (LEADER, 1, 0)
    (write,) = outputs(Write, given)
    member, given = step(member, Written(write.generation, write.index))
    assert given == (Committed(0, (Run(1, 1, 1, NOOP),)),)


# Members are values


def test_step_does_not_change_the_given_member():
    leader = elected(A, B)
    had = [replace(peer) for peer in leader.peers]
    for event in (AppendEntriesReply(1, 0, 3, True, 8, 7, 0), Written(0, 7), Command("m"), RequestVote(1, 0, 9, 9, 9)):
        after = step(leader, event)[0]
        assert after != leader and hash(after) != hash(leader)
        assert (list(leader.peers), leader) == (had, elected(A, B))


# The log


def test_matching_entries_are_appended_and_acknowledged_once_on_disk():
    member, given = step(follower(), AppendEntries(1, 0, 2, 1, 1, (A,), 3))
    assert draw(member.log, member.commit_index) == "t1: 1 noop~ 2..3 a| 4 a"
    assert given == (Committed(0, (Run(1, 1, 1, NOOP), A.part(2, 3))), Write(0, 0, 4))
    assert step(member, Written(0, 4))[1] == (AppendEntriesReply(0, 1, 2, True, 5, 4, 3),)


def test_missing_entry_is_requested_once():
    message = AppendEntries(1, 0, 2, 4, 1, (B,), 0)
    member, given = step(follower(leader=1), message)
    assert given == (AppendEntriesReply(0, 1, 2, False, 2, 0, 0),)
    assert step(member, message) == (member, ())


def test_term_mismatch_sends_the_leader_back_to_the_commit_index():
    member, given = step(follower(A, leader=1, commit_index=2), AppendEntries(1, 0, 2, 4, 2, (), 0))
    assert given == (AppendEntriesReply(0, 1, 2, False, 3, 0, 2),)
    assert member.log == follower(A).log


def test_conflicting_entry_is_overwritten_with_all_that_follow():
    theirs = Run(4, 4, 3, "c")
    member = step(follower(A, B, leader=1, term=3), AppendEntries(1, 0, 3, 3, 1, (theirs,), 0))[0]
    assert draw(member.log, 0) == "| t1: 1 noop 2..3 a~ t3: 4..7 c"


def test_late_append_entries_does_not_truncate_the_log():
    member = follower(A, B, leader=1)
    assert step(member, AppendEntries(1, 0, 2, 1, 1, (A.part(2, 3),), 0))[0].log is member.log


def test_follower_acknowledges_only_entries_that_match_the_leader():
    assert outputs(AppendEntriesReply, step(follower(A, B), AppendEntries(1, 0, 2, 2, 1, (), 0))[1]) == [
        AppendEntriesReply(0, 1, 2, True, 3, 2, 0)
    ]


def test_write_of_an_overwritten_entry_is_ignored():
    member = step(follower(), AppendEntries(1, 0, 2, 1, 1, (Run(2, 1, 2, "mine"),), 0))[0]
    member, given = step(member, AppendEntries(2, 0, 3, 1, 1, (Run(2, 1, 3, "theirs"),), 0))
    assert step(member, Written(0, 2)) == (member, ())
    (write,) = outputs(Write, given)
    assert step(member, Written(write.generation, 2))[0].log.written == 2


def test_leader_does_not_commit_an_entry_of_an_older_term_by_majority():
    leader = elected(A, B)
    leader = step(leader, AppendEntriesReply(1, 0, 3, True, 8, 6, 0))[0]
    leader = step(leader, AppendEntriesReply(2, 0, 3, True, 8, 6, 0))[0]
    assert leader.commit_index == 0
    leader, given = step(leader, AppendEntriesReply(1, 0, 3, True, 8, 7, 0))
    assert leader.commit_index == 0, "the leader has not written its own"
    leader, given = step(leader, Written(0, 7))
    assert leader.commit_index == 7
    assert given[0] == Committed(0, (Run(1, 1, 1, NOOP), A, B, Run(7, 1, 3, NOOP)))


def test_follower_refuses_commands():
    assert step(follower(), Command("m"))[1] == (Refused(Command("m"), "not_leader"),)


def test_tick_resends_to_peers_that_have_not_acknowledged():
    leader = elected()
    leader = step(leader, AppendEntriesReply(1, 0, 3, True, 3, 2, 0))[0]
    assert [message.target for message in step(leader, Tick())[1]] == [2]


# Membership


def test_leader_refuses_membership_changes_until_it_commits_in_its_term():
    leader = elected()
    assert step(leader, Join(3))[1] == (Refused(Join(3), "cluster_change_not_permitted"),)
    leader = step(leader, Written(0, 2))[0]
    leader = step(leader, AppendEntriesReply(1, 0, 3, True, 3, 2, 0))[0]
    joined = step(leader, Join(3))[0]
    assert joined.members == (0, 1, 2, 3)
    assert step(joined, Leave(1))[1] == (Refused(Leave(1), "cluster_change_not_permitted"),)


def test_last_member_cannot_leave():
    cluster = Cluster(1)
    cluster.give(0, ElectionTimeout())
    cluster.settle()
    assert cluster.give(0, Leave(0)) == (Refused(Leave(0), "last_node"),)


def test_overwritten_configuration_is_no_longer_in_effect():
    member = follower(Run(2, 1, 2, Configuration((0, 1, 2, 3))))
    assert member.members == (0, 1, 2, 3)
    assert step(member, AppendEntries(1, 0, 3, 1, 1, (Run(2, 1, 3, NOOP),), 0))[0].members == GROUP


# Snapshots and restarts


def test_log_is_compacted_up_to_the_committed_and_written_index():
    member = follower(A, B, commit_index=5)
    kept = step(member, ReleaseCursor(5, "state"))[0]
    assert draw(kept.log, 5) == "[..5] | t2: 6 b~"
    assert (kept.log.snapshot.term, kept.log.snapshot.members, kept.log.runs[0].offset) == (2, GROUP, 1)
    assert step(member, ReleaseCursor(6))[0] is member


def test_snapshot_replaces_a_conflicting_log_and_keeps_a_matching_tail():
    for term, left in ((2, "[..5] | t2: 6 b~"), (3, "[..5] |~")):
        snapshot = Snapshot(5, term, GROUP, "state")
        member, given = step(follower(A, B, term=3, leader=1), InstallSnapshot(1, 0, 3, snapshot))
        assert given == (Installed(snapshot), AppendEntriesReply(0, 1, 3, True, 6, 5, 5))
        assert draw(member.log, 5) == left


def test_snapshot_below_the_commit_index_changes_nothing():
    member = follower(A, B, leader=1, commit_index=5)
    after, given = step(member, InstallSnapshot(1, 0, 2, Snapshot(3, 1, GROUP, "old")))
    assert after.log is member.log
    assert given == (AppendEntriesReply(0, 1, 2, True, 4, 3, 5),)


def test_term_vote_and_written_entries_survive_a_restart():
    member = follower(A, B, voted_for=1, leader=1, commit_index=4, agreed=4)
    member = restart(replace(member, log=replace(member.log, written=5)))
    assert (member.term, member.voted_for, member.leader, member.commit_index) == (2, 1, NOWHERE, 0)
    assert draw(member.log, 0) == "| t1: 1 noop 2..4 a t2: 5 b~"


# Runs


class Unchecked(Cluster):
    """A group whose entries are not checked one by one."""

    def _apply(self, member: Member, runs: tuple[Run, ...]) -> None:
        pass

    def _check_log(self, log: Log, before: Log) -> None:
        pass


def test_parts_of_a_batch_are_merged_into_one_run():
    log = log_of(Run(1, 1, 1, NOOP))
    for first in range(2, 1_000, 7):
        log = log.merge((Run(first, 7, 1, "batch", first - 2),))
    assert log.runs == (Run(1, 1, 1, NOOP), Run(2, 1_001, 1, "batch"))


def test_work_does_not_grow_with_the_size_of_a_batch():
    def story(count: int) -> Cluster:
        cluster = Unchecked(3)
        cluster.give(0, ElectionTimeout())
        cluster.settle()
        cluster.kill(2)
        for name in "ab":
            cluster.give(0, Command(name, count))
            cluster.settle()
        cluster.start(2)
        cluster.give(0, Tick())
        cluster.settle()
        return cluster

    shallow, deep = story(10), story(10_000_000)
    assert deep.members[2].commit_index == 20_000_001
    for number in GROUP:
        assert len(deep.members[number].log.runs) == len(shallow.members[number].log.runs) == 3


def test_description_of_a_group_shows_the_given_names():
    members = {0: elected(A), 1: None}
    assert describe(members, "xyz".__getitem__) == (
        "   role    term  voted for  leader  log\n"
        "x  leader  3     x          x       | t1: 1 noop 2..4 a~ t3: 5 noop\n"
        "                                    peers: y 0 next 6, z 0 next 6\n"
        "y  down\n"
    )
