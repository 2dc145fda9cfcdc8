"""A study on Spark: blocks, resumption, the same rows however the work is cut, progress and estimates, by made-up
records."""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from conftest import LONG
from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from spark_servers import PYTHONPATH, cluster

from hawb import cli
from hawb.cli import spark as spark_commands
from hawb.engine import chance
from hawb.study import blocks
from hawb.study.blocks import Block, RowsRefused, done, missing, play
from hawb.study.estimates import estimates
from hawb.study.intervals import BATCHES, STUDENT_T
from hawb.study.kept import kept
from hawb.study.lease import LEASE, Lease, LeaseLost
from hawb.study.load import read_study
from hawb.study.pipeline import Progress, dealt, run, trials
from hawb.study.question import Study
from hawb.study.results import FolderRefused, open_results

ROOT = Path(__file__).parent.parent
MADE_UP = 777
CELLS = [("one", "calm"), ("one", "rough"), ("two", "calm"), ("two", "rough")]


def study(trials: int = 25, seed: int = 3, replicas: int = 2, designs: tuple[str, ...] = ("one", "two")) -> Study:
    environment = {"traffic": {"publish_per_s": 1, "consume_per_s": 1}}
    return read_study(
        {
            "study": "made up",
            "seed": seed,
            "trials": trials,
            "horizon_days": 1,
            "designs": {
                name: {"queue_type": "quorum", "nodes": 3, "replicas": replicas if name == "one" else 3}
                for name in designs
            },
            "environments": {"calm": environment, "rough": environment},
        }
    )


def made_up(shift: int = 0, gate: str = "") -> blocks.Records:
    """Records of which a trial's depends on the study's seed, the cell and the trial's number alone. What is not the
    first block of a cell waits at the `gate`, a pipe that somebody opens."""
    purpose = MADE_UP

    def records(study: Study, design: str, environment: str, first_trial: int, count: int) -> pa.RecordBatch:
        if gate and first_trial:
            os.close(os.open(gate, os.O_RDONLY))
        cell = study.cells.index((design, environment)) + shift
        numbers = range(first_trial, first_trial + count)
        lost = [chance.below(10, study.seed, purpose, number, cell) for number in numbers]
        columns = {
            "trial": pa.array(numbers, pa.int64()),
            "lost": pa.array([max(0, one - 7) for one in lost], pa.int64()),
            "publish_down_s": pa.array([one / 7 for one in lost], pa.float64()),
        }
        return pa.record_batch(columns)

    return records


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "TRIALS_IN_A_BLOCK", 10)


def play_all(asked: Study, folder: Path, records: blocks.Records) -> None:
    for block in open_results(asked, folder, records)[1]:
        play(block, asked, records, folder)


def digest(folder: Path) -> dict[str, str]:
    return {str(block.file): hashlib.sha256((folder / block.file).read_bytes()).hexdigest() for block in done(folder)}


# Blocks


def test_blocks_cover_every_trial_once():
    todo = missing(study(), [])
    assert [(block.first, block.last) for block in todo if (block.design, block.environment) == CELLS[0]] == [
        (0, 9), (10, 19), (20, 24)
    ]  # fmt: skip
    assert [(block.design, block.environment) for block in todo[:4]] == CELLS
    assert sum(block.count for block in todo) == 100


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ([(0, 9)], [(10, 19), (20, 24)]),
        ([(10, 19)], [(0, 9), (20, 24)]),
        ([(0, 9), (10, 19), (20, 24)], []),
        ([(0, 9), (10, 13)], [(14, 19), (20, 24)]),
        ([(0, 3)], [(4, 9), (10, 19), (20, 24)]),
    ],
)
def test_what_is_missing_is_what_has_no_file(kept: list, expected: list):
    cell = CELLS[2]
    todo = missing(study(), [Block(*cell, *ends) for ends in kept])
    assert [(block.first, block.last) for block in todo if (block.design, block.environment) == cell] == expected


def test_each_task_has_as_many_blocks_of_each_cell_the_first_trials_first():
    todo = missing(study(trials=20 * blocks.TRIALS_IN_A_BLOCK), [])
    given = dealt(todo, 8)
    assert sorted(block for share in given for block in share) == sorted(todo)
    for share in given:
        counts = Counter((block.design, block.environment) for block in share)
        assert set(counts.values()) <= {2, 3}, counts
        assert [block.first for block in share] == sorted(block.first for block in share)


