"""The data dictionary agrees with the tables on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_up_trials import made_up, study
from msgspec.structs import replace
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_type

from hawb.study import tables
from hawb.study.audit import audit
from hawb.study.fleet_tables import OF_AUDITS, OF_EXPORTS
from hawb.study.live import smaller
from hawb.study.load import load
from hawb.study.pipeline import run, write_of_trials
from hawb.study.tables import FAULTS, LOSSES, OF_STUDIES, TRIALS, dictionary
from hawb.study.trial_record import Record
from hawb.study.trial_rows import SCHEMA

ROOT = Path(__file__).parents[2]
EVERY = (*OF_STUDIES, *OF_AUDITS, *OF_EXPORTS)


def test_dictionary_is_up_to_date():
    """After a change: python -m hawb.study.dictionary"""
    assert (ROOT / "data" / "tables.md").read_text() == dictionary(EVERY)


@pytest.mark.parametrize("table", EVERY, ids=lambda table: table.name)
def test_each_column_is_listed_once_with_a_description(table):
    names = [column.name for column in table.columns]
    assert len(names) == len(set(names)) and set(table.partitioned_by) <= set(names)
    assert all(column.comment and "|" not in column.comment for column in table.columns)


def test_trials_have_the_columns_of_records():
    assert tuple(tables.RECORD) == Record.__struct_fields__
    kinds = {column.name: column.type for column in TRIALS.columns}
    assert {field.name: kinds[field.name] for field in SCHEMA} == {field.name: field.type for field in SCHEMA}


@pytest.mark.spark
def test_tables_on_disk_agree_with_the_dictionary(spark: SparkSession, tmp_path: Path):
    run(spark, study(), tmp_path, source=made_up())
    file = ROOT / "data" / "studies" / "replica-counts.yaml"
    small = smaller(load(file), 2, ["classic-1"], ["many-failures"])
    small = replace(small, designs={"classic-1": replace(small.designs["classic-1"], version="3.10")})  # which loses
    for table in (FAULTS, LOSSES):
        write_of_trials(spark, small, tmp_path, table.name, 2, "replica-counts")
    audit(spark, [ROOT / "data" / "real"], tmp_path / "audit")
    for table, folder in (*((one, tmp_path) for one in OF_STUDIES), *((one, tmp_path / "audit") for one in OF_AUDITS)):
        table.check(folder)
        found = {field.name: field.dataType for field in spark.read.parquet(str(folder / table.name)).schema}
        expected = {one.name: from_arrow_type(one.type) for one in table.columns}
        assert found.keys() == expected.keys(), table.name
        assert {name for name in found if found[name] != expected[name]} <= set(table.partitioned_by)
        parts = [part.partition("=")[0] for part in table.file(folder).relative_to(folder).parts[1:-1]]
        assert parts == list(table.partitioned_by)
        assert table.read(spark, folder).limit(1).count() == (table.name != "refusals")


def test_staging_files_of_a_killed_batch_are_ignored(tmp_path: Path):
    left = tmp_path / "trials" / ".spark-staging-1" / "study=a" / "part-0.parquet"
    left.parent.mkdir(parents=True)
    left.touch()
    assert TRIALS.file(tmp_path) is None
    whole = tmp_path / "trials" / "study=a" / "cell=b" / "batch=0" / "part-0.parquet"
    whole.parent.mkdir(parents=True)
    whole.touch()
    assert TRIALS.file(tmp_path) == whole
