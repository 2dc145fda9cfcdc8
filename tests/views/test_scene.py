"""The cluster as a scene for the lab: nodes, sides, rows and replicas as plain values."""

from __future__ import annotations

import json

import pytest
from views_outcomes import HOSTILE, QUORUM_PARTED, UNSYNCHRONISED, hostile, recorded

from hawb.scenario.load import load, read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views.cluster.scene import DETAILED, beyond, few, parts, scene
from hawb.views.formatting import shown


def drawn(text: str, back: int = 1) -> dict:
    """Return the scene at the end of a scenario, compared with the outcome `back` steps before."""
    run = Run.of(load(text))
    earlier = run.rewound(len(run.steps) - back)
    return scene(outcome(run), outcome(earlier), beyond(run.moment().state, run.settings.names))


def row(found: dict, queue: str) -> dict:
    """Return the only row of a queue."""
    (result,) = (one for one in found["rows"] if one["queue"] == queue)
    return result


def test_promoted_mirror_shows_its_missing_messages():
    result = row(drawn(UNSYNCHRONISED), "ha.orders")
    assert (result["first"], result["last"], result["lost"], result["gone"]) == (1, 110, 100, [[1, 100]])
    assert {node: cell["runs"] for node, cell in result["cells"].items()} == {
        "a": [[1, 110]], "b": [[101, 110]], "c": [[1, 110]],
    }  # fmt: skip
    b = result["cells"]["b"]
    assert (b["role"], b["was"]["role"]) == ("master", "unsynchronised")
    assert b["told"] == "unsynchronised mirror, 10 messages → master, 10 messages"
    assert result["cells"]["c"]["was"] is None


def test_mirror_shows_how_many_messages_it_lacks():
    result = row(drawn(UNSYNCHRONISED.replace("  - kill: a\n", "")), "ha.orders")
    assert {node: cell["lacks"] for node, cell in result["cells"].items()} == {"a": "", "b": "100", "c": ""}


def test_nodes_show_their_former_state():
    nodes = {node["name"]: node for node in drawn(UNSYNCHRONISED)["nodes"]}
    assert (nodes["a"]["state"], nodes["a"]["was"], nodes["b"]["was"]) == ("down", "running", None)


def test_sides_of_a_partition_are_separate_and_a_queue_has_one_row():
    found = drawn(QUORUM_PARTED.replace("wait: 15", "wait: 90"))
    assert [node["name"] for node in found["nodes"]] == ["a", "c", "d", "e", "b"]
    assert found["sides"] == [["a", "c"], ["d", "e"]]
    assert found["noticed"]
    result = row(found, "q")
    assert (result["views"], result["state"], result["online"]) == ([], "minority", "2/5")
    assert result["cells"].keys() == {"a", "b", "c", "d", "e"}


def test_each_of_two_masters_is_in_the_column_of_its_node():
    run = Run.of(load(TWO_MASTERS))
    result = row(scene(outcome(run), None, beyond(run.moment().state, run.settings.names)), "q")
    assert {node: cell["role"] for node, cell in result["cells"].items()} == {
        "a": "master", "b": "master", "c": "synchronised",
    }  # fmt: skip
    assert (result["views"], result["state"]) == ([], "running")


TWO_MASTERS = """
scenario: Both sides of a partition go on with a mirrored queue
cluster: {nodes: [a, b, c], version: "3.10"}
policies: [{name: ha, pattern: "", definition: {ha-mode: all}}]
steps:
- declare: {queue: q, node: a}
- cut: [[a, b]]
- wait: 75
"""


