"""Quorum queues on a real cluster: tests that need no cluster. `test_real_live.py` plays one."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from hawb.broker.actions import ACTIONS, modules_of_streams
from hawb.broker.clients import Account, Clients, Subscriber
from hawb.broker.connections import Channel, Refused
from hawb.broker.control import Atom
from hawb.broker.drive import TAKEOVER_S, Drive, replicas
from hawb.broker.driven import undriven
from hawb.broker.namespaces import Network
from hawb.broker.observe import glance, homes_of, is_served, is_whole, queue_of, seen_by, served_at, sides
from hawb.broker.real import Played
from hawb.broker.standing import as_written, change_members
from hawb.conformance.compare import alike, compare, differences
from hawb.conformance.consumer_races import rejecting, without_consumers
from hawb.conformance.leader_races import luckily_led
from hawb.rules.profiles import PROFILES
from hawb.scenario import verbs
from hawb.scenario.document import QueueEntry
from hawb.scenario.load import load, read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

ERLANG = {"a": "n1@x", "b": "n2@x", "c": "n3@x"}
COUNTS = {"messages": 5, "messages_ready": 3, "messages_unacknowledged": 2}


def row(online: str, leader: str | None, **others: Any) -> dict[str, Any]:
    """Return a quorum queue on a, b and c as `control.erl` reports it."""
    return {
        "vhost": "/", "name": "q", "type": "rabbit_quorum_queue", "durable": True, "policy": None,
        "operator_policy": None, "live": True, "process": ["%2F_q", "n1@x"], "members": ["n3@x", "n1@x", "n2@x"],
        "online": [ERLANG[node] for node in online], "leader": leader and ERLANG[leader],
        "information": COUNTS if leader else None, "consumers": {}, **others,
    }  # fmt: skip


def drive_of(**parts: Any) -> SimpleNamespace:
    """Return a stand-in for a drive without a cluster."""
    names = {erlang: name for name, erlang in ERLANG.items()}
    running = [SimpleNamespace(name=name) for name in "abc"]
    known = {"names": names, "erlang": ERLANG, "profile": PROFILES["3.10"]}
    cluster = SimpleNamespace(**known, network=Network(3), running=lambda: running)
    return SimpleNamespace(cluster=cluster, **parts)


# --- what is seen ---


def test_quorum_queue_is_reported_with_leader_members_and_counts() -> None:
    result = queue_of(drive_of(), row("cab", "b"))
    assert result == {
        "type": "quorum", "state": "running", "durable": True, "policy": None, "operator_policy": None, "leader": "b",
        "members": ["a", "b", "c"], "online": ["a", "b", "c"], "critical_nodes": [], **COUNTS,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("online", "leader", "state", "critical"),
    [("ab", "a", "running", ["a", "b"]), ("a", "a", "minority", ["a"]), ("c", None, "minority", ["c"])],
)
def test_quorum_queue_without_a_majority_is_in_state_minority(
    online: str, leader: str | None, state: str, critical: list[str]
) -> None:
    result = queue_of(drive_of(), row(online, leader))
    assert (result["state"], result["leader"], result["critical_nodes"]) == (state, leader, critical)
    assert ("messages" in result) is (leader is not None)


def test_missing_count_of_the_leader_is_omitted() -> None:
    result = queue_of(drive_of(), row("abc", "a", information=COUNTS | {"messages": None}))
    assert "messages" not in result
    assert result["messages_ready"] == 3


def test_views_of_a_quorum_queue_show_its_leader_as_master() -> None:
    known = {"a": row("a", "a"), "b": row("bc", "c"), "c": row("bc", "c")}
    assert seen_by({node: queue_of(drive_of(), seen) for node, seen in known.items()}) == [
        {"nodes": ["a"], "state": "minority", "master": "a", "mirrors": []},
        {"nodes": ["b", "c"], "state": "running", "master": "c", "mirrors": []},
    ]


def test_quorum_queue_is_read_where_it_has_a_majority() -> None:
    alone, both = queue_of(drive_of(), row("a", "a")), queue_of(drive_of(), row("abc", "a"))
    parted = alone | {"views": [{"nodes": ["a"], "state": "minority"}, {"nodes": ["b", "c"], "state": "running"}]}
    assert [is_served(queue) for queue in (alone, both, parted)] == [False, True, True]
    assert [served_at(drive_of(), queue) for queue in (both, parted)] == ["a", "b"]
    assert homes_of(alone) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("queue", "whole"),
    [
        ({"state": "running"}, True),
        ({"state": "running", "messages": 3}, True),
        ({"state": "running", "messages": 2}, False),
        ({"state": "minority", "messages": 2}, True),
        ({"state": "minority", "messages": 4}, False),
    ],
)
def test_read_messages_are_reported_only_if_complete(queue: dict[str, Any], whole: bool) -> None:
    assert is_whole(queue, {"ids": [[1, 3]]}) is whole


@pytest.mark.parametrize(
    ("result", "works"),
    [(row("abc", "a"), False), (row("bc", None), True), (row("c", None), False), (row("bc", None, live=False), False)],
)
def test_majority_without_a_leader_is_not_settled(result: dict[str, Any], works: bool) -> None:
    drive = drive_of(_given_up=set())
    assert Drive._works(drive, result) is works
    assert not Drive._works(drive, result, TAKEOVER_S + 1)
    drive._given_up = {replicas(result)}
    assert not Drive._works(drive, result)
    back = {"online": list(ERLANG.values())}
    assert Drive._works(drive, result | back) is (result["live"] and result["leader"] is None)
    drive.cluster.network = SimpleNamespace(whole=False)
    assert Drive._works(drive, result) is False


def test_queue_name_that_never_existed_is_not_reported_as_deleted() -> None:
    clients = SimpleNamespace(accounts={"never": Account(published=1)}, subscribers={}, publishers={}, declared={"was"})
    drive = drive_of(snapshot=lambda: {"a": {"state": "running", "queues": []}}, clients=clients, errors=[])
    assert glance(drive)["deleted"] == ["was"]


def test_undetected_dead_node_is_no_partition() -> None:
    all_nodes, left, alone = list(ERLANG.values()), [ERLANG["a"], ERLANG["c"]], [ERLANG["a"]]
    assert sides(drive_of(), {"a": {"nodes": left}, "b": {}, "c": {"nodes": all_nodes}}) == []
    assert sides(drive_of(), {"a": {"nodes": alone}, "b": {}, "c": {"nodes": all_nodes[1:]}}) == [["a"], ["c"]]


HELD = """
scenario: Two hold one message each
cluster: {nodes: [a, b, c], version: "3.10"}
steps:
  - declare: {queue: q, arguments: {x-queue-type: quorum}}
  - publish: {queue: q, count: 4}
  - get: {queue: q, count: 1, ack: false, consumer: one}
  - get: {queue: q, count: 1, ack: false, consumer: other}
