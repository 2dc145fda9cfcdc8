"""Streams: replicas, leaders, and differences from quorum queues."""

from __future__ import annotations

import pytest

from hawb.cluster import Cluster

STREAM = {"x-queue-type": "stream"}


def cluster(*nodes: str, version: str = "4.0", **arguments: object) -> Cluster:
    named = {f"x-{key.replace('_', '-')}": value for key, value in arguments.items()}
    return Cluster(*nodes, version=version).declare("log", node=nodes[0], arguments=STREAM | named)


def stream(of: Cluster) -> dict:
    return of.outcome["queues"]["log"]


def entries(of: Cluster, name: str) -> list[dict]:
    return [event for event in of.outcome["events"] if event["event"] == name]


def test_retention_arguments_are_reported_as_not_simulated():
    kept = cluster("a", max_age="1s", max_length_bytes=1).publish("log", 10)
    (entry,) = entries(kept, "not_simulated")
    assert entry["detail"]["what"] == ["argument x-max-age", "argument x-max-length-bytes"]
    assert stream(kept)["messages"] == 10


def test_publish_to_a_stream_does_not_wait_for_registration():
    # A channel of 3.10 that a quorum queue does not know would ask the leader that is down, and reject at once.
    orphaned = cluster("a", "b", "c", version="3.10").kill("a", "b").publish("log", 3, node="c")
    assert (stream(orphaned)["uncommitted"], orphaned.outcome["ledger"]["log"]["nacked"]) == ([[1, 3]], [])
    orphaned.start("b")
    assert orphaned.outcome["ledger"]["log"]["confirmed"] == [[1, 3]]


@pytest.mark.parametrize(("away", "leads"), [("d", True), (("d", "e"), False)])
def test_election_needs_a_majority_of_the_cluster_too(away, leads: bool):
    five = cluster("a", "b", "c", "d", "e", initial_cluster_size=3).stop(*away).kill("a")
    assert stream(five)["online"] == ["b", "c"]
    assert (stream(five)["leader"] is not None) == leads


def test_leader_goes_on_without_the_coordinator():
    five = cluster("a", "b", "c", "d", "e", initial_cluster_size=3).kill("c", "d", "e").publish("log", 4, node="a")
    assert (stream(five)["leader"], five.outcome["ledger"]["log"]["confirmed"]) == ("a", [[1, 4]])


def test_first_stream_in_a_minority_is_not_simulated():
    lonely = Cluster("a", "b", "c", version="3.10").stop("b").stop("c").declare("log", node="a", arguments=STREAM)
    (error,) = lonely.outcome["errors"]
    assert error["text"].startswith("not simulated: queue 'log' in vhost '/' as the first stream")


def test_isolated_leader_adopts_the_log_of_the_majority():
    parted = cluster("a", "b", "c").publish("log", 5).partition(["a"], ["b", "c"]).wait(75)
    parted.publish("log", 5, node="b")
    assert stream(parted)["replicas"]["a"]["messages"] == 5
    parted.heal().publish("log", 1, node="c")
    assert {entry["messages"] for entry in stream(parted)["replicas"].values()} == {11}


def test_quorum_queues_and_streams_are_balanced_separately():
    both = Cluster("a", "b", "c", version="4.0")
    for number in range(2):
        both.declare(f"votes{number}", node="a", arguments={"x-queue-type": "quorum"})
    arguments = STREAM | {"x-initial-cluster-size": 1, "x-queue-leader-locator": "balanced"}
    both.declare("log", node="c", arguments=arguments)
    assert stream(both)["members"] == ["c"]
    both.declare("log2", node="a", arguments=STREAM | {"x-initial-cluster-size": 2})
    assert both.outcome["queues"]["log2"]["members"] == ["a", "b"]


def test_policy_for_other_types_does_not_apply_to_a_stream():
    ruled = Cluster("a", "b", "c", version="3.13")
    ruled.set_policy("long", "^log", {"max-length": 5}, priority=3).set_policy("old", "^log", {"max-age": "1D"})
    assert stream(ruled.declare("log", node="a", arguments=STREAM))["policy"] == "old"
    assert stream(ruled.clear_policy("old"))["policy"] is None


def test_steady_publisher_blocks_at_the_soft_limit():
    busy = cluster("a", "b", "c").publisher("p", "log", rate=1000, node="a").wait(1).kill("b", "c").wait(5)
    assert busy.outcome["publishers"]["p"]["state"] == "blocked"
    assert stream(busy)["uncommitted"] == [[1001, 1256]]
    busy.start("b")
    assert busy.wait(1).outcome["ledger"]["log"]["lost"] == []


def test_log_of_a_stream_is_not_truncated():
    long = cluster("a", version="3.10").publish("log", 20_000)
    assert stream(long)["log_entries"] > 20_000


@pytest.mark.parametrize("version", ["3.10", "4.0", "4.3"])
def test_channel_that_missed_the_new_leader_writes_to_the_old_one(version: str):
    parted = cluster("a", "b", "c", version=version).publish("log", 5, node="a").publish("log", 5, node="c")
    parted.partition(["a"], ["b", "c"]).wait(75).heal().publish("log", 1, node="a").publish("log", 1, node="c").wait(60)
    assert parted.outcome["ledger"]["log"]["confirmed"] == [[1, 10], [12, 12]]
    assert stream(parted)["uncommitted"] == [[11, 11]]
    parted.publish("log", 1, node="a", connection="another")
    assert parted.outcome["ledger"]["log"]["confirmed"] == [[1, 10], [12, 13]]
