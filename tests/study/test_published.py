from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from hawb.study.published import published_folder, table

FOLDER = Path(__file__).parents[2] / "data" / "published"
TABLES = sorted(path.stem for path in FOLDER.glob("*.yaml"))

TEXT = """\
what: A table
source: https://example.org
date: 2020-01-01
workload: none
read: measured
columns: {nodes: how many, rate_per_s: messages a second}
rows: [%s]
"""


@pytest.mark.parametrize("name", TABLES)
def test_every_table_names_its_source_and_method(name: str) -> None:
    found = table(name, FOLDER)
    assert found.rows
    assert all(address.startswith("https://") for address in (found.source, *found.more_sources))
    assert found.read.startswith(("measured", "by eye", "by colour"))
    assert f"`{name}`" in (FOLDER / "README.md").read_text()


@pytest.mark.parametrize("name", TABLES)
def test_column_has_numbers_or_words_only(name: str) -> None:
    found = table(name, FOLDER)
    for column in found.columns:
        kinds = {isinstance(row[column], str) for row in found.rows if row[column] is not None}
        assert len(kinds) <= 1, column


def test_curves_read_by_colour_agree_with_their_legend() -> None:
    by_size, legend = table("one-queue-by-size", FOLDER).rows, table("one-queue-all-sizes", FOLDER).rows
    compared = 0
    for run in legend:
        same = [
            row["rate_per_s"]
            for row in by_size
            if all(row[column] == run[column] for column in ("setup", "queue_type", "replicas"))
        ]
        if same:
            compared += 1
            assert sum(same) / len(same) == pytest.approx(run["mean_per_s"], rel=0.03)
    assert compared == 8


@pytest.mark.parametrize("row", ["{nodes: 3}", "{nodes: 3, rate_per_s: 1, disk: io1}"])
def test_a_row_with_other_columns_is_refused(tmp_path: Path, row: str) -> None:
    (tmp_path / "odd.yaml").write_text(TEXT % row)
    with pytest.raises(msgspec.ValidationError, match=r"rows\[0\]: (rate_per_s|disk) in the row or in columns"):
        table("odd", tmp_path)


def test_error_outside_a_checkout_names_the_missing_data(outside_checkouts: None) -> None:
    with pytest.raises(FileNotFoundError, match="published: this is part of"):
        published_folder()
