"""The structs of a scenario file: fields, defaults and checks that types cannot express."""

from __future__ import annotations

import msgspec
import pytest

from hawb.engine.core.naming import join_queue, split_queue
from hawb.scenario.document import Cluster, QueueEntry, Scenario, Step, Timing
from hawb.scenario.fields import Bare, Flag, NameOrMap, OnNodes
from hawb.scenario.verbs import VERBS, Cut, Join, Kill, Partition, PolicyEntry, Publish

# Every verb with its fields in the order of the step table; `!` marks those that must be written.
FIELDS = {
    "set_policy": "name! pattern! definition! priority=0 apply_to=queues vhost=/",
    "set_operator_policy": "name! pattern! definition! priority=0 apply_to=queues vhost=/",
    "clear_policy": "name! vhost=/",
    "clear_operator_policy": "name! vhost=/",
    "declare": "queue! node=None durable=True exclusive=False auto_delete=False passive=False arguments={}"
    " connection=default",
    "delete": "queue! if_empty=False if_unused=False node=None",
    "purge": "queue!",
    "bind": "queue! exchange! routing_key!",
    "publish": "queue=None queues=() count! size=1024 persistent=True mode=confirm node=None priority=None"
    " connection=default",
    "publisher": "name! queue! rate! size=1024 persistent=True mode=confirm node=None",
    "consume": "consumer! queue! node=None prefetch=0 global_prefetch=False ack=manual exclusive=False priority=0"
    " cancel_on_ha_failover=False cancel_notify=True rate=None connection=default",
    "ack": "consumer! count=all",
    "nack": "consumer! count=all requeue=True",
    "get": "queue! count! ack=True consumer=None",
    "cancel": "consumer!",
    "close": "name!",
    "stop": "nodes!",
    "kill": "nodes!",
    "power_off": "nodes!",
    "start": "nodes!",
    "wipe": "node!",
    "force_boot": "node!",
    "drain": "node!",
    "revive": "node!",
    "crash": "queue! node=None",
    "partition": "groups!",
    "cut": "links!",
    "heal": "",
    "alarm": "node! resource=memory",
    "clear_alarm": "node! resource=memory",
    "join": "node!",
    "reset": "node!",
    "force_reset": "node!",
    "force_standalone_khepri_boot": "node!",
    "force_shrink": "node!",
    "forget_cluster_node": "node! from=None offline=False",
    "sync_queue": "queue!",
    "cancel_sync_queue": "queue!",
    "add_member": "queue! node!",
    "delete_member": "queue! node!",
    "grow": "node! strategy=all pattern=.*",
    "shrink": "node!",
    "transfer_leadership": "queue! node!",
    "rebalance": "",
    "wait": "seconds!",
    "expect": "outcome!",
}


def described(struct: type) -> str:
    """Return the fields of a struct as `FIELDS` writes them."""
    words = []
    for field in msgspec.structs.fields(struct):
        made = field.default_factory is not msgspec.NODEFAULT
        default = field.default_factory() if made else field.default
        words.append(f"{field.encode_name}!" if field.required else f"{field.encode_name}={default}")
    return " ".join(words)


def test_every_verb_has_the_fields_and_defaults_of_the_step_table():
    assert {name: described(verb) for name, verb in VERBS.items()} == FIELDS


def test_each_verb_has_one_form_of_argument():
    forms = {
        name: [form.__name__ for form in (OnNodes, Bare, NameOrMap, Flag) if issubclass(verb, form)]
        for name, verb in VERBS.items()
    }
    bare = {
        "purge",
        "cancel",
        "close",
        "wipe",
        "force_boot",
        "drain",
        "revive",
        "partition",
        "cut",
        "join",
        "reset",
        "force_reset",
        "force_standalone_khepri_boot",
        "force_shrink",
        "sync_queue",
        "cancel_sync_queue",
        "shrink",
        "wait",
        "expect",
    }
    assert {name for name, found in forms.items() if found == ["Bare"]} == bare
    assert {name for name, found in forms.items() if found == ["OnNodes", "Bare"]} == {
        "stop",
        "kill",
        "power_off",
        "start",
    }
    assert {name for name, found in forms.items() if found == ["NameOrMap"]} == {
        "clear_policy",
        "clear_operator_policy",
    }
    assert {name for name, found in forms.items() if found == ["Flag"]} == {"heal", "rebalance"}
    assert all(len(msgspec.structs.fields(VERBS[name])) == 1 for name, found in forms.items() if "Bare" in found)


