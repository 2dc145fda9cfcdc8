"""Histories of trials: draws, distributions and overlapping failures."""

from __future__ import annotations

import math
import random
import statistics

import numpy as np
import pytest

from hawb.engine.core import randomness
from hawb.study import draws, histories
from hawb.study.draws import Lengths
from hawb.study.environment import (
    Bursts,
    Calendar,
    ConsumerOutages,
    Distribution,
    Environment,
    Failures,
    GroupFailures,
    Partitions,
    Traffic,
)
from hawb.study.histories import DAY_US, HOUR_US, NAMES, history

TRAFFIC = Traffic(publish_per_s=1.0, consume_per_s=2.0)
YEAR_US = 365 * DAY_US


def exponential(mean_s: float) -> Distribution:
    """Return an exponential distribution."""
    return Distribution(mean_s=mean_s)


def constant(mean_s: float) -> Distribution:
    """Return a constant."""
    return Distribution(mean_s=mean_s, distribution="constant")


def events(environment: Environment, nodes: int = 3, seed: int = 1, horizon_us: int = YEAR_US) -> list[tuple]:
    """Return a history as (seconds, kind, nodes)."""
    rows = history(environment, nodes, seed, 0, horizon_us).tolist()
    return [(time_us / 1e6, NAMES[kind], about) for time_us, kind, about in rows]


@pytest.mark.parametrize(
    "key", [(0, 101, 0, 0), (2**63 - 1, 104, 5, 7), (1 << 40, 103, 2**32 - 1, 2**31), (77, 2**31, 12, 3)]
)
def test_compiled_draws_agree_with_the_engine(key):
    assert int(draws.draw(*map(np.uint64, key))) == randomness.draw(*key)
    for bound in (1, 2, 7, 1000, 2**32 - 1):
        assert draws.below(bound, *key) == randomness.below(bound, *key)


def test_compiled_philox_gives_the_known_answer():
    words = (0x6627E8D5, 0xE169C58D)
    assert int(draws.draw(*map(np.uint64, (0, 0, 0, 0)))) == words[1] << 32 | words[0]


def test_compiled_functions_are_exact_and_agree_with_python():
    numbers = random.Random(5)
    normal = statistics.NormalDist()
    for _ in range(2_000):
        u, x = numbers.random() ** numbers.choice((1, 5, 30)) or 0.5, numbers.uniform(-60, 60)
        assert math.isclose(draws.logarithm(u), math.log(u), rel_tol=2e-15, abs_tol=1e-17)
        assert math.isclose(draws.exponential(x), math.exp(x), rel_tol=2e-15)
        assert math.isclose(draws.normal_quantile(u), normal.inv_cdf(u), rel_tol=1e-14, abs_tol=1e-15)
        assert draws.logarithm(u) == draws.logarithm.py_func(u)
        assert draws.exponential(x) == draws.exponential.py_func(x)


@pytest.mark.parametrize(
    ("given", "deviation"),
    [
        (Distribution(mean_s=100.0), 1.0),
        (Distribution(mean_s=100.0, distribution="constant"), 0.0),
        (Distribution(mean_s=100.0, distribution="weibull", shape=0.7), 1.462),
        (Distribution(mean_s=100.0, distribution="lognormal", shape=0.5), math.sqrt(math.exp(0.25) - 1)),
    ],
)
def test_lengths_have_the_mean_and_the_deviation_of_their_distribution(given, deviation):
    lengths, count = Lengths.of(given), 20_000
    drawn = [
        draws.length_us(lengths.kind, lengths.scale_us, lengths.shape, draws.uniform(3, 101, 0, n)) / 1e6
        for n in range(count)
    ]
    assert abs(statistics.mean(drawn) - 100) <= 4 * 100 * deviation / math.sqrt(count)
    assert statistics.stdev(drawn) / 100 == pytest.approx(deviation, rel=0.06)


def test_a_node_fails_and_is_repaired_in_turn():
    found = events(Environment(node_failures=Failures(every=constant(100), repair=constant(10)), traffic=TRAFFIC), 1)
    assert found[:4] == [(100.0, "kill", 1), (110.0, "start", 1), (210.0, "kill", 1), (220.0, "start", 1)]


