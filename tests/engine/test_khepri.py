"""Khepri: changes in a majority and in a minority, and the errors of clients."""

from __future__ import annotations

import pytest
from invariants import watched

from hawb.cluster import Cluster
from hawb.engine.raft_groups.group import STORE
from hawb.raft.member import LEADER

TIMED_OUT = "because the metadata store operation timed out"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster("a", "b", "c", version="4.3")


def leader(cluster: Cluster) -> str | None:
    """Return the node that leads the metadata store, as the first side knows it."""
    view = cluster.run.moment().state.sides[0].store
    return cluster.run.settings.names[view.master] if view.up else None


def event_names(cluster: Cluster) -> list[str]:
    return [event["event"] for event in cluster.outcome["events"]]


def test_first_node_leads_the_metadata_store_of_a_new_cluster(cluster: Cluster) -> None:
    assert leader(cluster) == "a"
    assert event_names(cluster) == []


def test_minority_refuses_new_queues_and_serves_existing_ones(cluster: Cluster) -> None:
    cluster.declare("orders", node="a").stop("b").stop("c").publish("orders", 3, node="a").declare("other", node="a")
    assert leader(cluster) is None
    (error,) = cluster.outcome["errors"]
    assert (error["code"], error["text"]) == (
        541, f"INTERNAL_ERROR - Could not declare queue 'other' in vhost '/' on node 'a' {TIMED_OUT}",
    )  # fmt: skip
    assert "other" not in cluster.outcome["queues"]
    assert cluster.outcome["queues"]["orders"]["messages"] == 3
    cluster.declare("orders", node="a").declare("orders", node="a", passive=True)
    assert len(cluster.outcome["errors"]) == 1


@pytest.mark.parametrize(
    ("verb", "arguments", "text"),
    [
        ("declare", {"queue": "q", "node": "a", "arguments": {"x-queue-type": "quorum"}},
         f"INTERNAL_ERROR - Could not declare quorum queue 'q' in vhost '/' on node 'a' {TIMED_OUT}"),
        ("delete", {"queue": "orders", "node": "a"},
         "INTERNAL_ERROR - The operation to delete the queue from the metadata store timed out"),
        ("bind", {"queue": "orders", "exchange": "x", "routing_key": "k"},
         "INTERNAL_ERROR - failed to declare exchange 'x' in vhost '/' because the operation timed out"),
        ("set_policy", {"name": "p", "pattern": "o", "definition": {"max-length": 1}},
         "Khepri has timed out on node a.\nKhepri cluster could be in minority."),
    ],
)  # fmt: skip
def test_operations_that_a_minority_refuses(cluster: Cluster, verb: str, arguments: dict, text: str) -> None:
    cluster.declare("orders", node="a").kill("b").kill("c")
    began = cluster.outcome["time_s"]
    getattr(cluster, verb)(**arguments)
    assert [error["text"] for error in cluster.outcome["errors"]] == [text]
    assert cluster.outcome["time_s"] - began == pytest.approx(30, abs=0.1)


def test_waiting_declare_succeeds_after_the_election(cluster: Cluster) -> None:
    cluster.kill("a", at=1).declare("orders", node="b", at=1.05)
    assert cluster.outcome["errors"] == []
    assert cluster.outcome["queues"]["orders"]["state"] == "running"
    assert leader(cluster) in ("b", "c")
    assert "metadata_stalled" in event_names(cluster)


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "b", "a"), ("b", "c", "a")])
def test_nodes_boot_in_any_order_once_they_are_a_majority(cluster: Cluster, order: tuple[str, ...]) -> None:
    cluster.declare("orders", node="a").stop("b").stop("c").stop("a")
    first, second, third = order
    cluster.start(first)
    assert cluster.outcome["nodes"][first] != "running"
    cluster.start(second)
    assert [cluster.outcome["nodes"][node] for node in order] == ["running", "running", "down"]
    cluster.start(third)
    assert set(cluster.outcome["nodes"].values()) == {"running"}
    assert cluster.outcome["queues"]["orders"]["state"] == "running"


def test_boot_of_a_lone_node_fails_after_five_minutes(cluster: Cluster) -> None:
    cluster.stop("a").stop("b").stop("c").start("c").wait(400)
    assert cluster.outcome["nodes"]["c"] == "down"
    gave_up = next(event for event in cluster.outcome["events"] if event["event"] == "node_gave_up")
    waited = next(event for event in cluster.outcome["events"] if event["event"] == "node_waiting")
    assert gave_up["t"] - waited["t"] == pytest.approx(300)


