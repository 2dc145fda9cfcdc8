"""Samples that change from day to day take everything in turn, and each kernel whose sources have changed."""

from __future__ import annotations

import pytest
import samples

FIRST_DAY = 739_000


@pytest.fixture(autouse=True)
def a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the day, and play no long samples."""
    monkeypatch.setattr(samples, "LONG", False)
    monkeypatch.setattr(samples, "DAY", FIRST_DAY)


@pytest.mark.parametrize("count", [1, 3])
def test_each_value_is_taken_once_in_some_days(count: int, monkeypatch: pytest.MonkeyPatch):
    taken = []
    for day in range(12 // count):
        monkeypatch.setattr(samples, "DAY", FIRST_DAY + day)
        taken += samples.todays(range(12), count)
    assert sorted(taken) == list(range(12))


@pytest.mark.parametrize("count", [1, 3])
def test_parameters_that_are_not_of_the_day_are_left_to_long_runs(count: int, monkeypatch: pytest.MonkeyPatch):
    found = samples.of_the_day([("a", 1), ("b", 2), ("c", 3), ("d", 4)], count, pytest.mark.full)
    assert [one.values for one in found] == [("a", 1), ("b", 2), ("c", 3), ("d", 4)]
    marks = [{mark.name for mark in one.marks} for one in found]
    assert (marks.count({"full"}), marks.count({"full", "long"})) == (count, 4 - count)
    monkeypatch.setattr(samples, "LONG", True)
    assert {mark.name for one in samples.of_the_day(range(4), count) for mark in one.marks} == set()


@pytest.mark.parametrize(("changed", "taken"), [("tests/conftest.py", 1), ("hawb/study/kernel/raft.py", 3)])
def test_every_kernel_is_compiled_if_its_sources_have_changed(
    monkeypatch: pytest.MonkeyPatch, changed: str, taken: int
):
    monkeypatch.setattr(samples, "changed_files", lambda: [changed])
    marks = samples.of_kernels(["mirrored", "classic", "quorum"])
    assert [mark.name for mark in marks.values()].count("kernel") == taken
