"""Choose and play the controls of a study, and estimate its means with them (`hawb.study.control_variates`).

The controls of an environment are played first, a thousand times as fast as the engine. What happened in their trials
says which further trials the engine plays, the same for all designs, so that designs are still compared under the same
faults. A design that the kernel plays is its own control.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from hawb.study.cells import Cell
from hawb.study.control_variates import BESIDE, LEAST_FREEDOM, Mean, Pairs, drawn, ends, scores, strata
from hawb.study.design import Design
from hawb.study.environment import Environment
from hawb.study.estimates import DIFFERENCE, measures
from hawb.study.failures import FAILURES, StudyFailed
from hawb.study.intervals import LEAST_GAIN, wilson
from hawb.study.kernel import setup
from hawb.study.live import Weights
from hawb.study.pipeline import PLAYED_AGAIN, alone, check_rows
from hawb.study.question import Study
from hawb.study.sources import trial_rows, with_cell
from hawb.study.spark import cores, named
from hawb.study.spark_partitions import Share
from hawb.study.tables import BATCH, CELL, DESIGN, ENVIRONMENT, STUDY, TRIAL, TRIALS

FOLDER, DRAWN = "controls", "drawn"
"""The folders, in that of a study, of the controls' trials and of the engine's further trials."""
IN_A_TASK, TASKS = 4, 8
"""The engine's trials of a task, and the tasks of each core in a batch: some ten to a hundred seconds of work."""
GIVEN = "of the study"
"""The name of a control that the study gives."""

Around = tuple[Design, Environment]
Rows = dict[str, np.ndarray]
"""The trials of a cell in the order of their numbers: the values of each measure, and the numbers."""


def _with_traffic(**settings: Any) -> Callable[[Design, Environment], Around]:
    return lambda design, environment: (
        design, replace(environment, traffic=replace(environment.traffic, **settings)),
    )  # fmt: skip


NEAREST: Mapping[str, tuple[str, Callable[[Design, Environment], Around]]] = {
    "arguments": ("no arguments", lambda design, environment: (replace(design, arguments={}), environment)),
    "mode": ("confirms in place of transactions", _with_traffic(mode="confirm")),
    "clients": ("clients on one node", _with_traffic(clients=None)),
}
"""The change that makes the nearest cluster without what the kernel refuses, in words and as a function.

The keys are the beginnings of `hawb.study.kernel.setup.REFUSALS`. The failures stay the same, and so do their times.
"""


class Chosen(Struct, frozen=True):
    """A control: the design and environment that the kernel plays, and in words how they differ from the engine's."""

    design: Design
    environment: Environment
    words: str


def chosen(study: Study, design: str, environment: str) -> Chosen | None:
    """Return the control of a design in an environment.

    Return None if the kernel plays it or none is known, and where biased failures give trials weights.
    """
    found = study.designs[design], study.environments[environment]
    if study.control is None or found[1].failure_biasing or setup.refused(*found) is None:
        return None
    given = study.control.designs.get(design), study.control.environments.get(environment)
    found = given[0] or found[0], given[1] or found[1]
    words = [GIVEN] if any(given) else []
    while reason := setup.refused(*found):
        said, change = NEAREST.get(reason.partition(":")[0], ("", None))
        if change is None or said in words:
            return None
        words.append(said)
        found = change(*found)
    return Chosen(*found, ", ".join(words))


def of_study(study: Study) -> dict[str, dict[str, Chosen]]:
    """Return the controls of a study, by environment and design."""
    found = {environment: {design: control for design in study.designs
                           if (control := chosen(study, design, environment))}
             for environment in study.environments}  # fmt: skip
    return {environment: controls for environment, controls in found.items() if controls}


def trials_of(study: Study, environment: str, controls: Mapping[str, Chosen]) -> Iterator[Study]:
    """Yield the studies that play the controls, and the designs that are their own control.

    Each cell has the names of the study; there is a study for each environment in which controls are played.
    """
    places: list[tuple[Environment, dict[str, Design]]] = []
    for name, design in study.designs.items():
        around = study.environments[environment]
        if name in controls:
            design, around = controls[name].design, controls[name].environment
        elif setup.refused(design, around):
            continue
        same = next((designs for there, designs in places if there == around), None)
        if same is None:
            places.append((around, {name: design}))
        else:
            same[name] = design
    for around, designs in places:
        yield replace(study, designs=designs, environments={environment: around}, precision=None, control=None,
                      sources={}, trials=study.control.trials if study.control else 1)  # fmt: skip


# Spark


