"""hawb's data sources for Spark: rows, options and invalid files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from hawb import __version__
from hawb.study import same_code
from hawb.study.cells import Cell, cells_of
from hawb.study.failures import why
from hawb.study.fleet_tables import EXPORTED_DEFINITIONS, EXPORTED_QUEUES
from hawb.study.load import load
from hawb.study.sources import CODE, QUESTION, StudyReader, StudyStream, Trials, as_option, counts
from hawb.study.spark_partitions import Share, costs, next_offset, shares
from hawb.study.tables import FAULTS, LOSSES, TRIALS
from hawb.study.trial_rows import records

DATA = Path(__file__).parents[2] / "data"
FILE = DATA / "studies" / "policies.yaml"
LOSING = {"designs": "manual-stop-when-kill-always", "environments": "kills-nightly-batch"}


def read(spark: SparkSession, source: str, path: Path = FILE, **options: object) -> DataFrame:
    return spark.read.format(source).options(**options).load(str(path))


# Studies


@pytest.mark.spark
@pytest.mark.parametrize("table", [TRIALS, FAULTS, LOSSES], ids=lambda table: table.name)
def test_columns_have_comments(spark: SparkSession, table):
    schema = read(spark, f"hawb-{table.name}").schema
    assert schema.names == table.own.names
    assert all(field.metadata["comment"] for field in schema)


@pytest.mark.spark
def test_trials_agree_with_the_kernel(spark: SparkSession):
    study = load(FILE)
    found = read(spark, "hawb-trials", **LOSING, first=20, trials=60).collect()
    (cell,) = [one for one in cells_of(study, "policies") if one.key == found[0].cell]
    expected = records(study, "manual-stop-when-kill-always", "kills-nightly-batch", 20, 40).to_pylist()
    assert sorted((row.asDict() for row in found), key=lambda row: row["trial"]) == [
        {"study": "policies", "cell": cell.key, "design": cell.design, "environment": cell.environment} | row
        for row in expected
    ]


@pytest.mark.full
@pytest.mark.spark
def test_queries_of_one_dataframe_are_independent(spark: SparkSession):
    """With pushed-down filters they are not: Spark 4.3.0 keeps the rows of one query's filter for all."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    two = "manual-stop-when-kill-when, automatic-stop-when-kill-when"
    rows = read(spark, "hawb-trials", designs=two, environments="kills, controlled-stops", trials=3)
    few = rows.where("environment = 'kills' AND trial < 2 AND design LIKE 'manual%'")
    other = rows.where("environment = 'controlled-stops' AND trial = 1")
    assert [one.count() for one in (rows, few, rows, other, few.union(other))] == [12, 2, 12, 2, 4]
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def played(shares: Iterable[Share]) -> set[tuple[str, str, int, int]]:
    """Return (design, environment, first trial, one after the last) with adjacent shares merged."""
    found: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for share in sorted(shares, key=lambda share: share.first):
        runs = found.setdefault((share.cell.design, share.cell.environment), [])
        end = share.first + share.count
        runs.append((runs.pop()[0], end) if runs and runs[-1][1] == share.first else (share.first, end))
    return {(*cell, *run) for cell, runs in found.items() for run in runs}


@pytest.mark.parametrize(
    ("options", "cells", "trials"),
    [
        ({}, 32, (0, 10_000)),
        ({"designs": "manual-stop-when-kill-when"}, 4, (0, 10_000)),
        ({"environments": "kills, controlled-stops", "trials": "40"}, 16, (0, 40)),
        ({**LOSING, "first": "7", "trials": "8"}, 1, (7, 8)),
        ({"first": "20", "trials": "20"}, 0, None),
        ({"first": "30", "trials": "20"}, 0, None),
    ],
)
def test_options_select_cells_and_trials(options: Mapping[str, str], cells: int, trials: tuple[int, int] | None):
    found = played(StudyReader(Trials({"path": str(FILE)} | options)).partitions())
    assert len(found) == cells and {run[2:] for run in found} == ({trials} if trials else set())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"designs": "manual"}, "designs: manual is not one of manual-stop-when-kill-when, "),
        ({"environments": "kills,"}, "environments:  is not one of controlled-stops, "),
    ],
)
def test_unknown_design_or_environment_is_refused_by_name(options: Mapping[str, str], said: str):
    with pytest.raises(ValueError, match=said):
        Trials({"path": str(FILE)} | options)


