"""What a study's trials come to: for each design, environment and measure the mean, and the share that had any.

Each with a 95 % interval (`hawb.study.intervals`). That of a mean is too narrow as long as few trials of a cell had
any; the share tells how many.

Trials of an environment with biased failures count by their weights, whose expectation is 1 (`hawb.study.renewals`):
the mean is that of weight · value, less what goes with how far the mean weight is from 1 by chance, a line fitted to
the trials (T. Hesterberg, "Weighted average importance sampling and defensive mixture distributions", 1995, the
regression estimate). So what is the same in all trials is told exactly, and what is rare about as well as without the
line. The fit's own bias falls with the number of trials, the error with the root of it. The interval of a share is that
of as many plain trials as would tell it as well. `effective_trials` are L. Kish's, the square of the sum
of weights over the sum of their squares: how many plain trials the weights are worth to what is not rare. A small part
of all trials says that failures are biased too much. With weights of 1 all this is the plain mean and share.

Differences between designs (`differences`) are of pairs: a trial of one number has the same faults at the same times in
every design with as many nodes, so that what both have in common goes out of the difference, and its interval is that
of the differences of batch means, mostly far narrower than the intervals of the two means let one think.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.types import NumericType

from hawb.study.intervals import BATCHES, NOISE, STUDENT_T, wilson
from hawb.study.record import BATCH, TRIAL, WEIGHT

SUMS = {
    "x": "sum({weight} * `{name}`)",
    "wx": "sum({weight} * {weight} * `{name}`)",
    "some": "sum(if(`{name}` > 0, {weight}, 0))",
    "wsome": "sum(if(`{name}` > 0, {weight} * {weight}, 0))",
}
"""What is summed up of each measure in each batch of trials, in one pass: as columns, since rows of (measure, value)
would be as many times the trials as there are measures."""

BY_PART = f"""\
WITH parts AS (
  SELECT design, environment, trial % {BATCHES} AS part, count(*) AS trials,
         sum({{weight}}) AS w, sum({{weight}} * {{weight}}) AS ww, {{sums}}
  FROM {{{{trials}}}}
  GROUP BY design, environment, part
)
SELECT design, environment, part, trials, w, ww, stack({{count}}, {{columns}}) AS (measure, {{names}}) FROM parts"""
"""The sums of each measure in each batch of a cell: one pass over the trials, after which all is small."""

FITTED = f"""\
WITH cells AS (
  SELECT design, environment, measure, count(*) AS parts, sum(trials) AS n,
         sum(w) / sum(trials) AS w, sum(ww) / sum(trials) AS ww,
         sum(x) / sum(trials) AS x, sum(wx) / sum(trials) AS wx,
         sum(some) / sum(trials) AS some, sum(wsome) / sum(trials) AS wsome,
         var_samp(x / trials) AS x_var, var_samp(w / trials) AS w_var, covar_samp(x / trials, w / trials) AS xw_cov
  FROM {{told}}
  GROUP BY design, environment, measure
), fitted AS (
  SELECT *, if(ww - w * w > {NOISE}D * ww, 1 / (ww - w * w), 0) AS per_var,
         (wx - w * x) * per_var AS x_slope, (wsome - w * some) * per_var AS some_slope
  FROM cells
)"""
"""The cells, with the lines that are fitted to their weights."""

ESTIMATES = f"""\
{FITTED}, estimated AS (
  SELECT *, x - x_slope * (w - 1) AS mean,
         CASE WHEN parts = {BATCHES} AND n >= 2 * {BATCHES} THEN {STUDENT_T}D * sqrt(
              greatest(0, x_var + x_slope * (x_slope * w_var - 2 * xw_cov)) / {BATCHES}) END AS half,
         least(1, greatest(0, some - some_slope * (w - 1))) AS share,
         wsome - some * some - some_slope * (wsome - w * some) AS share_var,
         n * (w * w / ww) AS effective_trials
  FROM fitted
)
SELECT design, environment, measure, n AS trials, effective_trials,
       mean, mean - half AS mean_low, mean + half AS mean_high,
       share, if(share_var > {NOISE}D * wsome, n * (share * (1 - share) / share_var), effective_trials) AS plain
