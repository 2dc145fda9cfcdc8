"""Estimated rates, shares and common failures cover the values of synthetic logs."""

from __future__ import annotations

import pytest
from made_up_rates import ALONE, BURSTS, DAY, KNOWN, known_spans

from hawb.incident.rates import ALONE as FAILURES
from hawb.incident.rates import EACH, TOGETHER, Shares, rates, share_interval
from hawb.incident.spans import Span

SEEDS = range(3)
"""Of made-up clusters, ten each; a seed that fails is played again by `known_spans(seed=…)`."""
TRUTHS = {
    "time_to_failure": ALONE.every.mean_s, "repair": ALONE.repair.mean_s,
    "time_to_common_failure": KNOWN.rack_failures.every.mean_s / 2, "common_repair": KNOWN.rack_failures.repair.mean_s,
    "time_to_rolling_restart": KNOWN.rolling_upgrades.every_days * DAY, "restart": KNOWN.rolling_upgrades.down_s,
    "time_to_partition": KNOWN.partitions.every.mean_s, "partition": KNOWN.partitions.lasts.mean_s,
    "synchronisation": EACH / KNOWN.timing.sync_messages_s,
}  # fmt: skip


@pytest.fixture(scope="module")
def come_back() -> dict[str, list[tuple[int, float, float]]]:
    """Return (seed, from, to) of the intervals of each kind."""
    found: dict[str, list[tuple[int, float, float]]] = {kind: [] for kind in TRUTHS}
    for seed in SEEDS:
        estimated = rates(known_spans(seed=seed))
        for kind in TRUTHS:
            found[kind].append((seed, *estimated.fits[kind].interval()))
    return found


@pytest.mark.full
@pytest.mark.parametrize("kind", TRUTHS)
def test_intervals_cover_the_true_rates(kind, come_back):
    """Two of three 95 % intervals miss in 1 of 140 such tests. The seeds are fixed."""
    missed = [seed for seed, low, high in come_back[kind] if not low <= TRUTHS[kind] <= high]
    assert len(missed) <= 1, f"{kind}: {TRUTHS[kind]:g} is in none of the intervals of the seeds {missed}"
    assert all(high < 5 * low for _, low, high in come_back[kind])


def test_bursts_of_failures_are_recognised():
    estimated = rates(known_spans(BURSTS))
    best = estimated.fits[FAILURES].best
    assert best.distribution == "weibull"
    low, high = estimated.fits[FAILURES].interval(lambda one: one.shape or 1.0)
    assert low <= 0.7 <= high < 1
    low, high = estimated.fits[FAILURES].interval()
    assert low <= BURSTS.node_failures.every.mean_s <= high


def test_repairs_have_the_true_distribution():
    best = rates(known_spans()).fits["repair"].best
    assert best.distribution == "lognormal" and best.shape == pytest.approx(1.0, rel=0.15)


def test_intervals_cover_the_true_shares():
    shares = rates(known_spans()).shares
    alone = shares[FAILURES]
    for some, of, true in ((alone.stopped, alone.known, 0.2), (alone.power_off, alone.known, 0.2),
                           (alone.disk_lost, alone.power_off + alone.killed, 0.1 / 0.8)):  # fmt: skip
        low, high = share_interval(some, of)
        assert low <= true <= high
    assert shares[TOGETHER].power_off == shares[TOGETHER].known


def test_racks_are_inferred_from_common_failures():
    estimated = rates(known_spans())
    assert (estimated.clusters, estimated.nodes, estimated.groups, estimated.racks) == (10, 4, 2, 2)
    together, of = estimated.company
    assert together == 2 * estimated.sizes[2] and of == together + estimated.shares[FAILURES].known
    assert estimated.watched_s == pytest.approx(40 * 365 * DAY, rel=0.01)


def test_no_observed_end_gives_no_fit_and_no_rack():
    only = Span(cluster="c", kind=FAILURES, node="a", from_us=0, length_s=5.0, ended=False, fresh=True, nodes=1)
    result = rates([only])
    assert result.fits == {FAILURES: None} and (result.groups, result.racks, result.company) == (1, 0, (0, 0))


def test_without_spans_there_are_no_rates():
    result = rates([])
    assert (result.clusters, result.nodes, result.samples, result.fits) == (0, 0, {}, {})
    assert (result.groups, result.racks) == (0, 0)


def test_shares_are_of_all_failures():
    stopped, power_off, lost = Shares(stopped=20, power_off=30, killed=50, disk_lost=8, unknown=7).observed()
    assert (stopped, power_off, lost) == (0.2, 0.3, pytest.approx(0.08))
