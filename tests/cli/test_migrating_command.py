"""`hawb migrate`: output and files for exports and scenarios, without secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from html_pages import Page
from inventories import FILES
from migrations import MATRIX, VERSIONS, at_work, real

from hawb.cli import main
from hawb.exports.routing import read_routing
from hawb.planning import inventory
from hawb.planning.migrated_definitions import beside, definitions
from hawb.planning.migration import migrate


def secret_export() -> tuple[dict, list[str]]:
    """Return an export with secrets in every place that can have one."""
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


def test_command_writes_all_files_and_names_what_cannot_be_moved(tmp_path: Path):
    result = run(*FILES, "--plan", tmp_path / "plan")
    assert result.exit_code == 1, result.output
    page = Page((tmp_path / "plan" / "report.html").read_text())
    assert all(move.queue.full_name in page.said for move in real().moves)
    assert "31 queues: 17 ready, 8 ready with changes, 1 not, 4 quorum already, 1 stays" in result.output
    assert {file.name for file in (tmp_path / "plan").iterdir()} == {
        "definitions.json", "definitions-beside.json", "definitions-in-place.json", "runbook.md", "report.html",
    }  # fmt: skip
    text = (tmp_path / "plan" / "runbook.md").read_text()
    for said in ("delete_queue -p / --if-empty ha.events", "add_vhost shop-quorum", "clear_policy ha-all", "3 users"):
        assert said in text
    again = run(*FILES, "--plan", tmp_path / "plan")
    assert (again.exit_code, again.stdout) == (2, ""), "an export that lies there is not written over"
    answer = json.loads(run(*FILES, "--json").stdout)
    assert answer["counts"]["ready"] == 17
    assert answer["definitions"] == json.loads((tmp_path / "plan" / "definitions.json").read_text())
    imported = CliRunner().invoke(main, ["import", str(tmp_path / "plan" / "definitions-beside.json"), "-o", "-"])
    assert imported.exit_code == 0
    assert "shop-quorum::cart.00" in imported.output


def test_no_secret_is_in_any_output(tmp_path: Path):
    export, secrets = secret_export()
    file = tmp_path / "definitions.json"
    file.write_text(json.dumps(export))
    outputs = [run(file, "--to", version, "--plan", tmp_path / version) for version in VERSIONS]
    outputs += [run(file, "--to", version, "--json") for version in VERSIONS]
    texts = [result.output for result in outputs]
    texts += [made.read_text() for version in VERSIONS for made in (tmp_path / version).iterdir()]
    written = {version: len([*(tmp_path / version).iterdir()]) for version in VERSIONS}
    assert written == {"3.8": 4, "3.10": 4, "3.13": 4, "4.0": 5, "4.3": 5}
    assert [secret for secret in secrets for text in texts if secret in text] == []
    assert all(result.exit_code in (0, 1) for result in outputs)


def test_scenario_is_accepted_as_a_cluster(tmp_path: Path):
    file = tmp_path / "cluster.yaml"
    file.write_text(at_work().yaml())
    result = run(file, "--json", "--to", "3.13")
    assert result.exit_code == 0
    assert [queue["verdict"] for queue in json.loads(result.stdout)["queues"]] == ["ready"]
    assert run(file, *FILES).exit_code == 2


# What is asked


def exported(tmp_path: Path, *queues: dict, **more: object) -> Path:
    """Write an export of 3.12.0 with these queues."""
    file = tmp_path / "definitions.json"
    known = {"vhost": "/", "durable": True, "auto_delete": False, "arguments": {}}
    file.write_text(json.dumps({"rabbit_version": "3.12.0", "vhosts": [{"name": "/"}], "policies": [],
                                "queues": [known | one for one in queues]} | more))  # fmt: skip
    return file


STREAM = {"name": "events", "type": "stream", "arguments": {"x-queue-type": "stream", "x-max-age": "1D"}}
QUORUM = {"name": "qq", "type": "quorum", "arguments": {"x-queue-type": "quorum"}}
SHORT = {"name": "short", "auto_delete": True}
LINK = {"name": "federation: x -> far", "arguments": {"x-internal-purpose": "federation"}}
MIRRORED = {"policies": [{"name": "ha", "vhost": "/", "pattern": "", "apply-to": "queues", "priority": 0,
                          "definition": {"ha-mode": "all"}}]}  # fmt: skip


@pytest.mark.parametrize(
    ("queues", "more", "status", "answer"),
    [
        ([STREAM], {}, 0, "✓ Yes: events stays a stream; nothing to do."),
        ([QUORUM], {}, 0, "✓ Yes: every queue is already a quorum queue; nothing to do."),
        ([QUORUM, STREAM, SHORT, LINK], {}, 0, "✓ Yes: 1 is a quorum queue already, events stays a stream, 2 stay"),
        ([], {}, 0, "✓ Yes: there is no queue, and nothing to do."),
        ([STREAM], MIRRORED, 0, "✓ Yes: events stays a stream; nothing to do."),
        ([STREAM, SHORT], MIRRORED, 1, "✕ No: short cannot be a quorum queue, because it is auto"),
    ],
)
def test_answer_and_exit_status_depend_on_the_movable_queues(
    tmp_path: Path, queues: list, more: dict, status: int, answer: str
):
    file = exported(tmp_path, *queues, **more)
    result = run(file, "--plan", tmp_path / "plan")
    assert (result.exit_code, result.stdout.splitlines()[1][: len(answer)]) == (status, answer)
    assert "a classic queue has one replica from 4.0 on" not in result.stdout
    assert "the move" not in result.stdout, "no step of the road moves anything"
    runbook = (tmp_path / "plan" / "runbook.md").read_text()
    assert "No queue is to be moved." in runbook and "add_vhost" not in runbook and "delete_queue" not in runbook


def test_missing_facts_have_their_own_exit_status(tmp_path: Path):
    nodes, names = tmp_path / "nodes.json", tmp_path / "queues.txt"
    nodes.write_text(json.dumps([{"name": "rabbit@a", "running": True, "type": "disc"}]))
    names.write_text("name\tmessages\norders\t5\n")
    for file, said in ((nodes, "no file lists queues"), (names, "no file contains arguments, durability and policy")):
        result = run(file)
        assert (result.exit_code, said in result.stdout) == (3, True), result.output
        assert "rabbitmqctl export_definitions definitions.json" in result.stdout


def test_advised_command_has_the_names_of_the_files(tmp_path: Path):
    file = exported(tmp_path, {"name": "orders"})
    assert f"hawb migrate {file} --to 4.0 --plan plan/" in run(file).stdout


# The road


def test_path_is_shown_with_its_steps_and_refusals(tmp_path: Path):
    result = run(*FILES, "--to", "4.3", "--plan", tmp_path / "plan")
    assert "4.2 -> 4.3    to 4.3.6" in result.output and "2: avail.ticks and plain.transient" in result.output
    answer = json.loads(run(*FILES, "--to", "4.3", "--json").stdout)
    assert [(leg["from"], leg["to"]) for leg in answer["road"]] == [
        ("3.10", "3.11"), ("3.11", "3.12"), ("3.12", "3.13"), ("3.13", "4.2"), ("4.2", "4.3"),
    ]  # fmt: skip
    assert answer["road"][-1]["flags"][0] == "khepri_db" and answer["moved_later"] == ["orders.paid"]
    assert {one["code"]: len(one["names"]) for one in answer["refused"]} == {
        "transient-queues": 2, "arguments": 6, "policies": 6,
    }  # fmt: skip
    page = Page((tmp_path / "plan" / "report.html").read_text())
    assert "enable_feature_flag khepri_db" in page.said


def test_queues_moved_before_4_0_follow_the_rules_of_3_13(tmp_path: Path):
    run(*FILES, "--to", "4.3", "--plan", tmp_path / "plan")
    there, standing, beside_it = (
        json.loads((tmp_path / "plan" / f"definitions{part}.json").read_text()) for part in ("", "-in-place", "-beside")
    )
    assert [one["rabbitmq_version"] for one in (there, standing, beside_it)] == ["4.3.6", "3.13.7", "3.13.7"]
    kinds = [{queue["name"]: queue["type"] for queue in one["queues"]} for one in (there, standing, beside_it)]
    assert [kind["orders.paid"] for kind in kinds] == ["quorum", "classic", "classic"]


def test_running_release_can_be_given():
    answer = json.loads(run(*FILES, "--to", "4.3", "--from", "3.13.7", "--json").stdout)
    assert (answer["runs"], [leg["to"] for leg in answer["road"]]) == ("3.13.7", ["4.2", "4.3"])
    answer = json.loads(run(*FILES, "--to", "4.3", "--from", "3.13", "--via", "4.0,4.1,4.2", "--json").stdout)
    assert [leg["to"] for leg in answer["road"]] == ["4.0", "4.1", "4.2", "4.3"]
    assert json.loads(run(*FILES, "--to", "3.8", "--json").stdout)["road"] == []


def test_unknown_release_gives_no_path(tmp_path: Path):
    file = tmp_path / "definitions.json"
    file.write_text(json.dumps({"queues": [], "policies": [], "vhosts": [{"name": "/"}]}))
    result = run(file, "--to", "4.3", "--json")
    assert "name it with --from" in result.stderr and json.loads(result.stdout)["road"] == []
    assert json.loads(run(file, "--to", "4.3", "--from", "4.1.2", "--json").stdout)["road"][0]["to"] == "4.2"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--from", "3.8", "--via", "none"], "3.8 -> 4.3: no upgrade leads there in one step, to 4.3 only from 4.2"),
        (["--from", "3.8", "--via", "none"], "the road: 3.8 -> 3.9 -> 3.10 -> 3.11 -> 3.12 -> 3.13 -> 4.2 -> 4.3"),
        (["--via", "4.0"], "3.10 -> 4.0: no upgrade leads there in one step, to 4.0 only from 3.13"),
        (["--from", "3.7.28"], "--from: '3.7.28': not a known release; accepted: releases of 3.8, 3.9, 3.10"),
        (["--via", "4.0,x"], "--via: 'x': not a known release; accepted: releases of 3.8"),
    ],
)
def test_unsupported_path_is_refused(arguments: list[str], text: str):
    result = run(*FILES, "--to", "4.3", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert text in result.stderr


def test_scenario_gives_the_running_release(tmp_path: Path):
    file = tmp_path / "cluster.yaml"
    file.write_text(at_work().yaml())
    assert [leg["to"] for leg in json.loads(run(file, "--json", "--to", "4.3").stdout)["road"]] == ["4.2", "4.3"]
    result = run(file, "--from", "4.0")
    assert result.exit_code == 2 and "which names its release itself" in result.stderr
