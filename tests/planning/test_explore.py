"""The worst case by search: it finds the known ways to lose messages, shortest first, none where there is none, and its
answer is the same however the work is spread."""

from __future__ import annotations

import json
from itertools import islice, pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from hawb.cli import main
from hawb.engine.keys.state_key import key
from hawb.planning import explore as room
from hawb.planning.explore import Progress, Question, explore, followers
from hawb.planning.moves import MOVES, Spent
from hawb.scenario.dump import dump
from hawb.scenario.expect import check
from hawb.scenario.load import load
from hawb.scenario.run import Run

MIRRORED = """
scenario: A queue with a mirror
cluster: {{nodes: [a, b, c], version: "3.10", cluster_partition_handling: {handling}}}
policies: [{{name: ha, pattern: ^q, definition: {{ha-mode: {mode}, {more}}}}}]
steps:
  - declare: {{queue: q, node: a}}
  - publish: {{queue: q, count: 5}}
"""
QUORUM = """
scenario: A quorum queue
cluster: {nodes: [a, b, c], version: "3.10"}
steps:
  - declare: {queue: q, node: a, arguments: {x-queue-type: quorum}}
  - publish: {queue: q, count: 5}
"""
HELD = """
scenario: A client that holds a message
cluster: {{nodes: [a, b], version: "3.13", {asked}}}
steps:
  - declare: {{queue: q, node: a}}
  - publish: {{queue: q, count: 1}}
  - consume: {{queue: q, consumer: slow, node: a}}
"""
ALL = frozenset(MOVES)


def mirrored(mode: str = "exactly, ha-params: 2", handling: str = "ignore", **settings: str) -> Run:
    more = ", ".join(f"ha-{name.replace('_', '-')}: {value}" for name, value in settings.items())
    return run_of(MIRRORED.format(mode=mode, handling=handling, more=more))


def run_of(text: str) -> Run:
    return Run.of(load(text))


def answer(run: Run, goal: str, faults: int, operations: int, verbs: frozenset[str] = ALL, **how) -> Progress:
    """How a search ends. Its story, if there is one, does what it says."""
    *_, last = explore(run, Question(goal, Spent(faults, operations), verbs), **how)
    assert last.over
    if last.story is not None:
        again = load(dump(last.story))
        assert again == last.story
        assert check(Run.of(again), again.expect) == []
    return last


def steps(found: Progress, run: Run) -> list[str]:
    """The verbs that a story adds to a run's own."""
    return [step.name for step in found.story.steps[len(run.steps) :]]


# What is known to happen


def test_an_unsynchronised_mirror_is_promoted():
    run = mirrored(sync_mode="manual", promote_on_failure="always")
    found = answer(run, "lost-confirmed", 1, 1, frozenset({"stop", "kill"}))
    assert found.harmed == ("q",)
    assert steps(found, run) in (["stop", "kill"], ["kill", "stop"])
    assert Run.of(found.story).moment().losses[0].cause == "unsynchronised_promotion"


def test_autoheal_discards_the_losing_side():
    run = mirrored(handling="autoheal")
    found = answer(run, "lost-confirmed", 1, 2, frozenset({"partition", "wait", "publish", "heal"}))
    assert "partition" in steps(found, run) and "heal" in steps(found, run)
    assert "side_given_up" in {loss.cause for loss in Run.of(found.story).moment().losses}


def test_a_rolling_restart_under_shutdown_always_needs_no_fault():
    run = mirrored(mode="all", sync_mode="manual", promote_on_shutdown="always")
    found = answer(run, "lost-confirmed", 0, 5, frozenset({"stop", "start"}))
    names = steps(found, run)
    assert set(names) == {"stop", "start"}
    assert answer(run, "lost-confirmed", 0, len(names) - 1, frozenset({"stop", "start"})).story is None
    careful = mirrored(mode="all", sync_mode="manual", promote_on_shutdown="when-synced")
    found = answer(careful, "lost-confirmed", 0, len(names), frozenset({"stop", "start"}))
    assert names == ["stop", "start", "stop", "stop"]
    assert [step.at is None for step in Run.of(found.story).steps[-2:]] == [True, False]  # two nodes at once


def test_master_and_only_synchronised_mirror_die_together_under_when_synced():
    run = mirrored(sync_mode="manual", promote_on_failure="when-synced")
    assert answer(run, "unavailable", 1, 0).story is None
    found = answer(run, "unavailable", 2, 0, frozenset({"kill"}))
    assert [step.verb.nodes for step in found.story.steps[len(run.steps) :]] == [("a", "b")]