@pytest.mark.parametrize("handling", ["ignore", "autoheal", "pause_minority"])
def test_no_node_pauses_and_sides_merge_when_links_heal(handling: str) -> None:
    cluster = Cluster("a", "b", "c", version="4.3", cluster_partition_handling=handling)
    cluster.declare("orders", node="a").declare("mine", node="b").publish("orders", 2, node="a")
    cluster.partition(["a"], ["b", "c"]).wait(100)
    assert set(cluster.outcome["nodes"].values()) == {"running"}
    cluster.publish("orders", 3, node="a").declare("here", node="b").declare("there", node="a")
    assert [error["code"] for error in cluster.outcome["errors"]] == [541]
    cluster.heal()
    assert len(cluster.run.moment().state.sides) == 1
    queues = cluster.outcome["queues"]
    assert {name: queue["state"] for name, queue in queues.items()} == dict.fromkeys(queues, "running")
    assert set(queues) == {"orders", "mine", "here"}
    assert queues["orders"]["messages"] == 5
    cluster.publish("orders", 1, node="c").declare("there", node="a")
    assert cluster.outcome["queues"]["orders"]["messages"] == 6
    assert cluster.outcome["ledger"]["orders"]["lost"] == []


def test_minority_applies_missed_policies_when_links_heal(cluster: Cluster) -> None:
    cluster.declare("orders", node="c").publish("orders", 5, node="c").partition(["a", "b"], ["c"]).wait(100)
    cluster.set_policy("p", "^o", {"max-length": 2}).heal()
    assert cluster.outcome["queues"]["orders"]["policy"] == "p"
    assert cluster.outcome["queues"]["orders"]["ids"] == [[4, 5]]


def test_nodes_that_join_or_are_forgotten_change_the_members(cluster: Cluster) -> None:
    cluster.stop("c").forget_cluster_node("c").join("d")
    group = cluster.run.moment().state.groups[STORE]
    names = cluster.run.settings.names
    assert {names[node] for node in group.members} == {"a", "b", "d"}
    (first,) = [member for member in group.members.values() if member.role == LEADER]
    assert {names[node] for node in first.members} == {"a", "b", "d"}


def test_wiped_node_can_join_again(cluster: Cluster) -> None:
    cluster.wipe("c").start("c")
    assert cluster.outcome["nodes"]["c"] == "down"
    cluster.join("c")
    assert cluster.outcome["nodes"]["c"] == "running"
    assert cluster.outcome["metadata_store"]["members"] == ["a", "b", "c"]
    cluster.stop("a").declare("orders", node="c")
    assert cluster.outcome["queues"]["orders"]["state"] == "running"


def test_force_boot_and_offline_forget_are_not_supported(cluster: Cluster) -> None:
    cluster.stop("b").stop("a").stop("c").force_boot("a").forget_cluster_node("c", from_="b", offline=True)
    assert cluster.outcome["nodes"]["a"] == "waiting"
    assert cluster.outcome["errors"][-1]["text"] == "not_supported"


def test_minority_refuses_join_and_forget(cluster: Cluster) -> None:
    cluster.stop("b").stop("c").join("d").forget_cluster_node("c")
    text = "Khepri has timed out on node a.\nKhepri cluster could be in minority."
    assert [error["text"] for error in cluster.outcome["errors"]] == [text, text]


def test_half_of_four_members_can_forget_one_and_be_a_majority(cluster: Cluster) -> None:
    four = Cluster("a", "b", "c", "d", version="4.3").kill("c").kill("d")
    four.forget_cluster_node("d", from_="b").declare("orders", node="b")
    assert four.outcome["errors"] == []
    assert four.outcome["metadata_store"]["members"] == ["a", "b", "c"]
    assert four.outcome["metadata_store"]["writable_from"] == ["a", "b"]
    cluster.kill("b").kill("c").forget_cluster_node("c")
    assert [error["text"][:6] for error in cluster.outcome["errors"]] == ["Khepri"]


def test_forget_cluster_node_times_out_without_a_leader() -> None:
    four = Cluster("a", "b", "c", "d", version="4.3").kill("a").kill("d")
    four.forget_cluster_node("d", from_="b")
    assert [error["text"] for error in four.outcome["errors"]] == [
        "Khepri has timed out on node b.\nKhepri cluster could be in minority.",
    ]


def test_running_node_cannot_be_forgotten_and_stays_a_member_of_queues(cluster: Cluster) -> None:
    cluster.declare("log", node="a", arguments={"x-queue-type": "quorum"}).partition(["a", "b"], ["c"]).wait(100)
    cluster.forget_cluster_node("c", from_="a")
    assert [error["text"][:18] for error in cluster.outcome["errors"]] == ["RabbitMQ on node c"]
    assert cluster.outcome["queues"]["log"]["members"] == ["a", "b", "c"]


def states(cluster: Cluster) -> dict[str, str]:
    """Return the state of each queue by its name."""
    return {name: queue["state"] for name, queue in cluster.outcome["queues"].items()}