def by_design(trials: DataFrame) -> dict[str, Rows]:
    """Return the trials of one environment, by design."""
    table = trials.select(DESIGN, TRIAL, *measures(trials)).toArrow().sort_by(TRIAL)
    return {design: {name: rows[name].to_numpy() for name in rows.schema.names if name != DESIGN}
            for design in table[DESIGN].unique().to_pylist()
            for rows in [table.filter(pc.field(DESIGN) == design)]}  # fmt: skip


def further(
    spark: SparkSession, cells: Sequence[Cell], numbers: Sequence[int], folder: Path,
    on_progress: Callable[[int], object],
) -> DataFrame:  # fmt: skip
    """Return the trials of cells with these numbers. Play those that the folder does not have yet, and keep them there.

    `on_progress` is called with the number of trials done. Raise StudyFailed and TableRefused.
    """
    folder.mkdir(parents=True, exist_ok=True)
    keys = [cell.key for cell in cells]
    with alone(folder, lambda: None):
        kept, batch = {key: set[int]() for key in keys}, 0
        if TRIALS.file(folder):
            there = TRIALS.dataset(folder).to_table([CELL, BATCH, TRIAL], filter=pc.field(STUDY) == cells[0].label)
            batch = max(there[BATCH].to_pylist(), default=-1) + 1
            for row in there.to_pylist():
                kept.get(row[CELL], set()).add(row[TRIAL])
        wanted = {(place, number) for place, key in enumerate(keys) for number in numbers}
        todo = sorted(one for one in wanted if one[1] not in kept[keys[one[0]]])
        try:
            for place, key in enumerate(keys):
                if todo and (old := sorted(kept[key] & set(numbers))[:PLAYED_AGAIN]):
                    again = played(spark, cells, [(place, number) for number in old])
                    check_rows(of_cells(TRIALS.read(spark, folder), cells[place : place + 1], old), again, folder)
            at_a_time = IN_A_TASK * TASKS * cores(spark)
            for first in range(0, len(todo), at_a_time):
                on_progress(len(wanted) - len(todo) + first)
                rows = played(spark, cells, todo[first : first + at_a_time])
                with named(spark, f"{cells[0].label}: years that the controls selected"):
                    TRIALS.write(rows.withColumn(BATCH, sql.lit(batch).cast("long")), folder)
                batch += 1
        except FAILURES as error:
            raise StudyFailed(error, folder) from None
    on_progress(len(wanted))
    return of_cells(TRIALS.read(spark, folder), cells, numbers)


def of_cells(trials: DataFrame, cells: Sequence[Cell], numbers: Sequence[int]) -> DataFrame:
    """Return the trials of cells with some numbers."""
    named = (sql.col(STUDY) == cells[0].label) & sql.col(CELL).isin([cell.key for cell in cells])
    return trials.where(named & sql.col(TRIAL).isin(list(numbers)))


