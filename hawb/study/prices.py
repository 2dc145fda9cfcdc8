"""The cost of trials a year, by a user's own prices.

It is a column computed from others, so that no trial is played again for a changed price. No table on disk has it.
"""

from __future__ import annotations

from itertools import chain

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from hawb.study.numbers import PRICE, Prices
from hawb.study.question import DAYS_IN_A_YEAR, Study
from hawb.study.tables import DESIGN

MONTHS_IN_A_YEAR = 12

PRICED = {"downtime_hour": ("publish_down_s", 3600), "lost_message": ("lost_confirmed", 1),
          "replicated_gb": ("bytes_replicated", 10**9)}  # fmt: skip
"""The measure of trials (`hawb.study.trial_record`) for each price, and the amount of it that has that price."""


def with_price(trials: DataFrame, study: Study, prices: Prices) -> DataFrame:
    """Return the trials of a study with `price_per_year`, in the currency of the prices.

    It is the price of the nodes of a trial's cluster for twelve months, and of the trial's losses and outages, scaled
    from the horizon to 365 days.
    """
    nodes = ((sql.lit(name), sql.lit(design.nodes)) for name, design in study.designs.items())
    cluster = sql.create_map(*chain(*nodes))[sql.col(DESIGN)] * (MONTHS_IN_A_YEAR * prices.node_month)
    came = sum(sql.col(measure) * (getattr(prices, name) / each) for name, (measure, each) in PRICED.items())
    return trials.withColumn(PRICE, cluster + came * (DAYS_IN_A_YEAR / study.horizon_days))
