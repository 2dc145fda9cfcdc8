"""Estimates from a study's trials: for each design, environment and measure the mean, and the share of trials with any.

Each has a 95 % interval (`hawb.study.intervals`). Where too few trials of a cell make up a mean, it has none, and
`trials_for_mean` says about how many trials it takes.

Trials of an environment with biased failures count by their weights, whose expectation is 1 (`hawb.study.renewals`).
The mean is that of weight · value, corrected for the chance deviation of the mean weight from 1, with a line fitted to
the trials (T. Hesterberg, "Weighted average importance sampling and defensive mixture distributions", 1995, the
regression estimate). So a value that is the same in all trials is estimated exactly, and a rare one about as well as
without the line. The fit's own bias falls with the number of trials, the error with the root of it. The interval of a
share is that of the number of plain trials that would estimate it as well.

`effective_trials` are L. Kish's, the square of the sum of weights over the sum of their squares: how many plain trials
the weighted ones are worth for events that are not rare. Far fewer than there are trials means that failures are biased
too much, and below a bound (`hawb.study.intervals.are_worth_it`) no estimate has an interval. With weights of 1 all
this is the plain mean and share.

Differences between designs (`differences`) are of pairs: the trial of a number has the same faults at the same times in
every design with as many nodes, so that what two designs have in common cancels out. The interval is that of the
differences of batch means, mostly far narrower than the intervals of the two means suggest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.types import NumericType

from hawb.study.intervals import (
    BATCHES,
    LEAST_EFFECTIVE,
    LEAST_EFFECTIVE_SHARE,
    NOISE,
    STUDENT_T,
    trials_for_mean,
    wilson,
)
from hawb.study.trial_record import BATCH, TRIAL, WEIGHT

SUMS = {
    "x": "sum({weight} * `{name}`)",
    "wx": "sum({weight} * {weight} * `{name}`)",
    "some": "sum(if(`{name}` > 0, {weight}, 0))",
    "wsome": "sum(if(`{name}` > 0, {weight} * {weight}, 0))",
}
"""The sums of each measure in each batch of trials, computed in one pass.

They are columns, since rows of (measure, value) would be as many to a trial as there are measures.
"""

BY_PART = f"""\
WITH parts AS (
  SELECT design, environment, trial % {BATCHES} AS part, count(*) AS trials,
         sum({{weight}}) AS w, sum({{weight}} * {{weight}}) AS ww, {{sums}}
  FROM {{{{trials}}}}
  GROUP BY design, environment, part
)
SELECT design, environment, part, trials, w, ww, stack({{count}}, {{columns}}) AS (measure, {{names}}) FROM parts"""
"""The sums of each measure in each batch of a cell: one pass over the trials, after which all data are small."""

OF_CELLS = ", ".join(f"sum({name}) OVER cell / sum(trials) OVER cell AS {name}" for name in ("w", "ww", *SUMS))
"""The mean of each sum over the trials of a cell."""

ESTIMATE = (
    "design", "environment", "measure", "trials", "effective_trials", "mean", "mean_low", "mean_high",
    "trials_for_mean", "share", "share_low", "share_high",
)  # fmt: skip
DIFFERENCE = ("difference", "difference_low", "difference_high")
IN_BATCHES = ("mean_batches", "share_batches", "difference_batches")

ENOUGH = f"effective_trials >= least(n, greatest({LEAST_EFFECTIVE}, {LEAST_EFFECTIVE_SHARE}D * n))"
"""The condition under which trials are worth enough for intervals: `hawb.study.intervals.are_worth_it` in SQL."""


def half(means: str) -> str:
    """Return SQL for half the interval of a mean, from the means of batches in a column.

    It is null with fewer than two trials a batch.
    """
    there = f"count({means}) = {BATCHES} AND sum(if({means} IS NULL, 0, trials)) >= 2 * {BATCHES}"
    return f"CASE WHEN {there} THEN {STUDENT_T}D * stddev_samp({means}) / sqrt({BATCHES}) END"


def batches(means: str) -> str:
    """Return SQL for the means of batches in a column, in the batches' order."""
    return f"transform(sort_array(collect_list(struct(part, {means}))), batch -> batch.{means})"