def test_two_sides_go_on_with_different_messages():
    run = mirrored()
    found = answer(run, "diverged", 1, 1)
    assert "partition" in steps(found, run)
    assert answer(mirrored(handling="pause_minority"), "diverged", 1, 1).story is None


@pytest.mark.parametrize("goal", ["lost-confirmed", "unavailable", "diverged"])
def test_a_quorum_queue_stands_a_minority_of_faults(goal):
    """Who stops a node beside takes another member away, so that a queue may be unavailable."""
    found = answer(run_of(QUORUM), goal, 1, 1, ALL - {"stop"} if goal == "unavailable" else ALL)
    assert found.story is None
    assert found.states > 100


def test_a_quorum_queue_does_not_stand_a_majority_of_them():
    run = run_of(QUORUM)
    assert steps(answer(run, "unavailable", 2, 0, frozenset({"kill"})), run) == ["kill"]
    assert steps(answer(run, "unavailable", 1, 1, frozenset({"kill", "stop"})), run) == ["stop", "kill"]


@pytest.mark.parametrize("asked", ["consumer_timeout: undefined", "consumer_timeout: 120000"])
def test_a_search_with_a_client_that_never_answers_ends(asked: str):
    """However old a delivery is, nothing comes of it where no channel looks."""
    run = run_of(HELD.format(asked=asked))
    found = [*islice(explore(run, Question("diverged", Spent(1, 0), frozenset({"partition", "wait"}))), 40)]
    assert found[-1].over and found[-1].story is None


# How it searches


def test_shorter_stories_come_first_and_it_tells_how_far_it_is():
    progress = list(explore(run_of(QUORUM), Question("lost-confirmed", Spent(1, 1), ALL)))
    assert all(one.depth <= other.depth and one.states <= other.states for one, other in pairwise(progress))
    assert [one.over for one in progress].count(True) == 1
    assert progress[-1].left == 0


def test_a_state_is_gone_on_from_again_with_more_left():
    """A node may be gone because of a fault or an operation: whoever has spent the other has more of one left."""
    seen: dict[bytes, list[Spent]] = {}
    new = [room._is_new(seen, room.Found(room.Place(spent=spent), b"x", ())) for spent in
           (Spent(1, 1), Spent(2, 1), Spent(0, 2), Spent(1, 1), Spent(0, 1), Spent(1, 0), Spent(0, 2))]  # fmt: skip
    assert new == [True, False, True, False, True, True, False]


def test_what_was_confirmed_belongs_to_a_state():
    modes = (SYNC_BY_HAND.replace("count: 5", f"count: 5, mode: {mode}") for mode in ("confirm", "plain"))
    promised, plain = map(run_of, modes)
    assert key(promised.moment().state, promised.settings) == key(plain.moment().state, plain.settings)
    assert room.digest(promised.moment(), promised) != room.digest(plain.moment(), plain)


def test_a_search_goes_on_from_where_the_run_stands_and_leaves_it_alone():
    run = mirrored(sync_mode="manual")
    run.apply_plain({"stop": "b"})
    before = run.scenario
    found = answer(run, "lost-confirmed", 1, 0)
    assert steps(found, run) == ["kill"]
    assert run.scenario == before


def test_harm_that_was_done_before_is_not_found():
    run = mirrored(sync_mode="manual")
    run.apply_plain({"stop": "b"})
    run.apply_plain({"kill": "a"})
    assert answer(run, "lost-confirmed", 1, 0, frozenset({"kill"})).story is None


def test_what_a_stopped_node_remembers_grows_no_older():
    """Else a search that may wait would never end."""
    run = mirrored(sync_mode="manual")
    for step in ({"publish": {"queue": "q", "count": 100_000}}, {"kill": "b"}, {"start": "b"}, {"sync_queue": "q"}):
        run.apply_plain(step)
    mirror = run.moment().state.queues["q"].mirrors[0]
    run.apply_plain({"stop": run.settings.names[mirror], "at": run.reached_s + 1})
    run.apply_plain({"partition": [["a"], [name for name in "bc" if name != run.settings.names[mirror]]]})
    progress = list(islice(explore(run, Question("unavailable", Spent(), frozenset({"wait"}))), 9))
    assert progress[-1].over


