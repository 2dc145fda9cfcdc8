"""Random scenarios and fuzz campaigns: coverage, independence of chance, stored results and shrinking. The model plays
the part of the broker."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import LONG

from hawb.broker.actions import ACTIONS
from hawb.broker.driven import undriven
from hawb.broker.real import CannotPlay, Played
from hawb.cli import main
from hawb.conformance import fuzz
from hawb.conformance.compare import WHOLE, compare
from hawb.conformance.fuzz import Campaign, by_another_seed, report, tally
from hawb.conformance.random_faults import FAULTS
from hawb.conformance.random_operations import OPERATIONS
from hawb.conformance.random_scenarios import dealt, random_scenario
from hawb.conformance.shrinking import shrunk
from hawb.scenario.document import Scenario
from hawb.scenario.dump import dump
from hawb.scenario.load import load, read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.verbs import VERB_NAMES, Wait

COUNT = 200 if LONG else 51
"""Of these 51 each chapter has its turn: nine faults five times or more, and seventeen operations six times."""
MANY = 200
"""Enough to count verbs in."""


@pytest.fixture(scope="module")
def scenarios() -> list[Scenario]:
    return [random_scenario(1, n) for n in range(COUNT)]


@pytest.fixture(scope="module")
def outcomes(scenarios: list[Scenario]) -> list[dict]:
    return [outcome(Run.of(scenario)) for scenario in scenarios]


# --- what is drawn ---


def test_random_scenario_is_the_same_in_any_process() -> None:
    code = "from hawb.conformance.random_scenarios import *; from hawb.scenario.dump import dump; "
    code += "print(*(dump(random_scenario(5, n)) for n in (7, 3)))"
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    command = [sys.executable, "-c", code]
    printed = subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout
    assert printed == f"{dump(random_scenario(5, 7))} {dump(random_scenario(5, 3))}\n"


def test_numbers_and_seeds_give_different_scenarios(scenarios: list[Scenario]) -> None:
    others = [random_scenario(2, n) for n in range(50)]
    texts = {dump(scenario).partition("\n")[2] for scenario in scenarios + others}
    assert len(texts) == COUNT + 50


@pytest.mark.full
@pytest.mark.parametrize("seed", [0, 1, 2] if LONG else [0])
def test_two_hundred_scenarios_cover_all_verbs_and_events(seed: int) -> None:
    found = tally(random_scenario(seed, n) for n in range(MANY))
    # What a steady publisher has sent depends on the machine's time; who resets a node by force, or has it stand alone,
    # has lost its cluster, and who shrinks queues by force their members.
    left_out = {"publisher", "force_reset", "force_shrink", "force_standalone_khepri_boot"}
    vocabulary = {VERB_NAMES[verb] for verb in (*ACTIONS, Wait)} - left_out
    counts = {verb: found.succeeded[verb] for verb in vocabulary}
    print(counts, found.events)
    assert {verb: count for verb, count in counts.items() if count < 20} == {}
    assert found.events["any of these"] >= MANY / 2


def test_every_chapter_is_drawn_equally_often() -> None:
    for deck in (FAULTS, OPERATIONS):
        turns = Counter(dealt(deck, 3, 9, n).__name__ for n in range(2 * len(deck)))
        assert set(turns.values()) == {2}
        assert len(turns) == len(deck)


def test_every_random_scenario_can_be_driven(scenarios: list[Scenario]) -> None:
    assert [reason for scenario in scenarios for reason in undriven(scenario)] == []


@pytest.mark.full
def test_outcome_does_not_depend_on_random_draws(scenarios: list[Scenario]) -> None:
    assert [scenario.scenario for scenario in scenarios if compare(by_another_seed(scenario))] == []


def test_mirrors_are_added_together_only_by_ha_mode_nodes(scenarios: list[Scenario], outcomes: list[dict]) -> None:
    """The order in which a broker adds mirrors for `all` and `exactly` is random."""
    for scenario, end in zip(scenarios, outcomes, strict=True):
        crashed = {(event["queue"], event["node"]) for event in end["events"] if event["event"] == "process_crashed"}
        added = Counter(
            (event["step"], event["queue"])
            for event in end["events"]
            if event["event"] == "mirror_added" and (event["queue"], event["node"]) not in crashed
        )  # those take their own places again, at one moment (`races.mirrors_in_order`)
        for (step, queue), count in added.items():
            modes = [
                before.verb.definition.get("ha-mode")
                for before in scenario.steps[: step + 1]
                if before.name == "set_policy" and before.verb.name == "mirrors"
            ]
            assert count == 1 or modes[-1] == "nodes", (scenario.scenario, step, queue)


def test_all_nodes_run_at_the_end_without_boot_timeouts(scenarios: list[Scenario], outcomes: list[dict]) -> None:
    for scenario, end in zip(scenarios, outcomes, strict=True):
        waits_s = sum(step.verb.seconds for step in scenario.steps if step.name == "wait")
        boots = sum(step.name in ("start", "join", "force_boot") for step in scenario.steps)
        assert set(end["nodes"].values()) == {"running"}, scenario.scenario
        assert end["time_s"] - waits_s < 10 * boots + 10, scenario.scenario


# --- what is compared of quorum queues ---

GROUP = {"x-queue-type": "quorum", "x-quorum-initial-group-size": 3}
DECLARED, DECLARED_AT_B = ({"declare": {"queue": "r1", "node": node, "arguments": GROUP}} for node in "ab")


def compared(*steps: dict, **seen: object) -> list[str]:
    """Return the fields that differ if the broker reports these values for the queue."""
    given = {"scenario": "s", "cluster": {"nodes": ["a", "b", "c"]}, "steps": list(steps)}
    played = by_another_seed(read_scenario(given))
    played.outcome["queues"]["r1"] |= seen
    return [difference.field for difference in compare(played)]


@pytest.mark.parametrize(
    ("steps", "luck"),
    [
        ((), False),
        (({"transfer_leadership": {"queue": "r1", "node": "c"}},), False),
        (({"kill": "a"},), True),
        (({"kill": "a"}, {"delete": {"queue": "r1", "node": "b"}}, DECLARED_AT_B), False),
    ],
)
def test_leader_is_compared_unless_it_was_elected(steps: tuple, luck: bool) -> None:
    assert compared(DECLARED, *steps, leader="nobody") == ([] if luck else ["queues.r1.leader"])


def test_only_committed_messages_are_compared() -> None:
    publish = {"publish": {"queue": "r1", "count": 2, "node": "a"}}
    steps = (DECLARED, publish, {"kill": "b"}, {"kill": "c"}, publish)
    assert compared(*steps, messages=2, messages_ready=2) == []
    assert compared(*steps, messages=4, messages_ready=4) == ["queues.r1.messages", "queues.r1.messages_ready"]


# --- campaigns ---


def other_than_the_model(scenario: Scenario) -> Played:
    """Play a broker on which a process crash changes the policy."""
    played = by_another_seed(scenario)
    if any(step.name == "crash" for step in scenario.steps):
        for queue in played.outcome["queues"].values():
            queue["policy"] = "odd"
    return played


def campaign(directory: Path, play: Callable[[Scenario], Played], count: int = 12) -> Campaign:
    return Campaign(directory, play, "broker 3.10", "3.10", 3, count, 0)


def played_by(made: Campaign) -> list[str]:
    return [made.play(n).verdict for n in made.left]


CRASHING = [n for n in range(12) if any(step.name == "crash" for step in random_scenario(3, n).steps)]


def test_interrupted_campaign_resumes(tmp_path: Path) -> None:
    asked: list[str] = []

    def interrupted(scenario: Scenario) -> Played:
        asked.append(scenario.scenario)
        if len(asked) == 4:
            raise KeyboardInterrupt
        return by_another_seed(scenario)

    with pytest.raises(KeyboardInterrupt):
        played_by(campaign(tmp_path, interrupted))
    with (tmp_path / "results.jsonl").open("ab") as file:
        file.write(b'{"other": "bro')
    again = campaign(tmp_path, interrupted)
    assert again.left == list(range(3, 12))
    assert played_by(again) == ["agrees"] * 9
    assert len(asked) == 13
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 12
    assert campaign(tmp_path, interrupted).left == []
    assert campaign(tmp_path, interrupted, 14).left == [12, 13]
    assert "12 agreed at once, 0 differed, 0 could not be played" in report(again)


def test_stored_result_belongs_to_one_scenario_and_broker(tmp_path: Path, monkeypatch) -> None:
    played_by(campaign(tmp_path, by_another_seed))
    for other in (("model", "3.10", 3), ("broker 3.10", "3.10", 2)):
        assert len(Campaign(tmp_path, by_another_seed, *other, 12).left) == 12
    monkeypatch.setattr(fuzz, "random_scenario", lambda seed, n, version: random_scenario(seed, n + (n == 5), version))
    assert campaign(tmp_path, by_another_seed).left == [5]


def test_differing_scenario_is_shrunk(tmp_path: Path) -> None:
    made = campaign(tmp_path, other_than_the_model)
    verdicts = played_by(made)
    assert [n for n, verdict in enumerate(verdicts) if verdict == "differs"] == CRASHING
    assert made.unshrunk == [(n, WHOLE) for n in CRASHING]
    file = made.shrink(CRASHING[0], attempts=60)
    text = file.read_text()
    assert text.startswith("# at the end, queues.m")
    assert "the broker odd" in text.splitlines()[0]
    assert [step.name for step in load(file).steps] == ["declare", "crash"]
    assert campaign(tmp_path, other_than_the_model).unshrunk == [(n, WHOLE) for n in CRASHING[1:]]
    assert f"differs {CRASHING[0]}: " in report(made)


def test_stored_difference_is_compared_again_without_playing(tmp_path: Path, monkeypatch) -> None:
    def never(_: Scenario) -> Played:
        raise AssertionError

    made, odd = campaign(tmp_path, other_than_the_model), CRASHING[0]
    result = made.play(odd)
    made.compare_again()
    assert (made.results[odd], made.observed_file(odd).exists()) == (result, True)
    monkeypatch.setattr(fuzz, "compare_parts", lambda *_, **__: {})
    later = campaign(tmp_path, never)
    later.compare_again()
    assert (later.results[odd].verdict, later.results[odd].seconds) == ("agrees", result.seconds)
    assert (campaign(tmp_path, never).results[odd].verdict, later.observed_file(odd).exists()) == ("agrees", False)


def test_shrinking_respects_the_limit_of_plays(tmp_path: Path) -> None:
    asked: list[Scenario] = []

    def counted(scenario: Scenario) -> Played:
        asked.append(scenario)
        return other_than_the_model(scenario)

    made = campaign(tmp_path, counted)
    made.play(CRASHING[0])
    for attempts in (1, 7):
        asked.clear()
        made.shrink(CRASHING[0], attempts)
        assert len(asked) == attempts
    asked.clear()
    made.shrink(CRASHING[0], attempts=300)
    assert len(asked) == len({dump(scenario) for scenario in asked}) < 300


def test_difference_that_does_not_recur_is_kept_unshrunk(tmp_path: Path) -> None:
    plays = [other_than_the_model, by_another_seed]
    made = campaign(tmp_path, lambda scenario: plays.pop(0)(scenario))
    made.play(CRASHING[0])
    file = made.shrink(CRASHING[0], attempts=5)
    assert "# It did not differ when it was played again.\n" in file.read_text()
    assert load(file) == made.scenario(CRASHING[0])


def test_shrunk_scenario_differs_in_the_same_field(tmp_path: Path) -> None:
    """Without its crash the scenario still differs on this broker, but in another field."""

    def odd(scenario: Scenario) -> Played:
        played = other_than_the_model(scenario)
        played.outcome["partitions"] = ["odd"] if len(scenario.steps) < 10 else []
        return played

    made = campaign(tmp_path, odd)
    made.play(CRASHING[0])
    assert "crash" in [step.name for step in load(made.shrink(CRASHING[0], attempts=60)).steps]


def test_unplayable_scenario_is_reported_and_the_campaign_continues(tmp_path: Path) -> None:
    def failing(scenario: Scenario) -> Played:
        if scenario == random_scenario(3, 2):
            raise CannotPlay("the cluster did not answer")
        if scenario == random_scenario(3, 4):
            raise ZeroDivisionError("a fault of the drive")
        return by_another_seed(scenario)

    made = campaign(tmp_path, failing)
    assert Counter(played_by(made)) == {"agrees": 10, "unplayed": 2}
    shown = report(made)
    assert "unplayed 2: the cluster did not answer" in shown
    assert "unplayed 4: ZeroDivisionError: a fault of the drive" in shown
    assert " of 10 scenarios have a promotion" in shown
    assert "10 agreed at once, 0 differed, 2 could not be played" in shown


def test_waits_stay_while_links_are_silent(scenarios: list[Scenario]) -> None:
    silent = next(scenario for scenario in scenarios if {"cut", "wait"} <= {step.name for step in scenario.steps})
    waits = [step.name for step in silent.steps].count("wait")
    short = shrunk(silent, lambda candidate: "cut" in [step.name for step in candidate.steps], 300)
    assert Counter(step.name for step in short.steps) == {"cut": 1, "wait": waits}


# --- the command ---


def hawb(*arguments: object):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


def test_command_resumes_and_prints_the_results(tmp_path: Path, monkeypatch) -> None:
    options = ("--on", "model", "--seed", 3, "--out", tmp_path / "new" / "results")
    first = hawb("fuzz", "--count", 5, *options)
    assert first.exit_code == 0
    assert first.stdout.splitlines()[-1].startswith("5 agreed at once, 0 differed, 0 could not be played, in ")
    asked: list[Scenario] = []

    def odd(scenario: Scenario) -> Played:
        asked.append(scenario)
        return other_than_the_model(scenario)

    monkeypatch.setattr(fuzz, "by_another_seed", odd)
    second = hawb("fuzz", "--count", 12, *options, "--replays", 0)
    left = [n for n in CRASHING if n >= 5]
    assert left and len(asked) == 7
    assert second.exit_code == 1
    assert f"{12 - len(left)} agreed at once, {len(left)} differed" in second.stdout
    assert list(tmp_path.rglob("*.yaml")) == []
    assert hawb("fuzz", "--count", 12, *options, "--replays", 1).exit_code == 1
    assert len(list(tmp_path.rglob("*.yaml"))) == len(left)


def test_unwritable_results_are_refused_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = hawb("fuzz", "--on", "model", "--count", 1, "--out", tmp_path / "file" / "results")
    assert result.exit_code == 2
    assert f"{tmp_path / 'file'} is not a folder" in result.stderr


@pytest.mark.parametrize("line", ["[]", "not JSON", '{"other": "model"}'])
def test_invalid_results_are_refused_without_a_traceback(tmp_path: Path, line: str) -> None:
    (tmp_path / "results.jsonl").write_text(line + "\n")
    result = hawb("fuzz", "--on", "model", "--count", 1, "--out", tmp_path)
    assert result.exit_code == 2
    assert "results.jsonl: not the results of a campaign" in result.stderr
