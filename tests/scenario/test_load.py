"""Loading a scenario: accepted forms, and refusals with their place."""

from __future__ import annotations

from pathlib import Path

import pytest
from refusals import HEAD, refused

from hawb.scenario.document import Cluster, PauseIfAllDown, QueueEntry, Scenario, Step, Timing, Uncompared
from hawb.scenario.load import ScenarioRefused, load, read_scenario, read_step
from hawb.scenario.verbs import (
    Ack,
    ClearPolicy,
    Close,
    Cut,
    Declare,
    Expect,
    ForgetClusterNode,
    Heal,
    Join,
    Kill,
    Partition,
    PolicyEntry,
    Publish,
    Purge,
    SetPolicy,
    Start,
    Stop,
    Wait,
    Wipe,
)

WHOLE = r"""
scenario: A mirror that is not synchronised takes over
seed: 1
cluster:
  nodes: [a, b, c]
  down: {c: stopped, b: killed}
  version: "3.10"
  net_ticktime: 60
  cluster_partition_handling: {pause_if_all_down: [a], recover: ignore}
  queue_master_locator: min-masters
  quorum_cluster_size: 5
  mirroring_sync_max_throughput: 0
  slave_wait_timeout: 15
  timing: {fsync_s: 0.002}
policies:
  - {name: ha, pattern: ^ha\., definition: {ha-mode: all}, priority: -1}
queues:
  - {queue: dev::q, master: a, mirrors: [b, c], synchronised_mirrors: [c], messages: 5}
steps:
  - set_policy: {name: ha-all, pattern: '^ha\.', definition: {ha-mode: exactly, ha-params: 2}}
  - declare: {queue: ha.orders, node: a}
  - publish: {queue: ha.orders, count: 100}
  - stop: b
  - {start: [b, c], at: 7.5}
expect:
  queues: {ha.orders: {master: b, messages: 10}, gone: null}
racy: {fields: [queues.ha.orders.mirrors, steps.0.nodes], reason: who joins first}
"""


def test_complete_file_is_loaded(each_parser):
    assert load(WHOLE) == Scenario(
        scenario="A mirror that is not synchronised takes over",
        seed=1,
        cluster=Cluster(
            nodes=("a", "b", "c"),
            down={"c": "stopped", "b": "killed"},
            version="3.10",
            net_ticktime=60.0,
            cluster_partition_handling=PauseIfAllDown(("a",), "ignore"),
            queue_master_locator="min-masters",
            quorum_cluster_size=5,
            mirroring_sync_max_throughput=0,
            slave_wait_timeout=15.0,
            timing=Timing(fsync_s=0.002),
        ),
        policies=(PolicyEntry("ha", r"^ha\.", {"ha-mode": "all"}, -1),),
        queues=(QueueEntry("dev::q", master="a", mirrors=("b", "c"), synchronised_mirrors=("c",), messages=5),),
        steps=(
            Step(SetPolicy("ha-all", r"^ha\.", {"ha-mode": "exactly", "ha-params": 2})),
            Step(Declare("ha.orders", "a")),
            Step(Publish(queue="ha.orders", count=100)),
            Step(Stop(("b",))),
            Step(Start(("b", "c")), at=7.5),
        ),
        expect={"queues": {"ha.orders": {"master": "b", "messages": 10}, "gone": None}},
        racy=Uncompared(("queues.ha.orders.mirrors", "steps.0.nodes"), "who joins first"),
    )
    assert list(load(WHOLE).cluster.down) == ["c", "b"]


