"""The failures assumed of a cluster where no file tells them."""

from __future__ import annotations

from hawb.study.environment import Distribution, Failures

MONTH_S = 30 * 24 * 3600

FAILING = Failures(
    every=Distribution(mean_s=MONTH_S),
    repair=Distribution(mean_s=3600, distribution="lognormal", shape=1.0),
    controlled_share=0.2,
)
"""Each node fails once a month and is back within an hour, one failure in five is a controlled stop."""
