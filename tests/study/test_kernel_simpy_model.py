"""The benchmark's model in SimPy makes of a history what the kernel makes of it: every field of the record but the
times of its clients (`NOT_MODELLED`), to the message and to the microsecond, in the yardstick's environment and in such
as end in losses."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from conftest import LONG
from msgspec.structs import replace

from benchmarks import simpy_model
from hawb.study import histories
from hawb.study.design import Design
from hawb.study.engine_trial import SECOND_US, own_seed
from hawb.study.environment import ConsumerOutages, Distribution, Environment, Failures, Traffic
from hawb.study.histories import DAY_US
from hawb.study.kernel import block
from hawb.study.load import load
from hawb.study.trial_record import Record

pytestmark = [pytest.mark.full, pytest.mark.kernel]

STUDY = load(Path(__file__).parents[2] / "data" / "studies" / "monthly-failures.yaml")
DESIGN, MONTHLY = STUDY.designs["mirrored"], STUDY.environments["monthly"]
FIELDS = Record.__struct_fields__
NOT_MODELLED = ("publish_down_s", "consume_down_s")
"""Measures that the SimPy model does not have."""

ALL = replace(DESIGN, replicas=None, policy={"ha-mode": "all", "ha-sync-mode": "automatic"})
"""The yardstick's design, and the same without a lot that decides in which order mirrors join."""
BY_HAND = replace(ALL, policy={"ha-mode": "all", "ha-sync-mode": "manual"})
BATCHES = replace(
    ALL, version="3.10", mirroring_sync_max_throughput=20_000_000, policy=ALL.policy | {"ha-sync-batch-size": 50}
)

PART = 1 if LONG else 2
"""One in so many of the trials of a case are compared."""
LEAST_LOSSES = 0.2
"""Of the histories of a case that is about losses, the share that ends in one."""


def often(mean_s: float, repair_s: float, stops: float = 0.0, **traffic: object) -> Environment:
    """The yardstick's environment with failures that meet one another, of which a share are controlled stops, and
    other traffic."""
    failures = Failures(every=Distribution(mean_s=mean_s), repair=Distribution(mean_s=repair_s), controlled_share=stops)
    return replace(MONTHLY, node_failures=failures, traffic=replace(MONTHLY.traffic, **traffic))


def away(every_s: float, lasts_s: float) -> ConsumerOutages:
    """Return outages of consumers, so that a backlog builds up."""
    return ConsumerOutages(every=Distribution(mean_s=every_s), lasts=Distribution(mean_s=lasts_s))


def far(environment: Environment) -> Environment:
    """Return the environment with a higher link latency, so that more is in flight when a node dies."""
    return replace(environment, timing=replace(environment.timing, link_latency_s=0.02))


DEEPER = {"consumer_outages": away(8_000, 2_000), "consume_per_s": 90.0}
"""A consumer that does not keep up, of a queue that gets deeper and takes long to be synchronised."""
SLOW = {"consumer_outages": away(800, 200), "consume_per_s": 17.5, "publish_per_s": 12.5}
FASTER = {"consumer_outages": away(8_000, 2_000), "consume_per_s": 9_000.0, "publish_per_s": 8_000.0}

WITHOUT_LOSSES = {
    "the yardstick": (DESIGN, MONTHLY, 365, 300),
    "a failure a month": (ALL, MONTHLY, 365, 100),
    "some at once": (ALL, often(40_000, 3_600), 30, 40),
    "many at once": (ALL, often(4_000, 2_000), 3, 40),
    "many stopped at once": (DESIGN, often(4_000, 2_000, stops=0.5), 3, 40),
    "hardly ever up": (ALL, often(60, 20), 0.02, 150),
}
WITH_LOSSES = {
    "deeper than it is synchronised": (ALL, often(4_000, 600, 0.5, **DEEPER), 2, 50),
    "small batches of a limited pace": (BATCHES, often(4_000, 1_600, 0.3, **DEEPER), 2, 40),
    "synchronised by hand": (BY_HAND, often(40_000, 3_600, 0.5, consumer_outages=away(8_000, 2_000)), 20, 40),
    "late answers do not count": (replace(BY_HAND, version="3.8"), often(400, 100, 0.3, **SLOW), 0.2, 50),
    "much on its way": (ALL, far(often(4_000, 600, 0.5, **FASTER)), 0.5, 50),
    "two nodes": (replace(ALL, nodes=2), often(4_000, 1_600, 0.3, **DEEPER), 4, 40),
    "five nodes": (replace(ALL, nodes=5), often(4_000, 1_600, 0.3, **DEEPER), 2, 40),
}