def test_it_is_the_same_story_in_slices_of_any_size():
    run = mirrored(handling="autoheal")
    verbs = frozenset({"partition", "wait", "publish", "heal"})
    whole, sliced = (answer(run, "lost-confirmed", 1, 2, verbs, at_a_time=size) for size in (1000, 7))
    assert replace(sliced, left=whole.left) == whole


def test_it_is_the_same_story_when_little_is_kept(monkeypatch):
    verbs = frozenset({"partition", "wait", "publish", "heal"})
    kept = answer(mirrored(handling="autoheal"), "lost-confirmed", 1, 2, verbs)
    monkeypatch.setattr(room, "AT_HAND", 5)
    assert answer(mirrored(handling="autoheal"), "lost-confirmed", 1, 2, verbs) == kept


@pytest.mark.spark
def test_it_is_the_same_story_on_spark(spark):
    from hawb.study.spark_search import spread

    run, verbs = mirrored(handling="autoheal"), frozenset({"partition", "wait", "publish", "heal"})
    alone = answer(run, "lost-confirmed", 1, 2, verbs)
    assert answer(run, "lost-confirmed", 1, 2, verbs, expand=spread(spark)).story == alone.story
    everything = answer(run_of(QUORUM), "diverged", 1, 0)
    found = answer(run_of(QUORUM), "diverged", 1, 0, expand=spread(spark))
    assert (found.states, found.depth) == (everything.states, everything.depth)


def test_each_place_is_gone_on_from_by_itself():
    """However places share their beginnings, what follows from one does not hang on which came before."""
    run, question = mirrored(sync_mode="manual"), Question("lost-confirmed", Spent(1, 2), ALL)
    places = [found.place for found in followers(run, question, [room.Place()])]
    together = [found.digest for found in followers(run, question, places)]
    alone = [found.digest for place in places for found in followers(run, question, [place])]
    assert set(together) == set(alone)


# The command


def explored(tmp_path: Path, text: str, *options: str):
    file = tmp_path / "story.yaml"
    file.write_text(text)
    return CliRunner().invoke(main, ["explore", str(file), *options])


SYNC_BY_HAND = MIRRORED.format(mode="exactly, ha-params: 2", handling="ignore", more="ha-sync-mode: manual")


def test_the_command_writes_the_story(tmp_path):
    found = explored(tmp_path, SYNC_BY_HAND, "--without", "publish")
    assert found.exit_code == 1, found.output
    assert check(Run.of(load(found.stdout)), load(found.stdout).expect) == []
    question, answer, *_ = found.stdout.splitlines()
    assert question == "# Is every confirmed message safe?"
    assert answer == "# ✕ No: confirmed messages of q are lost after 2 steps: stop a; kill b."
    kept = tmp_path / "kept.yaml"
    told = explored(tmp_path, SYNC_BY_HAND, "--without", "publish", "--scenario", str(kept))
    assert (told.exit_code, load(kept)) == (1, load(found.stdout))
    assert "scenario:" not in told.stdout


def test_the_command_says_that_there_is_none(tmp_path):
    none = explored(tmp_path, QUORUM, "--operations", "0")
    assert none.exit_code == 0
    question, answer, *_ = none.stdout.splitlines()
    assert question == "Is every confirmed message safe?"
    assert answer == "✓ Yes: no confirmed message is lost within 1 fault and no operations."
    as_json = json.loads(explored(tmp_path, QUORUM, "--operations", "0", "--json").stdout)
    assert (as_json["story"], as_json["over"], as_json["faults"]) == (None, True, 1)


def test_the_command_tells_how_far_a_search_came_that_was_stopped(tmp_path, monkeypatch):
    def stopped(*given):
        yield Progress(states=7, tried=9, depth=2, left=3)
        raise KeyboardInterrupt

    monkeypatch.setattr(room, "explore", stopped)
    told = explored(tmp_path, QUORUM)
    assert told.exit_code == 3
    none = "no confirmed message is lost by stories of up to 2 steps within 1 fault and 2 operations."
    assert none in " ".join(told.stdout.split())
    assert "7 distinct states, 9 steps played" in told.stdout


def test_what_cannot_be_asked_is_refused(tmp_path):
    assert explored(tmp_path, QUORUM, "--for", "happiness").exit_code == 2
    assert explored(tmp_path, "scenario: x\n").exit_code == 2
