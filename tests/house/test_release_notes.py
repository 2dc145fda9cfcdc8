"""The table of RabbitMQ's release notes after 4.0.5 says of each line what it has to, in words that are explained; what
the profile 4.3 does otherwise has a scenario, or is counted as open."""

from __future__ import annotations

import csv
import re
from collections import Counter
from itertools import groupby
from pathlib import Path

import pytest
import yaml

DATA = Path(__file__).parents[2] / "data"
WORDS = yaml.safe_load((DATA / "release_notes.yaml").read_text(encoding="utf-8"))
with (DATA / "release_notes.csv").open(encoding="utf-8", newline="") as file:
    ROWS = list(csv.DictReader(file, strict=True))

COLUMNS = ["release", "line", "touches", "source", "kind", "hawb", "scenario", "reason"]
OPEN = 0
"""How many rows with a rule have no scenario yet; who writes one counts down."""
SERIES = {"4.0": (6, 9), "4.1": (0, 8), "4.2": (0, 9), "4.3": (0, 5)}
"""The releases after 4.0.5, by series the first and the last."""
RELEASES = [f"{series}.{patch}" for series, (first, last) in SERIES.items() for patch in range(first, last + 1)]
SOURCE = re.compile(r"(?:ra|khepri|seshat)?#\d+\b|\b[a-z][\w.-]*[a-z]\b")
"""A pull request, or a module by its name."""
LONGEST = 160


def test_columns_are_the_ones_that_are_explained():
    assert [list(row) for row in ROWS] == [COLUMNS] * len(ROWS)
    assert set(WORDS) == {"touches", "kind", "hawb", "lines"}


@pytest.mark.parametrize("column", ["touches", "kind", "hawb"])
def test_words_are_known_and_used(column: str):
    assert {row[column] for row in ROWS} == set(WORDS[column])


def test_releases_stand_in_order_and_none_is_passed_over():
    assert list(WORDS["lines"]) == RELEASES
    assert [release for release, _ in groupby(row["release"] for row in ROWS)] == RELEASES


def test_no_release_has_more_rows_than_its_notes_have_lines():
    rows = Counter(row["release"] for row in ROWS)
    assert {release: count for release, count in rows.items() if count > WORDS["lines"][release]} == {}


def test_every_row_says_what_it_is_about_and_where_that_stands():
    assert [row for row in ROWS if not 0 < len(row["line"]) <= LONGEST or not SOURCE.search(row["source"])] == []


def test_every_row_has_a_reason():
    assert [row["line"] for row in ROWS if not row["reason"].strip()] == []


def test_one_change_is_told_alike_wherever_it_was_released():
    told = {tuple(row[column] for column in COLUMNS[1:]) for row in ROWS}
    assert [line for line, count in Counter(line for line, *_ in told).items() if count > 1] == []


def test_a_rule_has_a_scenario_or_is_open():
    shown = {row["scenario"] for row in ROWS if row["hawb"] == "rule"} - {"open"}
    assert [name for name in sorted(shown) if not (DATA / "scenarios" / f"{name}.yaml").is_file()] == []
    assert sum(row["scenario"] == "open" for row in ROWS) == OPEN


def test_what_is_no_rule_is_not_open():
    assert [row["line"] for row in ROWS if row["hawb"] != "rule" and row["scenario"] == "open"] == []
    left_out = [row["scenario"] for row in ROWS if row["hawb"] == "left out"]
    assert not any(left_out)
