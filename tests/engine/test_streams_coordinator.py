"""The stream coordinator without a majority: every command fails with coordinator_unavailable."""

from __future__ import annotations

import pytest

from hawb.cluster import Cluster
from hawb.engine.keys.state_key import key

STREAM = {"x-queue-type": "stream"}
THREE = STREAM | {"x-initial-cluster-size": 3}
UNAVAILABLE = "coordinator_unavailable"
SINCE_3_13 = ["3.13", "4.0", "4.3"]


def minority(version: str = "4.0") -> Cluster:
    """Return five nodes of which a and e run; a stream with three replicas is led by a."""
    five = Cluster("a", "b", "c", "d", "e", version=version).declare("log", node="a", arguments=THREE)
    return five.publish("log", 5).kill("b", "c", "d")


def members(of: Cluster) -> list[str]:
    return of.outcome["queues"]["log"]["members"]


def texts(of: Cluster) -> list[str]:
    return [error["text"] for error in of.outcome["errors"]]


COMMANDS = [
    ("delete_member", {"queue": "log", "node": "b"}, SINCE_3_13),
    ("delete_member", {"queue": "log", "node": "a"}, ["3.10", *SINCE_3_13]),
    ("delete_member", {"queue": "log", "node": "e"}, ["3.10", *SINCE_3_13]),
    ("add_member", {"queue": "log", "node": "e"}, ["3.10", *SINCE_3_13]),
    ("add_member", {"queue": "log", "node": "a"}, ["3.10", *SINCE_3_13]),
    ("transfer_leadership", {"queue": "log", "node": "a"}, SINCE_3_13),
    ("delete", {"queue": "log", "node": "e"}, ["3.10", *SINCE_3_13]),
    ("declare", {"queue": "more", "node": "e", "arguments": STREAM}, ["3.10", "3.13", "4.0"]),
    ("forget_cluster_node", {"node": "b"}, ["3.13", "4.0"]),
    ("grow", {"node": "e"}, ["4.3"]),
    ("shrink", {"node": "b"}, ["4.3"]),
]


@pytest.mark.parametrize(
    ("command", "asked", "version"), [(command, asked, one) for command, asked, those in COMMANDS for one in those]
)
def test_command_waits_for_each_reachable_member_and_fails(command: str, asked: dict, version: str):
    five = minority(version)
    before_s = five.outcome["time_s"]
    getattr(five, command)(**asked)
    (text,) = texts(five)
    assert UNAVAILABLE in text
    assert five.outcome["time_s"] - before_s == pytest.approx(60, abs=0.01)
    assert (members(five), list(five.outcome["queues"])) == (["a", "b", "c"], ["log"])


@pytest.mark.parametrize("version", ["3.10", *SINCE_3_13])
def test_command_succeeds_if_a_majority_is_back_in_time(version: str):
    five = minority(version).add_member("log", node="e", at=10).start("d", at=20).wait(60)
    assert (members(five), texts(five)) == (["a", "b", "c", "e"], [])


def test_repeated_command_succeeds_with_a_majority():
    five = minority().delete_member("log", node="b").start("d").delete_member("log", node="b")
    assert (members(five), len(texts(five))) == (["a", "c"], 1)


@pytest.mark.parametrize("version", SINCE_3_13)
def test_rebalance_does_nothing_and_reports_no_error(version: str):
    three = Cluster("a", "b", "c", version=version)
    for name in ("log", "log2", "log3"):
        three.declare(name, node="a", arguments=STREAM)
    three.partition(["a"], ["b", "c"]).wait(75).rebalance().wait(1)
    assert (three.outcome["queues"]["log"]["leader"], texts(three)) == ("a", [])


def test_command_goes_to_the_first_running_node():
    parted = Cluster("a", "b", "c", version="4.0").declare("log", node="b", arguments=STREAM)
    parted.partition(["a"], ["b", "c"]).wait(75).delete_member("log", node="c")
    assert members(parted) == ["a", "b", "c"]
    assert UNAVAILABLE in texts(parted)[0]


@pytest.mark.parametrize("version", ["3.13", "4.0"])
def test_forgotten_node_still_counts_for_the_majority(version: str):
    three = Cluster("a", "b", "c", version=version).declare("log", node="a", arguments=STREAM).kill("b", "c")
    three.forget_cluster_node(node="b").forget_cluster_node(node="c")
    assert (members(three), len(texts(three))) == (["a", "b", "c"], 2)
    three.declare("more", node="a", arguments=STREAM)
    assert "more" not in three.outcome["queues"]
    assert UNAVAILABLE in texts(three)[-1]


def test_4_3_forget_reports_the_metadata_store_first():
    assert texts(minority("4.3").forget_cluster_node(node="b")) == [
        "Khepri has timed out on node a.\nKhepri cluster could be in minority."
    ]


def test_client_that_is_gone_gets_no_reply():
    five = minority().delete("log", node="e", at=1).kill("e", at=5).wait(100)
    assert (texts(five), members(five)) == ([], ["a", "b", "c"])


def test_search_key_includes_waiting_commands():
    waiting = [
        minority().add_member("log", node="e", at=2), minority().delete_member("log", node="b", at=2),
        minority().delete_member("log", node="c", at=2), minority(),
    ]  # fmt: skip
    keys = {key(one.run.moment_at(2).state, one.run.settings, rename=False) for one in waiting}
    assert len(keys) == len(waiting)
