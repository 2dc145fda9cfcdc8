"""The exact time without a master or leader: closed forms, engine and kernel, and what the chain does not have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from samples import of_the_day

from hawb.scenario.document import PauseIfAllDown, Timing
from hawb.study import histories
from hawb.study.design import Design
from hawb.study.engine_trial import play
from hawb.study.environment import Distribution, Environment, Failures, Traffic
from hawb.study.histories import KILL, SECOND_US, START
from hawb.study.kept import kept
from hawb.study.kernel import block
from hawb.study.kernel.trial import HANDED_OVER
from hawb.study.load import load
from hawb.study.markov_chain import MEASURE, Chain, State, queue_down_s, refused, with_exact
from hawb.study.trial_record import Record

STUDIES = Path(__file__).parents[2] / "data" / "studies"
FAILS, REPAIRED = 1 / 1_000, 1 / 100
DOWN = REPAIRED**-1 / (FAILS**-1 + REPAIRED**-1)
"""The share of time in which a node is down."""

MIRRORED = Design(queue_type="classic", nodes=3, replicas=3, version="3.13", policy={"ha-sync-mode": "automatic"})
QUORUM = Design(queue_type="quorum", nodes=3, replicas=3, version="4.3")
ENVIRONMENT = Environment(
    node_failures=Failures(every=Distribution(mean_s=864_000), repair=Distribution(mean_s=3_600), controlled_share=0.5),
    traffic=Traffic(publish_per_s=1, consume_per_s=2),
)
YEAR = 365.0


def failing(**more: Any) -> Environment:
    """The environment with other failures of nodes."""
    return replace(ENVIRONMENT, node_failures=replace(ENVIRONMENT.node_failures, **more))


def long_run(sizes: tuple[int, int], needed: int, **more: Any) -> float:
    """Return the share of time in which a queue is down, in the long run."""
    given = {"change_s": 0.0, "return_s": 0.0} | more
    found = Chain(sizes=sizes, needed=needed, fails_per_s=FAILS, repaired_per_s=REPAIRED, **given)
    assert sum(found.shares) == pytest.approx(1)
    return float(found.shares @ found.down)


# Closed forms


def test_one_node_is_down_as_often_as_its_repairs_take():
    assert long_run((1, 0), 1) == pytest.approx(DOWN)


def test_majority_of_three_is_down_while_two_or_three_are():
    expected = 3 * DOWN**2 * (1 - DOWN) + DOWN**3
    assert long_run((3, 0), 2, boots_in_order=False) == pytest.approx(expected)
    assert long_run((3, 0), 2) > expected  # nodes that return wait for the one that went down last


def test_majority_of_nine_is_found_without_loss_of_digits():
    rare = Chain(sizes=(9, 0), needed=5, fails_per_s=1e-9, repaired_per_s=1.0, change_s=0, return_s=0,
                 boots_in_order=False)  # fmt: skip
    assert float(rare.shares @ rare.down) == pytest.approx(126 * 1e-45, rel=1e-6)


def test_any_of_two_is_down_until_the_last_one_is_back():
    """The states are written by hand: both nodes run, one, none, or the other one waits for the last."""
    rates = np.array([  # both, one, none, other waits
        [-2 * FAILS, 2 * FAILS, 0, 0],
        [REPAIRED, -REPAIRED - FAILS, FAILS, 0],
        [0, REPAIRED, -2 * REPAIRED, REPAIRED],
        [REPAIRED, 0, FAILS, -FAILS - REPAIRED],
    ])  # fmt: skip
    shares = np.linalg.lstsq(np.vstack([rates.T, np.ones(4)]), np.array([0, 0, 0, 0, 1.0]))[0]
    assert long_run((2, 0), 1) == pytest.approx(shares[2] + shares[3])


def test_elections_promotions_and_checks_of_paused_nodes_add_their_time():
    elections = long_run((3, 0), 2, boots_in_order=False, change_s=1.0) - long_run((3, 0), 2, boots_in_order=False)
    assert elections == pytest.approx(FAILS * (1 - DOWN) ** 3)  # a leader that fails while two others run
    returns = long_run((1, 0), 1, return_s=2.0) - long_run((1, 0), 1)
    assert returns == pytest.approx(2 * FAILS * (1 - DOWN))
    paused = long_run((3, 0), 1, pauses=True)
    assert paused > long_run((3, 0), 2, boots_in_order=False) > long_run((3, 0), 1)


def test_trial_begins_with_all_nodes():
    found = Chain(sizes=(1, 0), needed=1, fails_per_s=FAILS, repaired_per_s=REPAIRED, change_s=0, return_s=0)
    together, horizon_s = FAILS + REPAIRED, 50_000.0
    assert found.down_s(horizon_s) == pytest.approx(DOWN * (horizon_s - 1 / together))


def test_states_of_a_queue_on_one_of_two_nodes():
    found = Chain(sizes=(1, 1), needed=1, fails_per_s=FAILS, repaired_per_s=REPAIRED, change_s=0, return_s=0)
    assert State(0, 1, last=0) in found.states and State(1, 0, last=1) in found.states
    assert [state for state in found.states if found.is_up(state)] == [State(1, 1), State(1, 0)]


# Engine and kernel


PAUSED = replace(MIRRORED, cluster_partition_handling="pause_minority")
ON_MNESIA = replace(QUORUM, version="3.13")
ALONE = replace(MIRRORED, replicas=1, policy={})


@pytest.mark.parametrize(("design", "returns", "down_s"), [
    (MIRRORED, "abc", (300, 1_505)), (MIRRORED, "cab", (300, 1_105)),
    (PAUSED, "abc", (200, 1_505)), (PAUSED, "cab", (200, 1_105)),
    (ON_MNESIA, "abc", (200, 1_505)), (ON_MNESIA, "cab", (200, 1_305)), (QUORUM, "abc", (200, 1_305)),
    (ALONE, "abc", (100, 1_505)), (ALONE, "cab", (100, 1_305)),
], ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
def test_engine_has_the_rules_of_the_chain(design: Design, returns: str, down_s: tuple[int, int]):
    """Nodes a, b and c are killed at 100, 200 and 300 s, and started at 1,100, 1,300 and 1,500 s in another order."""
    kills = [(100, KILL, "a"), (200, KILL, "b"), (300, KILL, "c")]
    starts = [(1_100 + 200 * place, START, node) for place, node in enumerate(returns)]
    events = [(time_s * SECOND_US, kind, 1 << "abc".index(node)) for time_s, kind, node in [*kills, *starts]]
    record = play(design, ENVIRONMENT, np.array(events), 1, 2_000 * SECOND_US)
    begin_s, end_s = down_s
    assert end_s - begin_s <= record.queue_down_s < end_s - begin_s + 2


def test_kept_results_are_within_their_intervals():
    """Of replica-counts, whose repairs are lognormal; one of twenty intervals may miss, and one of eight does."""
    study, outside = load(STUDIES / "replica-counts.yaml"), []
    rows = [row for row in with_exact(kept("replica-counts").estimates, study) if "exact" in row]
    assert {(row["environment"], row["measure"]) for row in rows} == {("many-failures", MEASURE)}
    for row in rows:
        middle = (row["mean_low"] + row["mean_high"]) / 2
        assert abs(row["exact"] - middle) < 1.5 * (row["mean_high"] - middle), row["design"]
        outside += [row["design"]] * (not row["mean_low"] <= row["exact"] <= row["mean_high"])
    assert len(rows) == 8 and len(outside) <= 1, outside


OFTEN = failing(every=Distribution(mean_s=20_000), repair=Distribution(mean_s=2_000))


@pytest.mark.full
@pytest.mark.kernel
@pytest.mark.parametrize(("design", "environment"), of_the_day([
    (MIRRORED, OFTEN), (replace(MIRRORED, nodes=2, replicas=2), OFTEN), (PAUSED, OFTEN),
    (replace(PAUSED, nodes=2, replicas=2), OFTEN), (ON_MNESIA, OFTEN),
    (replace(ON_MNESIA, nodes=4, replicas=2), ENVIRONMENT),
    (replace(ON_MNESIA, cluster_partition_handling="pause_minority"), OFTEN), (QUORUM, OFTEN),
    (replace(QUORUM, nodes=5, replicas=5), OFTEN), (ALONE, OFTEN),
    (replace(ALONE, cluster_partition_handling="pause_minority"), OFTEN),
], 4), ids=lambda one: f"{one.queue_type} {one.replicas} of {one.nodes}, {one.cluster_partition_handling}, "
        f"{one.version}" if isinstance(one, Design) else "")  # fmt: skip
def test_kernel_agrees_with_the_chain(design: Design, environment: Environment):
    """With a fixed seed, so that a test passes always or never; intervals are of 99 %."""
    trials, days = 1_500, 30.0
    rows = block.rows(design, environment, 7, 0, trials, round(days * histories.DAY_US))
    down_s = rows[:, Record.__struct_fields__.index(MEASURE)] / SECOND_US
    mean_s, error_s = float(down_s.mean()), float(down_s.std(ddof=1)) / trials**0.5
    exact_s = queue_down_s(design, environment, days)
    assert np.count_nonzero(rows[:, 0] == HANDED_OVER) < trials / 500  # the engine would play those
    assert abs(mean_s - exact_s) < 2.6 * error_s, (mean_s, error_s, exact_s)
    assert error_s < 0.05 * exact_s


# What the chain does not have


def around(**more: Any) -> Environment:
    return replace(ENVIRONMENT, **more)


RACKS = load(STUDIES / "today.yaml").environments["racks"].rack_failures
CUTS = load(STUDIES / "today.yaml").environments["cuts"].partitions
UPGRADES = load(STUDIES / "upgrades.yaml").environments["empty-queues"].rolling_upgrades
LOGNORMAL = Distribution(mean_s=3_600, distribution="lognormal", shape=1.0)


@pytest.mark.parametrize(("design", "environment", "reason"), [
    (QUORUM, around(node_failures=None, rack_failures=RACKS), "node_failures: none"),
    (QUORUM, around(host_failures=RACKS), "host_failures"),
    (QUORUM, around(rack_failures=RACKS), "rack_failures"),
    (QUORUM, around(partitions=CUTS), "partitions"),
    (QUORUM, around(rolling_upgrades=UPGRADES), "rolling_upgrades"),
    (QUORUM, around(maintenance=UPGRADES), "maintenance"),
    (QUORUM, failing(power_off_share=0.1), "node_failures.power_off_share"),
    (QUORUM, failing(disk_loss_share=0.1), "node_failures.disk_loss_share"),
    (QUORUM, failing(every=replace(LOGNORMAL, mean_s=1e6)), "node_failures.every"),
    (replace(QUORUM, arguments={"x-expires": 5}), ENVIRONMENT, "arguments"),
    (replace(MIRRORED, policy={"expires": 5}), ENVIRONMENT, "arguments"),
    (replace(MIRRORED, operator_policy={"expires": 5}), ENVIRONMENT, "arguments"),
    (replace(MIRRORED, replicas=2), ENVIRONMENT, "replicas: mirrors"),
    (replace(QUORUM, nodes=5), ENVIRONMENT, "replicas: nodes of 4.3"),
    (replace(MIRRORED, policy={}), ENVIRONMENT, "policy, traffic"),
    (MIRRORED, around(traffic=Traffic(publish_per_s=2, consume_per_s=2)), "policy, traffic"),
    (replace(MIRRORED, policy=MIRRORED.policy | {"ha-promote-on-failure": "when-synced"}), ENVIRONMENT, "policy.ha-"),
    (replace(PAUSED, nodes=4, replicas=4), ENVIRONMENT, "cluster_partition_handling"),
    (replace(MIRRORED, cluster_partition_handling=PauseIfAllDown(("a",), "ignore")), ENVIRONMENT, "cluster_partition_"),
    (QUORUM, failing(every=Distribution(mean_s=600)), "timing"),
    (QUORUM, failing(repair=Distribution(mean_s=60)), "timing"),
    (QUORUM, around(timing=Timing(link_latency_s=0.1)), "timing"),
    (QUORUM, failing(repair=Distribution(mean_s=864_000)), "horizon_days"),
    (MIRRORED, failing(repair=LOGNORMAL), "node_failures.repair"),
])  # fmt: skip
def test_other_designs_and_environments_are_refused_by_name(design: Design, environment: Environment, reason: str):
    found = refused(design, environment, 30.0)
    assert found is not None and found.startswith(reason)
    with pytest.raises(ValueError, match="no exact mean is possible with"):
        queue_down_s(design, environment, 30.0)


def test_repairs_of_any_distribution_are_taken_where_order_does_not_count():
    assert refused(QUORUM, failing(repair=LOGNORMAL), YEAR) is None
    plain, other = (queue_down_s(QUORUM, each, YEAR) for each in (ENVIRONMENT, failing(repair=LOGNORMAL)))
    assert plain == other


def test_estimates_get_the_exact_value_or_the_reason():
    study = load(STUDIES / "monthly-failures.yaml")
    biased = replace(study.environments["monthly"], partitions=CUTS)
    study = replace(study, environments={"cuts": biased} | study.environments)
    rows = [{"design": design, "environment": place, "measure": measure}
            for design, place in study.cells for measure in (MEASURE, "lost")]  # fmt: skip
    found = with_exact(rows, study)
    assert [row for row in found if row["measure"] == "lost"] == [row for row in rows if row["measure"] == "lost"]
    assert [row.get("exact") and round(row["exact"], 2) for row in found if row["measure"] == MEASURE] == [
        None, 5.17, None, 8.83,
    ]  # fmt: skip
    assert {row["no_exact"] for row in found if "no_exact" in row} == {"partitions: links that fail"}
