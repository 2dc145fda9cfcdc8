"""Listings beside the definitions: what each format adds, and notes about what it lacks."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hawb.exports.imported import Imported, import_cluster, split_source
from hawb.exports.untrusted import ImportRefused
from hawb.scenario.document import Scenario

REAL = Path(__file__).parents[2] / "data" / "real"
A, B, C = "a@10.77.9.1", "b@10.77.9.2", "c@10.77.9.3"
HEADER = "name\tmessages\tpid\tslave_pids\tsynchronised_slave_pids"


def real(*names: str) -> Imported:
    return import_cluster(REAL / "definitions.json", [REAL / name for name in names])


def queue(result: Imported, name: str) -> dict[str, Any]:
    return next(entry for entry in result.scenario["queues"] if entry["queue"] == name)


def published(rate: Any) -> list[dict[str, Any]]:
    """Return a listing of a queue with this publish rate."""
    return [{"name": "b", "vhost": "/", "messages": 1, "message_stats": {"publish_details": {"rate": rate}}}]


def noted(result: Imported, *words: str) -> bool:
    return any(all(word in note for word in words) for note in result.notes)


@pytest.fixture
def beside(tmp_path: Path):
    """Import a small export (queues a, b in /, queue a in v) with listings given as Python values or text."""

    def run(*listings: Any, vhost: str = "", export: dict[str, Any] | None = None) -> Imported:
        queues = [{"name": "a", "vhost": "/"}, {"name": "b", "vhost": "/"}, {"name": "a", "vhost": "v"}]
        small = {"rabbitmq_version": "3.10.8", "vhosts": [{"name": "/"}, {"name": "v"}], "queues": queues}
        definitions = tmp_path / "definitions.json"
        definitions.write_text(json.dumps(small if export is None else export))
        files = [tmp_path / f"listing{number}" for number in range(len(listings))]
        for file, listing in zip(files, listings, strict=True):
            file.write_text(listing if isinstance(listing, str) else json.dumps(listing))
        return import_cluster(definitions, [f"{vhost}{file}" for file in files])

    return run


def test_management_listing_has_all_facts():
    result = real("api-queues.json", "api-nodes.json")
    assert result.scenario["cluster"] == {"nodes": [A, B, C], "version": "3.10", "net_ticktime": 60}
    assert queue(result, "orders.new") == {
        "queue": "orders.new", "messages": 900, "unacknowledged": 25, "size": 256, "master": A, "mirrors": [C],
        "synchronised_mirrors": [C], "recoverable_mirrors": [C],
    }  # fmt: skip
    assert queue(result, "orders.tmp.carts") == {"queue": "orders.tmp.carts", "messages": 60, "size": 256, "master": C}
    assert queue(result, "qq.payments") == {
        "queue": "qq.payments", "type": "quorum", "arguments": {"x-queue-type": "quorum"}, "messages": 1500,
        "size": 256, "members": [A, C, B], "leader": A,
    }  # fmt: skip
    assert queue(result, "shop::cart.03")["master"] == B
    assert queue(result, "avail.ticks") == {
        "queue": "avail.ticks", "durable": False, "messages": 200, "size": 256, "master": A, "mirrors": [B, C],
        "synchronised_mirrors": [B, C],
    }  # fmt: skip
    assert sum(entry["messages"] for entry in result.scenario["queues"]) == 15802
    assert not noted(result, "the files do not")
    assert len(msgspec.convert(result.scenario, Scenario).queues) == 31


def test_text_listing_has_replicas_and_depths():
    result = real("list_queues.txt", "list_queues-shop.txt")
    assert result.scenario["cluster"]["nodes"] == [A, B, C]
    assert queue(result, "ha.audit") == {
        "queue": "ha.audit", "arguments": {"x-queue-mode": "lazy"}, "messages": 8000, "master": B, "mirrors": [A, C],
        "synchronised_mirrors": [A, C],
    }  # fmt: skip
    assert queue(result, "shop::cart.11") == {
        "queue": "shop::cart.11", "arguments": {"x-queue-master-locator": "min-masters"}, "messages": 110, "master": C,
        "mirrors": [A], "synchronised_mirrors": [A],
    }  # fmt: skip
    assert queue(result, "qq.votes")["members"] == [B, C, A]
    assert noted(result, "list_queues-shop.txt", "'shop'", "by their names")
    for gap in ("messages are unacknowledged", "the message size", "recoverable mirrors"):
        assert noted(result, gap)
    assert noted(result, "no listing has the nodes", repr(C))


def test_json_of_rabbitmqctl_has_no_replicas():
    result = real("list_queues.json", "cluster_status.json")
    assert queue(result, "orders.new") == {"queue": "orders.new", "messages": 900, "unacknowledged": 25, "size": 256}
    assert queue(result, "qq.pair")["leader"] == A
    assert noted(result, "do not say where these queues are", "'orders.new'", "'two.mail'")
    assert noted(result, "in no listing", "'shop::cart.00'", "'shop::cart.11'")
    assert noted(result, "do not say the message size", "'qq.votes'")


def test_all_real_listings_agree():
    result = real(
        *(sorted(file.name for file in REAL.iterdir() if file.suffix != ".md" and file.stem != "definitions"))
    )
    assert not noted(result, "overrule")
    assert not noted(result, "policy")
    assert not noted(result, "the files do not")
    assert result.scenario["queues"] == real("api-queues.json").scenario["queues"]


def test_text_listing_may_have_a_banner_and_columns_in_any_order(beside):
    text = (
        "Timeout: 60.0 seconds ...\r\nListing queues for vhost v ...\r\nmemory\tslave_pids\tpid\tname\tmessages\r\n"
        "9\t[<y.z.1.2.3>, <w@h.1.2.3>]\t<rabbit@a.b.1.22.333>\ta\t4\r\n"
    )
    entry = queue(beside(text), "v::a")
    assert entry == {"queue": "v::a", "messages": 4, "master": "rabbit@a.b", "mirrors": ["y.z", "w@h"]}


def test_virtual_host_of_a_listing_is_inferred_or_required(beside):
    only_slash = [{"name": "b", "messages": 1}]
    assert queue(beside(only_slash), "b")["messages"] == 1
    ambiguous = [{"name": "a", "messages": 2}]
    with pytest.raises(ImportRefused, match="VHOST=listing0"):
        beside(ambiguous)
    assert queue(beside(ambiguous, vhost="v="), "v::a")["messages"] == 2
    assert queue(beside(ambiguous, vhost="/="), "a")["messages"] == 2
    rows = [{"name": "a", "vhost": "v", "messages": 3}]
    result = beside(rows, vhost="w=")
    assert queue(result, "v::a")["messages"] == 3
    assert noted(result, "'w' is not used")


def test_file_name_may_contain_an_equals_sign(tmp_path: Path):
    odd = tmp_path / "x=y"
    odd.touch()
    assert split_source(odd) == (odd, None)
    assert split_source(f"/={odd}") == (odd, "/")
    assert split_source("plain") == (Path("plain"), None)


def test_windows_path_may_follow_a_virtual_host():
    path = r"C:\Users\A B\own queues.json"
    assert split_source(path) == (Path(path), None)
    assert split_source(f"/={path}") == (Path(path), "/")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_utf_16_and_byte_order_marks_are_read(tmp_path: Path, encoding: str):
    marked = "\ufeff" if encoding == "utf-16-be" else ""
    copies = [tmp_path / name for name in ("definitions.json", "list_queues.txt")]
    for copy in copies:
        text = (REAL / copy.name).read_text(encoding="utf-8").replace("\n", "\r\n")
        copy.write_bytes(f"{marked}{text}".encode(encoding))
    assert import_cluster(copies[0], copies[1:]).scenario == real("list_queues.txt").scenario


def test_truncated_utf_16_is_refused(tmp_path: Path):
    (tmp_path / "queues").write_bytes(b"\xff\xfea\x00b")
    with pytest.raises(ImportRefused, match="UTF-16"):
        import_cluster(REAL / "definitions.json", [tmp_path / "queues"])


def test_later_listing_overrides_and_is_noted(beside):
    rows = [{"name": "b", "vhost": "/", "node": "n1", "messages": 1, "recoverable_slaves": None}]
    result = beside(rows, [rows[0] | {"node": "n2", "messages": None}])
    assert queue(result, "b") == {"queue": "b", "messages": 1, "master": "n2"}
    assert noted(result, "'b'", "listing1 overrules", "node")
    assert not noted(result, "overrules", "messages")


def test_contradictions_between_listing_and_definitions_are_noted(beside):
    rows = [
        {"name": "a", "vhost": "/", "messages": 0, "durable": False, "policy": "gone", "state": "down"},
        {"name": "amq.gen-1", "vhost": "/", "messages": 3, "exclusive": True},
        {
            "name": "new",
            "vhost": "/",
            "messages": 3,
            "type": "classic",
            "durable": False,
            "arguments": {"x-expires": 5},
        },
        {"name": "log", "vhost": "/", "messages": 3, "type": "stream"},
    ]
    result = beside(rows)
    assert queue(result, "a")["durable"] is False
    assert queue(result, "new")["arguments"] == {"x-expires": 5}
    assert [entry["queue"] for entry in result.scenario["queues"]] == ["a", "b", "log", "new", "v::a"]
    assert (queue(result, "log")["type"], queue(result, "log")["messages"]) == ("stream", 3)
    for words in (
        ("'a'", "durable differs"), ("'a'", "policy 'gone'"), ("'a'", "state 'down'"), ("'b'", "in no listing"),
        ("left out", "exclusive", "'/::amq.gen-1'"), ("'log'", "do not say where these queues are"),
        ("'new'", "not in the definitions"),
    ):  # fmt: skip
        assert noted(result, *words), words


def test_counts_and_sizes_are_read(beside):
    def entry(**row: Any) -> dict[str, Any]:
        return queue(beside([{"name": "b", "vhost": "/", **row}]), "b")

    assert entry(messages_ready=3, messages_unacknowledged=2) == {"queue": "b", "messages": 5, "unacknowledged": 2}
    assert entry(messages=3, message_bytes=500)["size"] == 167
    assert entry(messages=0, message_bytes=0) == {"queue": "b", "messages": 0}
    assert entry(messages=2, messages_unacknowledged=4) == {"queue": "b", "messages": 4, "unacknowledged": 4}
    assert "size" not in entry(messages=1, message_bytes=2**62)
    assert entry(state="running") == {"queue": "b", "messages": 0}


def test_contradictory_mirrors_are_noted(beside):
    row = {
        "name": "b",
        "vhost": "/",
        "messages": 0,
        "node": "m",
        "slave_nodes": ["m", "x"],
        "synchronised_slave_nodes": ["y"],
    }
    result = beside([row])
    assert queue(result, "b") == {"queue": "b", "messages": 0, "master": "m", "mirrors": ["x"]}
    assert noted(result, "contradict each other")


def test_quorum_queue_without_a_leader_is_imported(beside):
    export = {"queues": [{"name": "q", "vhost": "/", "type": "quorum"}]}
    row = {"name": "q", "vhost": "/", "messages": 0, "members": ["x", "y"], "online": ["y"], "leader": ""}
    result = beside([row], export=export)
    assert queue(result, "q") == {"queue": "q", "type": "quorum", "messages": 0, "members": ["x", "y"]}
    assert noted(result, "do not name a leader")
    assert noted(result, "'x' is not online")


@pytest.mark.parametrize(("running", "stopped"), [(True, ["x"]), (False, None)])
def test_offline_member_on_a_running_node_counts_as_stopped(running: bool, stopped: list[str] | None, beside):
    export = {"queues": [{"name": "q", "vhost": "/", "type": "quorum"}]}
    row = {"name": "q", "vhost": "/", "messages": 0, "members": ["x", "y"], "online": ["y"], "leader": "y"}
    nodes = [{"name": "x", "running": running}, {"name": "y", "running": True}]
    result = beside([row], nodes, export=export)
    assert queue(result, "q").get("stopped_members") == stopped
    assert not noted(result, "not online")


def test_nodes_down_and_unlisted_nodes_are_imported(beside):
    rows = [{"name": "b", "vhost": "/", "messages": 0, "node": "old", "recoverable_slaves": None}]
    status = {
        "running_nodes": ["n2"],
        "disk_nodes": ["n1", "n2"],
        "ram_nodes": ["n3"],
        "alarms": [{}],
        "partitions": [],
    }
    result = beside(rows, status | {"maintenance_status": {"n2": "under maintenance"}})
    assert result.scenario["cluster"]["nodes"] == ["n1", "n2", "n3", "old"]
    assert result.scenario["cluster"]["down"] == {"n1": "stopped", "n3": "stopped", "old": "forgotten"}
    left = ("'old'", "has left the cluster")
    for words in (left, ("'n3'", "RAM"), ("1 alarms",), ("'n2'", "maintenance"), ("are down",)):
        assert noted(result, *words), words


def test_management_listing_of_nodes_is_read(beside):
    nodes = [
        {"name": "n1", "running": True, "net_ticktime": 30, "mem_alarm": True, "partitions": ["n2"]},
        {"name": "n2", "running": False, "type": "ram"},
    ]
    result = beside(nodes)
    assert result.scenario["cluster"] | {"version": ""} == {
        "nodes": ["n1", "n2"], "down": {"n2": "stopped"}, "net_ticktime": 30, "version": "",
    }  # fmt: skip
    for words in (("'n1'", "memory alarm"), ("'n1'", "partition from 'n2'"), ("'n2'", "RAM")):
        assert noted(result, *words), words
    result = beside(nodes, {"running_nodes": ["n2"], "disk_nodes": []})
    assert noted(result, "listing1", "'n1'", "earlier listing names")
    assert noted(result, "listing1", "whether 'n2' runs")


def test_policies_are_checked(beside):
    policy = {
        "vhost": "/",
        "name": "p",
        "pattern": "x",
        "definition": {"ha-mode": "all"},
        "priority": 1,
        "apply-to": "all",
    }
    export = {"vhosts": [{"name": "/"}], "policies": [policy, policy | {"name": "kept"}]}
    result = beside([policy | {"definition": '{"ha-mode": "nodes"}'}, policy | {"name": "more"}], export=export)
    assert [(entry["name"], entry["definition"]["ha-mode"]) for entry in result.scenario["policies"]] == [
        ("p", "nodes"), ("kept", "all"), ("more", "all"),
    ]  # fmt: skip
    assert noted(result, "'/::p'", "otherwise in the definitions; listing0 is used")
    assert noted(result, "'/::more'", "not in the definitions")
    assert noted(result, "'/::kept'", "not in listing0")


def test_release_and_totals_of_a_listing_are_used(beside):
    result = beside({"rabbitmq_version": "3.8.9", "object_totals": {"queues": 4}})
    assert result.scenario["cluster"]["version"] == "3.8"
    assert noted(result, "'3.8.9'", "'3.10.8'")
    assert noted(result, "reports 4 queues, but the files name 3")
    versions = {"n1": {"rabbitmq_version": "3.8.9"}, "n2": {"rabbitmq_version": "3.8.10"}}
    result = beside({"running_nodes": ["n1", "n2"], "versions": versions})
    assert result.scenario["cluster"]["version"] == "3.10"
    assert noted(result, "different releases")


def test_paginated_and_empty_listings_are_noted(beside):
    result = beside({"items": [{"name": "b", "vhost": "/", "messages": 7}], "page": 1, "page_count": 3}, [])
    assert queue(result, "b")["messages"] == 7
    assert noted(result, "one of 3 pages")
    assert noted(result, "listing1", "empty")


@pytest.mark.parametrize(
    ("listing", "place", "accepted"),
    [
        ("user\ttags\nsecret\t[]\n", "line 1", "/api/queues"),
        ("secret\t[]\n", "line 1", "/api/queues"),
        ("name\ntracing\n", "line 1", "/api/queues"),
        ([{"name": "secret", "password_hash": "secret", "tags": []}], "the whole file", "/api/queues"),
        ([{"name": "secret", "user": "secret", "node": "n", "state": "running"}], "the whole file", "/api/queues"),
        ({"users": [], "queues": []}, "the whole file", "/api/queues"),
        ([1], "[0]", "object"),
        ("[1", "line 1, column 3", "JSON"),
        (f"{HEADER}\nb\tmany\n", "line 2, messages", "whole number"),
        (f"{HEADER}\nb\t1\t<secret\n", "line 2, pid", "NODE"),
        (f"{HEADER}\nb\t1\t\t<x.1.2.3>\n", "line 2, slave_pids", "brackets"),
        (f"{HEADER}\nb\t1\t\t[<x.1.2.3>, <x.1.3.4>]\n", "line 2, slave_pids", "once"),
        (f"{HEADER}\nb\t1\t\t\t\t\n", "line 2", "5 columns"),
        (f"{HEADER}\n\t1\n", "line 2", "a name"),
        ([{"name": "b", "vhost": "/", "messages": -1}], "[0].messages", "a whole number, at least 0"),
        ([{"name": "b", "vhost": "/", "messages": True}], "[0].messages", "a whole number or text or null"),
        ([{"name": "b", "vhost": "/", "members": [None]}], "[0].members", "text"),
        ([{"name": "b" * 300, "messages": 1}], "[0].name", "text of at most 255 characters"),
        ([{"name": "", "messages": 1}], "[0].name", "text of at least 1 character"),
        ([{"name": "b", "messages": 1, "message_stats": "secret"}], "[0], message_stats", "an object of counters"),
        ([{"name": "b", "messages": 1, "message_stats": ["secret"]}], "[0].message_stats", "a list, empty"),
        (f"{HEADER.replace('pid', 'message_stats', 1)}\nb\t1\tsecret\n", "line 2, message_stats", "an object"),
        (published({}), "rate", "a number or null"),
        (published("secret"), "rate", "a number or null"),
        (published(True), "rate", "a number or null"),
        (published(-0.1), "rate", "a number, at least 0"),
        (published(1e9), "rate", "a number, at most 1"),
        (published(float("nan")), "a number in the file", "JSON"),
        (json.dumps(published(7)).replace("7", "1e999"), "rate", ""),
        ([{"name": "n", "running": True, "io_sync_avg_time": -1}], "[0].io_sync_avg_time", "a number, at least 0"),
        ([{"name": "n", "running": True, "io_sync_avg_time": "secret"}], "[0].io_sync_avg_time", "a number"),
        ([{"name": "b", "vhost": "/", "messages": 1, "durable": "secret"}], "[0], durable", "true or false"),
        ([{"name": "b", "vhost": "/", "messages": 1, "arguments": [["x"]]}], "[0], arguments", "[name, type, value]"),
        ({"items": "secret"}, "items", "a list"),
        ({"running_nodes": "secret"}, "running_nodes", "a list"),
    ],
)
def test_invalid_listing_is_refused_in_one_message(beside, listing: Any, place: str, accepted: str):
    with pytest.raises(ImportRefused) as caught:
        beside(listing)
    assert place in caught.value.place
    assert accepted in caught.value.accepted
    assert "secret" not in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 4


@given(
    name=st.sampled_from(
        ["list_queues.txt", "api-queues.json", "list_queues.json", "cluster_status.json", "api-nodes.json"]
    ),
    seed=st.integers(0, 2**32),
)
def test_mangled_listing_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, name: str, seed: int):
    draw, text = random.Random(seed), (REAL / name).read_text()
    for _ in range(draw.randint(1, 3)):
        start = draw.randrange(len(text))
        text = (
            text[:start]
            + draw.choice(["", "\t", "\n", '"', "null", "[", "]", "0", "\0", "<"])
            + text[start + draw.randint(0, 9) :]
        )
    file = tmp_path_factory.getbasetemp() / name
    file.write_text(text)
    try:
        result = import_cluster(REAL / "definitions.json", [file])
    except ImportRefused:
        return
    msgspec.convert(result.scenario, Scenario)
