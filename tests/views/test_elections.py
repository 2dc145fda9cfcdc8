"""Elections as movements: candidates, votes and refusals by term, split votes, and messages that do not arrive."""

from __future__ import annotations

import pytest

from hawb.cluster import Cluster
from hawb.engine.core.moment import Ballot
from hawb.engine.raft_groups.group import STORE
from hawb.raft.messages import RequestVote, RequestVoteResult
from hawb.views.cluster.elections import Elections, flown, under_way
from hawb.views.cluster.raft_entries import logs

QUORUM = {"x-queue-type": "quorum"}
SLOW = {"link_latency_s": 1, "fsync_s": 0.5, "election_s": 10}
NAMES = ("a", "b", "c")


def group(version: str = "3.10", **more: object) -> Cluster:
    """Return a cluster in slow motion whose quorum queue is led by a and has messages."""
    cluster = Cluster(*NAMES, version=version, timing=SLOW, **more)
    return cluster.declare("orders", node="a", arguments=QUORUM).publish("orders", 3, node="a", at=20)


def split() -> Cluster:
    """Return a cluster in which b and c lose their leader at different times and ask for votes at the same moment."""
    return group().cut(["a", "b"], at=40).cut(["a", "c"], at=60)


def last_step(cluster: Cluster, chosen: str = "") -> list[dict]:
    """Return the elections of the last step of a story."""
    before = cluster.copy().undo()
    return flown(cluster.run.moment(), before.run.moment(), cluster.run.settings.names, chosen)


def flights_of(cluster: Cluster) -> list[tuple[float, str, int, str]]:
    """Return time, kind, term and text of each movement of the last step."""
    return [(one["t"], one["kind"], one["term"], one["text"]) for one in last_step(cluster)]


def test_leader_is_elected_by_votes_that_are_named():
    cluster = group().kill("a", at=40)
    shown = last_step(cluster)
    arrived = [one for one in shown if one["kind"] != "vote_lost"]
    assert [(one["kind"], one["term"], one["routes"], one["text"]) for one in arrived] == [
        ("ask", 1, [["c", "a"], ["c", "b"]], "c asks a and b for a pre-vote: would it be elected?"),
        ("would_vote", 1, [["b", "c"]], "b would vote for c."),
        ("stand", 2, [["c", "a"], ["c", "b"]], "c stands for election in term 2: it asks a and b for a vote."),
        ("vote", 2, [["b", "c"]], "b votes for c in term 2."),
    ]
    assert {one["text"] for one in shown if one not in arrived} == {"The request of c does not reach a."}
    assert cluster.queues["orders"]["leader"] == "c"


def test_two_candidates_split_the_votes_and_one_wins_the_next_term():
    shown = flights_of(split())
    assert [(t, kind, term) for t, kind, term, _text in shown] == [
        (72, "ask", 1), (73, "would_vote", 1), (74, "stand", 2), (75, "refuse_vote", 2), (76, "no_majority", 2),
        (82, "stand", 3), (83, "vote", 3),
    ]  # fmt: skip
    assert shown[3][3] == (
        "c refuses b: in term 2 it has voted for itself. b refuses c: in term 2 it has voted for itself."
    )
    assert shown[4][3] == (
        "The votes of term 2 are split: b has 1 (b), c has 1 (c), and 2 are needed. The term has no leader. "
        "b and c wait, each for a random time, and ask again."
    )
    assert last_step(split())[4]["at"] == ["b", "c"]


def test_link_that_is_cut_while_votes_fly_makes_the_election_fail():
    cut = split().cut(["b", "c"], at=74.5)
    shown = flights_of(cut)
    assert [(t, kind) for t, kind, _term, _text in shown] == [(75, "vote_lost"), (75, "no_majority")]
    assert shown[0][3] == "The request of b does not reach c. The request of c does not reach b."
    assert shown[1][3].endswith("The term has no leader. No member asks again until it can reach a majority.")
    assert cut.wait(200).queues["orders"]["state"] != "running"
    healed = cut.heal().wait(60)
    assert healed.queues["orders"]["state"] == "running"


def test_vote_that_does_not_arrive_is_no_vote():
    shown = flights_of(split().cut(["b", "c"], at=83.5))
    assert [text for *_, text in shown] == [
        "The answer of b does not reach c.",
        "No majority of votes in term 3: c has 1 (c), and 2 are needed. "
        "No member asks again until it can reach a majority.",
    ]