@pytest.mark.parametrize(
    ("wanted", "played", "written"), [([False], 0, 0), ([True, False], 1, 0), ([True, True], 1, 1)]
)
def test_a_block_that_nobody_wants_any_more_is_not_written(
    wanted: list[bool], played: int, written: int, tmp_path: Path
):
    told, asked_for = iter(wanted), []

    def counted(*asked: object) -> pa.RecordBatch:
        asked_for.append(asked)
        return made_up()(*asked)

    play(Block("one", "calm", 0, 9), study(), counted, tmp_path, lambda: next(told))
    assert (len(asked_for), len(done(tmp_path))) == (played, written)


def test_a_lease_is_held_until_another_is_taken_or_it_is_given_up(tmp_path: Path):
    first = Lease.taken(tmp_path)
    assert first.is_held
    second = Lease.taken(tmp_path)
    first.give_up()
    assert (first.is_held, second.is_held) == (False, True)
    second.give_up()
    assert not second.is_held and not list(tmp_path.iterdir())


def test_a_block_is_a_file_that_is_there_whole_or_not_at_all(tmp_path: Path):
    block = Block("one", "calm", 0, 9)

    def breaks(*arguments: object) -> pa.RecordBatch:
        raise ZeroDivisionError("half way")

    with pytest.raises(ZeroDivisionError) as caught:
        play(block, study(), breaks, tmp_path)
    assert caught.value.__notes__ == ["in trials 0 to 9 of one in calm"]
    assert done(tmp_path) == []
    play(block, study(), made_up(), tmp_path)
    assert done(tmp_path) == [block]
    play(block, study(), breaks, tmp_path)


@pytest.mark.parametrize("wrong", [lambda rows: rows.slice(1), lambda rows: rows.drop_columns("trial")])
def test_rows_of_other_trials_are_refused(wrong: Callable, tmp_path: Path):
    with pytest.raises(RowsRefused, match="trial: not 0 to 9"):
        play(Block("one", "calm", 0, 9), study(), lambda *given: wrong(made_up()(*given)), tmp_path)
    assert done(tmp_path) == []


# The folder


def test_a_study_goes_on_where_it_stopped(tmp_path: Path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    play_all(study(), whole, made_up())
    play_all(study(), broken, made_up())
    for block in done(broken)[::3]:
        (broken / block.file).rename((broken / block.file).with_name(f".{block.file.name}-half"))
    assert len(open_results(study(), broken, made_up())[1]) == 4
    assert not list(broken.rglob(".*half"))
    play_all(study(), broken, made_up())
    assert digest(broken) == digest(whole)


def test_more_trials_designs_and_environments_may_be_asked_for(tmp_path: Path):
    play_all(study(trials=14, designs=("one",)), tmp_path, made_up())
    play_all(study(trials=25), tmp_path, made_up())
    rows = {cell: [] for cell in CELLS}
    for block in done(tmp_path):
        rows[block.design, block.environment] += pq.ParquetFile(tmp_path / block.file).read()["trial"].to_pylist()
    assert {cell: sorted(numbers) for cell, numbers in rows.items()} == {cell: list(range(25)) for cell in CELLS}


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"seed": 4}, "seed: 4"),
        ({"replicas": 1}, "designs.one: changed"),
        ({"designs": ("two",)}, "designs.one: missing"),
        ({"trials": 24}, "trials: 24"),
    ],
)
def test_results_of_another_question_are_refused(other: dict, said: str, tmp_path: Path):
    play_all(study(), tmp_path, made_up())
    before = digest(tmp_path)
    with pytest.raises(FolderRefused, match=said):
        open_results(study(**other), tmp_path, made_up())
    assert digest(tmp_path) == before


def test_records_that_come_out_otherwise_are_refused(tmp_path: Path):
    play_all(study(), tmp_path, made_up())
    with pytest.raises(FolderRefused, match="trials 0 to 9 of one in calm come out otherwise"):
        open_results(study(trials=30), tmp_path, made_up(shift=1))


def test_a_folder_with_other_things_is_refused(tmp_path: Path):
    (tmp_path / "letter.txt").touch()
    with pytest.raises(FolderRefused, match="a new or an empty folder"):
        open_results(study(), tmp_path, made_up())
    assert [file.name for file in tmp_path.iterdir()] == ["letter.txt"]