@pytest.mark.parametrize(
    ("written", "verb"),
    [
        ("kill: a", Kill(("a",))),
        ("kill: [a, b]", Kill(("a", "b"))),
        ("wipe: a", Wipe("a")),
        ("purge: q", Purge("q")),
        ("close: reader", Close("reader")),
        ("clear_policy: ha", ClearPolicy("ha")),
        ("clear_policy: {name: ha, vhost: dev}", ClearPolicy("ha", "dev")),
        ("ack: {consumer: c}", Ack("c", "all")),
        ("ack: {consumer: c, count: all}", Ack("c", "all")),
        ("ack: {consumer: c, count: 3}", Ack("c", 3)),
        ("publish: {queues: [q, r], count: 3, priority: null}", Publish(queues=("q", "r"), count=3)),
        ("partition: [[a], [b, c]]", Partition((("a",), ("b", "c")))),
        ("cut: [[a, b]]", Cut((("a", "b"),))),
        ("heal: true", Heal()),
        ("wait: 75", Wait(75.0)),
        ("forget_cluster_node: {node: a, from: b}", ForgetClusterNode("a", "b")),
        ("expect: {queues: {q: null}}", Expect({"queues": {"q": None}})),
        ("publish: {queue: 1:30, count: 1}", Publish(queue="1:30", count=1)),
        ("publish: {queue: 2024-01-01, count: 1}", Publish(queue="2024-01-01", count=1)),
        ("publish: {queue: !!str 3.10, count: 1}", Publish(queue="3.10", count=1)),
    ],
)
def test_short_and_long_forms_of_steps_are_equal(each_parser, written, verb):
    assert load(f"{HEAD}steps:\n- {written}\n").steps == (Step(verb),)


def test_joining_node_is_known_in_the_whole_file():
    steps = load(f"{HEAD}steps: [expect: {{nodes: {{d: down}}}}, join: d, start: d]").steps
    assert steps[1:] == (Step(Join("d")), Step(Start(("d",))))
    assert refused(f"{HEAD}steps: [start: d]").step == 0


