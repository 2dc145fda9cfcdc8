"""The worst-case search: it finds the known ways to lose messages, shortest first, and its answer does not depend on
how the work is distributed."""

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
    """Return how a search ends. Require that its story, if any, meets the goal."""
    *_, last = explore(run, Question(goal, Spent(faults, operations), verbs), **how)
    assert last.over
    if last.story is not None:
        again = load(dump(last.story))
        assert again == last.story
        assert check(Run.of(again), again.expect) == []
    return last


def steps(found: Progress, run: Run) -> list[str]:
    """Return the verbs that a story adds to the run."""
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


def test_partition_makes_two_sides_diverge():
    run = mirrored()
    found = answer(run, "diverged", 1, 1)
    assert "partition" in steps(found, run)
    assert answer(mirrored(handling="pause_minority"), "diverged", 1, 1).story is None


@pytest.mark.parametrize("goal", ["lost-confirmed", "unavailable", "diverged"])
def test_quorum_queue_tolerates_a_minority_of_faults(goal):
    """An additional stop takes another member down, so the queue may be unavailable."""
    found = answer(run_of(QUORUM), goal, 1, 1, ALL - {"stop"} if goal == "unavailable" else ALL)
    assert found.story is None
    assert found.states > 100


def test_quorum_queue_does_not_tolerate_a_majority_of_faults():
    run = run_of(QUORUM)
    assert steps(answer(run, "unavailable", 2, 0, frozenset({"kill"})), run) == ["kill"]
    assert steps(answer(run, "unavailable", 1, 1, frozenset({"kill", "stop"})), run) == ["stop", "kill"]


@pytest.mark.parametrize("asked", ["consumer_timeout: undefined", "consumer_timeout: 120000"])
def test_search_with_a_client_that_never_acks_ends(asked: str):
    """The age of a delivery does not matter if no timeout is configured."""
    run = run_of(HELD.format(asked=asked))
    found = [*islice(explore(run, Question("diverged", Spent(1, 0), frozenset({"partition", "wait"}))), 40)]
    assert found[-1].over and found[-1].story is None


# How it searches


def test_shorter_stories_come_first_and_progress_is_reported():
    progress = list(explore(run_of(QUORUM), Question("lost-confirmed", Spent(1, 1), ALL)))
    assert all(one.depth <= other.depth and one.states <= other.states for one, other in pairwise(progress))
    assert [one.over for one in progress].count(True) == 1
    assert progress[-1].left == 0


def test_state_is_continued_again_if_more_budget_is_left():
    """A node may be down by a fault or by an operation, which leaves different budgets."""
    seen: dict[bytes, list[Spent]] = {}
    new = [room._is_new(seen, room.Found(room.Place(spent=spent), b"x", ())) for spent in
           (Spent(1, 1), Spent(2, 1), Spent(0, 2), Spent(1, 1), Spent(0, 1), Spent(1, 0), Spent(0, 2))]  # fmt: skip
    assert new == [True, False, True, False, True, True, False]


def test_confirmed_messages_are_part_of_the_state():
    modes = (SYNC_BY_HAND.replace("count: 5", f"count: 5, mode: {mode}") for mode in ("confirm", "plain"))
    promised, plain = map(run_of, modes)
    assert key(promised.moment().state, promised.settings) == key(plain.moment().state, plain.settings)
    assert room.digest(promised.moment(), promised) != room.digest(plain.moment(), plain)


def test_search_starts_at_the_end_of_the_run_and_does_not_change_it():
    run = mirrored(sync_mode="manual")
    run.apply_plain({"stop": "b"})
    before = run.scenario
    found = answer(run, "lost-confirmed", 1, 0)
    assert steps(found, run) == ["kill"]
    assert run.scenario == before


def test_earlier_harm_is_not_found():
    run = mirrored(sync_mode="manual")
    run.apply_plain({"stop": "b"})
    run.apply_plain({"kill": "a"})
    assert answer(run, "lost-confirmed", 1, 0, frozenset({"kill"})).story is None


