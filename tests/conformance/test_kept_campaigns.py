"""Stored campaigns: how often model and broker agree, by release and by pairs of settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner
from wide_pairs import pairs

from hawb.broker.real import Played
from hawb.cli import main
from hawb.conformance import kept_campaigns
from hawb.conformance.fuzz import Campaign, by_another_seed
from hawb.conformance.kept_campaigns import Kept, together
from hawb.conformance.wide_campaigns import WIDE, Pair
from hawb.conformance.wide_settings import FACTORS
from hawb.conformance.wide_stories import wide_story
from hawb.scenario.document import Scenario
from hawb.views.broker import agreement, model_vs_broker

pytestmark = pytest.mark.full

SEED = 0
ODD = "q07"
FIRST, SECOND = ("consumer", "one"), ("queue", "durable")


def one_is_odd(scenario: Scenario) -> Played:
    """Play the model with one extra message in one queue."""
    played = by_another_seed(scenario)
    queue = played.outcome["queues"][ODD]
    odd = {ODD: queue | {"messages": (queue["messages"] or 0) + 1}}
    return played._replace(outcome=played.outcome | {"queues": played.outcome["queues"] | odd})


@pytest.fixture(scope="module", autouse=True)
def fewer() -> Iterator[None]:
    """Use stories with fewer queues."""
    with pairs():
        yield


@pytest.fixture(scope="module")
def campaign(fewer: None, tmp_path_factory) -> Campaign:
    made = Campaign(tmp_path_factory.mktemp("out"), one_is_odd, "broker 3.10", "3.10", SEED, 1, 0, WIDE)
    made.play(0)
    return made


@pytest.fixture(scope="module")
def kept(campaign: Campaign, tmp_path_factory) -> Kept:
    return kept_campaigns.read(kept_campaigns.save(campaign, tmp_path_factory.mktemp("data") / "recorded" / "wide"))


def test_campaign_is_stored_with_differences_and_counts(campaign: Campaign, kept: Kept):
    settings = wide_story(SEED, 0).settings
    head, counts = kept
    assert (head, counts) == kept_campaigns.kept(campaign)
    assert (head.release, head.seed, head.stories, head.unplayed) == ("3.10.8", SEED, 1, 0)
    assert (head.queues, head.equal) == (len(settings), len(settings) - 1)
    assert head.differing == {f"0 {ODD}": (f"queues.{ODD}.messages",)}
    odd = settings[ODD]
    for one in counts:
        has = [row for row in settings.values()
               if (row[one.factor], row[one.other_factor]) == (one.value, one.other_value)]  # fmt: skip
        assert (one.asked, one.equal) == (len(has), len(has) - (odd in has))


def test_campaigns_are_summed(kept: Kept):
    twice = together([kept, kept])
    assert twice == [one._replace(asked=2 * one.asked, equal=2 * one.equal) for one in kept[1]]
    assert agreement.by_release([kept, kept]).rows == [
        ("3.10.8", 2, 2 * kept[0].queues, 2 * kept[0].equal, 2, f"{kept[0].equal / kept[0].queues:.1%}")
    ]
    assert agreement.what_differs([kept]).rows == [("3.10.8", "0", f"0 {ODD}", f"queues.{ODD}.messages")]


def test_incomplete_agreement_is_not_rounded_to_100_percent(kept: Kept):
    (row,) = agreement.by_release([(msgspec.structs.replace(kept[0], queues=4217, equal=4216), [])]).rows
    assert row[-1] == "99.9%"


def test_heat_map_shows_counts_above_and_agreement_below():
    counts = [Pair(*FIRST, *SECOND, 50, 48), Pair("consumer", "none", *SECOND, 4, 0)]
    axes = agreement.heat_map(counts).axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["durable", "none", "one"]  # in the order of the factors
    often, equal = (np.ma.filled(image.get_array().astype(float), np.nan) for image in axes.get_images())
    assert (often[0, 2], often[0, 1], equal[2, 0], equal[1, 0]) == (50, 4, 0.96, 0)
    assert np.isnan(often[2, 0]) and np.isnan(equal[0, 2]) and np.isnan(often[1, 2])
    marks = [text for text in axes.texts if text.get_text() == "▼"]
    assert [text.xy for text in marks] == [(0, 1)]
    assert {text.get_text() for text in axes.texts} - {"▼"} == {"queue", "consumer"}


@pytest.mark.parametrize("settings", [2, 3, 20])
def test_colour_scales_do_not_overlap(settings: int):
    counts = [Pair("queue", str(one), "consumer", "one", one + 1, 1) for one in range(settings - 1)]
    figure = agreement.heat_map(counts)
    figure.canvas.draw()
    chart, *scales = (axes.get_tightbbox() for axes in figure.axes)
    assert not scales[0].overlaps(scales[1])
    assert not any(scale.overlaps(chart) or scale.x1 > figure.bbox.x1 for scale in scales)


def test_heat_map_has_a_place_for_every_factor():
    counts = [Pair(factor, value, *FIRST, 1, 1) for factor, values in FACTORS.items() for value in values
              if factor != FIRST[0]]  # fmt: skip
    names = [label.get_text() for label in agreement.heat_map(counts).axes[0].get_yticklabels()]
    assert len(names) == sum(map(len, FACTORS.values())) - 1


def test_verbs_are_counted_by_release():
    """Each fourth recording is played: tests/broker/test_recordings.py compares all."""
    table = agreement.by_verb(model_vs_broker.all_recordings()[::4])
    assert table.columns == ("verb", "3.8", "3.10", "4.0", "4.3", "differ")
    rows = {verb: counts for verb, *counts in table.rows}
    assert rows["kill"][1] > 25 and rows["sync_queue"][2] == 0
    assert {counts[-1] for counts in rows.values()} == {0}


def test_command_stores_counts(tmp_path: Path):
    options = ["fuzz", "--wide", "--on", "model", "--count", "1", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(main, [*options, "--keep", str(tmp_path / "kept")])
    assert result.exit_code == 0
    (file,) = (tmp_path / "kept").iterdir()
    assert (file.name, kept_campaigns.read(file)[0].stories) == ("3.10.8-0.jsonl", 1)
    (tmp_path / "file").touch()
    refused = CliRunner().invoke(main, [*options, "--keep", str(tmp_path / "file")])
    assert (refused.exit_code, "file is not a folder" in refused.stderr) == (2, True)


def test_title_of_the_map_names_the_lowest_agreement():
    often, rare = Pair("a", "x", "b", "y", 98, 97), Pair("a", "x", "c", "z", 2, 1)
    assert agreement.sentence([often, rare]) == (
        "Model and broker agree in 98.0% of what was asked, least often of queues with a: x and c: z (50% of 2)."
    )
    assert agreement.sentence([often._replace(equal=98)]) == "Model and broker agree in everything that was asked."
    assert agreement.sentence([]) == "Nothing was asked."
