"""hawb's sources of data for Spark: what they give, what filters leave unplayed and unread, and files that are bad."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import EqualTo, GreaterThan, GreaterThanOrEqual, In, IsNotNull, LessThan, Not
from pyspark.sql.datasource import StringStartsWith as StartsWith

from hawb.study.cells import Cell, cells_of
from hawb.study.failures import why
from hawb.study.fleet_sources import ExportedQueues, FleetReader
from hawb.study.fleet_tables import EXPORTED_DEFINITIONS, EXPORTED_QUEUES
from hawb.study.load import load
from hawb.study.records import records
from hawb.study.shares import Share, costs, next_offset, shares
from hawb.study.sources import QUESTION, StudyReader, StudyStream, Trials, as_option, counts
from hawb.study.tables import FAULTS, LOSSES, TRIALS

DATA = Path(__file__).parents[1] / "data"
FILE = DATA / "studies" / "policies.yaml"
LOSING = "design = 'manual-stop-when-kill-always' AND environment = 'kills-nightly-batch'"


def read(spark: SparkSession, source: str, path: Path = FILE) -> DataFrame:
    return spark.read.format(source).load(str(path))


# Studies


@pytest.mark.spark
@pytest.mark.parametrize("table", [TRIALS, FAULTS, LOSSES], ids=lambda table: table.name)
def test_columns_say_what_they_mean(spark: SparkSession, table):
    schema = read(spark, f"hawb-{table.name}").schema
    assert schema.names == table.own.names
    assert all(field.metadata["comment"] for field in schema)


@pytest.mark.spark
def test_trials_are_those_of_the_kernel(spark: SparkSession):
    study = load(FILE)
    found = read(spark, "hawb-trials").where(f"{LOSING} AND trial >= 20 AND trial < 60").collect()
    (cell,) = [one for one in cells_of(study, "policies") if one.key == found[0].cell]
    expected = records(study, "manual-stop-when-kill-always", "kills-nightly-batch", 20, 40).to_pylist()
    assert sorted((row.asDict() for row in found), key=lambda row: row["trial"]) == [
        {"study": "policies", "cell": cell.key, "design": cell.design, "environment": cell.environment} | row
        for row in expected
    ]


@pytest.mark.spark
def test_what_filters_leave_out_is_not_played(spark: SparkSession):
    rows = read(spark, "hawb-trials").where(f"{LOSING} AND trial < 50 AND outages >= 0")
    assert rows.rdd.getNumPartitions() == 1
    plan = rows._jdf.queryExecution().executedPlan().toString()
    assert "outages" in plan.partition("Filter")[2] and "trial#" not in plan.partition("Filter")[2].partition("\n")[0]
    assert rows.count() == 50


def reader(source: str = "policies") -> StudyReader:
    return StudyReader(Trials({"path": str(DATA / "studies" / f"{source}.yaml")}))


def played(shares: Iterable[Share]) -> set[tuple[str, str, int, int]]:
    """(design, environment, first trial, one after the last), shares that meet taken together."""
    found: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for share in sorted(shares, key=lambda share: share.first):
        runs = found.setdefault((share.cell.design, share.cell.environment), [])
        end = share.first + share.count
        runs.append((runs.pop()[0], end) if runs and runs[-1][1] == share.first else (share.first, end))
    return {(*cell, *run) for cell, runs in found.items() for run in runs}


DESIGN, ENVIRONMENT, TRIAL, LOST = ("design",), ("environment",), ("trial",), ("lost",)


@pytest.mark.parametrize(
    ("filters", "left", "cells", "trials"),
    [
        ([], [], 32, (0, 10_000)),
        ([EqualTo(DESIGN, "manual-stop-when-kill-when"), IsNotNull(DESIGN)], [], 4, (0, 10_000)),
        ([StartsWith(DESIGN, "automatic"), EqualTo(ENVIRONMENT, "kills")], [], 4, (0, 10_000)),
        ([In(ENVIRONMENT, ("kills", "controlled-stops"))], [], 16, (0, 10_000)),
        ([GreaterThan(TRIAL, 10), LessThan(TRIAL, 20)], [], 32, (11, 20)),
        ([GreaterThanOrEqual(TRIAL, 9_999)], [], 32, (9_999, 10_000)),
        ([EqualTo(TRIAL, 7)], [], 32, (7, 8)),
        ([LessThan(TRIAL, 5), GreaterThan(TRIAL, 7)], [], 0, None),
        ([EqualTo(("study",), "others")], [], 0, None),
        ([Not(EqualTo(DESIGN, "x")), GreaterThan(LOST, 0)], [0, 1], 32, (0, 10_000)),
        ([In(TRIAL, (1, 2))], [0], 32, (0, 10_000)),
    ],
)
def test_filters_are_answered_or_given_back(filters: list, left: list[int], cells: int, trials: tuple | None):
    given = reader()
    assert list(given.pushFilters(filters)) == [filters[index] for index in left]
    found = played(given.partitions())
    assert len(found) == cells and {run[2:] for run in found} == ({trials} if trials else set())


@pytest.mark.spark
def test_losses_add_up_to_what_trials_lost(spark: SparkSession):
    """By the engine, which knows why; whatever is lost again is one loss."""
    one = f"{LOSING} AND trial < 60"
    trials = read(spark, "hawb-trials").where(one).where("lost_confirmed > 0 OR lost > 0")
    found = {row.trial: row for row in trials.collect()}
    losses = read(spark, "hawb-losses").where(one).collect()
    assert found and {row.trial for row in losses} == set(found)
    for trial, row in found.items():
        of_trial = [loss for loss in losses if loss.trial == trial]
        assert sum(loss.messages for loss in of_trial if loss.cause != "no_queue") == row.lost
        assert sum(loss.confirmed for loss in of_trial) == row.lost_confirmed
        assert sorted(loss.loss for loss in of_trial) == list(range(len(of_trial)))
    assert {(loss.cause, loss.node is None) for loss in losses} == {("unsynchronised_promotion", False)}


@pytest.mark.spark
def test_what_no_queue_took_is_a_loss_of_its_own(spark: SparkSession):
    one = "design = 'classic-1' AND environment = 'many-failures' AND trial < 3"
    file = DATA / "studies" / "replica-counts.yaml"
    rows = {row.trial: row for row in read(spark, "hawb-trials", file).where(one).collect()}
    for loss in read(spark, "hawb-losses", file).where(one).collect():
        assert (loss.cause, loss.at_s, loss.confirmed) == ("no_queue", None, rows[loss.trial].lost_confirmed)


@pytest.mark.spark
def test_faults_are_the_same_for_all_designs(spark: SparkSession):
    faults = read(spark, "hawb-faults").where("environment = 'kills' AND trial < 5")
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


def test_a_batch_that_was_planned_is_the_same_whatever_the_file_says_by_then():
    stream = StudyStream(Trials({"path": str(FILE)}))
    end = stream.latestOffset({}, stream.getDefaultReadLimit())
    other = StudyStream(Trials({"path": str(DATA / "studies" / "monthly-failures.yaml")}))
    assert played(other.partitions({}, end)) == played(stream.partitions({}, end))
    assert json.loads(end[QUESTION])["study"].startswith("Both promote keys")


def test_cells_that_are_behind_catch_up_and_others_stay():
    cells = cells_of(load(FILE))[:3]
    done = {cells[0].place: 40, cells[1].place: 10, "another study's": 7}
    assert next_offset(cells, costs(cells), done, 40, 1) == {one.place: 40 for one in cells} | {"another study's": 7}
    assert next_offset(cells, costs(cells), {one.place: 40 for one in cells}, 30, 1) == {one.place: 40 for one in cells}
    assert played(shares(cells, costs(cells), done, {one.place: 40 for one in cells})) == {
        (cells[1].design, cells[1].environment, 10, 40), (cells[2].design, cells[2].environment, 0, 40),
    }  # fmt: skip


def test_a_cell_is_named_by_all_that_decides_it():
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
def test_what_is_no_study_is_refused_in_a_few_words(spark: SparkSession, tmp_path: Path):
    (tmp_path / "bad.yaml").write_text("study: x\n")
    for given, said in ((tmp_path / "bad.yaml", "missing"), (tmp_path / "none.yaml", "the file cannot be read")):
        with pytest.raises(PySparkException) as caught:
            read(spark, "hawb-trials", given).count()
        assert said in why(str(caught.value))


# Exports


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    """A cluster that can be read, one that cannot, and one with a bad file beside a good one."""
    folder = tmp_path / "exports"
    folder.mkdir()
    queue = {"name": "q", "vhost": "/", "durable": True, "arguments": {"x-max-length": 5}}
    users = [{"name": "ops", "password_hash": "secret"}]
    for name in ("berlin", "rome"):
        told = {"rabbitmq_version": "3.10.8", "queues": [queue], "users": users, "vhosts": [{"name": "/"}]}
        policy = {"name": "p", "vhost": "/", "pattern": "^q", "definition": {"ha-mode": "all"}}
        (folder / f"{name}.definitions.json").write_text(json.dumps(told | {"policies": [policy]}))
    (folder / "rome.queues.txt").write_text("name\tnode\nq\ta\textra\n")
    (folder / "oslo.json").write_text('{"queues": [')
    return folder


@pytest.mark.spark
def test_queues_and_definitions_are_rows_and_so_is_a_file_that_cannot_be_read(spark: SparkSession, exports: Path):
    for table, good in ((EXPORTED_QUEUES, {"berlin": 1, "rome": 1}), (EXPORTED_DEFINITIONS, {"berlin": 3, "rome": 3})):
        rows = read(spark, table.name, exports)
        assert all(field.metadata["comment"] for field in rows.schema)
        found = [row.asDict() for row in rows.collect()]
        assert "secret" not in repr(found)
        told = [Path(row["cluster"]).name for row in found if row["refused_file"] is None]
        assert {name: told.count(name) for name in set(told)} == good
        refused = {Path(row["refused_file"]).name for row in found if row["refused_file"]}
        assert refused == {"oslo.json", "rome.queues.txt"}
    (queue,) = read(spark, "rabbitmq-queues", exports).where("cluster LIKE '%berlin'").collect()
    assert (queue.queue, queue.arguments, queue.durable, queue.messages) == ("q", '{"x-max-length":5}', True, None)


@pytest.mark.spark
def test_modes_are_those_of_sparks_own_readers(spark: SparkSession, exports: Path):
    rows = spark.read.format("rabbitmq-queues").option("mode", "dropMalformed").load(str(exports))
    assert rows.where("refused_file IS NOT NULL").count() == 0 and rows.count() == 2
    for mode, said in (("FAILFAST", "oslo.json: the file, line 1"), ("often", "mode: OFTEN is none of PERMISSIVE")):
        with pytest.raises(PySparkException) as caught:
            spark.read.format("rabbitmq-queues").option("mode", mode).load(str(exports / "oslo.json")).collect()
        assert said in why(str(caught.value))


def test_a_cluster_that_a_filter_leaves_out_is_not_opened(exports: Path):
    given = FleetReader(ExportedQueues({"path": str(exports)}))
    asked = [EqualTo(("cluster",), str(exports / "rome")), IsNotNull(("cluster",)), EqualTo(("queue",), "q")]
    assert given.pushFilters(asked) == asked[2:]
    assert [one.name for share in given.partitions() for one in share.clusters] == [str(exports / "rome")]


@pytest.mark.spark
def test_several_paths_and_none(spark: SparkSession, exports: Path):
    both = spark.read.format("rabbitmq-queues").load([str(exports / "berlin.definitions.json"), str(DATA / "real")])
    assert both.select("cluster").distinct().count() == 2
    with pytest.raises(PySparkException) as caught:
        spark.read.format("rabbitmq-queues").load().count()
    assert "no exports" in why(str(caught.value))