@pytest.mark.parametrize(
    ("tail", "step", "field", "given", "says"),
    [
        ("steps: [kill: d]", 0, "kill", "d", ["not a node of this cluster", "accepted: a, b, c"]),
        ("steps: [kill: a, kill: [a, d]]", 1, "kill[1]", "d", ["not a node", "steps[1] (the 2nd step): kill[1]"]),
        ("steps: [crash: {queue: q, node: d}]", 0, "crash.node", "d", ["not a node"]),
        ("steps: [partition: [[a], [d]]]", 0, "partition[1][0]", "d", ["not a node"]),
        ("steps: [kil: a]", 0, "kil", "kil", ["unknown verb", "power_off", "did you mean kill?"]),
        ("steps: [{kill: a, stop: b}]", 0, "", ["kill", "stop"], ["2 verbs"]),
        ("steps: [{at: 3}]", 0, "", [], ["0 verbs"]),
        ("steps: [{}]", 0, "", [], ["0 verbs"]),
        ("steps: [kill]", 0, "", "kill", ["not a map"]),
        ("steps: 3", None, "steps", 3, ["a list of steps"]),
        ("steps: [{kill: a, at: -1}]", 0, "at", -1, ["seconds"]),
        ("steps: [{kill: a, at: .inf}]", 0, "at", float("inf"), ["finite"]),
        ("steps: [{kill: a, at: true}]", 0, "at", True, ["seconds"]),
        ("steps: [wait: 1.0e+300]", 0, "wait", 1e300, ["10**9"]),
        ("steps: [wait: 1e3]", 0, "wait", "1e3", ["without quotes"]),
        ("steps: [wait: 1:30]", 0, "wait", "1:30", ["seconds"]),
        ("steps: [publish: {queue: q, count: true}]", 0, "publish.count", True, ["whole number"]),
        ("steps: [publish: {queue: q, count: 1.5}]", 0, "publish.count", 1.5, ["whole number"]),
        ("steps: [publish: {queue: q, count: 2.0}]", 0, "publish.count", 2.0, ["whole number"]),
        ("steps: [publish: {queue: q, count: -3}]", 0, "publish.count", -3, ["whole number"]),
        ("steps: [publish: {queue: q, count: '3'}]", 0, "publish.count", "3", ["without quotes"]),
        ("steps: [publish: {queue: q, count: null}]", 0, "publish.count", None, ["given: null"]),
        ("steps: [publish: {queue: q, count: 1, mode: maybe}]", 0, "publish.mode", "maybe", ["confirm, plain, tx"]),
        ("steps: [publish: {qeue: q, count: 3}]", 0, "publish.qeue", "qeue", ["unknown key", "did you mean queue?"]),
        ("steps: [publish: {queue: q, count: 1, durable: yes}]", 0, "publish.durable", "durable", ["unknown key"]),
        ("steps: [publisher: {name: p, queue: q, rate: 0}]", 0, "publisher.rate", 0, ["0.000001"]),
        ("steps: [declare: {queue: '', node: a}]", 0, "declare.queue", "", ["the name of a queue"]),
        ("steps: [declare: {queue: q, durable: 1}]", 0, "declare.durable", 1, ["true or false"]),
        ("steps: [declare: {queue: no}]", 0, "declare.queue", False, ["no without quotes", 'write "no"']),
        ("steps: [declare: {queue: q, arguments: {x: .nan}}]", 0, "declare.arguments.x", None, ["finite"]),
        ("steps: [set_policy: {name: x, pattern: x, definition: []}]", 0, "set_policy.definition", [], ["a map"]),
        ("steps: [heal: 1]", 0, "heal", 1, ["accepted: true"]),
        ("steps: [kill: []]", 0, "kill", [], ["NODE or [NODES]"]),
        ("steps: [partition: [[a, b, c]]]", 0, "partition", [["a", "b", "c"]], ["two or more"]),
        ("steps: [partition: [[a], []]]", 0, "partition[1]", [], ["not empty"]),
        ("steps: [cut: [[a, b, c]]]", 0, "cut[0]", ["a", "b", "c"], ["a pair"]),
        ("steps: [cut: []]", 0, "cut", [], ["list of pairs"]),
        ("steps: [clear_policy: 3]", 0, "clear_policy.name", 3, ['write "3"']),
        ("steps: [ack: {consumer: c, count: some}]", 0, "ack.count", "some", ["or all"]),
        ("steps: [expect: {queues: {q: {x: 1}}}]", 0, "expect.queues.q.x", "x", ["unknown key", "messages"]),
        ("expect: {queue: {}}", None, "expect.queue", "queue", ["did you mean queues?"]),
        ("expect: {queues: {ha.q: {messages: on}}}", None, "expect.queues['ha.q'].messages", True, ["whole number"]),
        ("expect: {queues: {q: {master: d}}}", None, "expect.queues.q.master", "d", ["not a node"]),
        ("expect: {nodes: {d: down}}", None, "expect.nodes.d", "d", ["not a node"]),
        ("expect: {nodes: {a: asleep}}", None, "expect.nodes.a", "asleep", ["running, down, paused, waiting"]),
        ("expect: {errors: [{step: 1, contain: x}]}", None, "expect.errors[0].contain", "contain", ["contains"]),
        ("expect: {ledger: {q: {lost: [[1]]}}}", None, "expect.ledger.q.lost[0]", [1], ["a run"]),
        ("expect: {ledger: {q: null}}", None, "expect.ledger.q", None, ["a map"]),
        ("expect: {consumers: {c: {state: gone}}}", None, "expect.consumers.c.state", "gone", ["active"]),
        ("expect: []", None, "expect", [], ["a partial outcome"]),
        ("queues: [{queue: q, master: a, type: jms}]", None, "queues[0].type", "jms", ["classic, quorum, stream"]),
        ("queues: [{queue: q, master: a, type: stream}]", None, "queues[0]", None, ["a stream queue has a leader"]),
        ("queues: [{queue: q, type: stream, messages: 1, unacknowledged: 1}]", None, "queues[0]", None,
         ["consumers take no messages out of a stream"]),
        ("queues: [{queue: q, master: a, messages: 9999999999999}]", None, "queues[0].messages", None, ["10**12"]),
        ("policies: [{name: x, pattern: x}]", None, "policies[0]", None, ["definition is missing"]),
        ("seed: -1", None, "seed", -1, ["whole number"]),
        ("seed: 18446744073709551616", None, "seed", 2**64, ["64 bits"]),
        ("racy: [queues]", None, "racy", ["queues"], ["fields, reason"]),
        ("racy: {fields: [], reason: x}", None, "racy.fields", [], ["not empty"]),
        ("racy: {fields: [queues]}", None, "racy", None, ["reason is missing"]),
        ("racy: {fields: [queue.q], reason: x}", None, "racy", None, ["'queue.q' does not begin with", "queues"]),
        ("racy: {fields: [steps.1], reason: x}", None, "racy", None, ["'steps.1' does not begin with one of"]),
        ("comment: x", None, "comment", "comment", ["unknown key"]),
    ],
)
def test_invalid_file_is_refused_with_its_place(each_parser, tail, step, field, given, says):
    found = refused(HEAD + tail, "drill.yaml")
    assert (found.file, found.step, found.field) == ("drill.yaml", step, field)
    assert given is None or found.given == given
    assert str(found).startswith("drill.yaml, line ")
    for part in says:
        assert part in str(found)


