"""`hawb lint`: what it prints, what it takes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from inventories import FILES, ROOT

from hawb.cli import main

QUESTION = "Do the policies have the effect that they should?\n"


def hawb(*arguments: object):
    return CliRunner().invoke(main, ["lint", *map(str, arguments)], catch_exceptions=False)


def test_command_prints_effective_policies_findings_and_advice():
    result = hawb(*FILES)
    assert result.exit_code == 1
    assert result.stdout.startswith(QUESTION + "✕ No: queue orders.tmp.carts: not mirrored: 'ttl-10min' applies and")
    assert "1 error, 7 warnings, 11 notes in 31 queues and 7 policies\n" in result.stdout
    assert "ttl-10min      none               orders-safe   1: orders.tmp.carts" in result.stdout
    assert "Add the ha settings to the policy that applies" in result.stdout
    assert all(len(line) <= 120 for line in result.stdout.splitlines())


def test_json_contains_no_passwords():
    result = hawb("--json", *FILES)
    [answer] = json.loads(result.stdout)
    assert answer["queues"][0].keys() >= {"queue", "policy", "silenced"}
    assert answer["findings"][0]["code"] == "mirroring-silenced"
    for user in json.loads(FILES[0].read_text())["users"]:
        assert user["password_hash"] not in result.output


def test_each_scenario_is_linted_separately():
    names = ("unsynchronised-mirror-promoted.yaml", "rebalance-of-equally-long-queues.yaml")
    result = hawb(*(ROOT / "data" / "scenarios" / name for name in names))
    assert result.exit_code == 1
    assert f"{names[0]}: no errors, 1 warning" in " ".join(result.stdout.split())
    assert f"{names[1]}: 3 errors" in " ".join(result.stdout.split())


def test_network_speed_option_affects_findings(tmp_path: Path):
    export = {
        "queues": [{"name": "q", "vhost": "/", "durable": True, "auto_delete": False, "arguments": {}}],
        "policies": [{"name": "ha", "vhost": "/", "pattern": "q", "apply-to": "queues", "priority": 0,
                      "definition": {"ha-mode": "all", "ha-sync-batch-size": 50_000}}],
    }  # fmt: skip
    file = tmp_path / "definitions.json"
    file.write_text(json.dumps(export))
    assert "sync-batch-large" in hawb(file).stdout
    assert "sync-batch-over-ticktime" in hawb("--network-mb-s", 0.5, file).stdout


def test_invalid_file_is_refused_with_its_place(tmp_path: Path):
    (tmp_path / "definitions.json").write_text('{"queues": [}')
    result = hawb(tmp_path / "definitions.json")
    assert result.exit_code == 2
    assert "line 1, column 13" in result.stderr


QUEUE = {"name": "q", "vhost": "/", "durable": True, "auto_delete": False, "arguments": {}}
DECLARED = {"rabbitmq_version": "4.0.4", "queues": [QUEUE | {"type": "quorum"}], "policies": []}
NOTED = {"name": "all", "vhost": "/", "pattern": ".*", "apply-to": "queues", "definition": {"max-length": 9}}


@pytest.mark.parametrize(
    ("content", "status", "begins"),
    [
        (DECLARED, 0, "✓ Yes: no problem with 1 queue"),
        (DECLARED | {"policies": [NOTED]}, 0, "✓ Yes: there is 1 note."),
        (DECLARED | {"queues": [QUEUE]}, 1, "✕ No: queue q: a classic queue, which has one replica in RabbitMQ 4.0.4"),
        ({"rabbitmq_version": "4.0.4", "policies": [NOTED]}, 3, "? Cannot tell: none of the files lists the queues."),
        ({"rabbitmq_version": "4.0.4", "queues": [QUEUE | {"type": "quorum"}]}, 3,
         "? Cannot tell: none of the files lists the policies."),
        ([{"name": "q", "vhost": "/", "type": "quorum", "members": ["a", "b", "c"], "messages": 1}], 3,
         "? Cannot tell: none of the files lists the policies."),
        ([{"name": "q", "vhost": "/", "type": "quorum", "members": ["a", "b", "c"], "messages": 1, "policy": None,
           "effective_policy_definition": {}}], 0, "✓ Yes: no problem with 1 queue"),
        ([{"name": "q", "vhost": "/", "type": "quorum", "members": ["a"], "messages": 1}], 1,
         "✕ No: queue q: one replica"),
    ],
)  # fmt: skip
def test_exit_status_matches_the_answer(tmp_path: Path, content: object, status: int, begins: str):
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(content))
    result = hawb(file)
    assert result.stdout.startswith(QUESTION + begins)
    assert result.exit_code == status
    assert ("Add a file that lists" in result.stdout) == (status == 3)


def test_notes_come_last(tmp_path: Path):
    file = tmp_path / "definitions.json"
    file.write_text(json.dumps({"queues": [QUEUE], "policies": []}))
    note = "no release in the files: the rules of 3.8.9"
    result = hawb(file)
    assert result.stdout.rstrip().endswith(f"- {note}") and not result.stderr
    assert f"note: {note}" in hawb("--json", file).stderr


def test_commands_have_the_names_of_queues_and_nodes(tmp_path: Path):
    """A member on a former node is deleted before another is added."""
    queue = {"name": "-q", "vhost": "shop", "type": "quorum", "members": ["rabbit@a", "rabbit@b", "rabbit@gone"]}
    nodes = [{"name": f"rabbit@{name}", "running": True} for name in "abc"]
    for name, content in (("queues", [queue]), ("nodes", nodes)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    result = hawb(tmp_path / "queues.json", tmp_path / "nodes.json")
    assert result.exit_code == 1
    delete = result.stdout.index("$ rabbitmq-queues delete_member -p shop -- -q rabbit@gone")
    assert delete < result.stdout.index("$ rabbitmq-queues add_member -p shop -- -q rabbit@c")


def test_mirrors_are_synchronised_after_the_masters_node_starts(tmp_path: Path):
    queue = {"name": "q", "vhost": "/", "type": "classic", "durable": True, "state": "down", "node": "rabbit@a",
             "slave_nodes": ["rabbit@b"], "synchronised_slave_nodes": [],
             "effective_policy_definition": {"ha-mode": "all"}}  # fmt: skip
    nodes = [{"name": "rabbit@a", "running": False}, {"name": "rabbit@b", "running": True}]
    for name, content in (("queues", [queue]), ("nodes", nodes)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    output = hawb(tmp_path / "queues.json", tmp_path / "nodes.json").stdout
    started = output.index("$ systemctl start rabbitmq-server   # on rabbit@a")
    assert 0 < started < output.index("$ rabbitmqctl sync_queue")


def test_nodes_to_start_and_offline_members_are_named(tmp_path: Path):
    names = [f"rabbit@{name}" for name in "abcde"]
    queue = {"name": "q", "vhost": "/", "type": "quorum", "durable": True, "members": names, "online": names[:3],
             "leader": "rabbit@a", "arguments": {"x-queue-type": "quorum"}}  # fmt: skip
    nodes = [{"name": name, "running": name != "rabbit@d"} for name in names]
    for name, content in (("queues", [queue]), ("nodes", nodes)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    output = hawb(tmp_path / "queues.json", tmp_path / "nodes.json").stdout
    assert [line.strip() for line in output.splitlines() if line.startswith("     $ ")] == [
        "$ systemctl start rabbitmq-server   # on rabbit@d",
        "$ rabbitmq-queues delete_member -p / q rabbit@e",
        "$ rabbitmq-queues add_member -p / q rabbit@e",
    ]