@pytest.mark.parametrize("also", [(), ("b",), ("a", "b")])
def test_transient_and_exclusive_queues_stay_until_their_node_restarts(cluster: Cluster, also: tuple[str, ...]) -> None:
    cluster.declare("passing", node="c", durable=False).declare("mine", node="c", exclusive=True, connection="one")
    cluster.publish("passing", 2, node="c").kill("c")
    assert states(cluster) == {"passing": "down", "mine": "down"}
    for node in also:
        cluster.kill(node)
    cluster.start(*also, "c").wait(60)
    assert states(cluster) == {}
    assert cluster.outcome["ledger"]["passing"]["lost"] == [[1, 2]]


def test_stopping_node_deletes_its_exclusive_queues(cluster: Cluster) -> None:
    cluster.declare("passing", node="c", durable=False).declare("mine", node="c", exclusive=True).stop("c")
    assert states(cluster) == {"passing": "down"}


def test_exclusive_queue_survives_a_partition(cluster: Cluster) -> None:
    cluster.declare("mine", node="c", exclusive=True).partition(["a", "b"], ["c"]).wait(100)
    views = [(view["nodes"], view["state"]) for view in cluster.outcome["queues"]["mine"]["views"]]
    assert views == [(["a", "b"], "down"), (["c"], "running")]
    cluster.heal().wait(20)
    assert states(cluster) == {"mine": "running"}


def test_forgetting_a_node_deletes_its_transient_and_exclusive_queues(cluster: Cluster) -> None:
    cluster.declare("passing", node="c", durable=False).declare("mine", node="c", exclusive=True).kill("c")
    cluster.forget_cluster_node("c")
    assert states(cluster) == {}


def test_node_in_a_minority_is_drained_after_the_metadata_write_times_out(cluster: Cluster) -> None:
    cluster.declare("orders", node="a").kill("b").kill("c").wait(5)
    began = cluster.outcome["time_s"]
    cluster.drain("a")
    (drained,) = [event for event in cluster.outcome["events"] if event["event"] == "node_drained"]
    assert drained["t"] - began == pytest.approx(30) and cluster.outcome["errors"] == []
    cluster.publish("orders", 1, node="a")
    assert "being drained" in cluster.outcome["errors"][-1]["text"]


def test_node_killed_before_that_timeout_is_not_drained(cluster: Cluster) -> None:
    cluster.kill("b").kill("c").drain("a", at=10).kill("a", at=20).start("a", at=21).start("b", at=21).wait(60)
    assert "node_drained" not in event_names(cluster)


def test_drain_completes_when_a_majority_is_back(cluster: Cluster) -> None:
    cluster.kill("b").kill("c").drain("a", at=10).start("b", at=12).wait(60)
    (drained,) = [event for event in cluster.outcome["events"] if event["event"] == "node_drained"]
    assert 12 < drained["t"] < 39


def test_force_reset_is_refused(cluster: Cluster) -> None:
    cluster.force_reset("c").stop("c").force_reset("c").start("c")
    assert [error["text"] for error in cluster.outcome["errors"]] == [
        "mnesia_unexpectedly_running: Mnesia is still running on node 'c'", "Forced reset is unsupported with Khepri",
    ]  # fmt: skip
    assert cluster.outcome["nodes"]["c"] == "running"


def test_delete_in_a_minority_ends_the_process_but_keeps_the_record(cluster: Cluster) -> None:
    cluster.declare("orders", node="a").publish("orders", 3, node="a").partition(["a"], ["b", "c"]).wait(100)
    cluster.delete("orders", node="a").publish("orders", 1, node="a")
    found = cluster.outcome
    assert [error["code"] for error in found["errors"]] == [541]
    assert found["ledger"]["orders"]["nacked"] == [[4, 4]]
    cluster.heal().publish("orders", 1, node="a")
    assert cluster.outcome["queues"]["orders"]["state"] == "down"
    assert cluster.outcome["ledger"]["orders"]["nacked"] == [[4, 5]]
    assert cluster.outcome["ledger"]["orders"]["removed"]["deleted"] == [[1, 3]]
    cluster.delete("orders", node="a").declare("orders", node="a")
    assert cluster.outcome["queues"]["orders"]["state"] == "running"


def test_messages_of_a_queue_in_a_minority_still_expire(cluster: Cluster) -> None:
    cluster.declare("orders", node="a", arguments={"x-message-ttl": 200_000}).partition(["a"], ["b", "c"]).wait(100)
    cluster.publish("orders", 2, node="a").heal().wait(250)
    assert cluster.outcome["ledger"]["orders"]["removed"]["expired"] == [[1, 2]]


