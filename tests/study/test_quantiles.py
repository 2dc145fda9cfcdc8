"""Quantiles and objectives on Spark, compared with drawn values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from hawb.study.intervals import Share
from hawb.study.quantiles import ranks, with_quantiles


def table(count: int, values: np.ndarray, weights: np.ndarray | None = None) -> pa.Table:
    columns = {"design": ["one"] * count, "environment": ["calm"] * count, "trial": range(count), "down_s": values,
               "weight": np.ones(count) if weights is None else weights}  # fmt: skip
    return pa.table(columns)


def row(count: int) -> dict:
    return {"design": "one", "environment": "calm", "measure": "down_s", "trials": count}


@pytest.mark.spark
def test_quantiles_are_order_statistics_and_objectives_are_shares(spark: SparkSession):
    count = 1_000
    values = np.random.RandomState(1).permutation(count).astype(float)
    trials = spark.createDataFrame(table(count, values))
    other = row(count) | {"measure": "lost"}
    result, kept = with_quantiles([row(count), other], trials, ["down_s"], {"down_s": 949.0})
    assert kept == other
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        expected = [np.ceil(rank * count) - 1 for rank in ranks(share, count)]
        assert [result[name], result[f"{name}_low"], result[f"{name}_high"]] == expected
    low, high = Share(50, count).interval
    assert (result["objective"], result["above"], result["above_low"], result["above_high"]) == (949.0, 0.05, low, high)


@pytest.mark.spark
def test_quantile_interval_beyond_the_trials_is_unknown(spark: SparkSession):
    values = np.arange(64.0)
    (few,) = with_quantiles([row(64)], spark.createDataFrame(table(64, values)), ["down_s"], {})
    assert (few["p99"], few["p99_high"], "above" in few) == (63.0, None, False)
    weighted = spark.createDataFrame(table(64, values, np.linspace(0.5, 1.5, 64)))
    assert with_quantiles([row(64)], weighted, ["down_s"], {}) == [row(64)]


def test_quantile_intervals_have_their_stated_coverage():
    """Of 2,000 samples of 400, by the ranks that Spark is asked for."""
    draw, count = np.random.RandomState(5), 400
    for share in (0.5, 0.9, 0.99):
        low, high = (int(np.ceil(rank * count)) - 1 for rank in ranks(share, count)[1:])
        samples = np.sort(draw.random_sample((2_000, count)), axis=1)
        held = (samples[:, low] <= share) & ((samples[:, high] if high < count else 1.0) >= share)
        assert held.mean() == pytest.approx(0.95, abs=0.02)
