"""Campaigns of wide stories: every triple of settings occurs, and a differing queue is found and shrunk. The model
plays the part of the broker."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from wide_pairs import pairs as of_pairs

from hawb.broker.real import Played
from hawb.cli import main
from hawb.conformance.compare import WHOLE
from hawb.conformance.fuzz import Campaign, Result, by_another_seed
from hawb.conformance.wide_campaigns import WIDE, pairs, queue_stories, report, settings
from hawb.conformance.wide_settings import FACTORS, Row, factors_of, only_of, possible, rows
from hawb.conformance.wide_stories import alone, wide_story
from hawb.scenario.document import Scenario
from hawb.scenario.load import load

pytestmark = pytest.mark.full

SEED = 0
Values = frozenset[tuple[str, str]]


@pytest.fixture(scope="module", autouse=True)
def fewer() -> Iterator[None]:
    """Use stories with fewer queues."""
    with of_pairs():
        yield


# --- settings ---


def together(row: Row, size: int) -> set[Values]:
    """Return all combinations of `size` values of a row."""
    return {frozenset(values) for values in combinations(row.items(), size)}


def triples_of(version: str, deal: int) -> set[Values]:
    """Return every triple of values of some possible row. Plots with the same conditions count as one."""
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


@pytest.mark.parametrize(
    ("version", "deal", "fewest", "most"),
    [
        ("4.0", 0, 300, 360),
        pytest.param("3.10", 0, 480, 580, marks=pytest.mark.long),
        pytest.param("3.10", 1, 500, 600, marks=pytest.mark.long),
        pytest.param("3.8", 1, 440, 550, marks=pytest.mark.long),
        pytest.param("4.0", 1, 470, 530, marks=pytest.mark.long),
    ],
)  # fmt: skip
def test_every_possible_triple_occurs_in_a_round(version: str, deal: int, fewest: int, most: int) -> None:
    chosen = rows(SEED, deal, version)
    of_plots = Counter(row["plot"] for row in chosen)
    print(len(chosen), of_plots)
    seen: set[Values] = set().union(*(together(row, 3) for row in chosen))
    assert all(possible(row, version) for row in chosen)
    assert seen == triples_of(version, deal)
    assert fewest <= len(chosen) <= most
    assert all(24 <= count <= 62 for count in of_plots.values()), "a story has fifty queues or so"


# --- campaigns ---


def one_is_odd(scenario: Scenario) -> Played:
    """Play a broker on which queue q07 loses its policy after a node went down."""
    played = by_another_seed(scenario)
    if {"stop", "kill"} & {step.name for step in scenario.steps} and "q07" in played.outcome["queues"]:
        played.outcome["queues"]["q07"]["policy"] = "odd"
    return played


@pytest.fixture(scope="module")
def folder(fewer: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a campaign of one story in which one queue differs."""
    made = tmp_path_factory.mktemp("odd")
    campaign(made).play(0)
    return made


def campaign(folder: Path, count: int = 1) -> Campaign:
    return Campaign(folder, one_is_odd, "broker 3.10", "3.10", SEED, count, 0, WIDE)


def test_difference_is_shrunk_to_its_queue(folder: Path) -> None:
    made = campaign(folder)
    (result,) = made.results.values()
    assert result.parts == {"q07": ("queues.q07.policy",)}
    assert made.unshrunk == [(0, "q07")]
    file = made.shrink(0, 60, "q07")
    assert file.name == "broker-3.10-wide-0-0-q07.yaml"
    assert file.read_text().startswith("# at the end, queues.q07.policy: the model says ")
    assert {step.name for step in load(file).steps} <= {"set_policy", "declare", "stop", "kill"}
    again = campaign(folder, 2)
    assert (again.results, again.unshrunk, again.left) == ({0: result}, [], [1])
    text, count = report(again), len(wide_story(SEED, 0).settings)
    assert "differs 0 q07: queues.q07.policy" in text
    assert f"1 stories, {count} queue-stories: {count - 1} agree, 1 differ; 0 stories could not be played" in text


def test_difference_that_needs_other_queues_is_reported_so(tmp_path: Path) -> None:
    def crowded(scenario: Scenario) -> Played:
        played = one_is_odd(scenario)
        return played if len(played.outcome["queues"]) > 1 else by_another_seed(scenario)

    made = Campaign(tmp_path, crowded, "broker 3.10", "3.10", SEED, 1, 0, WIDE)
    made.play(0)
    file = made.shrink(0, 5, "q07")
    assert "# It did not differ when it was played alone.\n" in file.read_text()
    assert load(file).steps == alone(made.scenario(0), "q07").steps


def test_settings_are_counted_alone_and_in_pairs(folder: Path) -> None:
    made = campaign(folder)
    result, odd = list(queue_stories(made)), wide_story(SEED, 0).settings["q07"]
    for one in settings(made):
        assert one.asked - one.equal == (odd[one.factor] == one.value)
    assert Counter(one.factor for one in settings(made)).keys() == FACTORS.keys()
    found = pairs(made)
    assert sum(pair.asked for pair in found) == len(result) * len(list(combinations(FACTORS, 2)))
    assert sum(pair.asked - pair.equal for pair in found) == len(list(combinations(FACTORS, 2)))
    assert all(pair.factor < pair.other_factor for pair in found)


def test_results_of_older_campaigns_can_be_read() -> None:
    line = (
        b'{"other":"b","seed":3,"n":1,"verdict":"differs","seconds":1,"played":"d","fields":["nodes.a"],"notes":["n"]}'
    )
    assert msgspec.json.decode(line, type=Result).differing == {WHOLE: ("nodes.a",)}


def test_command_plays_wide_stories(tmp_path: Path) -> None:
    options = ["fuzz", "--wide", "--on", "model", "--count", "1", "--seed", str(SEED), "--out", str(tmp_path)]
    result = CliRunner().invoke(main, options, catch_exceptions=False)
    assert result.exit_code == 0, result.stdout
    assert f"1 stories, {len(wide_story(SEED, 0).settings)} queue-stories: " in result.stdout.splitlines()[-1]
    assert '"other":"model 3.10 wide"' in (tmp_path / "results.jsonl").read_text()
