"""The failures assumed for a cluster where no file has its failure rates."""

from __future__ import annotations

from hawb.study.environment import Distribution, Failures

MONTH_S = 30 * 24 * 3600

FAILING = Failures(
    every=Distribution(mean_s=MONTH_S),
    repair=Distribution(mean_s=3600, distribution="lognormal", shape=1.0),
    controlled_share=0.2,
)
"""Each node fails once a month and is back after an hour on average. One failure in five is a controlled stop."""
