"""The kernel of studies: trials a second of the yardstick's mirrored queue, alone, against the engine and SimPy and on
Spark, and of its quorum queue, alone and against the engine.

A trial is a year of three nodes that each fail once a month, under steady load; all play the same ones. In SimPy that
is the same model (`benchmarks.simpy_model`), which also counts what flows by its rate: no event is one message.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

from msgspec.structs import replace

from benchmarks import simpy_model
from benchmarks.measure import alternately, duration, rate, ratio, seconds
from hawb.study import histories, pipeline, trial_rows
from hawb.study.engine_trial import own_seed
from hawb.study.kernel import block
from hawb.study.load import load
from hawb.study.question import Study
from hawb.study.spark import session

STUDY = Path(__file__).parent.parent / "data" / "studies" / "monthly-failures.yaml"
YEAR_US = 365 * histories.DAY_US
TRIALS, BY_ENGINE, BY_SIMPY, ON_SPARK, ROUNDS = 20_000, 3, 300, 100_000, 5
QUORUM_TRIALS = 4_000
CORES = os.cpu_count() or 1


def figures() -> list[str]:
    """The lines that `make bench` prints."""
    yardstick = load(STUDY)
    study = replace(yardstick, designs={"mirrored": yardstick.designs["mirrored"]}, trials=ON_SPARK)
    given = study.designs["mirrored"], study.environments["monthly"], study.seed
    began = perf_counter()
    block.rows(*given, 0, 1, YEAR_US)
    first_s = perf_counter() - began
    alone, simpy = alternately(
        lambda: block.rows(*given, 0, TRIALS, YEAR_US), lambda: by_simpy(study, BY_SIMPY), ROUNDS
    )
    together = seconds(lambda: on_all_cores(lambda first: block.rows(*given, first, TRIALS, YEAR_US)), ROUNDS)
    engine = seconds(lambda: trial_rows.by_engine(*given, 0, BY_ENGINE, YEAR_US), ROUNDS)
    spark = {cores: on_spark(study, cores) for cores in sorted({1, CORES})}
    return [
        duration("first trial, compiled or from the cache", [first_s], unit="s"),
        rate("trials, kernel, one core", TRIALS, alone),
        rate(f"trials, kernel, {CORES} cores", CORES * TRIALS, together),
        rate("trials, engine", BY_ENGINE, engine),
        rate("trials, the same model in SimPy, one core", BY_SIMPY, simpy),
        *(rate(f"trials, Spark, {cores} cores", ON_SPARK, taken) for cores, taken in spark.items()),
        ratio("kernel against the engine", engine, BY_ENGINE, alone, TRIALS, wanted=200),
        ratio("kernel against the same model in SimPy, in turn", simpy, BY_SIMPY, alone, TRIALS, wanted=50),
        ratio(f"kernel, {CORES} cores against one", alone, TRIALS, together, CORES * TRIALS, wanted=1.8),
        ratio(f"Spark, {CORES} cores against one", spark[1], ON_SPARK, spark[CORES], ON_SPARK, wanted=1.8),
        ratio("Spark against the kernel", together, CORES * TRIALS, spark[CORES], ON_SPARK, wanted=0.75),
        *quorum_figures(yardstick),
    ]


def quorum_figures(study: Study) -> list[str]:
    """The lines about the quorum queue."""
    given = study.designs["quorum"], study.environments["monthly"], study.seed
    began = perf_counter()
    block.rows(*given, 0, 1, YEAR_US)
    first_s = perf_counter() - began
    alone = seconds(lambda: block.rows(*given, 0, QUORUM_TRIALS, YEAR_US), ROUNDS)
    engine = seconds(lambda: trial_rows.by_engine(*given, 0, BY_ENGINE, YEAR_US), ROUNDS)
    return [
        duration("first trial of a quorum queue, compiled or from the cache", [first_s], unit="s"),
        rate("trials of a quorum queue, kernel, one core", QUORUM_TRIALS, alone),
        rate("trials of a quorum queue, engine", BY_ENGINE, engine),
        ratio("quorum queue: kernel against the engine", engine, BY_ENGINE, alone, QUORUM_TRIALS, wanted=200),
    ]


def by_simpy(study: Study, count: int) -> None:
    """Play the first trials by the SimPy model."""
    design, environment = study.designs["mirrored"], study.environments["monthly"]
    given = simpy_model.read(design, environment)
    for trial in range(count):
        history = histories.history(environment, design.nodes, study.seed, trial, YEAR_US).tolist()
        simpy_model.play(given, history, own_seed(study.seed, trial), YEAR_US)


def on_all_cores(play: Callable[[int], object]) -> None:
    """Play a block on each core, in threads. The kernel releases the GIL."""
    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(play, range(0, CORES * TRIALS, TRIALS)))


def on_spark(study: Study, cores: int) -> list[float]:
    """Return how long a study takes on Spark, from a new folder to its last row."""
    spark = session(master=f"local[{cores}]")

    def play() -> None:
        with tempfile.TemporaryDirectory() as folder:
            pipeline.run(spark, study, Path(folder, "study"))

    try:
        return seconds(play, ROUNDS)
    finally:
        spark.stop()