def test_candidate_without_any_answer_is_named_once():
    cluster = group().kill("a", at=40).kill("b", at=46.5)
    assert [text for _t, kind, _term, text in flights_of(cluster) if kind == "no_majority"] == [
        "No majority of pre-votes: c has 1 (c), and 2 are needed. No term begins. "
        "No member asks again until it can reach a majority."
    ]


def test_member_that_is_killed_while_it_is_asked_gives_no_vote():
    assert [(kind, term) for _t, kind, term, _text in flights_of(split().kill("b", at=82.5))][:2] == [
        ("vote_lost", 3), ("no_majority", 3),
    ]  # fmt: skip


def test_candidate_with_a_shorter_log_gets_no_answer():
    story = group().cut(["a", "c"], at=40).publish("orders", 2, node="a", at=41).kill("a", at=60).heal(at=60)
    failed = [one for one in flown(story.run.moment(), story.run.moment(2), NAMES) if one["kind"] == "no_majority"]
    assert failed[-1]["text"].startswith("No majority of pre-votes: c has 1 (c), and 2 are needed. No term begins.")
    assert "No answer came from b." in failed[-1]["text"]
    assert story.queues["orders"]["leader"] == "b"


def test_third_member_votes_once_in_a_term():
    names = (*NAMES, "d")
    cluster = Cluster(*names, version="3.10", timing=SLOW, quorum_cluster_size=5)
    cluster.declare("orders", node="a", arguments=QUORUM).publish("orders", 3, node="a", at=20)
    shown = last_step(cluster.cut(["a", "b"], at=40).cut(["a", "d"], at=50))
    (refused,) = [one["text"] for one in shown if one["kind"] == "refuse_vote"]
    assert refused.endswith("c refuses d: in term 2 it has voted for b.")
    failed, *_, voted = [one["text"] for one in shown if one["kind"] in ("no_majority", "vote")][1:]
    assert failed.startswith("The votes of term 2 are split: b has 2 (b, c), d has 1 (d), and 3 are needed.")
    assert voted == "a, b and d vote for c in term 3."


@pytest.mark.parametrize("chosen", ["", "orders", "bills"])
def test_elections_are_those_of_the_chosen_queue(chosen: str):
    cluster = Cluster(*NAMES, version="3.10", timing=SLOW)
    for name in ("orders", "bills", "users"):
        cluster.declare(name, node="a", arguments=QUORUM).publish(name, 1, node="a")
    shown = last_step(cluster.kill("a"), chosen)
    assert {one["queue"] for one in shown} == ({chosen} if chosen else {"orders", "bills", "users"})
    cluster = cluster.copy().undo().declare("more", node="a", arguments=QUORUM).publish("more", 1, node="a").kill("a")
    assert {one["queue"] for one in last_step(cluster, chosen)} == ({chosen} if chosen else set())


def test_metadata_store_elects_as_well():
    cluster = Cluster(*NAMES, version="4.3", timing=SLOW).declare("orders", node="a").kill("a")
    assert last_step(cluster) == []  # beside a classic queue only if they are asked for
    assert {one["queue"] for one in last_step(cluster, STORE)} == {STORE}


def test_first_election_of_a_queue_is_part_of_its_declaration():
    assert last_step(Cluster(*NAMES, version="3.10", timing=SLOW).declare("orders", node="a", arguments=QUORUM)) == []


@pytest.mark.parametrize(
    ("term", "text"),
    [(3, "b refuses c: it knows a newer term, 3."), (2, "b refuses c, whose log is behind its own.")],
)
def test_refusal_has_its_reason(term: int, text: str):
    request, answer = RequestVote(2, 1, 2, 4, 1), RequestVoteResult(1, 2, term, granted=False)
    ballots = [
        Ballot(t_us, "orders", message, due_us, arrived)
        for t_us, message, due_us, arrived in ((1, request, 2, False), (2, request, 2, True), (2, answer, 3, False))
    ]
    assert text in [one.text for one in Elections(group().run.moment(), NAMES).events(ballots)]


def test_messages_under_way_are_named_beside_the_logs():
    state = split().undo().run.moment_at(40).state
    assert under_way(state, NAMES, ["orders"]) == []
    story = split()
    story.undo()
    state = story.cut(["a", "c"], at=60).run.moment_at(74.5).state
    shown = under_way(state, NAMES, ["orders"])
    assert [(one["kind"], one["routes"], one["term"]) for one in shown] == [
        ("stand", [["b", "c"]], 2), ("stand", [["c", "b"]], 2),
    ]  # fmt: skip
    assert logs(state, NAMES, "orders")["waiting"] == [
        "Under way from b to c: request for a vote, term 2.", "Under way from c to b: request for a vote, term 2.",
    ]  # fmt: skip