def test_memory_of_a_stopped_node_does_not_age():
    """Otherwise a search with `wait` would never end."""
    run = mirrored(sync_mode="manual")
    for step in ({"publish": {"queue": "q", "count": 100_000}}, {"kill": "b"}, {"start": "b"}, {"sync_queue": "q"}):
        run.apply_plain(step)
    mirror = run.moment().state.queues["q"].mirrors[0]
    run.apply_plain({"stop": run.settings.names[mirror], "at": run.reached_s + 1})
    run.apply_plain({"partition": [["a"], [name for name in "bc" if name != run.settings.names[mirror]]]})
    progress = list(islice(explore(run, Question("unavailable", Spent(), frozenset({"wait"}))), 9))
    assert progress[-1].over


def test_answer_does_not_depend_on_the_slice_size():
    run = mirrored(handling="autoheal")
    verbs = frozenset({"partition", "wait", "publish", "heal"})
    whole, sliced = (answer(run, "lost-confirmed", 1, 2, verbs, at_a_time=size) for size in (1000, 7))
    assert replace(sliced, left=whole.left) == whole


def test_answer_does_not_depend_on_the_cache_size(monkeypatch):
    verbs = frozenset({"partition", "wait", "publish", "heal"})
    kept = answer(mirrored(handling="autoheal"), "lost-confirmed", 1, 2, verbs)
    monkeypatch.setattr(room, "AT_HAND", 5)
    assert answer(mirrored(handling="autoheal"), "lost-confirmed", 1, 2, verbs) == kept


@pytest.mark.spark
def test_answer_is_the_same_on_spark(spark):
    from hawb.study.spark_search import spread

    run, verbs = mirrored(handling="autoheal"), frozenset({"partition", "wait", "publish", "heal"})
    alone = answer(run, "lost-confirmed", 1, 2, verbs)
    assert answer(run, "lost-confirmed", 1, 2, verbs, expand=spread(spark)).story == alone.story
    everything = answer(run_of(QUORUM), "diverged", 1, 0)
    found = answer(run_of(QUORUM), "diverged", 1, 0, expand=spread(spark))
    assert (found.states, found.depth) == (everything.states, everything.depth)


def test_each_place_is_continued_independently():
    """The successors of a place do not depend on which place came before."""
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


def test_command_writes_the_story(tmp_path):
    found = explored(tmp_path, SYNC_BY_HAND, "--without", "publish")
    assert found.exit_code == 1, found.output
    assert check(Run.of(load(found.stdout)), load(found.stdout).expect) == []
    question, answer, *_ = found.stdout.splitlines()
    assert question == "# Is every confirmed message safe?"
    assert answer == "# ✕ No: confirmed messages of q are lost after 2 steps: stop a; kill b."
    kept = tmp_path / "kept.yaml"
    result = explored(tmp_path, SYNC_BY_HAND, "--without", "publish", "--scenario", str(kept))
    assert (result.exit_code, load(kept)) == (1, load(found.stdout))
    assert "scenario:" not in result.stdout


def test_command_states_that_there_is_no_story(tmp_path):
    none = explored(tmp_path, QUORUM, "--operations", "0")
    assert none.exit_code == 0
    question, answer, *_ = none.stdout.splitlines()
    assert question == "Is every confirmed message safe?"
    assert answer == "✓ Yes: no confirmed message is lost within 1 fault and no operations."
    as_json = json.loads(explored(tmp_path, QUORUM, "--operations", "0", "--json").stdout)
    assert (as_json["story"], as_json["over"], as_json["faults"]) == (None, True, 1)


def test_command_reports_the_progress_of_a_stopped_search(tmp_path, monkeypatch):
    def stopped(*given):
        yield Progress(states=7, tried=9, depth=2, left=3)
        raise KeyboardInterrupt

    monkeypatch.setattr(room, "explore", stopped)
    result = explored(tmp_path, QUORUM)
    assert result.exit_code == 3
    none = "no confirmed message is lost in stories of up to 2 steps with at most 1 fault and 2 operations."
    assert none in " ".join(result.stdout.split())
    assert "7 distinct states, 9 steps played" in result.stdout


def test_invalid_question_is_refused(tmp_path):
    assert explored(tmp_path, QUORUM, "--for", "happiness").exit_code == 2
    assert explored(tmp_path, "scenario: x\n").exit_code == 2
