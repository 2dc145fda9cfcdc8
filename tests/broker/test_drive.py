"""The driver of a real cluster: when queues have settled, which node a client uses, and refusals."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hawb.broker import membership
from hawb.broker.drive import SILENT, TAKEOVER_S, Drive, replicas
from hawb.broker.namespaces import Network


@pytest.mark.parametrize(
    ("row", "works"),
    [
        ({"information": {"state": ["syncing", 3]}}, True),
        ({"information": {"state": "running"}}, False),
        ({"information": SILENT}, True),
        ({"information": None, "mirrors": ["n2@x"]}, True),
        ({"information": None, "mirrors": []}, False),
        ({"information": None, "mirrors": ["n2@x"], "live": False}, False),
    ],
)
def test_queue_that_synchronises_or_awaits_a_new_master_is_not_settled(row: dict, works: bool) -> None:
    drive = SimpleNamespace(cluster=SimpleNamespace(network=Network(2)), held=False, _given_up=set())
    row = {"live": True, "mirrors": []} | row
    assert Drive._works(drive, row) is works
    drive.cluster.network = SimpleNamespace(whole=False)
    assert Drive._works(drive, row) is (works and isinstance(row["information"], dict))


def test_failed_promotion_is_waited_for_once() -> None:
    drive = SimpleNamespace(cluster=SimpleNamespace(network=Network(2)), held=False, _given_up=set())
    row = {"vhost": "/", "name": "q", "process": "n1@x", "live": True, "mirrors": ["n2@x"], "information": None}
    assert Drive._works(drive, row) and not Drive._works(drive, row, TAKEOVER_S + 1)
    drive._given_up = {replicas(row)}
    assert not Drive._works(drive, row)
    assert Drive._works(drive, row | {"mirrors": ["n3@x"]})


def test_synchronisation_suspended_by_an_alarm_counts_as_settled() -> None:
    drive = object.__new__(Drive)
    nodes = {node: SimpleNamespace(alive=node == "a") for node in "ab"}
    drive.cluster = SimpleNamespace(network=Network(2), nodes=nodes)
    found = []
    for alarms in ({("a", "disk")}, {("b", "memory")}, {("a", "memory")}):
        drive.alarms = alarms
        found += [drive._works({"information": item}) for item in ({"state": ["syncing", 3]}, SILENT)]
    assert found == [True, True, True, True, False, False]


def test_synchronisation_has_settled_when_the_backlog_is_empty() -> None:
    drive = SimpleNamespace(cluster=SimpleNamespace(network=Network(2)), held=False, _given_up=set())
    row = {"live": True, "mirrors": ["n2@x"], "information": {"state": "running"}, "backlog": 3}
    assert Drive._works(drive, row)
    assert not Drive._works(drive, row | {"backlog": 0})
    drive.cluster.network = SimpleNamespace(whole=False)
    assert not Drive._works(drive, row)


def test_erlang_term_of_several_lines_is_joined() -> None:
    drive = object.__new__(Drive)
    drive.cluster, drive.errors, drive._step = SimpleNamespace(names={"n1@10.77.0.1": "a"}), [], 3
    drive.refuse(541, "{timeout,\n           {'%2F_q',\n            'n1@10.77.0.1'}}")
    assert drive.errors == [{"step": 3, "code": 541, "text": "{timeout,{'%2F_q','a'}}"}]


def test_client_without_a_node_uses_the_first_node_that_accepts_clients():
    nodes = [SimpleNamespace(name=name) for name in "abc"]
    drive = object.__new__(Drive)
    drive.cluster = SimpleNamespace(nodes={node.name: node for node in nodes}, running=lambda: nodes,
                                    is_running=lambda _node: True)  # fmt: skip
    drive.members, drive.drained, drive.errors, drive._step = {"b", "c"}, {"b"}, [], 0
    asked: list[str] = []
    drive.operate = asked.append
    drive.client(None, lambda name: name)
    drive.client("b", lambda name: name)
    drive.drained = {"b", "c"}
    drive.client(None, lambda name: name)
    assert asked == ["c", "b", "b"]  # where all are drained the first refuses


def test_wiped_node_is_not_asked_and_is_forgotten_without_a_broker():
    done: list[str] = []
    nodes = {
        name: SimpleNamespace(name=name, kill=lambda: done.append("kill"), wipe=lambda: done.append("wipe"))
        for name in "ab"
    }
    drive = object.__new__(Drive)
    drive.cluster = SimpleNamespace(nodes=nodes, running=lambda: list(nodes.values()))
    drive.members, drive.errors, drive._step = {"a", "b"}, [], 0
    assert drive.first_running().name == "a"
    assert membership.wipe(drive, nodes["a"]) is None
    assert drive.first_running().name == "b"
    assert membership.start(drive, [nodes["a"]]) == "node 'a' has not joined the cluster"
    assert membership.reset(drive, nodes["a"]) is None
    assert done == ["kill", "wipe"] * 2