@pytest.mark.parametrize("version", ["3.8", "3.10", "3.13", "4.0", "4.3"])
def test_queue_has_one_row_for_all_sides(version):
    steps = [
        {"declare": {"queue": "q", "node": "a"}},
        {"declare": {"queue": "qq", "node": "a", "arguments": {"x-queue-type": "quorum"}}},
        {"cut": [["a", "b"]]}, {"wait": 75}, {"declare": {"queue": "late", "node": "b"}},
    ]  # fmt: skip
    cluster = {"nodes": ["a", "b", "c"], "version": version}
    run = Run.of(read_scenario({"scenario": "s", "cluster": cluster, "steps": steps}))
    found = scene(outcome(run), None, beyond(run.moment().state, run.settings.names))
    names = [one["queue"] for one in found["rows"]]
    assert len(names) == len(set(names))
    assert {"q", "qq", "late"} <= set(names)


def test_nodes_with_cut_links_are_drawn_apart_before_detection():
    data = {"nodes": dict.fromkeys("abcd", "running"), "partitions": []}
    assert parts(data, [("a", "b"), ("a", "d"), ("b", "c"), ("c", "d")]) == ([["a", "c"], ["b", "d"]], False)
    assert parts(data, [("a", "b")]) == ([], False)


def test_clients_are_drawn_at_their_node():
    found = drawn("""
scenario: clients
cluster: {nodes: [a, b], version: "3.10"}
steps:
- declare: {queue: q, node: a}
- publisher: {name: p, queue: q, rate: 10, node: b}
- consume: {consumer: c, queue: q, node: a, prefetch: 5}
- wait: 2
""")
    homes = {node["name"]: [client["told"] for client in node["clients"]] for node in found["nodes"]}
    assert homes["b"] == ["p publishes, running"]
    assert homes["a"][0].startswith("c consumes q, ")


def test_alarms_and_maintenance_are_shown_at_their_nodes():
    found = drawn("""
scenario: trouble
cluster: {nodes: [a, b], version: "3.10"}
steps:
- alarm: {node: a, resource: disk}
- drain: b
""")
    assert [node["trouble"] for node in found["nodes"]] == [["disk alarm"], ["maintenance"]]


def test_the_metadata_store_has_a_row():
    found = drawn('scenario: m\ncluster: {nodes: [a, b, c], version: "4.3"}\nsteps: [{wait: 1}]\n')
    assert (found["rows"][0]["type"], found["rows"][0]["label"]) == ("metadata", "metadata")
    assert "leads the store" in found["rows"][0]["told"]


def test_a_queue_may_be_called_metadata():
    steps = "steps: [{declare: {queue: metadata, node: a}}, {publish: {queue: metadata, count: 3}}]"
    store, queue = drawn(f'scenario: m\ncluster: {{nodes: [a], version: "4.3"}}\n{steps}\n')["rows"]
    assert (store["type"], queue["type"]) == ("metadata", "classic")
    assert store["queue"] != queue["queue"] == "metadata"
    assert (store["cells"]["a"]["runs"], queue["cells"]["a"]["runs"]) == (None, [[1, 3]])


def test_message_numbers_are_omitted_for_many_queues():
    steps = "".join(f"- declare: {{queue: q{number}, node: a}}\n" for number in range(DETAILED + 1))
    found = drawn(f"scenario: many\ncluster: {{nodes: [a], version: '3.10'}}\nsteps:\n{steps}")
    assert not found["detailed"]
    assert row(found, "q1")["cells"]["a"]["runs"] is None


def test_too_many_runs_are_merged():
    result = few(tuple((10 * number, 10 * number + number % 2) for number in range(1, 101)))
    assert (len(result), result[0][0], result[-1][1]) == (24, 10, 1000)


@pytest.mark.parametrize("name", HOSTILE)
def test_scene_is_plain_values_whatever_the_names(name):
    found = scene(hostile(name))
    assert json.loads(json.dumps(found)) == found
    assert found["rows"][0]["label"] == shown(name)
    assert {node["label"] for node in found["nodes"]} == {shown(name), "other"}


def test_a_recorded_outcome_has_a_scene_too():
    run = Run.of(load(UNSYNCHRONISED))
    assert row(scene(recorded(outcome(run))), "ha.orders")["cells"]["b"]["role"] == "master"
