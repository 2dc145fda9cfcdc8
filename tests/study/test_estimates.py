"""Estimates and paired differences on Spark, compared with formulas, published tables and drawn values."""

from __future__ import annotations

import statistics

import numpy as np
import pyarrow as pa
import pytest
from made_up_trials import CELLS
from made_up_trials import row as made_up_row
from pyspark.sql import DataFrame, SparkSession

from hawb.study.estimates import compared, differences, estimates
from hawb.study.intervals import BATCHES, STUDENT_T


def rows_of(spark: SparkSession, trials: int) -> DataFrame:
    """Return synthetic trials of all cells."""
    return spark.createDataFrame(pa.Table.from_pylist([
        {"design": design, "environment": environment} | {**made_up_row(3, (design, environment), trial), "batch": 7}
        for design, environment in CELLS for trial in range(trials)
    ])).drop("weight")  # fmt: skip


@pytest.mark.spark
def test_estimates_agree_with_the_rows(spark: SparkSession):
    found = {(row.design, row.environment, row.measure): row for row in estimates(rows_of(spark, 1_000)).collect()}
    assert set(found) == {(*cell, measure) for cell in CELLS for measure in ("lost", "publish_down_s")}
    for cell in CELLS:
        for measure in ("lost", "publish_down_s"):
            row, values = found[*cell, measure], [made_up_row(3, cell, trial)[measure] for trial in range(1_000)]
            means = [statistics.fmean(values[batch::BATCHES]) for batch in range(BATCHES)]
            half = STUDENT_T * statistics.stdev(means) / BATCHES**0.5
            assert row.trials == row.effective_trials == 1_000
            assert row.mean == pytest.approx(statistics.fmean(values))
            assert (row.mean_low, row.mean_high) == pytest.approx((row.mean - half, row.mean + half))
            assert row.share == sum(value > 0 for value in values) / 1_000
            assert row.share_low < row.share < row.share_high
            assert row.trials_for_mean is None
    for few in estimates(rows_of(spark, 320)).collect():
        means = [few.share * few.trials >= 160, few.mean_low is not None, few.trials_for_mean is None]
        assert means == [few.measure == "publish_down_s"] * 3
    none = estimates(rows_of(spark, 25), ["lost"]).first()
    assert (none.mean_low, none.mean_high, none.trials_for_mean) == (None, None, pytest.approx(160 / none.share))


def regressed(weights: np.ndarray, values: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the regression estimate of a weighted mean, and the residuals."""
    slope = np.polyfit(weights, weights * values, 1)[0]
    return float(np.mean(weights * values) - slope * (np.mean(weights) - 1)), weights * values - slope * weights


@pytest.mark.spark
def test_weighted_estimates_agree_with_the_formulas(spark: SparkSession):
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


@pytest.mark.full
@pytest.mark.spark
def test_few_effective_trials_have_no_intervals(spark: SparkSession):
    count = 2_000
    weights = np.full(count, 1e-9)
    weights[:3] = 600.0
    table = pa.table({"environment": ["calm"] * count, "trial": range(count), "lost": range(count), "weight": weights})
    rows = spark.createDataFrame(pa.concat_tables(
        table.append_column("design", pa.array([name] * count)) for name in ("base", "other")))  # fmt: skip
    for row in compared(rows, "base"):
        assert row["effective_trials"] == pytest.approx(3)
        ends = (f"{name}_{end}" for name in ("mean", "share", "difference") for end in ("low", "high"))
        assert {row[end] for end in ends} == {None}


# R. G. Newcombe, "Two-sided confidence intervals for the single proportion: comparison of seven methods", 1998,
# table I, method 3 (Wilson's score interval without continuity correction): how many of how many had any, and the
# interval. The last is the third seen from the other side.
WILSONS = {
    (81, 263): (0.2553, 0.3662), (15, 148): (0.0624, 0.1605), (0, 20): (0.0, 0.1611), (1, 29): (0.0061, 0.1718),
    (20, 20): (0.8389, 1.0),
}  # fmt: skip


@pytest.mark.spark
def test_share_has_wilsons_interval(spark: SparkSession):
    rows = [
        {"design": f"{some} of {count}", "environment": "calm", "trial": number, "lost": 7 * (number < some)}
        for some, count in WILSONS
        for number in range(count)
    ]
    found = {row.design: row for row in estimates(spark.createDataFrame(rows)).collect()}
    for (some, count), interval in WILSONS.items():
        row = found[f"{some} of {count}"]
        assert (row.trials, row.share) == (count, pytest.approx(some / count))
        assert (row.share_low, row.share_high) == pytest.approx(interval, abs=0.00005 + 1e-9)


# Differences of pairs


def drawn(spark: SparkSession, weighted: bool) -> tuple[DataFrame, dict[str, np.ndarray], np.ndarray]:
    """Draw trials of two designs that have most events in common."""
    draw, count = np.random.RandomState(9), 3_200
    shared = draw.exponential(100.0, count)
    values = {"base": shared + draw.normal(0, 1, count), "other": shared + 5 + draw.normal(0, 1, count)}
    weights = draw.uniform(0.5, 1.5, count) if weighted else np.ones(count)
    rows = pa.concat_tables([
        pa.table({"design": [design] * count, "environment": ["calm"] * count, "trial": range(count),
                  "publish_down_s": numbers, "weight": weights})
        for design, numbers in values.items()
    ])  # fmt: skip
    return spark.createDataFrame(rows), values, weights


@pytest.mark.spark
def test_paired_difference_has_a_narrower_interval_than_two_means(spark: SparkSession):
    trials, values, _ = drawn(spark, weighted=False)
    found = {row["design"]: row for row in compared(trials, "base", in_batches=True)}
    base, other = found["base"], found["other"]
    assert [base[name] for name in ("difference", "difference_low", "difference_high")] == pytest.approx([0, 0, 0])
    more = values["other"] - values["base"]
    means = [more[part::BATCHES].mean() for part in range(BATCHES)]
    half = STUDENT_T * statistics.stdev(means) / BATCHES**0.5
    assert other["difference"] == pytest.approx(more.mean()) and other["difference_batches"] == pytest.approx(means)
    ends = (more.mean() - half, more.mean() + half)
    assert (other["difference_low"], other["difference_high"]) == pytest.approx(ends)
    assert other["difference_low"] < 5 < other["difference_high"]
    assert 2 * half < (other["mean_high"] - other["mean_low"]) / 10
    assert other["mean"] == pytest.approx(values["other"].mean())


@pytest.mark.spark
def test_weighted_differences_agree_with_the_estimates(spark: SparkSession):
    trials, values, weights = drawn(spark, weighted=True)
    (other,) = [row for row in differences(trials, "base").collect() if row.design == "other"]
    means = {design: regressed(weights, numbers) for design, numbers in values.items()}
    assert other.difference == pytest.approx(means["other"][0] - means["base"][0])
    left = means["other"][1] - means["base"][1]
    batches = [float(np.mean(left[part::BATCHES])) for part in range(BATCHES)]
    half = STUDENT_T * statistics.stdev(batches) / BATCHES**0.5
    assert other.difference_high - other.difference == pytest.approx(half)


@pytest.mark.spark
def test_few_trials_have_differences_and_no_intervals(spark: SparkSession):
    rows = differences(rows_of(spark, 25), "one", ["lost"]).collect()
    assert {(row.design, row.difference_low) for row in rows} == {("one", None), ("two", None)}
    assert all(row.difference is not None for row in rows)
