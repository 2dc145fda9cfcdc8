from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import asdict, astuple
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession

from hawb.engine import chance
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.study.folders import build_folder
from hawb.study.spark import session
from hawb.study.sweep import save, summary, sweep
from hawb.study.trials import COMBINATIONS, DRAW_SITUATION, QUEUE, Combination, Family, Situation, Trial, play

ALWAYS, SYNCED = "always", "when-synced"

UNREADY = Family(backlogs=(600_000,), sizes_bytes=(100,), head_start_ms=10_000)
"""Synchronisation takes 20 s and has at most 10."""
READY = Family(backlogs=(3_000,), sizes_bytes=(100,))
"""Synchronisation takes 0.1 s; seed 0 gives it more than 20."""
IMPOSSIBLE = Family(away_s=0.5)
"""The node is started again before its controlled stop is complete, which is refused."""


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    running = session(master="local[2]", **{"spark.sql.shuffle.partitions": "2"})
    yield running
    running.stop()


def rows(frame: DataFrame) -> list[tuple]:
    return sorted(map(tuple, frame.collect()))


# Trials


def test_the_combinations_are_all_there_are() -> None:
    assert len(set(COMBINATIONS)) == 2 * 2 * 2 * 2
    assert Combination(SYNCED, ALWAYS, "automatic", "kill").policy.definition == {
        "ha-mode": "all",
        "ha-promote-on-shutdown": SYNCED,
        "ha-promote-on-failure": ALWAYS,
        "ha-sync-mode": "automatic",
    }


def test_what_a_seed_draws_is_fixed_for_ever() -> None:
    assert Family().situation(0) == Situation(10_000, 1_000, 22.561)
    assert Family().situation(15) == Situation(1_000_000, 100, 21.1)


def test_seeds_draw_from_all_of_the_family_and_from_nothing_else() -> None:
    family = Family(head_start_ms=9)
    drawn = [family.situation(seed) for seed in range(300)]
    assert {situation.backlog for situation in drawn} == set(family.backlogs)
    assert {situation.size_bytes for situation in drawn} == set(family.sizes_bytes)
    assert {situation.head_start_s for situation in drawn} == {ms / 1000 for ms in range(10)}
    assert len({(situation.backlog, situation.size_bytes) for situation in drawn}) == 12


def test_no_other_purpose_draws_the_same_numbers() -> None:
    purposes = {name: value for name, value in vars(chance).items() if name.isupper() and not name.startswith("_")}
    assert DRAW_SITUATION not in purposes.values()


@pytest.mark.parametrize("combination", COMBINATIONS)
def test_under_one_seed_all_combinations_meet_the_same_situation(combination: Combination) -> None:
    trial, same = play(Family(), combination, 4), play(Family(), COMBINATIONS[0], 4)
    for name in ("seed", *Situation.__struct_fields__):
        assert getattr(trial, name) == getattr(same, name)


