"""Operations that are not simulated are refused, and only those."""

from __future__ import annotations

import pytest

from hawb.cluster import Cluster
from hawb.scenario.refused import ScenarioRefused


@pytest.fixture
def cluster() -> Cluster:
    found = Cluster("a", "b", "c", version="3.10").declare("orders", node="a")
    return found.declare("log", node="a", arguments={"x-queue-type": "stream"})


@pytest.mark.parametrize("step", [{"consume": {"queue": "log", "consumer": "c"}}, {"crash": {"queue": "/::log"}}])
def test_consuming_and_crashing_a_stream_are_not_simulated(cluster: Cluster, step: dict):
    with pytest.raises(ScenarioRefused, match=r"is a stream: .*; accepted: publish") as refused:
        cluster.run.apply_plain(step)
    assert (refused.value.step, len(cluster.run.steps)) == (2, 2)


def test_consuming_and_crashing_other_queues_are_simulated(cluster: Cluster):
    cluster.consume("c", "orders").crash("orders").consume("d", "unknown")
    assert [error["code"] for error in cluster.outcome["errors"]] == [404]