@pytest.mark.parametrize(
    ("cluster", "field", "says"),
    [
        ("{nodes: [a], version: 3.10}", "cluster.version", ["given: 3.1\n", 'write "3.10"', "3.8, 3.10, 3.13, 4.0"]),
        ("{nodes: [a], version: '3.9'}", "cluster.version", ["3.8, 3.10, 3.13, 4.0"]),
        ("{nodes: []}", "cluster.nodes", ["not empty"]),
        ("{nodes: a}", "cluster.nodes", ["a list of node names"]),
        ("{nodes: [a, a]}", "cluster", ["'a' appears twice"]),
        ("{nodes: [a, on]}", "cluster.nodes[1]", ['write "on"']),
        ("{}", "cluster", ["nodes is missing"]),
        ("3", "cluster", ["not a map"]),
        ("{nodes: [a], down: {b: stopped}}", "cluster.down.b", ["not a node"]),
        ("{nodes: [a], down: {a: asleep}}", "cluster.down.a", ["stopped, killed"]),
        ("{nodes: [a], cluster_partition_handling: heal}", "cluster.cluster_partition_handling", ["autoheal"]),
        (
            "{nodes: [a], cluster_partition_handling: {pause_if_all_down: [a]}}",
            "cluster.cluster_partition_handling",
            ["recover is missing"],
        ),
        ("{nodes: [a], net_ticktime: 0}", "cluster.net_ticktime", ["0.000001"]),
        ("{nodes: [a], timing: {network_mb_s: 0}}", "cluster.timing.network_mb_s", ["0.000001"]),
        ("{nodes: [a], quorum_cluster_size: 0}", "cluster.quorum_cluster_size", ["from 1"]),
    ],
)
def test_invalid_cluster_is_refused_with_its_place(each_parser, cluster, field, says):
    found = refused(f"scenario: t\ncluster: {cluster}\n")
    assert found.field == field
    assert found.line == 2
    for part in says:
        assert part in str(found)


def test_joining_node_cannot_be_down_initially():
    found = refused("scenario: t\ncluster: {nodes: [a], down: {d: stopped}}\nsteps: [join: d]")
    assert "'d' is not a node of the cluster" in str(found)


def test_refusal_names_line_step_field_given_and_accepted():
    found = refused(f"{HEAD}steps:\n- stop: b\n\n- publish:\n    queue: q\n    count: many\n", "drill.yaml")
    assert str(found) == (
        "drill.yaml, line 8: steps[1] (the 2nd step): publish.count: not accepted\n"
        "  given: 'many'\n"
        "  accepted: a whole number from 0 to 10**12"
    )


def test_path_is_loaded_and_named_in_messages(tmp_path):
    path = tmp_path / "drill.yaml"
    path.write_text(HEAD + "steps: [kill: d]")
    assert str(refused(path)).startswith(f"{path}, line 3: steps[0] (the 1st step): kill: ")
    path.write_text(HEAD)
    assert load(path) == load(HEAD)


def test_unreadable_files_are_refused(tmp_path):
    assert "cannot be read: No such file" in str(refused(tmp_path / "missing.yaml"))
    assert "cannot be read" in str(refused(tmp_path))
    assert "cannot be read" in str(refused(Path("\0")))


def test_plain_values_are_checked_like_files():
    assert read_scenario({"scenario": "t", "cluster": {"nodes": ["a"]}, "steps": [{"kill": "a"}]}).steps == (
        Step(Kill(("a",))),
    )
    assert read_step({"kill": "b", "at": 2}, ("a", "b")) == Step(Kill(("b",)), 2.0)
    with pytest.raises(ScenarioRefused) as caught:
        read_step({"kill": "d"}, ("a", "b"), index=4)
    assert (caught.value.step, caught.value.field, caught.value.accepted) == (4, "kill", "a, b")


@pytest.mark.parametrize(
    "value", [float("nan"), 2**63, "\ud800", b"x", {1: 2}, object()], ids=lambda value: type(value).__name__
)
def test_plain_values_that_a_file_cannot_hold_are_refused(value):
    with pytest.raises(ScenarioRefused):
        read_step({"declare": {"queue": "q", "arguments": {"x": value}}}, ("a",))
