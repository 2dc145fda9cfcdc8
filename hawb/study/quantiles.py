"""Quantiles of a measure over trials, and the share of trials above an objective, each with its 95 % interval.

Of a quantile p of n trials the ends are the values at the ranks p·n ± z·√(p(1 - p)·n): the values for which an interval
for the share of trials up to there would hold p (G. J. Hahn and W. Q. Meeker, "Statistical Intervals", 1991, section
5.2). An end beyond the least or the largest trial is not known. Spark finds ranks in one pass, to within 1 in
`ACCURACY`. Trials that are weighted (`failure_biasing`) have no quantiles here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import sqrt
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from hawb.study.intervals import NORMAL, OBJECTIVE, QUANTILES, Share
from hawb.study.trial_record import WEIGHT

ACCURACY = 100_000

Row = Mapping[str, Any]


def with_quantiles(
    rows: Iterable[Row], trials: DataFrame, measures: Iterable[str], objectives: Mapping[str, float]
) -> list[dict[str, Any]]:
    """Return estimates of trials with `p50`, `p90`, `p99` and their ends, for some measures.

    It takes one pass over the trials. A measure with an objective also has `objective`, and `above`, the share of
    trials above it, with its ends.
    """
    rows, measures = [dict(row) for row in rows], [*dict.fromkeys((*measures, *objectives))]
    counts = {row["trials"] for row in rows}
    asked = {count: [fraction for each in QUANTILES.values() for fraction in ranks(each, count)] for count in counts}
    fractions = sorted({fraction for each in asked.values() for fraction in each if 0 < fraction < 1})
    found = {(one.design, one.environment): one for one in _pass(trials, measures, fractions, objectives).collect()}
    for row in rows:
        of_cell, measure = found.get((row["design"], row["environment"])), row["measure"]
        if measure in measures and of_cell is not None and of_cell.plain:
            values = dict(zip(fractions, of_cell[measure], strict=True))
            for name, share in QUANTILES.items():
                value, *ends = (values.get(fraction) for fraction in ranks(share, row["trials"]))
                row |= {name: value} | dict(zip((f"{name}_low", f"{name}_high"), ends, strict=True))
            if measure in objectives:
                above = Share(of_cell[f"above {measure}"], row["trials"])
                row |= {OBJECTIVE: objectives[measure], "above": above.some / above.trials}
                row |= dict(zip(("above_low", "above_high"), above.interval, strict=True))
    return rows


def ranks(share: float, trials: int) -> tuple[float, float, float]:
    """Return the rank of a quantile as a share of the trials, and the ends of its interval.

    Ends outside 0 to 1 are beyond all trials.
    """
    half = NORMAL * sqrt(share * (1 - share) / trials)
    return share, share - half, share + half


def _pass(
    trials: DataFrame, measures: Iterable[str], fractions: list[float], objectives: Mapping[str, float]
) -> DataFrame:
    plain = sql.bool_and(sql.col(WEIGHT) == 1 if WEIGHT in trials.columns else sql.lit(True))
    values = [sql.percentile_approx(sql.col(name).cast("double"), fractions, ACCURACY).alias(name) for name in measures]
    above = [sql.count_if(sql.col(name) > most).alias(f"above {name}") for name, most in objectives.items()]
    return trials.groupBy("design", "environment").agg(plain.alias("plain"), *values, *above)
