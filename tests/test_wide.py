"""Wide stories: that their queues have every triple of settings, that a story is to each queue what it would be alone,
and that a campaign of them finds and shrinks the one queue that differs. The model plays the part of the broker."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import combinations, product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from conftest import LONG
from invariants import check_trace, watched

from hawb.broker import fuzz
from hawb.broker.compare import WHOLE, compare_parts
from hawb.broker.driven import undriven
from hawb.broker.fuzz import Campaign, Result, by_another_seed
from hawb.broker.real import Played
from hawb.broker.wide_campaigns import WIDE, asked, pairs, report, settings
from hawb.broker.wide_queues import queue_of
from hawb.broker.wide_settings import FACTORS, QUORUM, ROUNDS, Row, factors_of, only_of, possible, rows
from hawb.broker.wide_stories import ROUND, WideStory, alone, cut_of, wide_story
from hawb.cli import main
from hawb.scenario.document import Scenario
from hawb.scenario.dump import dump
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

SEED = 0
Values = frozenset[tuple[str, str]]


@pytest.fixture(scope="module")
def stories() -> list[WideStory]:
    """A round of each kind."""
    return [wide_story(SEED, n) for n in range(ROUND * len(ROUNDS))]


@pytest.fixture(scope="module")
def outcomes(stories: list[WideStory]) -> list[dict[str, Any]]:
    return [outcome(Run.of(story.scenario)) for story in stories]


# --- settings ---


def together(row: Row, size: int) -> set[Values]:
    """The values of a row, so many together."""
    return {frozenset(values) for values in combinations(row.items(), size)}


def triples_of(version: str, deal: int) -> set[Values]:
    """Every triple of values that some possible row has. Plots that no condition tells apart are alike."""
    factors = factors_of(version, deal)
    values = [(name, value) for name in factors if name != "plot" for value in factors[name]]
    of_factor = [[code for code, (of, _) in enumerate(values) if of == name] for name in factors if name != "plot"]
    alike: defaultdict[tuple[bool, ...], list[str]] = defaultdict(list)
    for plot in factors["plot"]:
        named = (part["plot"] for only in only_of(version) for part in only if "plot" in part)
        alike[tuple(plot in plots for plots in named)].append(plot)
    triples: set[Values] = set()
    for plots in alike.values():
        rows_of_plot = [
            codes
            for codes in product(*of_factor)
            if possible(dict([("plot", plots[0]), *(values[code] for code in codes)]), version)
        ]
        twos = {pair for codes in rows_of_plot for pair in combinations(codes, 2)}
        threes = {triple for codes in rows_of_plot for triple in combinations(codes, 3)}
        triples.update(frozenset(values[code] for code in triple) for triple in threes)
        triples.update(frozenset([*(values[code] for code in pair), ("plot", plot)]) for pair in twos for plot in plots)
    return triples


MINUTES = pytest.mark.skipif(not LONG, reason="a minute of rows: a part of make test-long")


@pytest.mark.parametrize(
    ("version", "deal", "fewest", "most"),
    [
        pytest.param("3.10", 0, 480, 580, marks=MINUTES), ("4.0", 0, 300, 360),
        pytest.param("3.10", 1, 500, 600, marks=MINUTES), pytest.param("3.8", 1, 440, 550, marks=MINUTES),
        ("4.0", 1, 470, 530),
    ],
)  # fmt: skip
def test_every_possible_triple_occurs_in_a_round(version: str, deal: int, fewest: int, most: int) -> None:
    chosen = rows(SEED, deal, version)
    print(len(chosen), Counter(row["plot"] for row in chosen))
    seen: set[Values] = set().union(*(together(row, 3) for row in chosen))
    assert all(possible(row, version) for row in chosen)
    assert seen == triples_of(version, deal)
    assert fewest <= len(chosen) <= most


def test_a_round_has_one_story_for_each_plot(stories: list[WideStory]) -> None:
    for deal in range(len(ROUNDS)):
        found = [row for story in stories[deal * ROUND : (deal + 1) * ROUND] for row in story.settings.values()]
        in_order, of_round = (sorted(sorted(row.items()) for row in some) for some in (found, rows(SEED, deal, "3.10")))
        assert in_order == of_round
    for story in stories:
        assert len({row["plot"] for row in story.settings.values()}) == 1
        assert 24 <= len(story.settings) <= 62
        assert 3 <= len(story.scenario.cluster.nodes) <= 5


def test_a_story_is_the_same_in_any_process() -> None:
    code = "from hawb.broker.wide_stories import *; from hawb.scenario.dump import dump; "
    code += f"print(*(dump(wide_story({SEED}, n, '4.0').scenario) for n in (7, 3)))"
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    command = [sys.executable, "-c", code]
    printed = subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout
    assert printed == f"{dump(wide_story(SEED, 7, '4.0').scenario)} {dump(wide_story(SEED, 3, '4.0').scenario)}\n"


# --- stories ---


def test_stories_can_be_driven_and_wait_for_nobody(stories: list[WideStory], outcomes: list[dict[str, Any]]) -> None:
    for story, told in zip(stories, outcomes, strict=True):
        title = story.scenario.scenario
        boots = sum(step.name in ("start", "force_boot") for step in story.scenario.steps)
        assert undriven(story.scenario) == []
        assert set(told["nodes"].values()) == {"running"}, title
        waits_s = sum(step.verb.seconds for step in story.scenario.steps if step.name == "wait")
        assert told["time_s"] < 10 * boots + waits_s + 10, title
        assert told["errors"] == [], title


def test_stories_without_mirroring_have_no_policy_that_mirrors() -> None:
    for n in range(ROUND):
        scenario = wide_story(SEED, n, "4.0").scenario
        policies = [step.verb.definition for step in scenario.steps if step.name == "set_policy"]
        assert policies and not [key for definition in policies for key in definition if key.startswith("ha-")]
        assert outcome(Run.of(scenario))["errors"] == [], scenario.scenario


def test_queues_leave_nothing_to_luck(stories: list[WideStory]) -> None:
    """But in which order two consumers of a quorum queue are missed, and their messages come back."""
    for story in stories:
        found = compare_parts(by_another_seed(story.scenario), cut_of(story.scenario), seeds=0)
        settings = {queue: story.settings[queue] for queue in found}
        lucky = {queue for queue, row in settings.items() if row["consumer"] == "two" and row["replicas"] in QUORUM}
        assert {queue: row for queue, row in settings.items() if queue not in lucky} == {}, story.scenario.scenario


def test_a_queue_does_as_it_does_alone(stories: list[WideStory], outcomes: list[dict[str, Any]]) -> None:
    """And what must be so in every state is so then: whole stories would be too many states of too many queues."""
    for story, told in zip(stories, outcomes, strict=True):
        if "forced" in story.scenario.scenario:
            # There a policy that others have set after the first node went is unknown until any policy is set.
            continue
        for queue in list(story.settings)[::9]:
            with watched():
                run = Run.of(alone(story.scenario, queue))
            check_trace(run.moment_of(len(run.scenario.steps) - 1))
            mine = outcome(run)
            for section in ("queues", "ledger", "consumers"):
                seen = told[section].get(queue)
                assert shown(mine[section].get(queue)) == shown(seen), (story.scenario.scenario, queue, section)


def shown(entry: dict[str, Any] | None) -> dict[str, Any] | None:
    """What an outcome has of a queue, but for what follows from who was elected, and the order of its mirrors."""
    kept = entry and {key: value for key, value in entry.items() if key not in fuzz.OF_ELECTIONS | {"leader"}}
    return kept and kept | ({"mirrors": sorted(kept["mirrors"])} if "mirrors" in kept else {})


def test_a_step_belongs_to_one_queue_or_to_all(stories: list[WideStory]) -> None:
    of_all = {step.name for story in stories for step in story.scenario.steps if queue_of(step.verb) is None}
    assert of_all == {"expect", "force_boot", "kill", "start", "stop", "wait"}
    for story in stories:
        assert {queue_of(step.verb) for step in story.scenario.steps} == {None, *story.settings}


# --- campaigns ---


def one_is_odd(scenario: Scenario) -> Played:
    """A broker on which one queue loses its policy, once it was declared and a node has gone."""
    played = by_another_seed(scenario)
    if {"stop", "kill"} & {step.name for step in scenario.steps} and "q07" in played.outcome["queues"]:
        played.outcome["queues"]["q07"]["policy"] = "odd"
    return played


def test_a_difference_is_found_and_shrunk_for_its_queue_alone(tmp_path: Path) -> None:
    made = Campaign(tmp_path, one_is_odd, "broker 3.10", "3.10", SEED, 1, 0, WIDE)
    result = made.play(0)
    assert result.parts == {"q07": ("queues.q07.policy",)}
    assert made.unshrunk == [(0, "q07")]
    file = made.shrink(0, 60, "q07")
    assert file.name == "broker-3.10-wide-0-0-q07.yaml"
    assert file.read_text().startswith("# at the end, queues.q07.policy: the model says ")
    assert {step.name for step in load(file).steps} <= {"set_policy", "declare", "stop", "kill"}
    again = Campaign(tmp_path, one_is_odd, "broker 3.10", "3.10", SEED, 2, 0, WIDE)
    assert (again.results, again.unshrunk, again.left) == ({0: result}, [], [1])
    told, count = report(again), len(wide_story(SEED, 0).settings)
    assert "differs 0 q07: queues.q07.policy" in told
    assert f"1 stories, {count} queue-stories: {count - 1} agree, 1 differ; 0 stories could not be played" in told


def test_what_differs_in_company_only_says_so(tmp_path: Path) -> None:
    def crowded(scenario: Scenario) -> Played:
        played = one_is_odd(scenario)
        return played if len(played.outcome["queues"]) > 1 else by_another_seed(scenario)

    made = Campaign(tmp_path, crowded, "broker 3.10", "3.10", SEED, 1, 0, WIDE)
    made.play(0)
    file = made.shrink(0, 5, "q07")
    assert "# It did not differ when it was played alone.\n" in file.read_text()
    assert load(file).steps == alone(made.scenario(0), "q07").steps


def test_settings_are_counted_alone_and_beside_each_other(tmp_path: Path) -> None:
    made = Campaign(tmp_path, one_is_odd, "broker 3.10", "3.10", SEED, 1, 0, WIDE)
    made.play(0)
    told, odd = list(asked(made)), wide_story(SEED, 0).settings["q07"]
    for one in settings(made):
        assert one.asked - one.equal == (odd[one.factor] == one.value)
    assert Counter(one.factor for one in settings(made)).keys() == FACTORS.keys()
    found = pairs(made)
    assert sum(pair.asked for pair in found) == len(told) * len(list(combinations(FACTORS, 2)))
    assert sum(pair.asked - pair.equal for pair in found) == len(list(combinations(FACTORS, 2)))
    assert all(pair.factor < pair.other_factor for pair in found)


def test_results_of_former_campaigns_are_read() -> None:
    line = (
        b'{"other":"b","seed":3,"n":1,"verdict":"differs","seconds":1,"played":"d","fields":["nodes.a"],"notes":["n"]}'
    )
    assert msgspec.json.decode(line, type=Result).differing == {WHOLE: ("nodes.a",)}


def test_the_command_plays_wide_stories(tmp_path: Path) -> None:
    options = ["fuzz", "--wide", "--on", "model", "--count", "1", "--seed", str(SEED), "--out", str(tmp_path)]
    result = CliRunner().invoke(main, options, catch_exceptions=False)
    assert result.exit_code == 0, result.stdout
    assert f"1 stories, {len(wide_story(SEED, 0).settings)} queue-stories: " in result.stdout.splitlines()[-1]
    assert '"other":"model 3.10 wide"' in (tmp_path / "results.jsonl").read_text()