@pytest.mark.spark
def test_losses_sum_to_those_of_the_trials(spark: SparkSession):
    """The engine plays them, because it knows the causes. Repeated losses of a message count once."""
    trials = read(spark, "hawb-trials", **LOSING, trials=20).where("lost_confirmed > 0 OR lost > 0")
    found = {row.trial: row for row in trials.collect()}
    losses = read(spark, "hawb-losses", **LOSING, trials=20).collect()
    assert found and {row.trial for row in losses} == set(found)
    for trial, row in found.items():
        of_trial = [loss for loss in losses if loss.trial == trial]
        assert sum(loss.messages for loss in of_trial if loss.cause != "no_queue") == row.lost
        assert sum(loss.confirmed for loss in of_trial) == row.lost_confirmed
        assert sorted(loss.loss for loss in of_trial) == list(range(len(of_trial)))
    assert {(loss.cause, loss.node is None) for loss in losses} == {("unsynchronised_promotion", False)}


@pytest.mark.spark
def test_refused_messages_are_a_separate_loss(spark: SparkSession):
    one = {"designs": "classic-1", "environments": "many-failures", "trials": 3}
    file = DATA / "studies" / "replica-counts.yaml"
    rows = {row.trial: row for row in read(spark, "hawb-trials", file, **one).collect()}
    for loss in read(spark, "hawb-losses", file, **one).collect():
        assert (loss.cause, loss.at_s, loss.confirmed) == ("no_queue", None, rows[loss.trial].lost_confirmed)


@pytest.mark.spark
def test_faults_are_the_same_for_all_designs(spark: SparkSession):
    faults = read(spark, "hawb-faults", environments="kills", trials=5)
    rows = [(row.trial, row.event, row.at_s, row.kind, tuple(row.nodes)) for row in faults.collect()]
    assert len(rows) == 8 * len(set(rows))
    assert {kind for _, _, _, kind, _ in rows} == {"kill", "start", "consumers_away", "consumers_back"}
    assert all(0 < at_s < 365 * 86_400 and len(nodes) == (kind in ("kill", "start")) for *_, at_s, kind, nodes in rows)


# As a stream


def test_a_stream_goes_from_offset_to_offset_to_the_end():
    stream = StudyStream(Trials({"path": str(DATA / "studies" / "monthly-failures.yaml"), "cores": "1"}))
    offset, total, batches = stream.initialOffset(), set(), 0
    while (end := stream.latestOffset(offset, stream.getDefaultReadLimit())) != offset:
        total |= played(stream.partitions(offset, end))
        offset, batches = end, batches + 1
    assert (batches > 1, stream.partitions(offset, offset)) == (True, [])
    assert sum(last - first for _, _, first, last in total) == 1_000_000 == sum(counts(offset).values())
    assert len({run[:3] for run in total}) == len(total)


def test_planned_batch_ignores_later_changes_of_the_file():
    stream = StudyStream(Trials({"path": str(FILE)}))
    end = stream.latestOffset({}, stream.getDefaultReadLimit())
    other = StudyStream(Trials({"path": str(DATA / "studies" / "monthly-failures.yaml")}))
    assert played(other.partitions({}, end)) == played(stream.partitions({}, end))
    assert json.loads(end[QUESTION])["study"].startswith("Both promote keys")


def test_machine_with_another_hawb_plays_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Trials, "play", lambda *_: iter(()))
    own, other = same_code.described(), "hawb 0.0.9 (0123456789abcdef), Python 3.11, numba 0.68.0"
    assert own.startswith(f"hawb {__version__} (")
    for code in (own, other):
        reader = StudyReader(Trials({"path": str(FILE), "trials": "1", CODE: code}))
        said = re.escape(f"{own}, and this study asks for {other}: install the same version on all machines")
        raises = pytest.raises(same_code.OtherCode, match=rf"^\S+ has {said}$")
        with nullcontext() if code == own else raises:
            assert list(reader.read(reader.partitions()[0])) == []


def test_digest_covers_every_module_that_plays(monkeypatch: pytest.MonkeyPatch):
    read, content = set(), Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.add(path.stem) or content(path))
    same_code.digest.cache_clear()
    assert same_code.digest(same_code.COMPILED) != same_code.digest(same_code.PLAYED)
    assert {"promotion", "election", "advance", "block", "engine_trial", "beginning", "repairs", "trial_rows"} <= read


