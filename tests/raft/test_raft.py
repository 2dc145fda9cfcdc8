"""Each rule of Raft, and where Ra's way is its own; longer stories are in tests/raft."""

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
    """A log on disk."""
    log = Log.of(Snapshot(members=members))
    for run in runs:
        log = log.append(run)
    return replace(log, written=log.last_index)


def follower(*runs: Run, term: int = 2, **fields: object) -> Member:
    """Member 0, with an opening entry and `runs` in its log."""
    return Member(0, log_of(Run(1, 1, 1, NOOP), *runs), term, **fields)


def elected(*runs: Run, term: int = 2) -> Member:
    """The same as leader of the term after `term`, with the entry that opens it."""
    member = step(follower(*runs, term=term), ElectionTimeout())[0]
    member = step(member, PreVoteResult(1, 0, term, True))[0]
    return step(member, RequestVoteResult(1, 0, term + 1, True))[0]


def outputs(kind: type, given: tuple) -> list:
    """Those of a kind."""
    return [output for output in given if isinstance(output, kind)]


# Elections


def test_a_pre_vote_changes_no_term_and_no_vote():
    member, given = step(follower(voted_for=2), ElectionTimeout())
    assert (member.role, member.term, member.voted_for) == (PRE_VOTE, 2, 2)
    assert outputs(PreVote, given) == [PreVote(0, 1, 2, 1, 1), PreVote(0, 2, 2, 1, 1)]
    assert not outputs(Store, given)


def test_a_majority_of_pre_votes_makes_a_candidate_of_a_new_term_that_stores_its_vote_first():
    member, given = step(step(follower(), ElectionTimeout())[0], PreVoteResult(1, 0, 2, True))
    assert (member.role, member.term, member.voted_for) == (CANDIDATE, 3, 0)
    assert given[0] == Store()
    assert [request.target for request in outputs(RequestVote, given)] == [1, 2]


def test_the_same_vote_twice_counts_once():
    group = start(0, (0, 1, 2, 3, 4))
    member = step(group, ElectionTimeout())[0]
    for _ in range(3):
        member = step(member, PreVoteResult(1, 0, 0, True))[0]
    assert member.role == PRE_VOTE


def test_answers_of_an_older_term_count_for_nothing():
    member = step(follower(), ElectionTimeout())[0]
    assert step(member, PreVoteResult(1, 0, 1, True)) == (member, ())


@pytest.mark.parametrize(
    ("last_index", "last_term", "granted"),
    [(4, 1, False), (9, 1, False), (5, 2, False), (6, 2, True), (7, 2, True), (1, 3, True)],
)
def test_a_vote_goes_to_whose_log_is_as_up_to_date(last_index: int, last_term: int, granted: bool):
    member, given = step(follower(A, B), RequestVote(1, 0, 3, last_index, last_term))
    assert outputs(RequestVoteResult, given) == [RequestVoteResult(0, 1, 3, granted)]
    assert member.voted_for == (1 if granted else NOWHERE)


def test_one_vote_in_a_term_and_again_for_the_same():
    member = step(follower(), RequestVote(1, 0, 3, 1, 1))[0]
    assert step(member, RequestVote(2, 0, 3, 9, 9))[1] == (RequestVoteResult(0, 2, 3, False),)
    assert step(member, RequestVote(1, 0, 3, 1, 1))[1] == (RequestVoteResult(0, 1, 3, True),)


def test_a_follower_with_a_better_log_answers_no_pre_vote_and_gets_ready_itself():
    assert step(follower(A), PreVote(1, 0, 2, 1, 1))[1] == (StartElectionTimer(0),)


def test_a_leader_answers_a_pre_vote_with_its_presence():
    leader = elected()
    member, given = step(leader, PreVote(1, 0, 3, 9, 9))
    assert member.role == LEADER
    assert [type(output) for output in given] == [AppendEntries, AppendEntries]


def test_a_stranger_moves_no_leader_but_another_leader_does():
    leader = elected()
    assert step(leader, RequestVote(7, 0, 9, 9, 9)) == (leader, ())
    assert step(leader, RequestVote(1, 0, 9, 9, 9))[0].role == FOLLOWER
    assert step(leader, AppendEntries(7, 0, 9, 0, 0, (), 0))[0].leader == 7


def test_two_leaders_in_a_term_cannot_be():
    with pytest.raises(RuntimeError, match="members 0 and 1 lead in the same term, 3"):
        step(elected(), AppendEntries(1, 0, 3, 0, 0, (), 0))


def test_who_has_not_joined_yet_asks_for_no_votes():
    assert step(start(3), ElectionTimeout()) == (start(3), ())