def test_progress_tells_rate_and_time_left():
    assert (Progress(60, 100, 50, 10.0).rate, Progress(60, 100, 50, 10.0).left_s) == (5.0, 8.0)
    assert Progress(10, 100, 0, 10.0).left_s is None


# On Spark


@pytest.mark.spark
def test_the_files_are_the_same_bytes_however_the_work_is_cut(spark: SparkSession, tmp_path: Path):
    alone = tmp_path / "alone"
    play_all(study(), alone, made_up())
    told: list[Progress] = []
    for tasks in (1, 5, 40):
        rows = run(spark, study(), tmp_path / str(tasks), made_up(), told.append, tasks)
        assert digest(tmp_path / str(tasks)) == digest(alone)
        assert rows.count() == 100
        assert (told[-1].done, told[-1].total, told[-1].played) == (100, 100, 100)
    assert dict(rows.dtypes) == {
        "trial": "bigint", "lost": "bigint", "publish_down_s": "double", "design": "string", "environment": "string",
    }  # fmt: skip
    again = run(spark, study(), tmp_path / "1", made_up(), told.append)
    assert (told[-1].done, told[-1].played) == (100, 0)
    assert sorted(again.collect()) == sorted(rows.collect())


@pytest.mark.spark
def test_a_study_that_breaks_keeps_what_is_played(spark: SparkSession, tmp_path: Path):
    records = made_up()

    def breaks_late(study: Study, design: str, environment: str, first: int, count: int) -> pa.RecordBatch:
        if (design, first) == ("two", 20):
            raise ZeroDivisionError
        return records(study, design, environment, first, count)

    with pytest.raises(PythonException, match=r"in trials 20 to 24 of two in calm"):
        run(spark, study(), tmp_path, breaks_late, tasks=1)
    kept = digest(tmp_path)
    assert len(kept) == 10
    assert run(spark, study(), tmp_path, records).count() == 100
    assert kept.items() <= digest(tmp_path).items()


@pytest.mark.spark
def test_the_estimates_are_the_arithmetic_of_the_rows(spark: SparkSession, tmp_path: Path):
    asked = study(trials=400)
    told = {(row.design, row.environment, row.measure): row for row in
            estimates(run(spark, asked, tmp_path, made_up())).collect()}  # fmt: skip
    assert set(told) == {(*cell, measure) for cell in CELLS for measure in ("lost", "publish_down_s")}
    for cell in CELLS:
        rows = made_up()(asked, *cell, 0, 400)
        for measure in ("lost", "publish_down_s"):
            row, values = told[*cell, measure], rows[measure].to_pylist()
            means = [statistics.fmean(values[batch::BATCHES]) for batch in range(BATCHES)]
            half = STUDENT_T * statistics.stdev(means) / BATCHES**0.5
            assert row.trials == row.effective_trials == 400
            assert row.mean == pytest.approx(statistics.fmean(values))
            assert (row.mean_low, row.mean_high) == pytest.approx((row.mean - half, row.mean + half))
            assert row.share == sum(value > 0 for value in values) / 400
            assert row.share_low < row.share < row.share_high
    few = estimates(run(spark, study(), tmp_path / "few", made_up()), ["lost"]).first()
    assert (few.mean_low, few.mean_high) == (None, None)


def regressed(weights: np.ndarray, values: np.ndarray) -> tuple[float, np.ndarray]:
    """The mean of weighted values less a line of the weights, and what is left of each."""
    slope = np.polyfit(weights, weights * values, 1)[0]
    return float(np.mean(weights * values) - slope * (np.mean(weights) - 1)), weights * values - slope * weights