@cache
def compared(case: str) -> np.ndarray:
    """Return the kernel's rows of a case's trials. Require that the model's are equal."""
    design, environment, days, trials = (WITHOUT_LOSSES | WITH_LOSSES)[case]
    horizon_us, given = round(days * DAY_US), simpy_model.read(design, environment)
    rows = block.rows(design, environment, STUDY.seed, 0, trials // PART, horizon_us)
    for trial, row in enumerate(rows):
        history = histories.history(environment, design.nodes, STUDY.seed, trial, horizon_us).tolist()
        record = simpy_model.play(given, history, own_seed(STUDY.seed, trial), horizon_us)
        assert record == replace(record_of(row), **dict.fromkeys(NOT_MODELLED, 0.0)), f"trial {trial}"
    return rows


def record_of(row: np.ndarray) -> Record:
    """Return the record of the kernel's row."""
    named = zip(FIELDS, row.tolist(), strict=True)
    return Record(**{name: value / SECOND_US if name.endswith("_s") else value for name, value in named})


def share(rows: np.ndarray, field: str) -> float:
    """Return the share of trials in which a field of the record is above 0."""
    return (rows[:, FIELDS.index(field)] > 0).mean()


@pytest.mark.parametrize("case", WITHOUT_LOSSES)
def test_model_agrees_with_the_kernel(case: str):
    rows = compared(case)
    assert rows[:, FIELDS.index("promotions")].sum() > len(rows)
    assert share(rows, "lost") == 0


@pytest.mark.parametrize("case", WITH_LOSSES)
def test_model_agrees_with_the_kernel_on_losses(case: str):
    rows = compared(case)
    assert share(rows, "lost") >= LEAST_LOSSES
    assert share(rows, "lost_confirmed") > 0
    assert share(rows, "unsynchronised_promotions") > 0


def test_every_field_of_the_record_is_compared():
    rows = compared("deeper than it is synchronised")
    assert [name for name in FIELDS if not share(rows, name)] == []


def test_unsupported_faults_are_refused():
    with pytest.raises(ValueError, match="power_off; accepted: start, stop, kill, consumers_away, consumers_back"):
        simpy_model.play(simpy_model.read(ALL, MONTHLY), [(5, histories.POWER_OFF, 1)], 1, DAY_US)


UNKNOWN_DESIGNS = {
    "a queue without a mirror on every node": replace(DESIGN, replicas=2),
    "ha-promote-on-failure": replace(ALL, policy=ALL.policy | {"ha-promote-on-failure": "when-synced"}),
    "ha-promote-on-shutdown": replace(ALL, policy=ALL.policy | {"ha-promote-on-shutdown": "always"}),
    "cluster_partition_handling": replace(ALL, cluster_partition_handling="ignore"),
    "operator_policy": replace(ALL, operator_policy={"ha-mode": "all"}),
    "arguments": replace(ALL, arguments={"x-max-length": 3}),
}
UNKNOWN_TRAFFIC = {
    "mode": {"mode": "plain"},
    "ack": {"ack": "auto"},
    "prefetch": {"prefetch": 10},
    "persistent": {"persistent": False},
    "publish_per_s": {"publish_per_s": (1.0,) * 24},
    "consume_per_s": {"consume_per_s": 0.0},
}


@pytest.mark.parametrize(("named", "design"), UNKNOWN_DESIGNS.items(), ids=UNKNOWN_DESIGNS)
def test_unsupported_designs_are_refused_by_name(named: str, design: Design):
    with pytest.raises(ValueError, match=named):
        simpy_model.read(design, MONTHLY)


@pytest.mark.parametrize(("named", "fields"), UNKNOWN_TRAFFIC.items(), ids=UNKNOWN_TRAFFIC)
def test_unsupported_traffic_is_refused_by_name(named: str, fields: dict[str, object]):
    traffic = Traffic(**({"publish_per_s": 1.0, "consume_per_s": 2.0} | fields))
    with pytest.raises(ValueError, match=named):
        simpy_model.read(ALL, Environment(traffic=traffic))
