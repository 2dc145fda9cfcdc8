"""The table of RabbitMQ's release notes after 4.0.5: complete rows with known words; each rule has a scenario or
counts as open."""

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


def test_columns_are_the_documented_ones():
    assert [list(row) for row in ROWS] == [COLUMNS] * len(ROWS)
    assert set(WORDS) == {"touches", "kind", "hawb", "lines"}


@pytest.mark.parametrize("column", ["touches", "kind", "hawb"])
def test_words_are_known_and_used(column: str):
    assert {row[column] for row in ROWS} == set(WORDS[column])


def test_releases_are_in_order_and_complete():
    assert list(WORDS["lines"]) == RELEASES
    assert [release for release, _ in groupby(row["release"] for row in ROWS)] == RELEASES


def test_no_release_has_more_rows_than_its_notes_have_lines():
    rows = Counter(row["release"] for row in ROWS)
    assert {release: count for release, count in rows.items() if count > WORDS["lines"][release]} == {}


def test_every_row_has_a_line_and_a_source():
    assert [row for row in ROWS if not 0 < len(row["line"]) <= LONGEST or not SOURCE.search(row["source"])] == []


def test_every_row_has_a_reason():
    assert [row["line"] for row in ROWS if not row["reason"].strip()] == []


def test_one_change_has_the_same_row_in_each_release():
    rows = {tuple(row[column] for column in COLUMNS[1:]) for row in ROWS}
    assert [line for line, count in Counter(line for line, *_ in rows).items() if count > 1] == []


def test_rule_has_a_scenario_or_is_open():
    shown = {row["scenario"] for row in ROWS if row["hawb"] == "rule"} - {"open"}
    assert [name for name in sorted(shown) if not (DATA / "scenarios" / f"{name}.yaml").is_file()] == []
    assert sum(row["scenario"] == "open" for row in ROWS) == OPEN


def test_only_rules_are_open():
    assert [row["line"] for row in ROWS if row["hawb"] != "rule" and row["scenario"] == "open"] == []
    left_out = [row["scenario"] for row in ROWS if row["hawb"] == "left out"]
    assert not any(left_out)
