"""The kernel against mathematics: a closed form and a small Markov chain lie within the intervals of its estimates.

The seed is fixed, so that a test passes always or never. Intervals are of 99 %.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from hawb.scenario.document import Timing
from hawb.study import histories
from hawb.study.design import Design
from hawb.study.environment import Distribution, Environment, Failures, Traffic
from hawb.study.kernel import setup, trial

SEED = 7
Z_99 = 2.5758293035489004
UP_S, REPAIR_S = 1_000.0, 100.0
HORIZON_US = 1_000_000_000_000


def environment(link_s: float, consume_per_s: float = 2.0) -> Environment:
    """Kills of each node after UP_S and repairs after REPAIR_S, exponential, with all but links and disks at once."""
    return Environment(
        node_failures=Failures(every=Distribution(mean_s=UP_S), repair=Distribution(mean_s=REPAIR_S)),
        traffic=Traffic(publish_per_s=1.0, consume_per_s=consume_per_s, message_size_bytes=0),
        timing=Timing(start_s=0.0, link_latency_s=link_s, sync_messages_s=1e9, network_mb_s=1e6, fsync_s=0.0),
    )


def estimates(design: Design, given: Environment, field: str, trials: int) -> tuple[float, float]:
    """The mean of a field of the record over trials, and half of its interval."""
    found = []
    for number in range(trials):
        begun = setup.begin(design, given, number)
        trial.play(begun[0], histories.history(given, design.nodes, SEED, number, HORIZON_US), HORIZON_US)
        found.append(getattr(trial.record(begun[0]), field))
    return float(np.mean(found)), Z_99 * float(np.std(found, ddof=1)) / math.sqrt(trials)


def stationary(rates: dict[tuple[str, str], float]) -> dict[str, float]:
    """The share of time that a Markov chain with these rates spends in each state."""
    states = sorted({state for pair in rates for state in pair})
    balance = np.zeros((len(states) + 1, len(states)))
    for (start, end), rate in rates.items():
        balance[states.index(end), states.index(start)] += rate
        balance[states.index(start), states.index(start)] -= rate
    balance[-1] = 1
    shares = np.linalg.lstsq(balance, np.array([0.0] * len(states) + [1.0]))[0]
    return dict(zip(states, shares, strict=True))


def two_replicas() -> dict[str, float]:
    """Two nodes of which each fails and is repaired. With both down the queue waits for the node that went last; the
    other one waits with it when it is repaired, and may fail meanwhile."""
    fails, repaired = 1 / UP_S, 1 / REPAIR_S
    return stationary(
        {
            ("both", "one"): 2 * fails, ("one", "both"): repaired, ("one", "none"): fails, ("none", "one"): repaired,
            ("none", "other waits"): repaired, ("other waits", "none"): fails, ("other waits", "both"): repaired,
        }
    )  # fmt: skip


MIRRORED = Design(
    queue_type="classic", nodes=2, replicas=2, version="3.13",
    policy={"ha-sync-mode": "automatic", "ha-promote-on-failure": "always", "ha-sync-batch-size": 1_000_000_000},
)  # fmt: skip


@pytest.mark.parametrize("nodes", [1, 3])
def test_a_queue_on_one_node_is_there_as_often_as_its_node(nodes):
    design = Design(queue_type="classic", nodes=nodes, replicas=1, version="3.13")
    down_s, interval_s = estimates(design, environment(0.0), "publish_down_s", 40)
    share = REPAIR_S / (UP_S + REPAIR_S)
    assert abs(down_s / (HORIZON_US / 1e6) - share) < interval_s / (HORIZON_US / 1e6)
    assert interval_s / (HORIZON_US / 1e6) < 0.03 * share


def test_two_replicas_are_down_as_long_as_the_chain_says():
    chain = two_replicas()
    share = chain["none"] + chain["other waits"]
    down_s, interval_s = estimates(MIRRORED, environment(0.0), "publish_down_s", 60)
    assert abs(down_s / (HORIZON_US / 1e6) - share) < interval_s / (HORIZON_US / 1e6)
    assert interval_s / (HORIZON_US / 1e6) < 0.05 * share


def test_a_master_dies_in_a_synchronisation_as_often_as_the_chain_says():
    """A synchronisation is one batch and takes a link's latency; the master dies in it with its rate. To first order in
    both, which leaves out a thousandth."""
    link_s, chain = 1.0, two_replicas()
    begun_a_second = (chain["one"] + chain["other waits"]) / REPAIR_S
    expected = begun_a_second * link_s / UP_S * HORIZON_US / 1e6
    promotions, interval = estimates(MIRRORED, environment(link_s, 0.01), "unsynchronised_promotions", 600)
    assert abs(promotions - expected) < interval
    assert interval < 0.1 * expected
