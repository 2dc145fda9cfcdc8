"""Resources of Kubernetes' operators are read as the export that their cluster would write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ci_forms import place_of, results_of
from click.testing import CliRunner
from inventories import ROOT

from hawb.cli import main
from hawb.cli.files import is_scenario
from hawb.exports.definitions import Definitions, holds_export, read_definitions
from hawb.exports.imported import import_cluster
from hawb.exports.resources import manifests
from hawb.exports.routing import read_routing
from hawb.exports.untrusted import ImportRefused
from hawb.planning.inventory import of_files
from hawb.scenario.load import read_scenario

ORDERS = ROOT / "data" / "operator" / "orders.yaml"
NODES = [f"rabbit@orders-server-{number}.orders-nodes.shop" for number in range(3)]
SECRET = "c2VjcmV0LXdvcmQ="


def written(folder: Path, *resources: str) -> Path:
    file = folder / "cluster.yaml"
    file.write_text("\n---\n".join(resources))
    return file


def resource(kind: str, spec: str, version: str = "rabbitmq.com/v1beta1") -> str:
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: one}}\nspec: {spec}"


def read(folder: Path, *resources: str) -> Definitions:
    return read_definitions(written(folder, *resources))


def hawb(*arguments: object):
    return CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False)


# --- what is read ---


def test_cluster_resource_gives_nodes_release_and_settings():
    scenario = import_cluster(ORDERS).scenario
    assert scenario["cluster"] == {
        "nodes": NODES, "version": "3.13", "cluster_partition_handling": "pause_minority",
        "queue_master_locator": "min-masters", "net_ticktime": 30,
    }  # fmt: skip
    assert [policy["name"] for policy in scenario["policies"]] == ["mirror-orders", "carts-expire"]
    queues = {one.queue: one for one in read_scenario(scenario).queues}
    assert {name: (one.type, one.durable) for name, one in queues.items()} == {
        "orders.carts": ("classic", True), "payments": ("quorum", True),
    }  # fmt: skip


def test_defaults_are_those_of_the_operators(tmp_path: Path):
    found = read(
        tmp_path,
        resource("Queue", "{name: q}"),
        resource("Policy", "{name: p, pattern: q, definition: {max-length: 1}}"),
        resource("OperatorPolicy", "{name: o, pattern: q, vhost: shop, definition: {max-length: 1}}"),
        resource("RabbitmqCluster", "{}"),
    )
    [queue] = found.queues.values()
    assert (queue.vhost, queue.type, queue.durable, queue.auto_delete) == ("/", "classic", False, False)
    [policy] = found.policies.values()
    assert (policy["vhost"], policy["apply_to"], policy["priority"]) == ("/", "all", 0)
    [operator] = found.operator_policies.values()
    assert (operator["vhost"], operator["apply_to"]) == ("shop", "queues")
    assert [*found.nodes] == ["rabbit@one-server-0.one-nodes.default"]
    assert found.settings == {"cluster_partition_handling": "pause_minority", "queue_master_locator": "min-masters"}
    assert "RabbitmqCluster 'one' names no image; the operator uses its default image: release unknown" in found.notes


@pytest.mark.parametrize(
    ("image", "release"),
    [
        ("rabbitmq:3.13.7-management", "3.13.7"),
        ("registry:5000/team/rabbitmq:v4.1-alpine", "4.1"),
        ("registry:5000/rabbitmq", None),
        (f"rabbitmq@sha256:4{'0' * 63}", None),
        (f"rabbitmq:3.8@sha256:4{'0' * 63}", "3.8"),
    ],
)
def test_image_tag_is_the_release(image: str, release: str | None, tmp_path: Path):
    assert read(tmp_path, resource("RabbitmqCluster", f'{{image: "{image}"}}')).release == release


def test_setting_that_cannot_be_imported_is_noted(tmp_path: Path):
    config = "cluster_partition_handling = pause_if_all_down\\nnet_ticktime = soon\\nquorum_cluster_size = 5"
    found = read(tmp_path, resource("RabbitmqCluster", f'{{rabbitmq: {{additionalConfig: "{config}"}}}}'))
    assert found.settings == {"queue_master_locator": "min-masters", "quorum_cluster_size": 5}
    assert {note.split()[0] for note in found.notes if "not imported" in note} == {
        "cluster_partition_handling", "net_ticktime",
    }  # fmt: skip


def configured(name: str, config: str, image: str = "rabbitmq:3.13.7") -> str:
    """Return a cluster resource with this additionalConfig or advancedConfig."""
    lines = config.replace("\n", "\n      ")
    return resource("RabbitmqCluster", f"\n  image: {image}\n  rabbitmq:\n    {name}: |\n      {lines}")


ADVANCED = """[
  %% {quorum_cluster_size, 9}
  {rabbit, [{cluster_partition_handling, autoheal}, {queue_master_locator, <<"random">>},
            {'quorum_cluster_size', 5}, {tcp_listen_options, [{backlog, 128}]}]},
  {kernel, [{net_ticktime,  20 }]}
]."""


def test_advanced_config_overrides_additional_config(tmp_path: Path):
    file = written(tmp_path, configured("advancedConfig", ADVANCED))
    found = read_definitions(file)
    assert found.settings == {
        "cluster_partition_handling": "autoheal", "queue_master_locator": "random", "quorum_cluster_size": 5,
        "net_ticktime": 20,
    }  # fmt: skip
    [note] = [note for note in import_cluster(file).notes if "not in these files" in note]
    assert note.startswith("the other quorum and mirroring settings and the network: ")


def test_setting_that_is_not_imported_is_not_reported_as_missing(tmp_path: Path):
    config = "[{rabbit, [{cluster_partition_handling, {pause_if_all_down, [a, b], autoheal}}]}]."
    notes = import_cluster(written(tmp_path, configured("advancedConfig", config))).notes
    assert "cluster_partition_handling of RabbitmqCluster 'one': not imported" in notes
    [note] = [note for note in notes if "not in these files" in note]
    assert "cluster_partition_handling" not in note and "net_ticktime" in note


def test_setting_may_have_a_trailing_comment(tmp_path: Path):
    config = configured("additionalConfig", "net_ticktime = 30 # seconds\n# quorum_cluster_size = 5")
    assert read(tmp_path, config).settings["net_ticktime"] == 30


NODES_DEFAULT = configured("additionalConfig", "default_queue_type = quorum", "rabbitmq:4.1.2")


@pytest.mark.parametrize(
    ("queue", "others", "expected"),
    [
        ("durable: true, vhost: apps", [resource("Vhost", "{name: apps, defaultQueueType: quorum}")], "quorum"),
        ("durable: true, vhost: apps, type: classic", [resource("Vhost", "{name: apps, defaultQueueType: quorum}")],
         "classic"),
        ("vhost: apps", [resource("Vhost", "{name: apps, defaultQueueType: quorum}")], "classic"),
        ("durable: true, autoDelete: true, vhost: apps", [resource("Vhost", "{name: apps, defaultQueueType: quorum}")],
         "classic"),
        ("durable: true", [resource("Vhost", "{name: apps, defaultQueueType: quorum}")], "classic"),
        ("durable: true, vhost: apps", [resource("Vhost", "{name: apps, defaultQueueType: quorum}"),
                                        configured("additionalConfig", "", "rabbitmq:3.10.8")], "quorum"),
        ("durable: true, vhost: apps", [resource("Vhost", "{name: apps, defaultQueueType: quorum}"),
                                        configured("additionalConfig", "", "rabbitmq:3.8.9")], "classic"),
        ("durable: true", [NODES_DEFAULT], "quorum"),
        ("durable: true, vhost: apps", [NODES_DEFAULT, resource("Vhost", "{name: apps, defaultQueueType: classic}")],
         "classic"),
        ("durable: true", [configured("advancedConfig", "[{rabbit, [{default_queue_type, rabbit_quorum_queue}]}].",
                                      "rabbitmq:3.13.7")], "quorum"),
        ("durable: true", [NODES_DEFAULT.replace("4.1.2", "3.12.13")], "classic"),
        ("durable: true", [NODES_DEFAULT.replace("4.1.2", "3.12.14")], "quorum"),
        ("durable: true", [NODES_DEFAULT.replace("4.1.2", "3.13.2")], "classic"),
        ("durable: true", [NODES_DEFAULT.replace("4.1.2", "3.13")], "quorum"),
    ],
)  # fmt: skip
def test_queue_without_a_type_gets_the_default_type(tmp_path: Path, queue: str, others: list[str], expected: str):
    [found] = read(tmp_path, resource("Queue", f"{{name: q, {queue}}}"), *others).queues.values()
    assert found.type == expected


def test_exchanges_and_bindings_are_read(tmp_path: Path):
    exchange = resource("Exchange", "{name: x, type: topic, durable: true}")
    binding = resource("Binding", "{source: x, destination: q, routingKey: 'a.#'}")
    found = read_routing([written(tmp_path, exchange, binding, resource("Vhost", "{name: shop}"))])
    assert [(one.name, one.type, one.durable) for one in found.exchanges] == [("x", "topic", True)]
    assert [(one.source, one.destination, one.routing_key) for one in found.bindings] == [("x", "q", "a.#")]
    assert found.vhosts == ["shop"]


def test_lists_folders_and_json_are_read_as_one_cluster(tmp_path: Path):
    queue = {"apiVersion": "rabbitmq.com/v1beta1", "kind": "Queue", "spec": {"name": "one"}}
    (tmp_path / "list.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [queue]}, indent=4))
    assert list(read_definitions(tmp_path / "list.json").queues) == [("/", "one")]
    below = tmp_path / "k8s" / "queues"
    below.mkdir(parents=True)
    (below / "two.yml").write_text(resource("Queue", "{name: two}"))
    (below.parent / "cluster.yaml").write_text(resource("RabbitmqCluster", "{replicas: 3}"))
    (below / "scenario.yaml").write_text("scenario: x\n")
    found = of_files([below.parent])
    assert ([queue.name for queue in found.queues], len(found.nodes)) == (["two"], 3)


def test_scenarios_exports_and_listings_are_not_resources():
    assert is_scenario(str(ROOT / "data" / "scenarios" / "virtual-hosts.yaml"))
    assert not is_scenario(str(ORDERS)) and holds_export(ORDERS)
    assert not any(manifests(file) for file in (ROOT / "data" / "real").iterdir())


# --- by every command that takes definitions ---


def test_linter_names_the_line_of_the_resource():
    result = hawb("lint", "--format", "sarif", ORDERS)
    assert result.exit_code == 1
    first = results_of(result.stdout)[0]
    lines = ORDERS.read_text().splitlines()
    assert first["ruleId"] == "mirroring-silenced"
    assert lines[place_of(first)[1] - 1] == "  name: orders.carts"


def test_migrate_accepts_resources_as_an_export():
    result = hawb("migrate", ORDERS, "--to", "4.3")
    assert result.exit_code in (0, 1), result.stderr
    assert "orders.carts" in result.stdout


@pytest.mark.parametrize("command", ["safe", "upgrade"])
def test_resources_do_not_say_where_queues_are(command: str):
    result = hawb(command, ORDERS)
    assert result.exit_code == 3 and "Cannot tell: no file says on which nodes the queues are" in result.stdout


# --- what is refused, and what stays out ---


@pytest.mark.parametrize(
    ("resources", "said"),
    [
        ([resource("Queue", "{durable: true}")], "document 1, Queue 'one', spec"),
        ([resource("Queue", "{name: q}"), resource("Policy", "{name: p, pattern: 7, definition: {}}")],
         "document 2, Policy 'one', spec.pattern\n  given: a whole number\n  accepted: text"),
        ([resource("Policy", "{name: p, pattern: q, definition: {}, priority: 9999999999}")], "spec.priority"),
        ([resource("Queue", "{name: q, arguments: [7]}")], "document 1, Queue 'one', spec.arguments[0]"),
        ([resource("RabbitmqCluster", "{replicas: 1000000000}")], "RabbitmqCluster 'one', spec.replicas"),
        ([resource("RabbitmqCluster", f"{{image: 'x{':1.1' * 300}'}}")], "RabbitmqCluster 'one', spec.image"),
        ([resource("RabbitmqCluster", "{}")] * 2, "document 2, RabbitmqCluster 'one', kind\n  given: a second"),
        ([resource("Queue", "{name: q, rabbitmqClusterReference: {name: other}}"), resource("RabbitmqCluster", "{}")],
         "resources of 'other', 'one'"),
        ([resource("Queue", "{name: q}")] * 2, "document 2, Queue 'one', spec.name\n  given: 'q' of '/' twice"),
        ([resource("Queue", "{name: q}"), "text"], "document 2\n  given: no map"),
        ([resource("Queue", "{name: q}"), "kind: List\nitems: [7]"], "document 2\n  given: no map"),
        ([resource("Queue", "{name: &x q, vhost: !!python/object:os.system x}")], "a YAML tag"),
        ([resource("Queue", "{name: q, name: r}")], "a map has the same key twice"),
        ([resource("Queue", f"{{name: q, arguments: {'{a: ' * 60}1{'}' * 60}}}")], "nested too deeply"),
    ],
)  # fmt: skip
def test_invalid_resource_is_refused_with_its_place(resources: list[str], said: str, tmp_path: Path):
    with pytest.raises(ImportRefused) as refused:
        read(tmp_path, *resources)
    assert said in str(refused.value) and "cluster.yaml" in str(refused.value)


def test_invalid_pattern_is_a_finding(tmp_path: Path):
    policy = resource("Policy", "{name: p, pattern: '^(q', definition: {max-length: 1}}")
    answer = json.loads(hawb("lint", "--json", written(tmp_path, policy, resource("Queue", "{name: q}"))).stdout)
    assert "policy-refused" in {finding["code"] for finding in answer[0]["findings"]}


def test_other_resources_are_noted_by_kind_only(tmp_path: Path):
    secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: login}}\ndata: {{password: {SECRET}}}"
    file = written(tmp_path, secret, resource("Queue", "{name: q, durable: true}"), resource("User", "{tags: [x]}"))
    result = hawb("import", file, "-o", "-")
    assert result.exit_code == 0
    assert "resources of other kinds: ignored (1 'Secret', 1 'User')" in result.stderr
    assert SECRET not in result.output
