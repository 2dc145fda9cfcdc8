"""What a study's trials come to: for each design, environment and measure the mean, and the share that had any.

Each with a 95 % interval. That of a share is Wilson's (`hawb.study.sweep`), which says something of a loss that was
never seen. That of a mean is of batch means (A. M. Law, "Simulation Modeling and Analysis", on output analysis): trials
are dealt to `BATCHES` batches by their numbers, whose means are about normal where single trials, mostly nothing and
rarely a whole queue, are far from it; with Student's t for that many. It is too narrow as long as few trials of a cell
had any; the share tells how many.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import NumericType

from hawb.study.blocks import TRIAL

BATCHES = 32
STUDENT_T = 2.039513
"""Of 31 degrees of freedom, at 97.5 %."""

ESTIMATES = f"""\
WITH told AS (
  SELECT design, environment, trial % {BATCHES} AS batch, stack({{count}}, {{columns}}) AS (measure, value)
  FROM {{{{trials}}}}
), batches AS (
  SELECT design, environment, measure, batch,
         count(*) AS trials, count_if(value > 0) AS some, sum(value) AS total, avg(value) AS mean
  FROM told
  GROUP BY design, environment, measure, batch
), cells AS (
  SELECT design, environment, measure,
         sum(trials) AS trials, sum(some) AS some, sum(total) / sum(trials) AS mean,
         CASE WHEN count(*) = {BATCHES} AND sum(trials) >= 2 * {BATCHES}
              THEN {STUDENT_T}D * stddev_samp(mean) / sqrt({BATCHES}) END AS half,
         1.959964D * sqrt(sum(some) * (sum(trials) - sum(some)) / sum(trials) + 0.960365D) AS spread
  FROM batches
  GROUP BY design, environment, measure
)
SELECT design, environment, measure, trials,
       mean, mean - half AS mean_low, mean + half AS mean_high,
       some / trials AS share,
       greatest(0, (some + 1.920729D - spread) / (trials + 3.841459D)) AS share_low,
       least(1, (some + 1.920729D + spread) / (trials + 3.841459D)) AS share_high
FROM cells
ORDER BY measure, environment, design"""
"""One row for each design, environment and measure; the mean has no interval with fewer than two trials a batch."""


def measures(trials: DataFrame) -> list[str]:
    """The columns that can be averaged: all numbers but the trial's own."""
    fields = trials.schema.fields
    return [field.name for field in fields if isinstance(field.dataType, NumericType) and field.name != TRIAL]


def estimates(trials: DataFrame, of: Sequence[str] | None = None) -> DataFrame:
    """What `ESTIMATES` makes of the trials, of the measures named or of all."""
    names = measures(trials) if of is None else of
    columns = ", ".join(f"'{name}', CAST(`{name}` AS double)" for name in names)
    return trials.sparkSession.sql(ESTIMATES.format(count=len(names), columns=columns), trials=trials)
