"""What has no rules is refused by name, and only where it has none."""

from __future__ import annotations

import pytest

from hawb.cluster import Cluster
from hawb.scenario.refused import ScenarioRefused


@pytest.fixture
def cluster() -> Cluster:
    found = Cluster("a", "b", "c", version="3.10").declare("orders", node="a")
    return found.declare("log", node="a", arguments={"x-queue-type": "stream"})


@pytest.mark.parametrize("step", [{"consume": {"queue": "log", "consumer": "c"}}, {"crash": {"queue": "/::log"}}])
def test_a_stream_is_not_read_and_does_not_crash(cluster: Cluster, step: dict):
    with pytest.raises(ScenarioRefused, match=r"is a stream: .*; accepted: publish") as refused:
        cluster.run.apply_plain(step)
    assert (refused.value.step, len(cluster.run.steps)) == (2, 2)


def test_other_queues_are_and_do(cluster: Cluster):
    cluster.consume("c", "orders").crash("orders").consume("d", "unknown")
    assert [error["code"] for error in cluster.outcome["errors"]] == [404]
