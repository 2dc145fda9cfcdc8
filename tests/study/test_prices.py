"""Yearly cost of trials, compared with hand calculations and estimates."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import SparkSession
from test_numbers import ASKED, OWN

from hawb.study.estimates import compared
from hawb.study.load import read_study
from hawb.study.numbers import Prices, read_numbers
from hawb.study.prices import with_price

STUDY, PRICES = read_study(ASKED), read_numbers(OWN).prices


@pytest.mark.spark
def test_price_of_a_year_by_hand(spark: SparkSession) -> None:
    """Of 73 days there are five in a year. Two hours, ten messages and 3 GB in them, by hand."""
    rows = spark.createDataFrame([
        {"design": design, "environment": "rack", "trial": trial, "publish_down_s": down_s, "lost_confirmed": lost,
         "bytes_replicated": sent, "messages": 7}
        for design in ("two", "three") for trial, down_s, lost, sent in ((0, 7200.0, 10, 3 * 10**9), (1, 0.0, 0, 0))
    ])  # fmt: skip
    found = {(row.design, row.trial): row.price_per_year for row in with_price(rows, STUDY, PRICES).collect()}
    came = 5 * (2 * 500 + 10 * 0.01 + 3 * 0.02)
    assert found == pytest.approx({
        ("two", 0): 3 * 12 * 150 + came, ("two", 1): 3 * 12 * 150,
        ("three", 0): 5 * 12 * 150 + came, ("three", 1): 5 * 12 * 150,
    })  # fmt: skip
    free = with_price(rows, STUDY, Prices(currency="EUR", lost_message=2)).collect()
    assert {row.price_per_year for row in free} == {5 * 10 * 2, 0}


@pytest.mark.spark
def test_price_of_weighted_trials_agrees_with_the_estimates(spark: SparkSession) -> None:
    draw = np.random.RandomState(5)
    rows = spark.createDataFrame([
        {"design": design, "environment": "rack", "trial": trial, "publish_down_s": float(draw.exponential(3600)),
         "lost_confirmed": int(draw.poisson(3)), "bytes_replicated": int(draw.poisson(10**9)),
         "weight": float(draw.uniform(0.5, 1.5))}
        for design in ("two", "three") for trial in range(192)
    ])  # fmt: skip
    rows = compared(with_price(rows, STUDY, PRICES), "two")
    found = {(row["design"], row["measure"]): row for row in rows}
    per = {"publish_down_s": 500 / 3600, "lost_confirmed": 0.01, "bytes_replicated": 0.02 / 1e9}
    for design, nodes in (("two", 3), ("three", 5)):
        came = sum(found[design, measure]["mean"] * price for measure, price in per.items())
        row = found[design, "price_per_year"]
        assert row["mean"] == pytest.approx(nodes * 12 * 150 + 5 * came)
        assert row["mean_low"] < row["mean"] < row["mean_high"]
    more = found["three", "price_per_year"]
    assert more["difference"] == pytest.approx(more["mean"] - found["two", "price_per_year"]["mean"])
    assert more["difference_low"] < more["difference"] < more["difference_high"]