def played(spark: SparkSession, cells: Sequence[Cell], asked: Sequence[tuple[int, int]]) -> DataFrame:
    """Return trials, each asked for by the place of its cell and its number, that are played when they are read."""
    cells = list(cells)

    def play(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from hawb.study.trial_rows import records

        for batch in batches:
            for place, number in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                share = Share(cells[place], number, 1)
                yield with_cell(share.cell, trial_rows(share, records), TRIALS)

    rows = spark.createDataFrame(list(asked), "cell int, trial long").repartition(-(-len(asked) // IN_A_TASK))
    return rows.mapInArrow(play, TRIALS.own)


Plays = Callable[[Study, Path], DataFrame]
"""Plays a study in a folder (`hawb.study.pipeline.run`), and returns its trials."""


def with_controls(
    spark: SparkSession, study: Study, rows: Sequence[Mapping[str, Any]], trials: DataFrame, folder: Path, label: str,
    baseline: str, play: Plays, priced: Callable[[DataFrame], DataFrame], on_progress: Callable[[int, int], object],
) -> list[dict[str, Any]]:  # fmt: skip
    """Return a study's estimates with means by controls where these are worth it (`controlled`).

    `trials` are the study's own in `folder`. `play` and `priced` add a price to trials if these have one. `on_progress`
    is called with the number of further trials that the engine plays, and how many of them are done. Raise StudyFailed
    and TableRefused.
    """
    found, more = [dict(row) for row in rows], study.control.pairs if study.control else 0
    for environment, controls in of_study(study).items():
        of_controls: dict[str, Rows] = {}
        for one in trials_of(study, environment, controls):
            of_controls |= by_design(play(one, folder / FOLDER))
        there = trials.where((sql.col(ENVIRONMENT) == environment) & sql.col(DESIGN).isin(list(controls)))
        count = min(row["trials"] for row in rows if row["environment"] == environment)
        of_trial = strata(scores([of_controls[design] for design in controls]))
        numbers = drawn(of_trial, count, more)
        cells, beyond = [Cell.of(label, study, design, environment) for design in controls], numbers[numbers >= count]
        those = further(spark, cells, beyond.tolist(), folder / DRAWN, partial(on_progress, len(cells) * len(beyond)))
        of_engine = by_design(there.where(sql.col(TRIAL) < count).unionByName(priced(those)))
        pairs = Pairs(of_trial, numbers)
        found = controlled(found, environment, controls, of_controls, of_engine, pairs, baseline)
    return found


# Estimates


def controlled(
    rows: Sequence[Mapping[str, Any]], environment: str, controls: Mapping[str, Chosen],
    of_controls: Mapping[str, Rows], of_engine: Mapping[str, Rows], pairs: Pairs, baseline: str,
) -> list[dict[str, Any]]:  # fmt: skip
    """Return a study's estimates with those of an environment by its controls, where these are worth it.

    `of_engine` has the pairs' trials of the designs that the engine plays. Each row has `gain`; one with a control has
    its `control` in words, the number of its trials, and `unseen_by_control` (`unseen`). Where the gain is below
    `LEAST_GAIN`, or no trial of the control had any of what the engine's trials had, all else is unchanged.
    """
    means: dict[tuple[str, str], Mean] = {}
    found = []
    for row in rows:
        design, measure = row["design"], row["measure"]
        if row["environment"] == environment and measure in of_controls.get(design, {}):
            control, is_own = of_controls[design], design not in controls
            values = control[measure].astype(float)
            beside = control[BESIDE].astype(float)
            mean = (pairs.exact(values) if is_own
                    else pairs.mean(of_engine[design][measure].astype(float), values, beside))  # fmt: skip
            row = {**row, "gain": mean.gain, "control_trials": len(values)}
            missed, had = unseen(mean, values, beside, pairs)
            row |= {} if is_own else {"control": controls[design].words, "unseen_by_control": missed}
            if is_own or (mean.gain >= LEAST_GAIN and not 0 < missed == had):
                means[design, measure] = mean
                row |= _of_mean(mean, control, measure, pairs, is_own=is_own)
        found.append(dict(row))
    return [
        _compared(row, means.get((row["design"], row["measure"])), means.get((baseline, row["measure"])), pairs)
        if row["environment"] == environment else row for row in found
    ]  # fmt: skip


def unseen(mean: Mean, values: np.ndarray, beside: np.ndarray, pairs: Pairs) -> tuple[int, int]:
    """Return how many pairs had the measure in the engine's trial only, and how many had it there at all.

    In the first ones the control had none of the measure, nor of `BESIDE`. Only these few pairs show such failures, so
    the interval of a mean does not cover rarer failures of their kind.
    """
    had = mean.values != 0
    missed = had & (values[pairs.numbers] == 0) & (beside[pairs.numbers] == 0)
    return int(missed.sum()), int(had.sum())


def _of_mean(mean: Mean, control: Rows, measure: str, pairs: Pairs, *, is_own: bool) -> dict[str, Any]:
    """Return the fields of an estimate that change with the control.

    If the design is its own control, they come from the control's trials alone.
    """
    if is_own:
        counted = Weights(pa.RecordBatch.from_pydict({TRIAL: control[TRIAL]}))
        values = control[measure].astype(float)
        worth = {"trials": len(values), "effective_trials": float(len(values))}
        return counted.mean_of(values) | counted.share_of(values) | worth
    share, plain = pairs.share(mean.values)
    low, high = wilson(share, plain)
    return ends(mean, control[measure][pairs.numbers]) | {
        "trials": len(mean.values), "effective_trials": float(len(mean.values)), "share": share,
        "share_low": max(0.0, low), "share_high": min(1.0, high),
    }  # fmt: skip


def _compared(row: dict[str, Any], mean: Mean | None, base: Mean | None, pairs: Pairs) -> dict[str, Any]:
    """Return a row with the difference of two means by controls; unchanged if one of them is none."""
    if mean is None or base is None:
        return row
    apart = pairs.difference(mean, base)
    half = apart.half if apart.freedom >= LEAST_FREEDOM else None
    ends = (None, None) if half is None else (apart.value - half, apart.value + half)
    return row | {"difference": apart.value} | dict(zip(DIFFERENCE[1:], ends, strict=True))