@pytest.mark.spark
def test_weighted_trials_are_estimated_by_the_formulas(spark: SparkSession):
    draw, count = np.random.RandomState(4), 3_200
    rare = draw.random_sample(count) < 0.1
    weights = np.where(rare, 0.05, 1.05) * draw.uniform(0.5, 1.5, count)
    columns = {"lost": np.where(rare, 900.0, 0.0), "published": np.full(count, 7e9), "refused": np.zeros(count)}
    table = pa.table({"design": ["one"] * count, "environment": ["calm"] * count, "trial": range(count)} | columns)
    rows = {row.measure: row for row in estimates(spark.createDataFrame(
        table.append_column("weight", pa.array(weights)))).collect()}  # fmt: skip
    assert set(rows) == set(columns)
    effective = weights.sum() ** 2 / (weights**2).sum()
    assert [row.effective_trials for row in rows.values()] == pytest.approx([effective] * 3)
    lost, values = rows["lost"], columns["lost"]
    mean, left = regressed(weights, values)
    batches = [float(np.mean(left[batch::BATCHES])) for batch in range(BATCHES)]
    assert lost.mean == pytest.approx(mean)
    assert lost.mean_high - lost.mean == pytest.approx(STUDENT_T * statistics.stdev(batches) / BATCHES**0.5)
    share, left = regressed(weights, values > 0)
    plain = share * (1 - share) / (np.var(left) / count)
    centre, half = share * plain + 1.920729, 1.959964 * (share * (1 - share) * plain + 0.960365) ** 0.5
    assert (lost.share, lost.share_low, lost.share_high) == pytest.approx(
        (share, (centre - half) / (plain + 3.841459), (centre + half) / (plain + 3.841459))
    )
    same, none = rows["published"], rows["refused"]
    assert (same.mean, same.mean_low, same.mean_high, same.share) == pytest.approx((7e9, 7e9, 7e9, 1))
    assert same.share_low == pytest.approx(effective / (effective + 3.841459))
    assert (none.mean, none.share, none.share_low) == (0, 0, 0)
    assert none.share_high == pytest.approx(3.841459 / (effective + 3.841459))


# R. G. Newcombe, "Two-sided confidence intervals for the single proportion: comparison of seven methods", 1998,
# table I, method 3 (Wilson's score interval without continuity correction): how many of how many had any, and the
# interval. The last is the third seen from the other side.
WILSONS = {
    (81, 263): (0.2553, 0.3662), (15, 148): (0.0624, 0.1605), (0, 20): (0.0, 0.1611), (1, 29): (0.0061, 0.1718),
    (20, 20): (0.8389, 1.0),
}  # fmt: skip


@pytest.mark.spark
def test_the_interval_of_a_share_is_wilsons(spark: SparkSession):
    rows = [
        {"design": f"{some} of {count}", "environment": "calm", "trial": number, "lost": 7 * (number < some)}
        for some, count in WILSONS
        for number in range(count)
    ]
    told = {row.design: row for row in estimates(spark.createDataFrame(rows)).collect()}
    for (some, count), interval in WILSONS.items():
        row = told[f"{some} of {count}"]
        assert (row.trials, row.share) == (count, pytest.approx(some / count))
        assert (row.share_low, row.share_high) == pytest.approx(interval, abs=0.00005 + 1e-9)


@pytest.mark.spark
def test_no_trials_is_an_error(spark: SparkSession, tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="holds no trials"):
        trials(spark, tmp_path)


@pytest.mark.spark
def test_a_study_that_is_interrupted_keeps_what_is_played(spark: SparkSession, tmp_path: Path):
    gate = str(tmp_path / "gate")
    os.mkfifo(gate)

    def interrupt(progress: Progress) -> None:
        if progress.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(spark, study(), tmp_path / "study", made_up(gate=gate), interrupt)
    kept = digest(tmp_path / "study")
    assert 0 < len(kept) <= len(CELLS)
    assert run(spark, study(), tmp_path / "study", made_up()).count() == 100
    assert kept.items() <= digest(tmp_path / "study").items()


@pytest.mark.spark
def test_of_two_runs_in_a_folder_the_later_one_plays(spark: SparkSession, tmp_path: Path):
    """The first one's blocks, all at the gate when the second begins, are not written."""
    gate, folder, opened = str(tmp_path / "gate"), tmp_path / "study", []
    os.mkfifo(gate)

    def another(progress: Progress) -> None:
        if progress.done and not opened:
            later.append(Lease.taken(folder))
            opened.append(os.open(gate, os.O_RDWR))

    later: list[Lease] = []
    with pytest.raises(LeaseLost, match="another run of the study began there"):
        run(spark, study(), folder, made_up(gate=gate), another)
    assert later[0].is_held
    assert {block.first for block in done(folder)} == {0}
    assert run(spark, study(), folder, made_up()).count() == 100
    assert not (folder / LEASE).exists()


# The command