"""


@pytest.mark.parametrize(("ids", "same"), [([[2, 2], [1, 1], [3, 4]], True), ([[1, 2], [4, 4], [3, 3]], False)])
def test_messages_of_several_consumers_may_return_in_any_order(ids: list[list[int]], same: bool) -> None:
    scenario = load(HELD)
    result = outcome(Run.of(scenario))
    result["queues"]["q"]["ids"] = ids
    assert (compare(Played(scenario, result, {})) == []) is same


@pytest.mark.parametrize(("between", "lucky"), [([], set()), ([{"publish": {"queue": "q", "count": 1}}], {"q"})])
def test_leader_is_not_compared_after_a_silent_link(between: list, lucky: set[str]) -> None:
    declare = {"declare": {"queue": "q", "node": "a", "arguments": {"x-queue-type": "quorum"}}}
    steps = [declare, {"cut": [["a", "b"]]}, *between, {"heal": True}]
    scenario = read_scenario({"scenario": "s", "cluster": {"nodes": ["a", "b", "c"]}, "steps": steps})
    assert luckily_led(scenario, outcome(Run.of(scenario))) == lucky


@pytest.mark.parametrize(
    ("step", "lucky"),
    [
        ({"publish": {"queue": "log", "count": 1}}, set()),
        ({"transfer_leadership": {"queue": "log", "node": "b"}}, {"log", "other"}),
        ({"delete_member": {"queue": "q", "node": "c"}}, {"log", "other"}),
    ],
)
def test_leaders_of_streams_are_not_compared_after_a_new_epoch(step: dict, lucky: set[str]) -> None:
    types = {"log": "stream", "other": "stream", "q": "quorum"}
    steps = [{"declare": {"queue": name, "node": "a", "arguments": {"x-queue-type": kind}}}
             for name, kind in types.items()]  # fmt: skip
    cluster = {"nodes": ["a", "b", "c"], "version": "4.3"}
    scenario = read_scenario({"scenario": "s", "cluster": cluster, "steps": [*steps, step]})
    assert luckily_led(scenario, outcome(Run.of(scenario))) == lucky


def test_activity_status_of_a_closed_consumer_is_not_compared() -> None:
    model = {"consumers": {"one": {"state": "closed", "activity_status": None}}}
    for state, found in (("closed", []), ("active", ["consumers.one.state", "consumers.one.activity_status"])):
        broker = {"consumers": {"one": {"state": state, "activity_status": "suspected_down"}}}
        assert [field for field, _, _ in differences(model, broker)] == found


def cancelled_by_luck(scenario: dict[str, Any], **broker: Any) -> list[str]:
    """Return the differing fields if the broker reports these values for the consumer `c`."""
    read = read_scenario({"scenario": "s", "cluster": {"nodes": ["a", "b"]}} | scenario)
    result = outcome(Run.of(read))
    mine, seen = alike(read, result, result | {"consumers": {"c": result["consumers"]["c"] | broker}}, {})
    return [field for field, _, _ in differences(mine, seen)]


CONSUMED = [
    {"declare": {"queue": "q", "node": "a", "arguments": {"x-queue-type": "quorum"}}},
    {"consume": {"consumer": "c", "queue": "q", "node": "b"}},
    {"delete": {"queue": "q", "node": "a"}},
]
NOT_NOTIFIED = {"state": "active", "cancel_notified": False}


@pytest.mark.parametrize(
    ("version", "differs"), [("3.10", []), ("4.0", ["consumers.c.state", "consumers.c.cancel_notified"])]
)
def test_cancel_notification_after_deleting_a_quorum_queue_is_not_compared(version: str, differs: list[str]) -> None:
    cluster = {"nodes": ["a", "b"], "version": version}
    assert sorted(cancelled_by_luck({"cluster": cluster, "steps": CONSUMED}, **NOT_NOTIFIED)) == sorted(differs)
    classic = [{"declare": {"queue": "q", "node": "a"}}, *CONSUMED[1:]]
    assert len(cancelled_by_luck({"cluster": cluster, "steps": classic}, **NOT_NOTIFIED)) == 2


@pytest.mark.parametrize(("later", "differs"), [({"at": 9}, 2), ({}, 0)])
def test_waiting_consumer_may_be_cancelled_during_untimed_steps(later: dict, differs: int) -> None:
    policy = {"set_policy": {"name": "p", "pattern": "q", "definition": {"ha-mode": "nodes", "ha-params": ["a"]}}}
    steps = [policy, {"declare": {"queue": "q", "node": "a"}}, CONSUMED[1], {"kill": "a"}, {"start": "a"} | later]
    found = cancelled_by_luck({"steps": steps}, state="cancelled", cancel_notified=True)
    assert len(found) == differs


def test_messages_of_a_consumer_cancelled_by_chance_are_not_compared() -> None:
    holding = {"state": "running", "messages": 2, "messages_ready": 0, "messages_unacknowledged": 2}
    dropped = {"event": "messages_dead_lettered", "queue": "q", "detail": {"targets": ["dead"]}}
    names = ("q", "dead", "other")
    account = {"published": 2, "confirmed": [[1, 1]], "nacked": [[2, 2]]}
    data = {"consumers": {"c": {}}, "queues": dict.fromkeys(names, holding), "ledger": dict.fromkeys(names, account)}
    rest = without_consumers(data, {"c": "q"}, [dropped], {"q", "other"})
    assert rest["consumers"] == {}
    assert rest["queues"] == {name: {"state": "running"} for name in names[:2]} | {"other": holding}
    assert rest["ledger"] == {"q": {"published": 2}, "dead": account, "other": account}


def test_queues_with_reject_publish_are_found_by_their_arguments() -> None:
    declared = [{"declare": {"queue": name, "node": "a", "arguments": {"x-max-length": 1} | overflow}}
                for name, overflow in (("q", {"x-overflow": "reject-publish"}), ("r", {"x-overflow": "drop-head"}),
                                       ("s", {}), ("t", {"x-overflow": "reject-publish-dlx"}))]  # fmt: skip
    assert rejecting(read_scenario({"scenario": "s", "cluster": {"nodes": ["a"]}, "steps": declared})) == {"q", "t"}


# --- what is done ---


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        (verbs.AddMember("dev::q", "b"), ("rabbit_quorum_queue", "add_member", "dev", "q", "n2@x", 5000)),
        (verbs.AddMember("dev::log", "b"), ("rabbit_stream_queue", "add_replica", "dev", "log", "n2@x")),
        (verbs.DeleteMember("q", "c"), ("rabbit_quorum_queue", "delete_member", "/", "q", "n3@x")),
        (verbs.DeleteMember("dev::log", "c"), ("rabbit_stream_queue", "delete_replica", "dev", "log", "n3@x")),
        (verbs.Grow("c", "even", "^q"), ("rabbit_quorum_queue", "grow", "n3@x", ".*", "^q", "even")),
        (verbs.Shrink("a"), ("rabbit_quorum_queue", "shrink_all", "n1@x")),
    ],
)
def test_member_changes_call_the_functions_of_the_command_line(verb: Any, expected: tuple) -> None:
    asked = []

    def record(*arguments: Any, **_: Any) -> None:
        asked.append(arguments)

    clients = SimpleNamespace(streams={"dev::log"})
    ACTIONS[type(verb)](drive_of(rabbitmqctl=record, rabbitmq_queues=record, clients=clients), verb)
    assert asked == [expected]
    assert isinstance(asked[0][expected.index(ERLANG[verb.node])], Atom)


@pytest.mark.parametrize(
    ("version", "modules"), [("4.0", ["rabbit_quorum_queue"]), ("4.3", ["rabbit_quorum_queue", "rabbit_stream_queue"])]
)
def test_grow_and_shrink_include_streams_if_the_release_supports_it(version: str, modules: list[str]) -> None:
    asked = []

    def record(*arguments: Any, **_: Any) -> None:
        asked.append(arguments[:2])

    drive = drive_of(rabbitmq_queues=record, clients=SimpleNamespace(streams={"log"}))
    drive.cluster.profile = PROFILES[version]
    for verb in (verbs.Grow("c", "even", "^q"), verbs.Shrink("a")):
        ACTIONS[type(verb)](drive, verb)
    functions = {"rabbit_quorum_queue": ("grow", "shrink_all"), "rabbit_stream_queue": ("grow", "delete_all_replicas")}
    assert asked == [(module, functions[module][at]) for at in (0, 1) for module in modules]


def test_uncommitted_messages_of_a_stream_are_not_compared() -> None:
    stream = {"type": "stream", "ids": [[1, 10], [16, 18], [11, 15]], "uncommitted": [[11, 15], [17, 17]]}
    model = {"queues": {"log": stream, "q": stream | {"type": "quorum"}}, "consumers": {}, "errors": [], "events": []}
    seen = {"queues": {"log": {"ids": [[1, 10], [16, 16], [18, 18]]}, "q": {"ids": stream["ids"]}}}
    assert list(differences(model, seen)) == []
    model["queues"]["log"] |= {"uncommitted": [[11, 15]]}
    assert [field for field, *_ in differences(model, seen)] == ["queues.log.ids"]


def test_closed_consumer_cannot_ack() -> None:
    clients = Clients(SimpleNamespace(), {})
    clients.subscribers["one"] = Subscriber("one", "q", "default", "a", SimpleNamespace(), state="closed")
    with pytest.raises(Refused, match="consumer 'one' is closed"):
        asyncio.run(clients.answer("one", "all", "ack"))


def test_channel_closes_without_cancelling_its_consumers() -> None:
    async def close() -> dict:
        def end() -> None:
            left.update(pika._consumers)
            channel.closed(ConnectionError())

        left: dict = {}
        pika = SimpleNamespace(is_open=True, _consumers={"one": None}, close=end, add_on_close_callback=lambda _: None)
        channel = Channel(asyncio.get_running_loop(), pika)
        await channel.close()
        return left

    assert asyncio.run(close()) == {}


# --- how it begins ---

STANDING = "scenario: x\ncluster: {nodes: [a, b, c]}\nqueues: [{queue: q, type: quorum, members: [a, b]"


def test_initial_quorum_queue_can_be_built_unless_it_has_no_leader() -> None:
    assert undriven(load(STANDING + ", leader: b}]\nsteps: []")) == []
    (reason,) = undriven(load(STANDING + "}]\nsteps: []"))
    assert reason == "queues[0]: a quorum queue without a leader cannot be built"


def test_members_are_added_first_then_removed_then_leadership_transferred() -> None:
    done: list[Any] = []
    drive = drive_of(
        apply=lambda _index, step: done.append(step.verb),
        settle=lambda: None,
        snapshot=lambda: {"a": {"queues": [row("abc", "a", members=["n1@x", "n3@x"])]}},
    )
    change_members(drive, QueueEntry("q", "quorum", leader="b", members=("b", "a")))
    assert done == [verbs.AddMember("q", "b"), verbs.DeleteMember("q", "c"), verbs.TransferLeadership("q", "b")]
    done.clear()
    change_members(drive, QueueEntry("q", "quorum", leader="a", members=("a", "c")))
    change_members(drive, QueueEntry("q", "quorum"))
    assert done == []


def test_initial_placement_of_a_queue_as_written() -> None:
    quorum = QueueEntry("q", "quorum", leader="b", members=("b", "a"), messages=2)
    classic = QueueEntry("q", master="a", mirrors=("c", "b"), synchronised_mirrors=("c", "b"))
    assert as_written(quorum) == {"leader": "b", "members": ["a", "b"], "messages": 2}
    assert as_written(classic) == {
        "master": "a", "mirrors": ["c", "b"], "synchronised_mirrors": ["b", "c"], "messages": 0,
    }  # fmt: skip
    assert as_written(QueueEntry("q")) == as_written(QueueEntry("q", "quorum")) == {}


@pytest.mark.parametrize(("version", "streams", "modules"), [
    ("3.8", (), []), ("3.8", ("s",), []), ("4.3", (), []), ("4.3", ("s",), ["rabbit_stream_queue"]),
])  # fmt: skip
def test_streams_grow_if_release_and_story_have_them(version, streams, modules):
    cluster = SimpleNamespace(profile=SimpleNamespace(version=version))
    assert modules_of_streams(SimpleNamespace(cluster=cluster, clients=SimpleNamespace(streams=streams))) == modules
