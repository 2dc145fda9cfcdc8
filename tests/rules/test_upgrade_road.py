"""The upgrade path: the fewest steps between two releases, and the changes of each step."""

from __future__ import annotations

from itertools import pairwise

import pytest

from hawb.rules.profiles import PROFILES
from hawb.rules.upgrade_releases import RELEASES
from hawb.rules.upgrade_road import NoRoad, leg, road, rules_of, series_of


@pytest.mark.parametrize(
    ("start", "goal", "stops"),
    [
        ("3.13", "4.3", "3.13 4.2 4.3"),
        ("3.8", "4.3", "3.8 3.9 3.10 3.11 3.12 3.13 4.2 4.3"),
        ("4.0", "4.3", "4.0 4.2 4.3"),
        ("4.2", "4.3", "4.2 4.3"),
        ("3.13", "4.0", "3.13 4.0"),
        ("4.3", "4.3", "4.3"),
    ],
)
def test_path_has_the_fewest_steps(start: str, goal: str, stops: str):
    legs = road(start, goal)
    assert [start, *(each.newer.series for each in legs)] == stops.split()
    assert all(each.older.series in each.newer.since for each in legs)


def test_path_stops_at_the_given_releases():
    legs = road("3.13", "4.3", ["4.0", "4.1", "4.2"])
    assert [each.name for each in legs] == ["3.13 -> 4.0", "4.0 -> 4.1", "4.1 -> 4.2", "4.2 -> 4.3"]


@pytest.mark.parametrize(
    ("start", "goal", "via", "text"),
    [
        ("3.8", "4.3", [], "3.8 -> 4.3: no upgrade leads there in one step, to 4.3 only from 4.2"),
        ("3.8", "4.3", [], "3.8 -> 3.9 -> 3.10 -> 3.11 -> 3.12 -> 3.13 -> 4.2 -> 4.3"),
        ("3.13", "4.3", ["4.0"], "4.0 -> 4.3: no upgrade leads there in one step"),
        ("3.12", "4.0", [], "to 4.0 only from 3.13"),
        ("4.0", "3.13", None, "4.0 -> 3.13: no upgrade leads back"),
        ("3.13", "4.3", ["5.0"], "release '5.0': not one of 3.8, 3.9"),
        ("3.7", "4.3", None, "release '3.7': not one of"),
    ],
)
def test_unsupported_path_is_refused_with_a_supported_one(start: str, goal: str, via, text: str):
    with pytest.raises(NoRoad) as refused:
        road(start, goal, via)
    assert text in str(refused.value)


def test_step_includes_the_changes_of_skipped_releases():
    both = leg("3.13", "4.2")
    assert [release.series for release in both.between] == ["4.0", "4.1"]
    assert "message_containers" in both.flags and "khepri_db" not in both.flags
    assert both.drops_mirrors and both.new_erlang and not both.moves_metadata
    assert {series for series, _ in both.removed} == {"4.0", "4.1", "4.2"}
    last = leg("4.2", "4.3")
    assert last.moves_metadata and not last.drops_mirrors and not last.new_erlang
    assert both.erlang_together and not leg("3.13", "4.0").erlang_together
    assert leg("3.11", "3.12").least == "3.11.18" and last.least is None


def test_quorum_queues_wait_for_all_members_only_if_the_machine_version_changes():
    text = {older: leg(older, newer).mixed[0].what for older, newer in pairwise(RELEASES)}
    assert "once a member on an upgraded node becomes its leader" in text["3.13"]
    assert "until the nodes of all its members are upgraded" in text["4.2"]
    assert not any("quorum queue goes by" in text[older] for older in ("3.8", "3.11", "3.12", "4.1"))


def test_feature_flag_is_required_once_after_the_release_that_adds_it():
    known: set[str] = set()
    for release in RELEASES.values():
        asked = {*release.flags, *release.flags_of_plugins}
        assert asked <= known | {"khepri_db", "empty_basic_get_metric", "drop_unroutable_metric"}
        known = (known - asked) | {*release.brings}


def test_each_release_and_each_fact_has_a_source():
    for release in RELEASES.values():
        assert release.source or release.series == "3.8"
        assert bool(release.flags) is bool(release.without)
        assert all(fact.source for fact in (*release.removed, *release.mixed))


def test_release_uses_the_rules_of_its_own_or_an_older_profile():
    assert [rules_of(series) for series in RELEASES] == [
        "3.8", "3.8", "3.10", "3.10", "3.10", "3.13", "4.0", "4.0", "4.0", "4.3",
    ]  # fmt: skip
    assert PROFILES.keys() <= RELEASES.keys()


@pytest.mark.parametrize(("release", "series"), [("3.13.7", "3.13"), ("4.3", "4.3"), ("3.7.28", None), ("x", None)])
def test_series_of_a_release(release: str, series: str | None):
    assert series_of(release) == series