def test_who_leaves_may_still_be_needed_until_that_is_committed():
    left = follower(Run(2, 1, 2, Configuration((1, 2))), commit_index=1)
    member, given = step(left, ElectionTimeout())
    assert [request.target for request in outputs(PreVote, given)] == [1, 2]
    # Its own vote does not count: one other is no majority of two.
    assert step(member, PreVoteResult(1, 0, 2, True))[0].role == PRE_VOTE
    assert step(replace(left, commit_index=2), ElectionTimeout())[1] == ()


def test_a_single_member_elects_itself_and_commits_what_it_has_written():
    member, given = step(start(0, (0,)), ElectionTimeout())
    assert (member.role, member.term, member.commit_index) == (LEADER, 1, 0)
    (write,) = outputs(Write, given)
    member, given = step(member, Written(write.generation, write.index))
    assert given == (Committed(0, (Run(1, 1, 1, NOOP),)),)


# Members are values


def test_a_step_leaves_the_member_that_it_was_given_as_it_was():
    leader = elected(A, B)
    had = [replace(peer) for peer in leader.peers]
    for event in (AppendEntriesReply(1, 0, 3, True, 8, 7, 0), Written(0, 7), Command("m"), RequestVote(1, 0, 9, 9, 9)):
        after = step(leader, event)[0]
        assert after != leader and hash(after) != hash(leader)
        assert (list(leader.peers), leader) == (had, elected(A, B))


# The log


def test_entries_that_fit_are_taken_and_answered_when_they_are_on_disk():
    member, given = step(follower(), AppendEntries(1, 0, 2, 1, 1, (A,), 3))
    assert draw(member.log, member.commit_index) == "t1: 1 noop~ 2..3 a| 4 a"
    assert given == (Committed(0, (Run(1, 1, 1, NOOP), A.part(2, 3))), Write(0, 0, 4))
    assert step(member, Written(0, 4))[1] == (AppendEntriesReply(0, 1, 2, True, 5, 4, 3),)


def test_entries_behind_one_that_is_missing_are_asked_for_once():
    message = AppendEntries(1, 0, 2, 4, 1, (B,), 0)
    member, given = step(follower(leader=1), message)
    assert given == (AppendEntriesReply(0, 1, 2, False, 2, 0, 0),)
    assert step(member, message) == (member, ())


def test_an_entry_of_another_term_before_them_sends_the_leader_back_to_what_is_committed():
    member, given = step(follower(A, leader=1, commit_index=2), AppendEntries(1, 0, 2, 4, 2, (), 0))
    assert given == (AppendEntriesReply(0, 1, 2, False, 3, 0, 2),)
    assert member.log == follower(A).log


def test_what_contradicts_the_leader_goes_with_all_behind_it():
    theirs = Run(4, 4, 3, "c")
    member = step(follower(A, B, leader=1, term=3), AppendEntries(1, 0, 3, 3, 1, (theirs,), 0))[0]
    assert draw(member.log, 0) == "| t1: 1 noop 2..3 a~ t3: 4..7 c"


def test_an_old_message_that_comes_late_takes_nothing_away():
    member = follower(A, B, leader=1)
    assert step(member, AppendEntries(1, 0, 2, 1, 1, (A.part(2, 3),), 0))[0].log is member.log


def test_a_follower_tells_no_more_than_what_it_knows_to_be_the_leaders():
    assert outputs(AppendEntriesReply, step(follower(A, B), AppendEntries(1, 0, 2, 2, 1, (), 0))[1]) == [
        AppendEntriesReply(0, 1, 2, True, 3, 2, 0)
    ]


def test_the_write_of_an_entry_that_was_driven_out_does_not_count():
    member = step(follower(), AppendEntries(1, 0, 2, 1, 1, (Run(2, 1, 2, "mine"),), 0))[0]
    member, given = step(member, AppendEntries(2, 0, 3, 1, 1, (Run(2, 1, 3, "theirs"),), 0))
    assert step(member, Written(0, 2)) == (member, ())
    (write,) = outputs(Write, given)
    assert step(member, Written(write.generation, 2))[0].log.written == 2


def test_a_leader_commits_no_entry_of_an_older_term_by_count():
    leader = elected(A, B)
    leader = step(leader, AppendEntriesReply(1, 0, 3, True, 8, 6, 0))[0]
    leader = step(leader, AppendEntriesReply(2, 0, 3, True, 8, 6, 0))[0]
    assert leader.commit_index == 0
    leader, given = step(leader, AppendEntriesReply(1, 0, 3, True, 8, 7, 0))
    assert leader.commit_index == 0, "the leader has not written its own"
    leader, given = step(leader, Written(0, 7))
    assert leader.commit_index == 7
    assert given[0] == Committed(0, (Run(1, 1, 1, NOOP), A, B, Run(7, 1, 3, NOOP)))