@pytest.mark.spark
def test_the_command_plays_goes_on_and_shows_what_it_comes_to(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(spark_commands, "spark_session", lambda master: nullcontext(spark))
    monkeypatch.setattr("hawb.study.records.records", made_up())
    monkeypatch.setattr(spark_commands, "compile_first", lambda asked: None)
    file = tmp_path / "study.yaml"
    for count in (20, 30):
        file.write_text(FILE.replace("trials: 20", f"trials: {count}"))
        result = command(file, "--output", tmp_path / "out")
        assert result.exit_code == 0
        assert "Two copies or three?" in result.stdout
        assert "publish_down_s" in result.stdout
        assert sum(block.count for block in done(tmp_path / "out")) == 2 * count
    told = json.loads(command(file, "--json", "--output", tmp_path / "out").stdout)
    assert {(row["design"], row["measure"], row["trials"]) for row in told} == {
        (design, measure, 30) for design in ("two", "quorum") for measure in ("lost", "publish_down_s")
    }
    kept_in = tmp_path / "results.json"
    assert command(file, "--output", tmp_path / "out", "--keep", kept_in).exit_code == 0
    results = kept("results", tmp_path)
    assert (results.played, results.trials, results.estimates[0]["measure"]) == (0, 30, "publish_down_s")
    assert results.command == f"hawb study {file} --output {tmp_path / 'out'} --keep {kept_in}"
    file.write_text(FILE.replace("replicas: 2", "replicas: 1").replace("trials: 20", "trials: 30"))
    refused = command(file, "--output", tmp_path / "out")
    assert (refused.exit_code, "designs.two: changed" in refused.stderr) == (2, True)


def test_a_bad_study_is_refused_before_spark_starts(tmp_path: Path):
    file = tmp_path / "study.yaml"
    file.write_text(FILE.replace("replicas: 2", "replicas: 4"))
    result = command(file, "--output", tmp_path / "out")
    assert (result.exit_code, "replicas: 4 do not fit on 3 nodes" in result.stderr) == (2, True)


def command(*arguments: object):
    return CliRunner().invoke(cli.main, ["study", *map(str, arguments)], catch_exceptions=False)


FILE = """\
study: Two copies or three?
designs:
  two: {queue_type: classic, nodes: 3, replicas: 2, version: "3.13"}
  quorum: {queue_type: quorum, nodes: 3, replicas: 3, version: "3.13"}
environments:
  rack:
    node_failures: {every: {mean_s: 2592000}, repair: {mean_s: 3600}}
    traffic: {publish_per_s: 50, consume_per_s: 200}
trials: 20
horizon_days: 365
sources: {environments.rack: "assumed: round numbers"}
"""


# A cluster


ON_A_CLUSTER = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = {path!r}
import test_pipeline
from hawb.study import blocks
from hawb.study.pipeline import run
from hawb.study.spark import session

blocks.TRIALS_IN_A_BLOCK = 10
spark = session(master={master!r}, **{{"spark.executor.memory": "512m", "spark.cores.max": "2",
                                       "spark.executorEnv.PYTHONPATH": os.pathsep.join({path!r})}})
killed = []

def kill_one(progress):
    if progress.done and not killed:
        print("killed after", progress.done, "of", progress.total, flush=True)
        os.killpg({victim}, signal.SIGKILL)
        killed.append(os.open({gate!r}, os.O_RDWR))

rows = run(spark, test_pipeline.study(), Path({folder!r}), test_pipeline.made_up(gate={gate!r}), kill_one, tasks=12)
print(rows.count(), rows.select("design", "environment", "trial").distinct().count())
spark.stop()
"""


@pytest.mark.spark
@pytest.mark.skipif(not LONG, reason="starts a Spark cluster: a part of make test-long")
def test_a_cluster_of_which_a_worker_is_killed_gives_the_same_files(tmp_path: Path):
    """A standalone master with two workers of one core. All but the first block of each cell wait until one worker is
    killed, so that it dies with tasks under way."""
    gate, folder = str(tmp_path / "gate"), tmp_path / "study"
    os.mkfifo(gate)
    with cluster(tmp_path) as (master, workers):
        program = ON_A_CLUSTER.format(
            path=PYTHONPATH, master=master, victim=workers[0], gate=gate, folder=str(folder)
        )
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    assert "Lost executor" in ran.stderr
    told = ran.stdout.splitlines()
    assert told[0].startswith("killed after") and int(told[0].split()[2]) < 100
    assert told[1] == "100 100"
    alone = tmp_path / "alone"
    play_all(study(), alone, made_up())
    assert digest(folder) == digest(alone)
