"""The first sweep: trials a second without Spark, in one Spark task and in one for each core; its summary."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.measure import duration, rate, seconds
from hawb.study.spark import session
from hawb.study.sweep import save, summary, sweep
from hawb.study.trials import COMBINATIONS, Family, numbered

SEEDS = 500
TRIALS = SEEDS * len(COMBINATIONS)
ROUNDS = 3


def figures() -> list[str]:
    """The lines that `make bench` prints."""
    spark = session()
    cores = spark.sparkContext.defaultParallelism

    def alone() -> None:
        for _ in numbered(Family(), range(TRIALS)):
            pass

    def spread(tasks: int) -> list[float]:
        return seconds(
            lambda: sweep(spark, SEEDS, partitions=tasks).write.format("noop").mode("overwrite").save(), ROUNDS
        )

    with tempfile.TemporaryDirectory() as folder:
        saved = save(sweep(spark, SEEDS), Path(folder, "sweep"))
        lines = [
            rate("trials, this process alone", TRIALS, seconds(alone, ROUNDS)),
            *(rate(f"trials, Spark in {tasks} tasks", TRIALS, spread(tasks)) for tasks in sorted({1, cores})),
            duration(f"summary of {TRIALS:,} trials", seconds(lambda: summary(saved).collect(), ROUNDS)),
        ]
    spark.stop()
    return lines