def test_commands_go_to_the_leader():
    assert step(follower(), Command("m"))[1] == (Refused(Command("m"), "not_leader"),)


def test_a_tick_sends_again_to_who_has_not_answered():
    leader = elected()
    leader = step(leader, AppendEntriesReply(1, 0, 3, True, 3, 2, 0))[0]
    assert [message.target for message in step(leader, Tick())[1]] == [2]


# Membership


def test_a_new_leader_changes_no_members_before_an_entry_of_its_term_is_committed():
    leader = elected()
    assert step(leader, Join(3))[1] == (Refused(Join(3), "cluster_change_not_permitted"),)
    leader = step(leader, Written(0, 2))[0]
    leader = step(leader, AppendEntriesReply(1, 0, 3, True, 3, 2, 0))[0]
    joined = step(leader, Join(3))[0]
    assert joined.members == (0, 1, 2, 3)
    assert step(joined, Leave(1))[1] == (Refused(Leave(1), "cluster_change_not_permitted"),)


def test_the_last_member_stays():
    cluster = Cluster(1)
    cluster.give(0, ElectionTimeout())
    cluster.settle()
    assert cluster.give(0, Leave(0)) == (Refused(Leave(0), "last_node"),)


def test_a_configuration_that_is_driven_out_is_no_longer_in_effect():
    member = follower(Run(2, 1, 2, Configuration((0, 1, 2, 3))))
    assert member.members == (0, 1, 2, 3)
    assert step(member, AppendEntries(1, 0, 3, 1, 1, (Run(2, 1, 3, NOOP),), 0))[0].members == GROUP


# Snapshots and restarts


def test_a_log_is_compacted_as_far_as_it_is_committed_and_on_disk():
    member = follower(A, B, commit_index=5)
    kept = step(member, ReleaseCursor(5, "state"))[0]
    assert draw(kept.log, 5) == "[..5] | t2: 6 b~"
    assert (kept.log.snapshot.term, kept.log.snapshot.members, kept.log.runs[0].offset) == (2, GROUP, 1)
    assert step(member, ReleaseCursor(6))[0] is member


def test_a_snapshot_takes_the_place_of_a_log_that_contradicts_it_and_goes_before_one_that_does_not():
    for term, left in ((2, "[..5] | t2: 6 b~"), (3, "[..5] |~")):
        snapshot = Snapshot(5, term, GROUP, "state")
        member, given = step(follower(A, B, term=3, leader=1), InstallSnapshot(1, 0, 3, snapshot))
        assert given == (Installed(snapshot), AppendEntriesReply(0, 1, 3, True, 6, 5, 5))
        assert draw(member.log, 5) == left


def test_a_snapshot_of_what_is_known_to_be_committed_changes_nothing():
    member = follower(A, B, leader=1, commit_index=5)
    after, given = step(member, InstallSnapshot(1, 0, 2, Snapshot(3, 1, GROUP, "old")))
    assert after.log is member.log
    assert given == (AppendEntriesReply(0, 1, 2, True, 4, 3, 5),)


def test_term_vote_and_what_is_written_survive_a_restart():
    member = follower(A, B, voted_for=1, leader=1, commit_index=4, agreed=4)
    member = restart(replace(member, log=replace(member.log, written=5)))
    assert (member.term, member.voted_for, member.leader, member.commit_index) == (2, 1, NOWHERE, 0)
    assert draw(member.log, 0) == "| t1: 1 noop 2..4 a t2: 5 b~"


# Runs


class Unchecked(Cluster):
    """A group whose entries nobody counts one by one."""

    def _apply(self, member: Member, runs: tuple[Run, ...]) -> None:
        pass

    def _check_log(self, log: Log, before: Log) -> None:
        pass


def test_a_batch_that_was_cut_grows_together_again():
    log = log_of(Run(1, 1, 1, NOOP))
    for first in range(2, 1_000, 7):
        log = log.merge((Run(first, 7, 1, "batch", first - 2),))
    assert log.runs == (Run(1, 1, 1, NOOP), Run(2, 1_001, 1, "batch"))


def test_ten_million_commands_cost_what_ten_cost():
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


def test_a_group_is_drawn_with_names():
    members = {0: elected(A), 1: None}
    assert describe(members, "xyz".__getitem__) == (
        "   role    term  voted for  leader  log\n"
        "x  leader  3     x          x       | t1: 1 noop 2..4 a~ t3: 5 noop\n"
        "                                    peers: y 0 next 6, z 0 next 6\n"
        "y  down\n"
    )
