"""Studies on Spark with synthetic trials: streams that resume, grow and report progress after any failure."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from json_schemas import validate
from made_up_trials import CELLS, TRIALS_ASKED, expected, made_up, opened, row, study
from pyspark.sql import DataFrame, SparkSession
from samples import sample
from spark_servers import FEW, PYTHONPATH, QUICK, READ, cluster
from study_processes import KILLS_ITSELF, a_study, program

from hawb import cli
from hawb.cli import spark as spark_commands
from hawb.study import pipeline
from hawb.study.failures import StudyFailed
from hawb.study.kept import kept
from hawb.study.pipeline import CHECKPOINT, compact, is_precise, run
from hawb.study.progress import Progress
from hawb.study.question import Precision
from hawb.study.sources import options_for
from hawb.study.tables import CELLS as CELLS_TABLE
from hawb.study.tables import TRIALS, TableRefused

ROOT = Path(__file__).parents[2]


def sorted_rows(rows: DataFrame) -> list[tuple]:
    names = ["design", "environment", *row(3, CELLS[0], 0)]
    return sorted(tuple(one) for one in rows.select(names).collect())


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*.parquet")}


def check_each_is_there_once(folder: Path, trials: int = TRIALS_ASKED) -> None:
    """Check that a reader sees each trial of each cell exactly once."""
    found = pq.read_table(folder / "trials", columns=["design", "environment", "trial"]).to_pylist()
    assert sorted(tuple(one.values()) for one in found) == [one[:3] for one in expected(trials)]


def gate(place: Path) -> Path:
    os.mkfifo(place)
    return place


# Played, gone on with, grown


@pytest.mark.full
@pytest.mark.spark
def test_study_is_a_table_for_any_reader(spark: SparkSession, tmp_path: Path):
    progress: list[Progress] = []
    rows = run(spark, study(TRIALS_ASKED), tmp_path, progress.append, "made-up", made_up())
    assert sorted_rows(rows) == expected(TRIALS_ASKED)
    assert (progress[-1].done, progress[-1].total, progress[-1].played) == (1600, 1600, 1600)
    assert [one.done for one in progress] == sorted(one.done for one in progress)
    read = pq.read_table(tmp_path / "trials")
    assert (read.num_rows, set(read.column_names)) == (1600, set(TRIALS.schema.names))
    assert {(one["study"], one["design"]) for one in read.select(["study", "design"]).to_pylist()} == {
        ("made-up", "one"), ("made-up", "two"),
    }  # fmt: skip
    assert len(list((tmp_path / CHECKPOINT / "commits").glob("[0-9]*"))) > 1


@pytest.mark.spark
def test_existing_trials_are_not_played_again(spark: SparkSession, tmp_path: Path):
    progress: list[Progress] = []
    run(spark, study(), tmp_path, source=made_up())
    kept = files(tmp_path)
    again = run(spark, study(), tmp_path, progress.append, source=made_up(breaks=("one", 5)))
    assert (sorted_rows(again), files(tmp_path)) == (expected(25), kept)
    assert (progress[-1].done, progress[-1].played) == (100, 0)


@pytest.mark.full
@pytest.mark.spark
def test_a_study_grows_by_trials_and_cells(spark: SparkSession, tmp_path: Path):
    run(spark, study(14, designs=("one",)), tmp_path, source=made_up())
    kept = files(tmp_path)
    assert sorted_rows(run(spark, study(25), tmp_path, source=made_up())) == expected(25)
    assert {name for name in kept if "trials/" in name} <= files(tmp_path).keys()
    fewer = run(spark, study(10, designs=("two",)), tmp_path, source=made_up())
    assert sorted_rows(fewer) == expected(10, CELLS[2:])


@pytest.mark.full
@pytest.mark.spark
def test_stream_starts_after_trials_written_by_a_batch(spark: SparkSession, tmp_path: Path):
    """This holds also for cells that the stream meets later."""
    run(spark, study(25), tmp_path, source=made_up())
    kept = files(tmp_path / "trials")
    assert not (tmp_path / CHECKPOINT).exists()
    run(spark, study(700, designs=("one",)), tmp_path, source=made_up(breaks=("one", 24)))
    assert (tmp_path / CHECKPOINT).exists()
    rows = run(spark, study(700), tmp_path, source=made_up(breaks=("two", 24)))
    assert sorted_rows(rows) == expected(700)
    assert kept.items() <= files(tmp_path / "trials").items()


@pytest.mark.full
@pytest.mark.spark
def test_reverted_setting_is_not_played_again(spark: SparkSession, tmp_path: Path):
    run(spark, study(), tmp_path, source=made_up())
    progress: list[Progress] = []
    run(spark, study(replicas=3), tmp_path, progress.append, source=made_up())
    assert (progress[0].done, progress[-1].played) == (50, 50)  # those of the design that is the same
    run(spark, study(), tmp_path, progress.append, source=made_up())
    assert (progress[-1].done, progress[-1].played) == (100, 0)
    cells = spark.read.parquet(str(tmp_path / "cells")).collect()
    assert sorted((one.design, one.environment, one.design_replicas) for one in cells) == [
        ("one", "calm", 2), ("one", "calm", 3), ("one", "rough", 2), ("one", "rough", 3), ("two", "calm", 3),
        ("two", "rough", 3),
    ]  # fmt: skip


@pytest.mark.full
@pytest.mark.spark
def test_two_studies_in_a_folder_may_ask_for_the_same(spark: SparkSession, tmp_path: Path):
    first = run(spark, study(), tmp_path, label="first", source=made_up())
    second = run(spark, study(30), tmp_path, label="second", source=made_up())
    assert (sorted_rows(first), sorted_rows(second)) == (expected(25), expected(30))


@pytest.mark.spark
def test_table_of_cells_lists_every_setting(spark: SparkSession, tmp_path: Path):
    asked = study(designs=("two",))
    run(spark, asked, tmp_path, source=made_up())
    for one in CELLS_TABLE.read(spark, tmp_path).collect():
        assert (one.title, one.seed, one.horizon_days) == ("made up", 3, 365)
        assert (one.design_queue_type, one.design_replicas, one.environment_traffic_mode) == ("classic", 3, "tx")
        assert (one.design_policy, one.environment_traffic_publish_per_s) == ("{}", "1.0")
        assert one.environment_node_failures_every_mean_s is None


@pytest.mark.full
@pytest.mark.spark
def test_deleted_cells_are_written_again(spark: SparkSession, tmp_path: Path):
    run(spark, study(), tmp_path, label="2024", source=made_up())
    kept = files(tmp_path / "trials")
    shutil.rmtree(tmp_path / "cells")
    assert sorted_rows(run(spark, study(), tmp_path, label="2024", source=made_up())) == expected(25)
    assert CELLS_TABLE.read(spark, tmp_path).count() == len(CELLS)
    assert files(tmp_path / "trials") == kept


# Whatever is killed


@pytest.mark.full
@pytest.mark.long
@pytest.mark.spark
def test_interrupted_study_resumes(spark: SparkSession, tmp_path: Path):
    def interrupt(progress: Progress) -> None:
        if progress.done > 1200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(spark, study(TRIALS_ASKED), tmp_path, interrupt, source=made_up())
    kept = files(tmp_path / "trials")
    assert sorted_rows(run(spark, study(TRIALS_ASKED), tmp_path, source=made_up())) == expected(TRIALS_ASKED)
    assert kept and kept.items() <= files(tmp_path / "trials").items()


@pytest.mark.full
@pytest.mark.spark
def test_killed_worker_costs_one_attempt(spark: SparkSession, tmp_path: Path):
    dies = tmp_path / "dies"
    dies.touch()
    progress: list[Progress] = []
    rows = run(spark, study(TRIALS_ASKED), tmp_path / "study", progress.append, source=made_up(dies=dies))
    assert sorted_rows(rows) == expected(TRIALS_ASKED)
    assert (dies.exists(), progress[-1].tried_again in (1, 2)) == (False, True)
    check_each_is_there_once(tmp_path / "study")


@pytest.mark.full
@pytest.mark.spark
def test_failed_study_reports_the_reason_and_resumes(spark: SparkSession, tmp_path: Path):
    with pytest.raises(StudyFailed) as caught:
        run(spark, study(TRIALS_ASKED), tmp_path, source=made_up(breaks=("two", 380)))
    lines = str(caught.value).splitlines()
    assert lines[0] == "the study stopped: ZeroDivisionError: half way"
    # Two tasks fail side by side; which of them ends the study is a race.
    assert re.fullmatch(r" +in trials \d+ to \d+ of two in (calm|rough)", lines[1])
    assert lines[2:] == [
        f"  kept: the trials in {tmp_path}", "  to continue: remove the cause, then run the same command again",
    ]  # fmt: skip
    kept = files(tmp_path / "trials")
    assert kept and sorted_rows(run(spark, study(TRIALS_ASKED), tmp_path, source=made_up())) == expected(TRIALS_ASKED)
    assert kept.items() <= files(tmp_path / "trials").items()


@pytest.mark.full
@pytest.mark.spark
def test_study_resumes_after_a_full_disk(spark: SparkSession, small_disk: Path):
    with pytest.raises(StudyFailed, match="the study stopped: the disk is full\\n  kept: "):
        run(spark, study(TRIALS_ASKED), small_disk / "study", source=made_up())
    subprocess.run(["mount", "-o", "remount,size=16m", small_disk], check=True)
    rows = run(spark, study(TRIALS_ASKED), small_disk / "study", source=made_up())
    assert sorted_rows(rows) == expected(TRIALS_ASKED)
    check_each_is_there_once(small_disk / "study")


@pytest.mark.full
@pytest.mark.spark
def test_study_waits_for_another_driver_and_resumes_if_it_is_killed(spark: SparkSession, tmp_path: Path):
    """Another driver holds its shares at the gate until this one has said that it waits for the folder. It is killed in
    the middle of the second batch of its next study; Spark's Java and workers end with it."""
    opens: list[int] = []
    waited: list[Progress] = []

    def report(progress: Progress) -> None:
        if progress.waits and not opens:
            opens.append(opened(held))
        waited.extend([progress] if progress.waits else [])

    whole, half, held = tmp_path / "whole", tmp_path / "half", gate(tmp_path / "gate")
    says = "print('plays', flush=True) if progress.elapsed_s > 2 else None"
    command = [sys.executable, "-c", program(a_study(whole, says, held), a_study(half, KILLS_ITSELF))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "plays\n"
        rows = run(spark, study(TRIALS_ASKED), whole, report, source=made_up())
        assert other.stdout.read().splitlines()[-1] == "1600 1600"
    assert (other.returncode, bool(waited)) == (-signal.SIGKILL, True)
    assert sorted_rows(rows) == expected(TRIALS_ASKED)
    check_each_is_there_once(whole)
    assert files(half / "trials")
    assert sorted_rows(run(spark, study(TRIALS_ASKED), half, source=made_up())) == expected(TRIALS_ASKED)
    check_each_is_there_once(half)


# Tasks, files and names


@pytest.mark.full
@pytest.mark.spark
def test_rows_per_task_and_file_are_respected(spark: SparkSession, tmp_path: Path):
    def counts() -> list[int]:
        found = (pq.ParquetFile(file).metadata.num_rows for file in (tmp_path / "trials").rglob("[!._]*.parquet"))
        return sorted(found, reverse=True)

    asked = study(TRIALS_ASKED)
    run(spark, asked, tmp_path, source=made_up(), rows_per_file=100)
    assert counts() == [100] * 16
    compact(spark, tmp_path, asked, 1_000)
    assert counts() == [300] * 4 + [100] * 4  # a file for each batch of each cell
    check_each_is_there_once(tmp_path)
    progress: list[Progress] = []
    assert sorted_rows(run(spark, asked, tmp_path, progress.append, source=made_up())) == expected(TRIALS_ASKED)
    assert progress[-1].played == 0


@pytest.mark.spark
def test_jobs_and_stages_are_named_by_study_and_cells(spark: SparkSession, tmp_path: Path):
    run(spark, study(), tmp_path, label="two-or-three", source=made_up())
    store = spark.sparkContext._jsc.sc().statusStore()
    jobs = store.jobsList(None)
    found = [(one.description(), one.name()) for one in map(jobs.apply, range(jobs.size()))]
    names = {(described.get() if described.isDefined() else None, name) for described, name in found}
    batch = "two-or-three: one in calm, one in rough, two in calm, two in rough, at once"
    assert (batch, batch) in names
    assert any(name == "two-or-three: the settings of its cells" for name, _ in names)


# A folder with something else


@pytest.mark.full
@pytest.mark.spark
def test_trials_with_different_results_are_refused(spark: SparkSession, tmp_path: Path):
    run(spark, study(), tmp_path, source=made_up())
    kept = files(tmp_path)
    with pytest.raises(TableRefused, match=r"in (calm|rough), which comes out otherwise now"):
        run(spark, study(30), tmp_path, source=made_up(shift=1))
    assert files(tmp_path) == kept


@pytest.mark.full
@pytest.mark.spark
def test_deleted_trials_are_played_again(spark: SparkSession, tmp_path: Path):
    """From the first missing trial on all are played again."""
    run(spark, study(), tmp_path, source=made_up(), rows_per_file=10)
    first, *others = sorted(
        (tmp_path / "trials").rglob("cell=two.calm.*/batch=*/*.parquet"),
        key=lambda file: min(pq.ParquetFile(file).read()["trial"].to_pylist()),
    )
    first.unlink()
    for again in (study(), study(40)):
        with pytest.raises(TableRefused, match="given: 17 rows for 25 trials of two in calm"):
            run(spark, again, tmp_path, source=made_up())
    for file in others:
        file.unlink()
    assert sorted_rows(run(spark, study(), tmp_path, source=made_up())) == expected(25)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("change", "said"),
    sample([
        (lambda rows: rows.drop_columns("outages"), "no column outages"),
        (lambda rows: rows.rename_columns([{"outages": "breaks"}.get(one, one) for one in rows.column_names]),
         "no column outages"),
        (lambda rows: rows.set_column(rows.column_names.index("lost"), "lost", rows["lost"].cast("string")),
         "column lost, string"),
        (lambda rows: rows.append_column("more", rows["lost"]), "column more"),
    ]),
)  # fmt: skip
def test_table_with_other_columns_is_refused_before_playing(
    change: Callable, said: str, spark: SparkSession, tmp_path: Path
):
    run(spark, study(), tmp_path, source=made_up())
    for file in (tmp_path / "trials").rglob("*.parquet"):
        pq.write_table(change(pq.ParquetFile(file).read()), file)
        (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    with pytest.raises(TableRefused, match=f"given: {said}"):
        run(spark, study(30), tmp_path, source=made_up(breaks=("one", 1)))


# Precision


@pytest.mark.spark
@pytest.mark.parametrize(("relative", "trials"), sample([(0.1, 250), (0.0001, 500)]))
def test_study_ends_at_its_precision_or_number_of_trials(
    relative: float, trials: int, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pipeline, "FIRST_LOOK", 250)
    asked = study(500, precision={"measure": "publish_down_s", "relative": relative}, designs=("one",))
    rows = run(spark, asked, tmp_path, source=made_up())
    assert rows.count() == 2 * trials
    assert sorted_rows(rows) == expected(trials, CELLS[:2])


@pytest.mark.full
@pytest.mark.spark
def test_precision_needs_enough_trials_and_events(spark: SparkSession):
    spark.dataSource.register(source := made_up())
    asked = options_for(study(500, designs=("one",)), "made-up")
    rows = spark.read.format(source.name()).options(**asked).load().cache()
    for measure, precision, enough in (
        ("publish_down_s", {"relative": 0.1}, [250, 500]), ("publish_down_s", {"absolute": 0.05}, [500]),
        ("publish_down_s", {"relative": 0.0001}, []), ("lost_confirmed", {"absolute": 1e9}, []),
    ):  # fmt: skip
        wanted = Precision(measure=measure, **precision)
        assert [count for count in (250, 500) if is_precise(rows.where(f"trial < {count}"), wanted)] == enough, wanted


# The command


@pytest.mark.spark
def test_command_plays_resumes_and_prints_the_estimates(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(spark_commands, "spark_session", lambda master, settings: nullcontext(spark))
    file = tmp_path / "two-or-three.yaml"
    file.write_text(FILE.replace("trials: 20", "trials: 64"))
    kept_in = tmp_path / "results.json"
    result = command(file, "--output", tmp_path / "out", "--keep", kept_in, "--faults", 3)
    assert result.exit_code == 0
    assert "Two copies or three?" in result.stdout
    assert "publish_down_s" in result.stdout and "more than two" in result.stdout
    assert spark.read.parquet(str(tmp_path / "out" / "trials")).count() == 2 * 64
    results = kept("results", tmp_path)
    assert (results.played, results.trials, results.estimates[0]["measure"]) == (2 * 64, 64, "lost_confirmed")
    differences = [one["difference"] for one in results.estimates if one["measure"] == "publish_down_s"]
    assert (results.baseline, differences[0], differences[1] == 0.0) == ("two", 0.0, False)
    assert results.command == f"hawb study {file} --output {tmp_path / 'out'} --keep {kept_in}"
    faults = spark.read.parquet(str(tmp_path / "out" / "faults"))
    assert {one.trial for one in faults.select("trial").distinct().collect()} == {0, 1, 2}
    file.write_text(FILE.replace("trials: 20", "trials: 96"))
    answer = json.loads(command(file, "--json", "--output", tmp_path / "out", "--baseline", "quorum").stdout)
    validate("study", answer)
    assert {(one["design"], one["trials"]) for one in answer} == {("two", 96), ("quorum", 96)}
    assert {one["difference"] for one in answer if one["design"] == "quorum"} == {0.0}
    refused = command(file, "--output", tmp_path / "out", "--baseline", "three")
    assert refused.exit_code == 2
    assert "--baseline: 'three' is not a design of the study; accepted: two, quorum" in refused.stderr


def test_invalid_study_is_refused_before_spark_starts(tmp_path: Path):
    file = tmp_path / "study.yaml"
    file.write_text(FILE.replace("replicas: 2", "replicas: 4"))
    result = command(file, "--output", tmp_path / "out")
    assert (result.exit_code, "replicas: 4 do not fit on 3 nodes" in result.stderr) == (2, True)


def test_invalid_assumption_is_refused_before_spark_starts(tmp_path: Path):
    file = tmp_path / "study.yaml"
    file.write_text(FILE)
    result = command(file, "--output", tmp_path / "out", "--vary", "timing.elections")
    assert (result.exit_code, "--vary 'timing.elections': no number above 0" in result.stderr) == (2, True)


@pytest.mark.parametrize("place", ["s3a://bucket/x", "hdfs://name/x"])
def test_other_file_system_is_refused_before_anything_is_created(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_text(FILE)
    result = command("study.yaml", "--output", place)
    assert (result.exit_code, f"{place}: tables are written to a folder that every machine has" in result.stderr) == (
        2, True,
    )  # fmt: skip
    assert [file.name for file in tmp_path.iterdir()] == ["study.yaml"]


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

READS = f"""
few = {FEW!r}
read = spark.read.format
print([read(f"hawb-{{name}}").options(**few).load("data/studies/policies.yaml").select("design").distinct().count()
       for name in ("trials", "faults", "losses")]
      + [read(f"rabbitmq-{{name}}").load("data/real").count() for name in ("queues", "definitions")])
"""
KILLS = "progress.done and not gates and gates.append(({kill}, opened(Path(gate))))"
VICTIMS = (
    "os.killpg({worker}, 9)",
    "[one.kill() for one in __import__('psutil').Process({worker}).children(recursive=True)]",
)
"""How something of a cluster is killed: a worker with its executor, or the executor alone, which gets another."""
FEWER = 150
"""Trials of each cell that a single batch plays in several shares."""


@pytest.mark.spark
@pytest.mark.full
def test_losing_a_worker_or_executor_does_not_change_trials(spark: SparkSession, tmp_path: Path):
    """A standalone master with two workers of one core. The first study loses a worker, the next one, which is a single
    batch, the executor of the other. All but the first shares wait until the victim is killed, so that it dies with
    tasks under way."""
    folders, counts = (tmp_path / "worker", tmp_path / "executor"), (TRIALS_ASKED, FEWER)
    gates = [gate(tmp_path / f"gate of {folder.name}") for folder in folders]
    config = {
        "spark.executor.memory": "512m", "spark.cores.max": "2",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(PYTHONPATH), "spark.executor.extraJavaOptions": QUICK,
    }  # fmt: skip
    with cluster(tmp_path) as (master, workers):
        kills = [KILLS.format(kill=kill.format(worker=worker)) for kill, worker in zip(VICTIMS, workers, strict=True)]
        text = program(*map(a_study, folders, kills, gates, counts), master=master, more=READS, **config)
        ran = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-3:] == ["1600 1600", f"{4 * FEWER} {4 * FEWER}", str(READ)]
    for folder, count in zip(folders, counts, strict=True):
        assert sorted_rows(run(spark, study(count), folder, source=made_up())) == expected(count)
        check_each_is_there_once(folder, count)