def test_defaults_of_the_cluster_and_its_timing():
    assert described(Cluster).replace(str(Timing()), "{}") == (
        "nodes! down={} version=3.8 net_ticktime=60.0 cluster_partition_handling=ignore"
        " queue_master_locator=client-local quorum_cluster_size=None quorum_commands_soft_limit=None"
        " mirroring_sync_batch_size=None mirroring_sync_max_throughput=None slave_wait_timeout=None"
        " consumer_timeout=None timing={}"
    )
    assert described(Timing) == (
        "link_latency_s=0.0005 network_mb_s=100.0 fsync_s=0.001 stop_s=1.0 start_s=5.0 boot_retry_s=30.0"
        " sync_messages_s=30000.0 election_s=0.3"
    )


def test_step_has_the_name_of_its_verb():
    assert Step(Kill(("a",)), at=3).name == "kill"
    assert {Step(verb).name for verb in (Join("a"), Cut((("a", "b"),)))} == {"join", "cut"}


def test_known_nodes_are_the_cluster_then_joining_nodes():
    steps = (Step(Join("d")), Step(Join("a")), Step(Join("c")), Step(Join("d")))
    assert Scenario(scenario="t", cluster=Cluster(("b", "a")), steps=steps).known_nodes == ("b", "a", "d", "c")


def test_publish_targets_are_queue_or_queues():
    assert Publish(queue="q", count=1).targets == ("q",)
    assert Publish(queues=("q", "r"), count=1).targets == ("q", "r")


@pytest.mark.parametrize(
    ("written", "vhost", "name"),
    [
        ("orders", "/", "orders"),
        ("dev::orders", "dev", "orders"),
        ("dev::a::b", "dev", "a::b"),
        ("/::a::b", "/", "a::b"),
        ("a:b", "/", "a:b"),
    ],
)
def test_queue_name_has_its_virtual_host_unless_default(written, vhost, name):
    assert split_queue(written) == (vhost, name)
    assert join_queue(vhost, name) == written


TWO = (PolicyEntry("ha", "", {}), PolicyEntry("ha", "", {}))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Cluster(("a", "b", "a")), "nodes: 'a' appears twice"),
        (lambda: Cluster(("a",), down={"b": "stopped"}), "down: 'b' is not a node of the cluster"),
        (lambda: Kill(("a", "a")), "nodes: 'a' appears twice"),
        (lambda: Partition((("a",), ("b", "a"))), "groups: 'a' appears twice"),
        (lambda: Cut((("a", "a"),)), "links: 'a' appears twice"),
        (lambda: Publish(count=1), "queue, queues: write exactly one"),
        (lambda: Publish(queue="q", queues=("r",), count=1), "queue, queues: write exactly one"),
        (lambda: Publish(queues=("q", "q"), count=1), "queues: 'q' appears twice"),
        (lambda: QueueEntry("q", mirrors=("a",)), "master: missing"),
        (lambda: QueueEntry("q", master="a", messages=1, unacknowledged=2), "unacknowledged: 2 is more than messages"),
        (lambda: QueueEntry("q", master="a", mirrors=("a",)), "mirrors: 'a' is the master"),
        (lambda: QueueEntry("q", master="a", mirrors=("b", "b")), "mirrors: 'b' appears twice"),
        (lambda: QueueEntry("q", master="a", synchronised_mirrors=("b",)), "'b' is not one of the mirrors"),
        (lambda: QueueEntry("q", master="a", recoverable_mirrors=("b", "b")), "recoverable_mirrors: 'b' appears twice"),
        (lambda: QueueEntry("q", master="a", members=("a",)), "a classic queue has a master and mirrors"),
        (lambda: QueueEntry("q", type="quorum", members=("a",), master="a"), "a quorum queue has a leader and members"),
        (lambda: QueueEntry("q", type="quorum", members=("a",), leader="b"), "leader: 'b' is not one of the members"),
        (lambda: QueueEntry("q", stopped_members=("a",)), "a classic queue has a master and mirrors"),
        (lambda: QueueEntry("q", type="quorum", members=("a",), stopped_members=("b",)), "'b' is not one of the"),
        (lambda: QueueEntry("q", type="quorum", members=("a",), stopped_members=("a", "a")), "'a' appears twice"),
        (lambda: QueueEntry("q", type="quorum", members=("a",), leader="a", stopped_members=("a",)), "is the leader"),
        (lambda: Scenario(scenario="t", cluster=Cluster(("a",)), policies=TWO), "policies: '/::ha' appears twice"),
        (
            lambda: Scenario(
                scenario="t",
                cluster=Cluster(("a",)),
                queues=(QueueEntry("q", master="a"), QueueEntry("/::q", master="a")),
            ),
            "queues: 'q' appears twice",
        ),
    ],
)
def test_contradictory_fields_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_policy_names_are_unique_per_virtual_host():
    policies = (PolicyEntry("ha", "", {}), PolicyEntry("ha", "", {}, vhost="dev"))
    assert Scenario(scenario="t", cluster=Cluster(("a",)), policies=policies).policies == policies