def test_a_history_depends_on_its_seed_and_trial_alone():
    environment = Environment(node_failures=Failures(every=exponential(1e6), repair=exponential(1e3)), traffic=TRAFFIC)
    same = [history(environment, 3, 1, trial, YEAR_US).tolist() for trial in (4, 4, 5)]
    assert same[0] == same[1] != same[2]
    assert history(environment, 3, 2, 4, YEAR_US).tolist() != same[0]
    longer = history(environment, 3, 1, 4, 2 * YEAR_US).tolist()
    assert [row for row in longer if row[0] < YEAR_US] == same[0]


def test_kinds_of_failures_have_their_shares():
    failures = Failures(
        every=exponential(1e4), repair=exponential(10), controlled_share=0.5, power_off_share=0.2, disk_loss_share=0.1
    )
    found = [kind for _, kind, _ in events(Environment(node_failures=failures, traffic=TRAFFIC))]
    failed = sum(kind in ("stop", "kill", "power_off") for kind in found)
    shares = {kind: found.count(kind) / failed for kind in ("stop", "power_off", "kill", "lose_disk")}
    assert shares == pytest.approx({"stop": 0.5, "power_off": 0.2, "kill": 0.3, "lose_disk": 0.1}, abs=0.02)


def test_node_stays_down_until_its_last_failure_ends():
    environment = Environment(
        node_failures=Failures(every=constant(100), repair=constant(50)),
        rack_failures=GroupFailures(groups=2, every=constant(120), repair=constant(100), controlled_share=1.0),
        traffic=TRAFFIC,
    )
    assert events(environment, 3, horizon_us=300_000_000) == [
        (100.0, "kill", 1), (100.0, "kill", 2), (100.0, "kill", 4),
        (220.0, "start", 2), (220.0, "start", 5),
        (250.0, "kill", 1), (250.0, "kill", 2), (250.0, "kill", 4),
    ]  # fmt: skip


def test_racks_and_hosts_take_their_nodes_down():
    environment = Environment(
        rack_failures=GroupFailures(groups=3, every=constant(100), repair=constant(10)), traffic=TRAFFIC
    )
    assert [about for _, kind, about in events(environment, 7)[:3]] == [0b0010010, 0b0100100, 0b1001001]


@pytest.mark.parametrize(("cut", "sizes"), [("one_node", {1}), ("half", {2}), ("one_link", {2}), ("one_rack", {2, 3})])
def test_cut_isolates_the_expected_nodes(cut, sizes):
    environment = Environment(
        rack_failures=GroupFailures(groups=2, every=constant(1e9), repair=constant(1)),
        partitions=Partitions(every=exponential(1e4), lasts=exponential(10), cut=cut),
        traffic=TRAFFIC,
    )
    found = events(environment, 5)
    named = "cut_link" if cut == "one_link" else "cut"
    assert {about.bit_count() for _, kind, about in found if kind == named} == sizes
    assert len({about for _, kind, about in found if kind == named}) == {
        "one_node": 5, "half": 10, "one_link": 10, "one_rack": 2,
    }[cut]  # fmt: skip
    assert [kind for _, kind, _ in found[:4]] == [named, "heal", named, "heal"]


def test_calendars_rates_bursts_and_outages():
    environment = Environment(
        maintenance=Calendar(every_days=1, first_day=2, at_hour=3.0, down_s=60),
        rolling_upgrades=Calendar(every_days=2, first_day=0, at_hour=4.0, down_s=60),
        traffic=Traffic(
            publish_per_s=(5.0, *(1.0,) * 23), consume_per_s=7.0,
            bursts=Bursts(every=constant(3 * 86400), lasts=constant(600), publish_times=4),
            consumer_outages=ConsumerOutages(every=constant(3.5 * 86400), lasts=constant(60)),
        ),
    )  # fmt: skip
    hours = [(time_s / 3600, kind, about) for time_s, kind, about in events(environment, 3, horizon_us=4 * DAY_US)]
    assert hours == [
        (1, "rate", 1), (4, "rolling_upgrade", 7), (24, "rate", 0), (25, "rate", 1), (48, "rate", 0), (49, "rate", 1),
        (51, "maintenance", 1), (52, "rolling_upgrade", 7), (72, "burst", 1), (72, "rate", 0), (72 + 1 / 6, "burst", 0),
        (73, "rate", 1), (75, "maintenance", 2), (84, "consumers_away", 0), (84 + 1 / 60, "consumers_back", 0),
    ]  # fmt: skip
    assert HOUR_US * 24 == DAY_US


def test_rate_depends_on_the_hour():
    assert histories.rate_at((5.0, *(1.0,) * 23), 24) == 5.0
    assert histories.rate_at(3.0, 7) == 3.0