SUMMED = f"""\
WITH cells AS (
  SELECT design, environment, measure, part, trials, w / trials AS w_part, x / trials AS x_part,
         some / trials AS some_part, {OF_CELLS}
  FROM {{sums}}
  WINDOW cell AS (PARTITION BY design, environment, measure)
), fitted AS (
  SELECT *, if(ww - w * w > {NOISE}D * ww, 1 / (ww - w * w), 0) AS per_var,
         (wx - w * x) * per_var AS x_slope, (wsome - w * some) * per_var AS some_slope,
         x_part - x_slope * (w_part - 1) AS mean_part, some_part - some_slope * (w_part - 1) AS share_part
  FROM cells
), paired AS (
  SELECT *, mean_part - max(if(design = :baseline, mean_part, NULL))
            OVER (PARTITION BY environment, measure, part) AS more_part
  FROM fitted
), summed AS (
  SELECT design, environment, measure, sum(trials) AS n,
         any_value(x - x_slope * (w - 1)) AS mean,
         {half("mean_part")} AS half,
         any_value(least(1, greatest(0, some - some_slope * (w - 1)))) AS share,
         any_value(wsome - some * some - some_slope * (wsome - w * some)) AS share_var,
         any_value(wsome) AS wsome, n * any_value(w * w / ww) AS effective_trials,
         sum(trials * more_part) / sum(if(more_part IS NULL, NULL, trials)) AS difference,
         {half("more_part")} AS more_half, {batches("mean_part")} AS mean_batches,
         {batches("share_part")} AS share_batches, {batches("more_part")} AS difference_batches
  FROM paired
  GROUP BY design, environment, measure
)
SELECT design, environment, measure, n AS trials, effective_trials,
       mean, half, share,
       if(share_var > {NOISE}D * wsome, n * (share * (1 - share) / share_var), effective_trials) AS plain,
       {ENOUGH} AS enough,
       difference, if({ENOUGH}, difference - more_half, NULL) AS difference_low,
       if({ENOUGH}, difference + more_half, NULL) AS difference_high,
       mean_batches, share_batches, difference_batches
FROM summed
ORDER BY measure, environment, design"""
"""One row for each design, environment and measure.

`cells` has the means over a cell beside each of its batches. `fitted` has the lines, and a batch's mean less the line.
`paired` has the difference of that from the baseline's. `half` is half the interval of the mean, `plain` the number of
plain trials that would estimate the share as well.
"""


def measures(trials: DataFrame) -> list[str]:
    """Return the columns that can be averaged: all numbers except the trial's own, its weight and its batch."""
    numbers = [field.name for field in trials.schema.fields if isinstance(field.dataType, NumericType)]
    return [name for name in numbers if name not in (TRIAL, WEIGHT, BATCH)]


def estimates(trials: DataFrame, of: Sequence[str] | None = None) -> DataFrame:
    """Return the rows of `SUMMED` for trials, for the measures `of` or all, with the intervals of mean and share.

    A mean has `mean_low` and `mean_high`, or `trials_for_mean` (`hawb.study.intervals.ends_of_mean`).
    """
    return _compared(trials, None, of).drop(*DIFFERENCE)


def differences(trials: DataFrame, baseline: str, of: Sequence[str] | None = None) -> DataFrame:
    """Return how much larger each measure's mean is in each design than in the design `baseline`.

    The columns are `difference`, and `difference_low` and `difference_high`, which are null with fewer than two trials
    a batch.
    """
    rows = _compared(trials, baseline, of).select("design", "environment", "measure", *DIFFERENCE)
    return rows.where(sql.col("difference").isNotNull())


def compared(
    trials: DataFrame, baseline: str, of: Sequence[str] | None = None, in_batches: bool = False
) -> list[dict[str, Any]]:
    """Return the estimates and the differences, in one pass over the trials.

    Each design, environment and measure has one row of plain values. With `in_batches`, the row also has the mean,
    share and difference of each batch (`IN_BATCHES`).
    """
    return [row.asDict() for row in _compared(trials, baseline, of, IN_BATCHES if in_batches else ()).collect()]


def _compared(
    trials: DataFrame, baseline: str | None, of: Sequence[str] | None, more: Sequence[str] = ()
) -> DataFrame:
    # All data after the sums are small: in one partition Spark sends nothing from task to task.
    sums = by_part(trials, of).coalesce(1)
    low, high = wilson(sql.col("share"), sql.col("plain"), sql.sqrt)
    ends = {"share_low": sql.greatest(sql.lit(0.0), low), "share_high": sql.least(sql.lit(1.0), high)}
    ends = {name: sql.when(sql.col("enough"), end) for name, end in (_ends_of_mean() | ends).items()}
    rows = trials.sparkSession.sql(SUMMED, args={"baseline": baseline}, sums=sums).withColumns(ends)
    return rows.select(*ESTIMATE, *DIFFERENCE, *more)


def _ends_of_mean() -> dict[str, Column]:
    """Return the columns of `hawb.study.intervals.ends_of_mean`, for the rows of `SUMMED`."""
    mean, half, trials, share = (sql.col(name) for name in ("mean", "half", "trials", "share"))
    counted = sql.when(sql.col("effective_trials") == trials, share).otherwise(1.0)
    takes = trials_for_mean(mean, half, trials, counted, sql.greatest)
    takes = sql.when((mean != 0) & (share > 0), takes)
    ends = {"mean_low": mean - half, "mean_high": mean + half}
    return {name: sql.when(takes <= trials, end) for name, end in ends.items()} | {
        "trials_for_mean": sql.when(takes > trials, takes)
    }


def by_part(trials: DataFrame, of: Sequence[str] | None) -> DataFrame:
    """Return the rows of `BY_PART` for the measures `of`, or all."""
    names = measures(trials) if of is None else of
    weight = WEIGHT if WEIGHT in trials.columns else "1D"
    sums = [f"{of.format(name=name, weight=weight)} AS `{x} {name}`" for name in names for x, of in SUMS.items()]
    columns = [f"'{name}', " + ", ".join(f"`{x} {name}`" for x in SUMS) for name in names]
    statement = BY_PART.format(
        count=len(names), sums=", ".join(sums), columns=", ".join(columns), names=", ".join(SUMS), weight=weight
    )
    return trials.sparkSession.sql(statement, trials=trials)
