"""The benchmark's model in SimPy makes of a history what the kernel makes of it: so many promotions and outages, and to
the microsecond so long without a master. Messages it has none; in these histories none is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks import simpy_queue
from hawb.study import histories
from hawb.study.design import Design
from hawb.study.environment import Distribution, Environment, Failures
from hawb.study.histories import DAY_US
from hawb.study.kernel import block
from hawb.study.load import load
from hawb.study.played import own_seed
from hawb.study.record import Record

STUDY = load(Path(__file__).parent.parent / "data" / "studies" / "monthly-failures.yaml")
DESIGN, MONTHLY = STUDY.designs["mirrored"], STUDY.environments["monthly"]
ALL = replace(DESIGN, replicas=None, policy={"ha-mode": "all", "ha-sync-mode": "automatic"})
"""The yardstick's design, and the same without a lot that decides in which order mirrors join."""
FIELDS = ("promotions", "unsynchronised_promotions", "outages", "publish_down_s")


def often(mean_s: float, repair_s: float) -> Environment:
    """The yardstick's environment with failures that meet one another."""
    return replace(
        MONTHLY, node_failures=Failures(every=Distribution(mean_s=mean_s), repair=Distribution(mean_s=repair_s))
    )


@pytest.mark.parametrize(
    ("design", "environment", "days", "trials"),
    [
        (DESIGN, MONTHLY, 365, 300), (ALL, MONTHLY, 365, 300), (ALL, often(40_000, 3_600), 30, 100),
        (ALL, often(4_000, 2_000), 5, 100), (ALL, often(60, 20), 1, 5),
    ],
    ids=["the yardstick", "a failure a month", "some at once", "many at once", "hardly ever up"],
)  # fmt: skip
def test_it_agrees_with_the_kernel_on_every_history(design: Design, environment: Environment, days: int, trials: int):
    rows = block.rows(design, environment, STUDY.seed, 0, trials, days * DAY_US)
    places = [Record.__struct_fields__.index(name) for name in FIELDS]
    lost = rows[:, Record.__struct_fields__.index("lost")]
    differ = []
    for trial in range(trials):
        history = histories.history(environment, DESIGN.nodes, STUDY.seed, trial, days * DAY_US).tolist()
        told = simpy_queue.told_of(design, environment, own_seed(STUDY.seed, trial), history, days * DAY_US)
        by_kernel = rows[trial, places].tolist()
        by_simpy = [told.promotions, told.unsynchronised_promotions, told.outages, told.publish_down_us]
        if by_kernel != by_simpy:
            differ.append((trial, by_kernel, by_simpy))
    assert differ == []
    assert rows[:, places[0]].sum() > trials
    assert not lost.any()


def test_faults_that_it_has_no_rules_for_are_refused():
    with pytest.raises(ValueError, match="accepted: start, kill"):
        simpy_queue.told_of(ALL, MONTHLY, 1, [(5, histories.STOP, 1)], DAY_US)