@pytest.mark.parametrize(
    ("family", "combination", "expected"),
    [
        # Unsynchronised, so that the mirror has at most what was published since its return.
        (
            UNREADY,
            (SYNCED, ALWAYS, "manual", "kill"),
            {"lost": 600_000, "redelivered": 60_000, "publish_down_s": 0.0005},
        ),
        (UNREADY, (SYNCED, ALWAYS, "manual", "stop"), {"lost": 0, "redelivered": 0, "publish_down_s": 125}),
        (UNREADY, (ALWAYS, ALWAYS, "manual", "stop"), {"lost": 600_000, "unsynchronised_promotions": 1}),
        (UNREADY, (ALWAYS, SYNCED, "manual", "stop"), {"lost": 0, "promotions": 0, "publish_down_s": 125}),
        (UNREADY, (ALWAYS, SYNCED, "manual", "kill"), {"lost": 0, "promotions": 0, "publish_down_s": 125}),
        # One that is not done leaves the mirror empty, and what waited for it dies with its client's node.
        (UNREADY, (ALWAYS, ALWAYS, "automatic", "kill"), {"confirmed": 600_000, "refused": 60_000}),
        (UNREADY, (ALWAYS, ALWAYS, "automatic", "kill"), {"lost": 600_000, "redelivered": 0}),
        # One that is done saves all; the node that returns costs another.
        (READY, (ALWAYS, ALWAYS, "automatic", "kill"), {"lost": 0, "promotions": 1, "unsynchronised_promotions": 0}),
        (READY, (SYNCED, SYNCED, "automatic", "stop"), {"lost": 0, "promotions": 1, "redelivered": 3_300}),
        (READY, (SYNCED, SYNCED, "automatic", "kill"), {"sync_blocked_s": 0.1005 + 0.1105, "publish_down_s": 0.0005}),
        (READY, (ALWAYS, ALWAYS, "manual", "kill"), {"lost": 3_000, "lost_confirmed": 3_000, "sync_blocked_s": 0}),
    ],
)
def test_a_trial_tells_what_its_settings_do(family: Family, combination: tuple, expected: dict) -> None:
    trial = asdict(play(family, Combination(*combination), seed=0))
    assert {name: trial[name] for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize("combination", COMBINATIONS[::5])
def test_a_trial_is_what_the_outcome_of_its_scenario_says(combination: Combination) -> None:
    ended = outcome(Run.of(Family().scenario(combination, 15)))
    trial = play(Family(), combination, 15)
    for name, value in ended["availability"][QUEUE].items():
        assert getattr(trial, name, value) == value
    assert (trial.published, trial.lost_confirmed) == tuple(
        ended["ledger"][QUEUE][name] for name in ("published", "lost_confirmed")
    )
    assert trial.time_s == ended["time_s"]
    assert trial.published == trial.lost + trial.refused + ended["queues"][QUEUE]["messages"]


def test_a_refused_step_is_an_error_that_names_the_trial() -> None:
    with pytest.raises(RuntimeError, match=r"step was refused.*already running") as caught:
        play(IMPOSSIBLE, Combination(SYNCED, SYNCED, "manual", "stop"), 3)
    assert "shutdown='stop') with seed 3" in caught.value.__notes__[0]


def test_workers_load_nothing_heavy_for_a_trial() -> None:
    heavy = "{'pyspark', 'pyarrow', 'pandas', 'numpy', 'numba', 'matplotlib'}"
    program = f"import sys, hawb.study.trials; print(sorted({heavy} & sys.modules.keys()))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


# On Spark


@pytest.mark.spark
def test_the_rows_are_what_the_engine_gives_without_spark(spark: SparkSession) -> None:
    expected = [astuple(play(Family(), combination, seed)) for combination in COMBINATIONS for seed in range(3)]
    frame = sweep(spark, seeds=3)
    assert tuple(frame.columns) == Trial.__struct_fields__
    assert rows(frame) == sorted(expected)


@pytest.mark.spark
@pytest.mark.parametrize("partitions", [2, 5, 40])
def test_the_rows_do_not_depend_on_partitions(spark: SparkSession, partitions: int) -> None:
    """Forty are more than there are trials, so that some have nothing to do."""
    frame = sweep(spark, seeds=2, partitions=partitions)
    assert frame.rdd.getNumPartitions() == partitions
    assert rows(frame) == rows(sweep(spark, seeds=2, partitions=1))


@pytest.mark.spark
def test_a_sweep_has_as_many_tasks_as_cores(spark: SparkSession) -> None:
    assert sweep(spark, seeds=1).rdd.getNumPartitions() == 2


@pytest.mark.spark
def test_an_error_in_a_trial_is_not_swallowed(spark: SparkSession) -> None:
    with pytest.raises(PythonException, match=r"(?s)already running.*in the trial of .* with seed 0"):
        sweep(spark, 1, IMPOSSIBLE).collect()


@pytest.mark.spark
def test_the_summary_is_the_arithmetic_of_its_rows(spark: SparkSession) -> None:
    frame = sweep(spark, seeds=40)
    told = {(row.shutdown, row.ha_sync_mode, row.ha_promote_on_shutdown, row.ha_promote_on_failure): row
            for row in summary(frame).collect()}  # fmt: skip
    first, *_, last = told
    assert first == ("stop", "manual", SYNCED, SYNCED)
    assert last == ("kill", "automatic", ALWAYS, ALWAYS)
    assert len(told) == len(COMBINATIONS)
    for combination in COMBINATIONS:
        trials = [play(Family(), combination, seed) for seed in range(40)]
        row = told[
            combination.shutdown,
            combination.ha_sync_mode,
            combination.ha_promote_on_shutdown,
            combination.ha_promote_on_failure,
        ]
        assert row.trials == 40
        assert row.loss_share == pytest.approx(sum(trial.lost > 0 for trial in trials) / 40, abs=0.00005)
        assert row.loss_share_low <= row.loss_share <= row.loss_share_high
        assert row.mean_lost == pytest.approx(sum(trial.lost for trial in trials) / 40, abs=0.5)
        assert row.mean_down_s == pytest.approx(sum(trial.publish_down_s for trial in trials) / 40, abs=0.0005)
        assert row.mean_blocked_s == pytest.approx(sum(trial.sync_blocked_s for trial in trials) / 40, abs=0.0005)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("with_loss", "trials", "low", "high"),
    # R. G. Newcombe, "Two-sided confidence intervals for the single proportion: comparison of seven methods", 1998,
    # table I, method 3 (Wilson's score interval without continuity correction)
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718),
     (20, 20, 0.8389, 1.0)],
)  # fmt: skip
def test_the_interval_is_wilsons(spark: SparkSession, with_loss: int, trials: int, low: float, high: float) -> None:
    """The last is the third seen from the other side."""
    row = summary(
        spark.range(trials).selectExpr(
            "'kill' AS shutdown", "'manual' AS ha_sync_mode", "'always' AS ha_promote_on_shutdown",
            "'always' AS ha_promote_on_failure", f"if(id < {with_loss}, 7, 0) AS lost", "0.0D AS publish_down_s",
            "0.0D AS sync_blocked_s",
        )
    ).first()  # fmt: skip
    assert (row.loss_share_low, row.loss_share_high) == pytest.approx((low, high), abs=0.00005 + 1e-9)


# Files


@pytest.mark.spark
def test_a_study_is_saved_whole_in_place_of_the_one_before(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "studies" / "a first sweep"
    save(sweep(spark, seeds=2), folder)
    again = save(sweep(spark, seeds=1), folder)
    assert rows(again) == rows(sweep(spark, seeds=1))
    assert list(folder.parent.iterdir()) == [folder]


@pytest.mark.spark
def test_a_study_that_fails_leaves_nothing_and_the_one_before_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    with pytest.raises(PythonException):
        save(sweep(spark, 1, IMPOSSIBLE), folder)
    assert list(tmp_path.iterdir()) == []
    saved = save(sweep(spark, seeds=1), folder)
    with pytest.raises(PythonException):
        save(sweep(spark, 1, IMPOSSIBLE), folder)
    assert list(tmp_path.iterdir()) == [folder]
    assert saved.count() == len(COMBINATIONS)


def test_the_build_folder_is_the_projects_from_wherever_a_notebook_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebooks = tmp_path / "notebooks"
    notebooks.mkdir()
    monkeypatch.chdir(notebooks)
    assert build_folder("x") == notebooks / "build" / "studies" / "x"
    (tmp_path / "pyproject.toml").touch()
    assert build_folder("x") == tmp_path / "build" / "studies" / "x"