def test_lagging_cells_catch_up():
    cells = cells_of(load(FILE))[:3]
    done = {cells[0].place: 40, cells[1].place: 10, "another study's": 7}
    assert next_offset(cells, costs(cells), done, 40, 1) == {one.place: 40 for one in cells} | {"another study's": 7}
    assert next_offset(cells, costs(cells), {one.place: 40 for one in cells}, 30, 1) == {one.place: 40 for one in cells}
    assert played(shares(cells, costs(cells), done, {one.place: 40 for one in cells})) == {
        (cells[1].design, cells[1].environment, 10, 40), (cells[2].design, cells[2].environment, 0, 40),
    }  # fmt: skip


def test_key_of_a_cell_covers_everything_that_decides_it():
    study = load(FILE)
    keys = {one.key for one in cells_of(study)}
    assert len(keys) == 32
    again = load(as_option(study))
    assert {one.key for one in cells_of(again, "another name")} == keys
    for name, value in (("seed", 9), ("horizon_days", 30)):
        changed = json.loads(as_option(study)) | {name: value}
        assert not keys & {one.key for one in cells_of(load(json.dumps(changed)))}
    first = Cell.of("x", study, *study.cells[0])
    assert first.key.startswith("manual-stop-when-kill-when.controlled-stops.")


@pytest.mark.spark
def test_invalid_study_is_refused_briefly(spark: SparkSession, tmp_path: Path):
    (tmp_path / "bad.yaml").write_text("study: x\n")
    for given, said in ((tmp_path / "bad.yaml", "missing"), (tmp_path / "none.yaml", "the file cannot be read")):
        with pytest.raises(PySparkException) as caught:
            read(spark, "hawb-trials", given).count()
        assert said in why(str(caught.value))


# Exports


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    """Write a readable cluster, an unreadable one, and one with a valid and an invalid file."""
    folder = tmp_path / "exports"
    folder.mkdir()
    queue = {"name": "q", "vhost": "/", "durable": True, "arguments": {"x-max-length": 5}}
    users = [{"name": "ops", "password_hash": "secret"}]
    for name in ("berlin", "rome"):
        data = {"rabbitmq_version": "3.10.8", "queues": [queue], "users": users, "vhosts": [{"name": "/"}]}
        policy = {"name": "p", "vhost": "/", "pattern": "^q", "definition": {"ha-mode": "all"}}
        (folder / f"{name}.definitions.json").write_text(json.dumps(data | {"policies": [policy]}))
    (folder / "rome.queues.txt").write_text("name\tnode\nq\ta\textra\n")
    (folder / "oslo.json").write_text('{"queues": [')
    return folder


@pytest.mark.spark
def test_queues_definitions_and_unreadable_files_are_rows(spark: SparkSession, exports: Path):
    for table, good in ((EXPORTED_QUEUES, {"berlin": 1, "rome": 1}), (EXPORTED_DEFINITIONS, {"berlin": 3, "rome": 3})):
        rows = read(spark, table.name, exports)
        assert all(field.metadata["comment"] for field in rows.schema)
        found = [row.asDict() for row in rows.collect()]
        assert "secret" not in repr(found)
        result = [Path(row["cluster"]).name for row in found if row["refused_file"] is None]
        assert {name: result.count(name) for name in set(result)} == good
        refused = {Path(row["refused_file"]).name for row in found if row["refused_file"]}
        assert refused == {"oslo.json", "rome.queues.txt"}
    (queue,) = read(spark, "rabbitmq-queues", exports / "berlin.definitions.json").collect()
    assert (queue.queue, queue.arguments, queue.durable, queue.messages) == ("q", '{"x-max-length":5}', True, None)


@pytest.mark.full
@pytest.mark.spark
def test_modes_are_those_of_sparks_readers(spark: SparkSession, exports: Path):
    rows = spark.read.format("rabbitmq-queues").option("mode", "dropMalformed").load(str(exports))
    assert rows.where("refused_file IS NOT NULL").count() == 0 and rows.count() == 2
    for mode, said in (("FAILFAST", "oslo.json: the file, line 1"), ("often", "mode: OFTEN is not one of PERMISSIVE")):
        with pytest.raises(PySparkException) as caught:
            spark.read.format("rabbitmq-queues").option("mode", mode).load(str(exports / "oslo.json")).collect()
        assert said in why(str(caught.value))


@pytest.mark.full
@pytest.mark.spark
def test_several_paths_and_none(spark: SparkSession, exports: Path):
    both = spark.read.format("rabbitmq-queues").load([str(exports / "berlin.definitions.json"), str(DATA / "real")])
    assert both.select("cluster").distinct().count() == 2
    with pytest.raises(PySparkException) as caught:
        spark.read.format("rabbitmq-queues").load().count()
    assert "no exports" in why(str(caught.value))
