"""The kernel compared with mathematics: a closed form and a small Markov chain lie within the estimated intervals.

The seed is fixed, so that a test passes always or never. Intervals are of 99 %.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from hawb.scenario.document import Timing
from hawb.study import histories
from hawb.study.design import Design
from hawb.study.engine_trial import SECOND_US
from hawb.study.environment import Distribution, Environment, FailureBiasing, Failures, Traffic
from hawb.study.kernel import block
from hawb.study.trial_record import Record

pytestmark = [pytest.mark.full, pytest.mark.kernel]

SEED = 7
Z_99 = 2.5758293035489004
UP_S, REPAIR_S = 1_000.0, 100.0
HORIZON_US = 1_000_000_000_000


def environment(
    link_s: float, consume_per_s: float = 2.0, up_s: float = UP_S, repair_s: float = REPAIR_S,
    failure_biasing: FailureBiasing | None = None,
) -> Environment:
    """Kills of each node after up_s and repairs after repair_s, exponential, with all but links and disks at once."""
    return Environment(
        node_failures=Failures(every=Distribution(mean_s=up_s), repair=Distribution(mean_s=repair_s)),
        failure_biasing=failure_biasing,
        traffic=Traffic(publish_per_s=1.0, consume_per_s=consume_per_s, message_size_bytes=0),
        timing=Timing(start_s=0.0, link_latency_s=link_s, sync_messages_s=1e9, network_mb_s=1e6, fsync_s=0.0),
    )


def estimates(design: Design, given: Environment, field: str, trials: int) -> tuple[float, float]:
    """Return the mean of a field of the record over trials, and half of its interval."""
    rows = block.rows(design, given, SEED, 0, trials, HORIZON_US)
    found = rows[:, Record.__struct_fields__.index(field)] / (SECOND_US if field.endswith("_s") else 1)
    return float(np.mean(found)), Z_99 * float(np.std(found, ddof=1)) / math.sqrt(trials)


def generator(rates: dict[tuple[str, str], float]) -> tuple[list[str], np.ndarray]:
    """Return the states and the generator matrix of a Markov chain with these rates."""
    states = sorted({state for pair in rates for state in pair})
    balance = np.zeros((len(states), len(states)))
    for (start, end), rate in rates.items():
        balance[states.index(end), states.index(start)] += rate
        balance[states.index(start), states.index(start)] -= rate
    return states, balance


def stationary(rates: dict[tuple[str, str], float]) -> dict[str, float]:
    """Return the stationary distribution of a Markov chain with these rates."""
    states, balance = generator(rates)
    together = np.vstack([balance, np.ones(len(states))])
    shares = np.linalg.lstsq(together, np.array([0.0] * len(states) + [1.0]))[0]
    return dict(zip(states, shares, strict=True))


def spent_s(rates: dict[tuple[str, str], float], first: str, horizon_s: float) -> dict[str, float]:
    """Return the expected time that a Markov chain spends in each state until the horizon."""
    states, balance = generator(rates)
    values, vectors = np.linalg.eig(balance)
    parts = np.linalg.solve(vectors, np.array([float(state == first) for state in states]))
    still = abs(values) < 1e-12
    times = np.where(still, horizon_s, np.expm1(values * horizon_s) / np.where(still, 1, values))
    return dict(zip(states, np.real(vectors @ (parts * times)), strict=True))


def two_replicas(up_s: float = UP_S, repair_s: float = REPAIR_S) -> dict[tuple[str, str], float]:
    """Two nodes of which each fails and is repaired. With both down the queue waits for the node that went last; the
    other one waits with it when it is repaired, and may fail meanwhile."""
    fails, repaired = 1 / up_s, 1 / repair_s
    return {
        ("both", "one"): 2 * fails, ("one", "both"): repaired, ("one", "none"): fails, ("none", "one"): repaired,
        ("none", "other waits"): repaired, ("other waits", "none"): fails, ("other waits", "both"): repaired,
    }  # fmt: skip


MIRRORED = Design(
    queue_type="classic", nodes=2, replicas=2, version="3.13",
    policy={"ha-sync-mode": "automatic", "ha-promote-on-failure": "always", "ha-sync-batch-size": 1_000_000_000},
)  # fmt: skip


@pytest.mark.parametrize("nodes", [1, 3])
def test_queue_on_one_node_is_available_as_often_as_its_node(nodes):
    design = Design(queue_type="classic", nodes=nodes, replicas=1, version="3.13")
    down_s, interval_s = estimates(design, environment(0.0), "queue_down_s", 40)
    share = REPAIR_S / (UP_S + REPAIR_S)
    assert abs(down_s / (HORIZON_US / 1e6) - share) < interval_s / (HORIZON_US / 1e6)
    assert interval_s / (HORIZON_US / 1e6) < 0.03 * share


def test_downtime_of_two_replicas_agrees_with_the_chain():
    chain = stationary(two_replicas())
    share = chain["none"] + chain["other waits"]
    down_s, interval_s = estimates(MIRRORED, environment(0.0), "queue_down_s", 60)
    assert abs(down_s / (HORIZON_US / 1e6) - share) < interval_s / (HORIZON_US / 1e6)
    assert interval_s / (HORIZON_US / 1e6) < 0.05 * share


def test_master_deaths_during_synchronisation_agree_with_the_chain():
    """A synchronisation is one batch and takes a link's latency; the master dies in it with its rate. To first order in
    both, which leaves out a thousandth."""
    link_s, chain = 1.0, stationary(two_replicas())
    begun_a_second = (chain["one"] + chain["other waits"]) / REPAIR_S
    expected = begun_a_second * link_s / UP_S * HORIZON_US / 1e6
    promotions, interval = estimates(MIRRORED, environment(link_s, 0.01), "unsynchronised_promotions", 600)
    assert abs(promotions - expected) < interval
    assert interval < 0.1 * expected


# Rare losses: nodes that fail once a month and are repaired in ten minutes, biased as in a study

MONTH_S, MINUTES_S, RARE_US = 2_592_000.0, 600.0, 60 * histories.DAY_US
BIASED = FailureBiasing(times=500, after_s=30)
RARE_TRIALS = 40_000


def rare(field: str, link_s: float, consume_per_s: float, biasing: FailureBiasing | None) -> tuple[float, float, float]:
    """Return mean, standard error and effective trials of a field of the record."""
    given = environment(link_s, consume_per_s, MONTH_S, MINUTES_S, biasing)
    rows = block.rows(MIRRORED, given, SEED, 0, RARE_TRIALS, RARE_US)
    weights = histories.weights_of(given, 2, SEED, 0, RARE_TRIALS, RARE_US)
    result = weights * rows[:, Record.__struct_fields__.index(field)]
    error = float(np.std(result, ddof=1)) / math.sqrt(RARE_TRIALS)
    return float(np.mean(result)), error, float(weights.sum() ** 2 / (weights**2).sum())


def test_rare_losses_under_biasing_agree_with_the_chain(capsys):
    """That both replicas are down, once in a thousand trials, and that a master dies in the ten seconds of a
    synchronisation, once in ten thousand."""
    link_s = 10.0
    spent = spent_s(two_replicas(MONTH_S, MINUTES_S), "both", RARE_US / 1e6)
    in_sync = (spent["one"] + spent["other waits"]) / MINUTES_S * link_s / MONTH_S
    found = {}
    for field, link, consume_per_s, expected in (
        ("queue_down_s", 0.0, 2.0, (spent["none"] + spent["other waits"]) * 1e6),
        ("unsynchronised_promotions", link_s, 0.01, in_sync),
    ):
        mean, error, effective = rare(field, link, consume_per_s, BIASED)
        _, plain_error, plain_effective = rare(field, link, consume_per_s, None)
        found[field] = (mean - expected) / error, error / expected, plain_error / expected
        assert plain_effective == RARE_TRIALS > effective > RARE_TRIALS / 3
    worst = max(found.values(), key=lambda one: abs(one[0]))
    with capsys.disabled():
        print(f"\nrare losses, {RARE_TRIALS:,} trials: at most {abs(worst[0]):.2f} standard errors from the chain;"
              f" {effective:,.0f} effective trials")  # fmt: skip
        for field, (_, error, plain) in found.items():
            print(f"{field}: standard error {error:.1%} of what is expected, {plain:.1%} without biasing")
    assert abs(worst[0]) < Z_99
    assert found["queue_down_s"][1] < 0.05
    assert found["unsynchronised_promotions"][1] < 0.25
