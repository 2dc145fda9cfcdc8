"""`hawb migrate`: what it writes and says of an export or a scenario, without a secret in it."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner
from html_pages import Page
from inventories import FILES
from migrations import MATRIX, VERSIONS, at_work, real

from hawb.broker.routing import read_routing
from hawb.cli import main
from hawb.planning import inventory
from hawb.planning.migrated_definitions import beside, definitions
from hawb.planning.migration import migrate


def secret_export() -> tuple[dict, list[str]]:
    """An export with a secret in every place that holds one, and a few that should not."""
    secrets = [f"SECRET{number:03}" for number in range(14)]
    words = iter(secrets)
    return {
        "rabbit_version": "3.10.8",
        "users": [{"name": next(words), "password_hash": next(words), "hashing_algorithm": "x", "tags": [next(words)]}],
        "permissions": [{"user": next(words), "vhost": "/", "configure": next(words), "write": ".*", "read": ".*"}],
        "topic_permissions": [{"user": next(words), "vhost": "/", "exchange": "e", "write": ".*", "read": ".*"}],
        "vhosts": [{"name": "/", "metadata": {"description": next(words)}, "limits": {"max-queues": 1}}],
        "global_parameters": [{"name": "cluster_name", "value": next(words)}],
        "parameters": [
            {"component": kind, "name": "up", "vhost": "/", "value": {key: f"amqp://u:{next(words)}@h"}}
            for kind, key in (("federation-upstream", "uri"), ("shovel", "src-uri"))
        ],
        "queues": [{"name": "q1", "vhost": "/", "durable": True, "auto_delete": False,
                    "arguments": {"x-password": next(words), "x-queue-mode": next(words)}}],
        "exchanges": [{"name": "e", "vhost": "/", "type": "fanout", "arguments": {"uri": next(words)}}],
        "bindings": [{"source": "e", "vhost": "/", "destination": "q1", "destination_type": "queue", "routing_key": "r",
                      "arguments": {"token": next(words)}}],
        "policies": [{"name": "ha", "vhost": "/", "pattern": "^q", "apply-to": "all", "priority": 0,
                      "definition": {"ha-mode": "all"}}],
    }, secrets  # fmt: skip


def test_no_secret_is_in_any_definitions(tmp_path: Path):
    export, secrets = secret_export()
    file = tmp_path / "definitions.json"
    file.write_text(json.dumps(export))
    plan = migrate(inventory.of_files([file]), "4.0", MATRIX, read_routing([file]))
    names = beside(plan)
    written = json.dumps([definitions(plan), definitions(plan, names.__getitem__)])
    assert [secret for secret in secrets if secret in written] == []
    assert [name for name in ("q1", '"e"', "quorum") if name not in written] == []


def run(*arguments: object):
    return CliRunner().invoke(main, ["migrate", *map(str, arguments)])


def test_the_command_writes_all_and_says_what_cannot_be_moved(tmp_path: Path):
    result = run(*FILES, "-o", tmp_path / "plan")
    assert result.exit_code == 1, result.output
    page = Page((tmp_path / "plan" / "report.html").read_text())
    assert all(move.queue.full_name in page.said for move in real().moves)
    assert "31 queues: 17 ready, 8 ready with changes, 2 not, 4 quorum already" in result.output
    assert {file.name for file in (tmp_path / "plan").iterdir()} == {
        "definitions.json", "definitions-beside.json", "runbook.md", "report.html",
    }  # fmt: skip
    text = (tmp_path / "plan" / "runbook.md").read_text()
    for said in ("delete_queue -p / --if-empty ha.events", "add_vhost shop-quorum", "clear_policy ha-all", "3 users"):
        assert said in text
    again = run(*FILES, "-o", tmp_path / "plan")
    assert (again.exit_code, again.stdout) == (2, ""), "an export that lies there is not written over"
    told = json.loads(run(*FILES, "--json").stdout)
    assert told["counts"]["ready"] == 17
    assert told["definitions"] == json.loads((tmp_path / "plan" / "definitions.json").read_text())
    imported = CliRunner().invoke(main, ["import", str(tmp_path / "plan" / "definitions-beside.json"), "-o", "-"])
    assert imported.exit_code == 0
    assert "shop-quorum::cart.00" in imported.output


def test_no_secret_is_in_any_output(tmp_path: Path):
    export, secrets = secret_export()
    file = tmp_path / "definitions.json"
    file.write_text(json.dumps(export))
    outputs = [run(file, "--to", version, "-o", tmp_path / version) for version in VERSIONS]
    outputs += [run(file, "--to", version, "--json") for version in VERSIONS]
    texts = [result.output for result in outputs]
    texts += [made.read_text() for version in VERSIONS for made in (tmp_path / version).iterdir()]
    assert len(texts) == 30
    assert [secret for secret in secrets for text in texts if secret in text] == []
    assert all(result.exit_code in (0, 1) for result in outputs)


def test_a_scenario_is_a_cluster_too(tmp_path: Path):
    file = tmp_path / "cluster.yaml"
    file.write_text(at_work().yaml())
    result = run(file, "--json", "--to", "3.13")
    assert result.exit_code == 0
    assert [queue["verdict"] for queue in json.loads(result.stdout)["queues"]] == ["ready"]
    assert run(file, *FILES).exit_code == 2
