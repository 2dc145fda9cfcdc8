"""Audits of many clusters: grouping of files, rows of queues, summary and invalid files."""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from json_schemas import validate
from pyspark.sql import SparkSession

from hawb import cli
from hawb.cli import spark as spark_commands
from hawb.planning.inventory import of_files
from hawb.planning.lint import lint
from hawb.rules import patterns
from hawb.study import audit_rows
from hawb.study.audit import Summary, audit, summary
from hawb.study.audit_rows import audited
from hawb.study.fleet import ClusterFiles, clusters
from hawb.study.fleet_tables import OF_AUDITS
from hawb.views.study import audit as view

ROOT = Path(__file__).parents[2]
REAL = ROOT / "data" / "real"
HASH = "8o5b95oaWGlO6k92mkFpjWnF/IutF2WQbRtDYC9GLtfE83SF"
NOT_DURABLE = "is not durable: quorum queues are always durable"
SHOVEL = "amqp://ops:swordfish@far"


def export(*names: str, **more: object) -> str:
    """Return a definitions export with these queues, and policies that mirror ha.* to all nodes and give t.* a TTL."""
    policies = [("ha-all", "^ha", 0, {"ha-mode": "all"}), ("ttl", "ttl$", 1, {"message-ttl": 1000})]
    data = {
        "rabbitmq_version": "3.10.8",
        "users": [{"name": "ops", "password_hash": HASH}],
        "parameters": [
            {"component": "shovel", "name": "s", "vhost": "/", "value": {"src-uri": SHOVEL}},
        ],
        "policies": [
            {"name": name, "pattern": pattern, "priority": priority, "definition": definition, "vhost": "/"}
            for name, pattern, priority, definition in policies
        ],
        "queues": [{"name": name, "vhost": "/", "durable": True, "arguments": {}} for name in names],
    }
    return json.dumps(data | more)


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Write files of four clusters: one is unreadable, and one has an unreadable listing."""
    folder = tmp_path / "fleet"
    (folder / "north").mkdir(parents=True)
    (folder / "north" / "definitions.json").write_text(export("ha.1", "ha.2", "ha.ttl", "plain"))
    (folder / "north" / "nodes.json").write_text(json.dumps([{"name": name, "running": True} for name in "abcd"]))
    (folder / "east.definitions.json").write_text(export(*(f"q{n}" for n in range(5))))
    (folder / "east.queues.txt").write_text("name\tnode\nq0\ta\textra\n")
    (folder / "south.json").write_text(
        json.dumps([{"name": "votes", "vhost": "/", "type": "quorum", "node": "a", "members": ["a", "b"]}])
    )
    (folder / "west.json").write_text('{"queues": [')
    (folder / "notes.md").write_text("not taken")
    return folder


# Which files are one cluster


def test_files_are_grouped_by_their_names(fleet: Path):
    found = {Path(cluster.name).name: [Path(file).name for file in cluster.files] for cluster in clusters([fleet])}
    assert found == {
        "north": ["definitions.json", "nodes.json"],
        "east": ["east.definitions.json", "east.queues.txt"],
        "south": ["south.json"],
        "west": ["west.json"],
    }


def test_file_named_twice_counts_once(fleet: Path):
    assert clusters([fleet, fleet / "west.json"]) == clusters([fleet])
    with pytest.raises(FileNotFoundError, match=r"nowhere: no such file"):
        clusters([fleet / "nowhere"])


def test_yaml_with_kubernetes_resources_is_a_cluster_and_a_scenario_is_not(tmp_path: Path):
    (tmp_path / "shop.yaml").write_text("apiVersion: rabbitmq.com/v1beta1\nkind: Queue\nspec: {name: q}\n")
    (tmp_path / "story.yaml").write_text("scenario: x\n")
    [shop] = clusters([tmp_path])
    assert (Path(shop.name).name, len(audited(shop)[0])) == ("shop", 1)


# The rows of a cluster


def test_rows_agree_with_the_linter():
    [cluster] = clusters([REAL])
    queues, own = audited(cluster)
    found = lint(of_files(cluster.files))
    assert own.to_pylist()[0] | {"findings": None} == {
        "cluster": str(REAL), "version": "3.10", "queues": 31, "policies": 7, "findings": None, "refused": [],
        "notes": own["notes"].to_pylist()[0],
    }  # fmt: skip
    rows = {row["queue"]: row for row in queues.to_pylist()}
    assert [row["queue"] for row in queues.to_pylist()] == [one.queue.name for one in found.assigned.assignments]
    for one, findings in zip(found.assigned.assignments, found.queues, strict=True):
        row = rows[one.queue.name]
        assert row["policy"] == one.in_force.policy
        assert (row["type"], row["messages"]) == (one.queue.type, one.queue.facts.messages)
        assert {finding.code for finding in findings} <= set(row["findings"])
    assert rows["orders.tmp.carts"]["silenced"] == ["orders-safe"]
    assert rows["avail.ticks"]["findings"] == ["blocks-quorum", "promotes-always-on-shutdown"]
    assert rows["avail.ticks"]["blockers"] == [NOT_DURABLE]
    assert rows["ha.audit"]["definition"] == '{"ha-mode":"all"}'
    assert rows["qq.pair"]["members"] == ["a@10.77.9.1", "b@10.77.9.2"]


def test_queues_of_the_same_kind_keep_their_names_and_virtual_hosts(tmp_path: Path):
    same = {"type": "classic", "node": "a"}
    listed = [{"name": f"q{n}", "vhost": "ab"[n % 2], "messages": n // 4} | same for n in range(8)]
    (tmp_path / "one.json").write_text(json.dumps(listed))
    rows = audited(clusters([tmp_path])[0])[0].to_pylist()
    read = {"name": "queue", "vhost": "vhost", "messages": "messages", "type": "type", "node": "master"}
    assert [{key: row[column] for key, column in read.items()} for row in rows] == listed


def test_unreadable_file_is_listed_and_the_rest_is_read(fleet: Path):
    found = {Path(cluster.name).name: audited(cluster) for cluster in clusters([fleet])}
    queues, own = found["east"]
    [row] = own.to_pylist()
    assert (row["queues"], row["version"]) == (5, "3.10")
    [refused] = row["refused"]
    assert refused["file"].endswith("east.queues.txt")
    assert (refused["place"], refused["given"]) == ("line 2", "3 columns")
    assert queues.num_rows == 5
    queues, own = found["west"]
    assert queues.num_rows == 0
    assert own.to_pylist()[0]["version"] is None
    assert own.to_pylist()[0]["refused"][0]["place"] == "the file, line 1, column 13"


@pytest.mark.parametrize("step", ["of_files", "lint", "_queue_rows"])
def test_internal_error_is_listed_too(fleet: Path, monkeypatch: pytest.MonkeyPatch, step: str):
    def fails(*arguments: object) -> None:
        raise ZeroDivisionError(SHOVEL)

    monkeypatch.setattr(audit_rows, step, fails)
    queues, own = audited(clusters([fleet / "south.json"])[0])
    [row] = own.to_pylist()
    assert (queues.num_rows, row["version"], len(row["refused"])) == (0, None, 1)
    assert (row["refused"][0]["given"], "swordfish" in repr(row)) == ("ZeroDivisionError", False)


def test_missing_file_is_listed():
    _, own = audited(ClusterFiles("x", ("/nowhere/vhost=there.json",), 1))
    assert own.to_pylist()[0]["refused"][0]["given"] == "No such file or directory"


def test_file_name_may_be_any_bytes(tmp_path: Path):
    for name in (b"\xff.json", b"\xfe.json"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text(export("q") if name[0] == 0xFF else "{")
    found = [audited(cluster)[1].to_pylist()[0] for cluster in clusters([tmp_path])]
    assert [(row["cluster"][-4:], row["queues"]) for row in found] == [("\\xfe", 0), ("\\xff", 1)]
    assert found[0]["refused"][0]["file"].endswith("\\xfe.json")


def test_finding_of_a_policy_counts_for_each_of_its_queues(fleet: Path):
    queues, own = audited(clusters([fleet / "north"])[0])
    codes = {row["queue"]: row["findings"] for row in queues.to_pylist()}
    assert codes == {
        "ha.1": ["mirrors-on-all-nodes"],
        "ha.2": ["mirrors-on-all-nodes"],
        "ha.ttl": ["mirroring-silenced", "one-replica"],
        "plain": ["no-policy"],
    }
    [finding, *of_queues] = own.to_pylist()[0]["findings"]
    assert {(one["code"], one["name"], one["queues"]) for one in of_queues} == {
        ("mirrors-on-all-nodes", "ha.1", 2), ("mirroring-silenced", "ha.ttl", 1), ("one-replica", "ha.ttl", 1),
        ("no-policy", "plain", 1),
    }  # fmt: skip
    assert finding["what"] == "ha-mode all puts a replica on each of 4 nodes, of which 3 are a majority"


# On Spark


@pytest.mark.full
@pytest.mark.spark
def test_tables_do_not_depend_on_the_partitioning(spark: SparkSession, fleet: Path, tmp_path: Path):
    found = clusters([fleet, REAL])
    tables = []
    for tasks in (1, 4):
        folder = tmp_path / f"audit-{tasks}"
        audit(spark, [fleet, REAL], folder, tasks)
        parts = [table.name for table in OF_AUDITS]
        tables.append([sorted(map(repr, pq.read_table(folder / part).to_pylist())) for part in parts])
    assert tables[0] == tables[1]
    expected = [row for cluster in found for row in audited(cluster)[0].to_pylist()]
    assert tables[0][0] == sorted(map(repr, expected))
    assert [part.name for part in sorted(tmp_path.iterdir())] == ["audit-1", "audit-4", "fleet"]
    for file in (tmp_path / "audit-1").rglob("*.parquet"):
        result = repr(pq.read_table(file).to_pylist())
        assert HASH not in result and "swordfish" not in result

    queues = sum(len(audited(cluster)[0]) for cluster in found)
    codes = Counter(code for row in expected for code in row["findings"])
    result = summary(spark, tmp_path / "audit-4")
    assert (result.clusters, sum(result.types.values())) == (4, queues)
    assert {risk["code"]: risk["queues"] for risk in result.risks if risk["queues"]} == codes
    [over_all] = [risk for risk in result.risks if risk["code"] == "mirrors-on-all-nodes"]
    assert (over_all["queues"], over_all["policies_and_nodes"], over_all["clusters"]) == (2, 1, 1)
    assert over_all["example"] == {"cluster": str(fleet / "north"), "thing": "policy ha-all"}
    assert {table.name: set(pq.read_table(tmp_path / "audit-1" / table.name).column_names) for table in OF_AUDITS} == {
        table.name: set(table.schema.names) for table in OF_AUDITS
    }
    assert result.blockers[0] == {"blocker": NOT_DURABLE, "queues": 2, "clusters": 1}
    assert [Path(one["file"]).name for one in result.refused] == ["east.queues.txt", "west.json"]


@pytest.mark.spark
def test_the_command(spark: SparkSession, fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(spark_commands, "spark_session", lambda master, settings: nullcontext(spark))
    result = hawb(fleet, "--tables", tmp_path / "out")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1].startswith("✕ No: ")
    assert "  3 clusters, 10 queues: 9 classic, 1 quorum\n" in result.stdout
    assert "west.json" in result.stdout
    assert HASH not in result.output
    assert {part.name for part in (tmp_path / "out").iterdir()} == {"queues", "clusters", "findings", "refusals"}
    validate("audit", json.loads(hawb(fleet, "--json").stdout))


@pytest.mark.full
@pytest.mark.spark
def test_command_without_a_cluster_to_audit(spark: SparkSession, fleet: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(spark_commands, "spark_session", lambda master, settings: nullcontext(spark))
    nothing = hawb(fleet / "west.json", "--json")
    assert nothing.exit_code == 2
    assert json.loads(nothing.stdout)["clusters"] == 0
    validate("audit", json.loads(nothing.stdout))


# The command


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.parametrize("small_disk", [20], indirect=True)
def test_full_disk_is_reported_and_leaves_no_files(
    spark: SparkSession, small_disk: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(spark_commands, "spark_session", lambda master, settings: nullcontext(spark))
    result = hawb(REAL, "--tables", small_disk / "audit")
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", "Spark stopped: the disk is full\n")
    assert list(small_disk.iterdir()) == []


def hawb(*arguments: object):
    return CliRunner().invoke(cli.main, ["audit", *map(str, arguments)], catch_exceptions=False)


def test_existing_files_are_not_overwritten(fleet: Path):
    result = hawb(fleet, "--tables", fleet)
    assert (result.exit_code, "exists already" in result.stderr) == (2, True)


def test_empty_input_is_refused(fleet: Path, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    assert "no .json" in hawb(tmp_path / "empty").stderr
    assert "no such file" in hawb(tmp_path / "nowhere").stderr


def test_report_escapes_terminal_control_characters():
    name = "\x1b[2Jq"
    risk = {"code": "no-policy", "queues": 2, "policies_and_nodes": 0, "clusters": 1,
            "example": {"cluster": name, "thing": name}}  # fmt: skip
    refused = [{"file": name, "place": "x", "given": "y", "accepted": "z"}] * 30
    text = view.report(Summary(1, {"classic": 4}, [risk], [], refused))
    assert "\x1b" not in text
    assert "50.0%" in text and "and 10 more" in text
    assert view.plain(Summary(1, {}, [risk], [], []))["risks"][0]["severity"] == "warning"


def test_audit_of_hostile_patterns_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(patterns, "MOST_STEPS", 500_000)
    file = tmp_path / "definitions.json"
    policies = [{"name": "p", "vhost": "/", "pattern": "(a+)+$", "definition": {"expires": 1}}]
    file.write_text(export(*("a" * 40 + f"b{n}" for n in range(40)), policies=policies))
    queues, own = audited(ClusterFiles("x", (str(file),), 1))
    [row] = own.to_pylist()
    assert queues.num_rows == 0 and not row["findings"]
    assert [one["place"] for one in row["refused"]] == ["the pattern of policy 'p' takes too many steps to match"]