FROM estimated
ORDER BY measure, environment, design"""
"""One row for each design, environment and measure; the mean has no interval with fewer than two trials a batch, and
`plain` is how many plain trials would tell the share as well."""

DIFFERENCES = f"""\
{FITTED}, left_over AS (
  SELECT told.*, told.x / told.trials - x_slope * (told.w / told.trials - 1) AS mean
  FROM {{told}} AS told JOIN fitted
  ON told.design = fitted.design AND told.environment = fitted.environment AND told.measure = fitted.measure
), paired AS (
  SELECT one.design, one.environment, one.measure, one.trials, one.mean - base.mean AS more
  FROM left_over AS one JOIN left_over AS base
  ON one.environment = base.environment AND one.measure = base.measure AND one.part = base.part
  WHERE base.design = :baseline
)
SELECT design, environment, measure, sum(trials * more) / sum(trials) AS difference,
       CASE WHEN count(*) = {BATCHES} AND sum(trials) >= 2 * {BATCHES}
            THEN {STUDENT_T}D * stddev_samp(more) / sqrt({BATCHES}) END AS half
FROM paired
GROUP BY design, environment, measure
ORDER BY measure, environment, design"""
"""One row for each design, environment and measure: how much more it is than with the baseline."""


def measures(trials: DataFrame) -> list[str]:
    """The columns that can be averaged: all numbers but the trial's own, its weight and where it was written."""
    numbers = [field.name for field in trials.schema.fields if isinstance(field.dataType, NumericType)]
    return [name for name in numbers if name not in (TRIAL, WEIGHT, BATCH)]


def estimates(trials: DataFrame, of: Sequence[str] | None = None) -> DataFrame:
    """What `ESTIMATES` makes of the trials, of the measures named or of all, with the share's interval."""
    return _estimates(by_part(trials, of))


def differences(trials: DataFrame, baseline: str, of: Sequence[str] | None = None) -> DataFrame:
    """What `DIFFERENCES` makes of the trials: of each design how much more it is than with the design `baseline`, with
    `difference_low` and `difference_high`, which are null with fewer than two trials a batch."""
    return _differences(by_part(trials, of), baseline)


def told(trials: DataFrame, baseline: str, of: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """The estimates and the differences, in one pass over the trials: a row as plain values for each design,
    environment and measure."""
    sums = by_part(trials, of).persist()
    try:
        same = ["design", "environment", "measure"]
        rows = _estimates(sums).join(_differences(sums, baseline), same, "left").orderBy(same[::-1]).collect()
    finally:
        sums.unpersist()
    return [row.asDict() for row in rows]


def by_part(trials: DataFrame, of: Sequence[str] | None) -> DataFrame:
    """What `BY_PART` sums up of the measures named, or of all."""
    names = measures(trials) if of is None else of
    weight = WEIGHT if WEIGHT in trials.columns else "1D"
    sums = [f"{of.format(name=name, weight=weight)} AS `{x} {name}`" for name in names for x, of in SUMS.items()]
    columns = [f"'{name}', " + ", ".join(f"`{x} {name}`" for x in SUMS) for name in names]
    statement = BY_PART.format(
        count=len(names), sums=", ".join(sums), columns=", ".join(columns), names=", ".join(SUMS), weight=weight
    )
    return trials.sparkSession.sql(statement, trials=trials)


def _estimates(sums: DataFrame) -> DataFrame:
    low, high = wilson(sql.col("share"), sql.col("plain"), sql.sqrt)
    ends = {"share_low": sql.greatest(sql.lit(0.0), low), "share_high": sql.least(sql.lit(1.0), high)}
    return sums.sparkSession.sql(ESTIMATES, told=sums).withColumns(ends).drop("plain")


def _differences(sums: DataFrame, baseline: str) -> DataFrame:
    more, half = sql.col("difference"), sql.col("half")
    ends = {"difference_low": more - half, "difference_high": more + half}
    return sums.sparkSession.sql(DIFFERENCES, args={"baseline": baseline}, told=sums).withColumns(ends).drop("half")
