"""A planned upgrade of data/real: three queues computed by hand, and the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from hawb.planning.upgrade import Plan
from hawb.scenario.expect import check
from hawb.scenario.load import load
from hawb.scenario.run import Run
from hawb.views.planning import upgrade_page
from hawb.views.planning.planned_upgrade import PlannedUpgrade, upgrade_of

REAL = Path(__file__).parents[2] / "data" / "real"
FILES = [REAL / name for name in ("definitions.json", "api-queues.json", "api-nodes.json")]
TURN_S = 1 + 30 + 5
"""A controlled stop, away for the upgrade, a boot: what the model's defaults say of them."""


@pytest.fixture(scope="module")
def planned() -> PlannedUpgrade:
    return upgrade_of(FILES)


def felt(plan: Plan, queue: str):
    """Return the effect of a plan on a queue."""
    return next(effect for effect in plan.prediction.effects if effect.queue == queue)


def others(planned: PlannedUpgrade) -> dict[str, Plan]:
    """Return the compared plans by the first word of their name."""
    return {plan.name.split()[0].rstrip(":,"): plan for plan in planned.found.others}


def test_a_queue_on_one_node_by_hand(planned: PlannedUpgrade):
    """plain.durable is on a alone, so whatever the order it is away for a's turn and no longer: 1 + 30 + 5 seconds."""
    for plan in (planned.plan, *planned.found.others):
        effect = felt(plan, "plain.durable")
        assert (effect.lost, effect.blocked_s) == (0, 0)
        assert effect.down_s == pytest.approx(TURN_S, abs=0.01)


def test_a_quorum_queue_of_two_members_by_hand(planned: PlannedUpgrade):
    """qq.pair is on a and b: away for b's turn and for a's, in any order, and while it elects a leader in between,
    which takes tenths of a second. Who waits for nothing stops b while a still boots, 5 seconds early, so that the two
    turns overlap by that."""
    assert felt(planned.plan, "qq.pair").down_s == pytest.approx(2 * TURN_S, abs=1)
    assert felt(others(planned)["naive"], "qq.pair").down_s == pytest.approx(2 * TURN_S, abs=1)
    assert felt(others(planned)["without"], "qq.pair").down_s == pytest.approx(2 * TURN_S - 5, abs=1)


def test_a_queue_under_shutdown_always_by_hand(planned: PlannedUpgrade):
    """avail.presence: master b, mirrors a and c, 700 messages, ha-sync-mode manual, ha-promote-on-shutdown always.

    In the order a, b, c, without waiting for mirrors: a restarts and comes back empty. b stops: c, synchronised, takes
    over. b comes back empty. c stops: a and b have nothing, and one of them is promoted all the same. 700 are lost. In
    the order c, b, a the same happens with other names. Synchronised before the last node goes, nothing is."""
    unplanned = [felt(others(planned)[name], "avail.presence") for name in ("naive", "without", "Kubernetes")]
    assert [effect.lost for effect in unplanned] == [700, 700, 700]
    effect = felt(planned.plan, "avail.presence")
    assert (effect.lost, effect.down_s) == (0, pytest.approx(0, abs=0.01))
    assert "avail.presence" in planned.plan.stages[-1].sync


def test_unavoidable_losses_and_those_of_early_rebalancing(planned: PlannedUpgrade):
    """plain.transient goes with its node whatever the plan. The mirrors that came back last are empty still, and
    rebalancing hands masters to them: everything in the queues with one mirror, but for those that synchronise by
    themselves (two.*, orders.*), is gone: nodes.* 300 + 50, and cart.01 to cart.11 with 10 to 110."""
    lost = [effect.queue for effect in planned.plan.prediction.effects if effect.lost]
    assert lost == ["plain.transient"]
    assert others(planned)["planned"].prediction.lost == 5 + 300 + 50 + sum(range(10, 111, 10))


def test_rehearsal_follows_the_plan(planned: PlannedUpgrade):
    again = load(planned.rehearsal())
    assert check(Run.of(again), again.expect) == []


def test_page_contains_the_plan(planned: PlannedUpgrade):
    page = upgrade_page.page(planned)
    assert page.count('<svg role="img"') == 2  # broad, and slim for a phone
    for said in ("sync_queue", "Kubernetes: in reverse", "tried every order and every wait", "What the files do"):
        assert said in page
    assert page == upgrade_page.page(planned), "the same bytes each time"


def test_full_stop_shows_the_order_and_the_deadlock():
    stopped = upgrade_of(FILES, at_once=True)
    result = stopped.tables()[0]
    deadlocks = [row[-1] for row in result.rows]
    assert deadlocks[0] == deadlocks[2] == "" and "waits for" in deadlocks[1]
    first, second, *_ = stopped.remarks()
    assert first.split(": ")[1].split(", ")[-1] in second.split(",")[0]