def test_forgotten_node_waits_and_fails_to_boot(cluster: Cluster) -> None:
    cluster.stop("c").forget_cluster_node("c").start("c").wait(10)
    assert cluster.outcome["nodes"]["c"] == "waiting"
    assert cluster.outcome["errors"] == []
    cluster.wait(300)
    assert cluster.outcome["nodes"]["c"] == "down"


def test_commands_that_timed_out_at_a_leader_are_committed_with_a_majority(cluster: Cluster) -> None:
    cluster.declare("mine", node="a").kill("b").kill("c")
    cluster.declare("orders", node="a").delete("mine", node="a").start("b")
    assert [error["code"] for error in cluster.outcome["errors"]] == [541, 541]
    queues = cluster.outcome["queues"]
    assert (queues["orders"]["state"], "mine" in queues) == ("down", False)
    cluster.declare("orders", node="a")
    assert cluster.outcome["errors"][-1]["code"] == 404
    cluster.delete("orders", node="a").declare("orders", node="a")
    assert cluster.outcome["queues"]["orders"]["state"] == "running"


def test_commands_that_reached_no_leader_are_not_committed_later(cluster: Cluster) -> None:
    cluster.declare("mine", node="b").kill("a").wait(5)
    other = {"b": "c", "c": "b"}[leader(cluster)]
    cluster.kill(leader(cluster)).declare("orders", node=other)
    assert leader(cluster) is None
    cluster.start("a").wait(5)
    assert "orders" not in cluster.outcome["queues"]


def test_uncommitted_change_of_a_replaced_leader_is_lost(cluster: Cluster) -> None:
    cluster.declare("mine", node="a").partition(["a"], ["b", "c"]).declare("orders", node="a").wait(60)
    assert leader(cluster) is None
    cluster.heal().wait(20)
    assert set(cluster.outcome["queues"]) == {"mine"}


def test_force_standalone_khepri_boot_works_only_if_no_other_node_runs(cluster: Cluster) -> None:
    cluster.kill("b").force_standalone_khepri_boot("b").force_standalone_khepri_boot("a")
    cluster.kill("c").force_standalone_khepri_boot("a").declare("orders", node="a")
    down, refused = (error["text"] for error in cluster.outcome["errors"])
    assert down == "node 'b' is not running"
    assert refused.startswith("not simulated: force_standalone_khepri_boot of node 'a' while 'c' is up")
    assert cluster.outcome["metadata_store"] == {"leader": "a", "members": ["a"], "term": 3, "writable_from": ["a"]}
    assert cluster.outcome["queues"]["orders"]["state"] == "running"


def test_records_of_former_members_are_dropped(cluster: Cluster) -> None:
    """b and c, each on its own side, changed records that are on no disk once a is the only member."""
    with watched():
        cluster.partition(["a"], ["b"], ["c"]).kill("a").start("a").declare("there", node="b")
        cluster.declare("log", node="b", arguments={"x-queue-type": "quorum"}).kill("b", "c")
        cluster.force_standalone_khepri_boot("a")
    assert [side.number for side in cluster.run.moment().state.sides] == [0]


def test_outcome_shows_a_metadata_store_without_members() -> None:
    """The only node loses its disk and joins no cluster afterwards."""
    cluster = Cluster("a", version="4.3").wipe("a")
    assert cluster.outcome["metadata_store"] == {"leader": None, "members": [], "term": 0, "writable_from": []}


def test_force_standalone_khepri_boot_is_refused_before_4_3() -> None:
    cluster = Cluster("a", "b", version="4.0").kill("b").force_standalone_khepri_boot("a")
    assert [error["text"] for error in cluster.outcome["errors"]] == ["This command is not supported by node a"]


def test_node_excluded_by_a_standalone_boot_fails_to_boot(cluster: Cluster) -> None:
    cluster.kill("b", "c").force_standalone_khepri_boot("a").start("b").wait(400)
    assert cluster.outcome["nodes"]["b"] == "down"


def test_force_shrink_works_without_a_metadata_majority(cluster: Cluster) -> None:
    cluster.declare("log", node="b", arguments={"x-queue-type": "quorum"}).publish("log", 3).kill("b", "c").wait(10)
    cluster.force_shrink("b").force_shrink("a").wait(1)
    (down,) = cluster.outcome["errors"]
    assert down["text"] == "node 'b' is not running"
    log = cluster.outcome["queues"]["log"]
    assert (log["members"], log["leader"], log["messages"]) == (["a"], "a", 3)


def test_force_shrink_is_undefined_in_3_10() -> None:
    cluster = Cluster("a", version="3.10").force_shrink("a")
    (error,) = cluster.outcome["errors"]
    assert error["text"].startswith("undef: RabbitMQ 3.10.8 has no rabbit_quorum_queue:force_all_queues")
