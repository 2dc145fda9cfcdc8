"""Stored stories of real clusters: exports, observations in between, and no trace of the machine."""

from __future__ import annotations

import contextlib
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from kept_logs import STORIES, exports, logs, reading_of, scenario_of, seen, story_of, text, title
from samples import each_third

from hawb.broker import kept_stories, real, witness
from hawb.broker.cluster import CannotPlay
from hawb.broker.export_files import Export, export
from hawb.broker.real import Played
from hawb.broker.witness import Witness, changes, neutral, trouble
from hawb.cli import main
from hawb.exports.imported import import_cluster
from hawb.rules.profiles import PROFILES
from hawb.scenario.document import Cluster, Scenario, Step
from hawb.scenario.load import load
from hawb.scenario.verbs import Kill, Publish, SetPolicy, Wait

DEFINITIONS = {
    "rabbitmq_version": "3.10.8",
    "users": [{"name": "guest", "password_hash": "Zm9v", "hashing_algorithm": "sha256", "tags": ["administrator"]}],
    "permissions": [{"user": "guest", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}],
    "global_parameters": [{"name": "cluster_name", "value": "n1@vm.example"}],
    "vhosts": [{"name": "/"}],
    "parameters": [
        {"component": "federation-upstream", "name": "up", "vhost": "/", "value": {"uri": "amqp://u:p@host"}},
        {"component": "operator_policy", "name": "most", "vhost": "/",
         "value": {"pattern": "", "definition": {"max-length": 100}, "priority": 0, "apply-to": "queues"}},
    ],
    "policies": [{"vhost": "/", "name": "all", "pattern": "^ha", "apply-to": "queues", "priority": 0,
                  "definition": {"ha-mode": "nodes", "ha-params": ["n1@10.77.0.1", "n2@10.77.0.2"]}}],
    "queues": [{"name": name, "vhost": "/", "durable": True, "auto_delete": False, "arguments": arguments}
               for name, arguments in (("ha.q", {}), ("plain", {}), ("qq", {"x-queue-type": "quorum"}))],
}  # fmt: skip
COUNTS = {"messages": 7, "messages_ready": 5, "messages_unacknowledged": 2, "state": "running"}
COMMON = {"vhost": "/", "durable": True, "exclusive": False, "auto_delete": False, "live": True,
          "policy": None, "operator_policy": None}  # fmt: skip
ROWS = [
    COMMON | {"name": "ha.q", "type": "rabbit_classic_queue", "policy": "all", "process": "n1@10.77.0.1",
              "mirrored": True, "mirrors": ["n2@10.77.0.2"], "synchronised": ["n2@10.77.0.2"],
              "recoverable": ["n2@10.77.0.2"], "information": COUNTS},
    COMMON | {"name": "plain", "type": "rabbit_classic_queue", "process": "n3@10.77.0.3", "mirrored": False,
              "mirrors": [], "synchronised": [], "recoverable": [], "information": None},
    COMMON | {"name": "qq", "type": "rabbit_quorum_queue", "process": ["%2F_qq", "n2@10.77.0.2"],
              "leader": "n2@10.77.0.2", "members": [f"n{n}@10.77.0.{n}" for n in (1, 2, 3)],
              "online": [f"n{n}@10.77.0.{n}" for n in (1, 2)], "information": COUNTS},
]  # fmt: skip


class MadeUpCluster:
    """A stand-in for the driver's cluster: three nodes, of which c is down."""

    def __init__(self, folder: Path, version: str = "3.10"):
        self.entry = Cluster(("a", "b", "c"), version=version)
        self.profile = PROFILES[version]
        self.erlang = {name: f"n{number}@10.77.0.{number}" for number, name in enumerate("abc", 1)}
        self.names = {erlang: name for name, erlang in self.erlang.items()}
        self.nodes = {name: SimpleNamespace(name=name, alive=name != "c", directory=folder / "cluster-x" / name,
                                            data=folder / "cluster-x" / name / "data") for name in "abc"}  # fmt: skip
        for node in self.nodes.values():
            node.data.mkdir(parents=True)

    def running(self) -> list[Any]:
        return [node for node in self.nodes.values() if node.alive]

    def ask(self, _node: object, module: str, function: str, **_: Any) -> Any:
        assert (module, function) == ("rabbit_definitions", "all_definitions")
        return DEFINITIONS


class MadeUpDrive:
    """A stand-in for a drive with one step."""

    def __init__(self, folder: Path):
        self.cluster = MadeUpCluster(folder)
        self.members, self.drained, self.alarms, self.on_look = set("abc"), {"b"}, {("a", "memory")}, None
        self.logs = SimpleNamespace(begun=[(1.5, 0), (2.5, None)])
        self.rows = ROWS

    def snapshot(self) -> dict[str, Any]:
        data = {"state": "running", "nodes": ["n1@10.77.0.1", "n2@10.77.0.2"], "queues": self.rows}
        views = {"a": data, "b": data, "c": {"state": "down"}}
        if self.on_look:
            self.on_look(views)
        return views

    settle = snapshot


@pytest.fixture
def drive(tmp_path: Path, monkeypatch) -> MadeUpDrive:
    monkeypatch.setattr(witness, "WRITTEN_S", 0)
    return MadeUpDrive(tmp_path)


# --- exports ---


def test_export_can_be_imported(drive: MadeUpDrive, tmp_path: Path):
    kept_stories.save_export(tmp_path, "before", export(drive))
    files = [tmp_path / name for name in ("definitions.json", "queues-before.json", "nodes-before.json")]
    imported = import_cluster(files[0], files[1:])
    mirrored, plain, quorum = imported.scenario["queues"]
    assert (mirrored["master"], mirrored["mirrors"], mirrored["synchronised_mirrors"], mirrored["messages"],
            mirrored["unacknowledged"]) == ("n1@10.77.0.1", ["n2@10.77.0.2"], ["n2@10.77.0.2"], 7, 2)  # fmt: skip
    assert (plain["master"], "mirrors" in plain) == ("n3@10.77.0.3", False)
    assert (quorum["leader"], len(quorum["members"]), quorum["messages"]) == ("n2@10.77.0.2", 3, 7)
    assert imported.scenario["cluster"]["down"] == {"n3@10.77.0.3": "stopped"}
    assert [policy["name"] for policy in imported.scenario["operator_policies"]] == ["most"]
    shown = " ".join(imported.notes)
    assert "a memory alarm" in shown and "being drained" in shown and "in no listing" not in shown


def test_export_contains_no_user_secret_or_host_name(drive: MadeUpDrive, tmp_path: Path):
    kept_stories.save_export(tmp_path, "after", export(drive))
    text = "".join(file.read_text() for file in tmp_path.glob("*.json"))
    assert [word for word in ("guest", "Zm9v", "amqp:", "vm.example", "password") if word in text] == []
    assert "operator_policy" in text


def test_export_has_no_definitions_if_no_node_runs(drive: MadeUpDrive):
    for node in drive.cluster.nodes.values():
        node.alive = False
    assert export(drive).definitions is None


# --- what is noted meanwhile ---


PUBLISHED, KILLED = Publish(queue="q", count=1), Kill(("a",))


@pytest.mark.parametrize(
    ("steps", "index"),
    [
        ([(PUBLISHED, None), (KILLED, None)], 1),
        ([(PUBLISHED, None), (PUBLISHED, 0), (KILLED, None)], 2),
        ([(PUBLISHED, None), (PUBLISHED, None), (KILLED, 0), (Kill(("b",)), 0)], 1),
        ([(KILLED, 0)], 0),
        ([(PUBLISHED, None), (Wait(5), None), (PUBLISHED, None)], 1),
        ([(SetPolicy(name="p", pattern="", definition={}), None), (PUBLISHED, None)], 0),
    ],
)
def test_trouble_starts_at_the_first_step_after_the_setup(steps: Sequence[tuple[Any, float | None]], index: int):
    assert trouble([Step(verb, at) for verb, at in steps]) == index


def test_changes_include_removed_keys():
    assert changes({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 5}) == {"b": 5, "c": None}


def test_witness_records_each_change_once(drive: MadeUpDrive):
    noted = Witness()
    noted.begin(drive, [Step(Kill(("a",)))])
    noted.step(drive, 0)
    drive.snapshot()
    drive.rows = [ROWS[0] | {"synchronised": []}]
    drive.snapshot()
    first, second = noted.sightings
    assert first["nodes"] == {"a": "running", "b": "running", "c": "down"}
    assert first["sees"] == {"a": ["a", "b"], "b": ["a", "b"]}
    assert first["queues"]["qq"] == {"state": "running", "leader": "b", "members": ["a", "b", "c"],
                                     "online": ["a", "b"]}  # fmt: skip
    assert second.keys() == {"at", "queues"}
    assert second["queues"]["plain"] is None and second["queues"]["ha.q"]["synchronised_mirrors"] == []


def test_whole_logs_contain_no_trace_of_the_machine(drive: MadeUpDrive, tmp_path: Path):
    place = tmp_path / "cluster-x" / "a"
    (place / "broker.log").write_text(f" cookie hash    : aGVsbG8=\n home dir : {tmp_path}\n data : {place}/data/m\n")
    (place / "n1@10.77.0.1_upgrade.log").write_text("opened\n")
    (place / "log").mkdir()
    (place / "log" / "crash.log").write_text("crashed\n")
    (place / "console.log").write_text("not kept\n")
    (place / "data" / "00001.log").write_text("not kept\n")
    (tmp_path / "cluster-x" / "b" / "broker.log").touch()
    noted = Witness()
    noted.begin(drive, [Step(Kill(("a",)))])
    noted.end(drive)
    assert noted.logs == {
        "a.log": " cookie hash    : …\n home dir : /var/lib/hawb\n data : /var/lib/hawb/a/data/m\n",
        "a-upgrade.log": "opened\n", "a-crash.log": "crashed\n",
    }  # fmt: skip
    assert (noted.begun, noted.names, drive.on_look) == ([(1.5, 0), (2.5, None)], drive.cluster.names, None)


def test_paths_of_the_cluster_are_replaced_by_a_neutral_one():
    assert neutral("/tmp/hawb-1/cluster-2/3/x /tmp/hawb-1/.erlang", "/tmp/hawb-1/cluster-2") == (
        "/var/lib/hawb/3/x /var/lib/hawb/.erlang"
    )


# --- hawb record --logs ---

STORY = 'scenario: Published\ncluster: {nodes: [a]}\nsteps:\n  - declare: {queue: q}\n  - kill: a\n'
NOTHING = Export(None, [], [])


@pytest.fixture
def played(monkeypatch) -> list[str]:
    """Replace the broker by a stand-in that plays any scenario. Return the versions that were requested."""
    asked: list[str] = []

    def play(_bench: object, scenario: Scenario, version: str, witness: Witness) -> Played:
        asked.append(version)
        if "refused" in scenario.scenario:
            raise CannotPlay("no such luck")
        witness.before = witness.after = NOTHING
        witness.logs, witness.begun, witness.names = {"a.log": "node up\n"}, [(1.5, 0)], {"n1@10.77.0.1": "a"}
        data = {"nodes": {"a": "down"}, "queues": {}, "ledger": {}, "events": ["not of a broker"]}
        return Played(scenario, data | {"broker": {"rabbitmq": "3.10.8", "erlang": "25.2.3"}}, {})

    monkeypatch.setattr(real, "bench", contextlib.nullcontext)
    monkeypatch.setattr(real, "play", play)
    return asked


def test_story_is_stored_with_its_scenario(played: list[str], tmp_path: Path):
    file, folder = tmp_path / "story.yaml", tmp_path / "kept" / "4.3" / "story"
    file.write_text(STORY)
    record = ["record", "--broker", "4.3", "--logs", str(tmp_path / "kept")]
    result = CliRunner().invoke(main, [*record, str(file)])
    assert (result.exit_code, result.output, played) == (0, f"{folder}: 0 s\n", ["4.3"])
    assert load(folder / "scenario.yaml") == load(file)
    assert gzip.decompress((folder / "a.log.gz").read_bytes()) == b"node up\n"
    assert json.loads((folder / "story.json").read_text()) == {
        "scenario": "story", "release": "3.10.8", "erlang": "25.2.3", "names": {"n1@10.77.0.1": "a"},
        "begun": [[1.5, 0]], "exported_before": 0, "nodes": {"a": "down"}, "queues": {}, "ledger": {},
    }  # fmt: skip
    before = {one.name: one.read_bytes() for one in folder.iterdir()}
    (folder / "b.log.gz").touch()
    assert CliRunner().invoke(main, [*record, str(folder / "scenario.yaml")]).exit_code == 0
    assert {one.name: one.read_bytes() for one in folder.iterdir()} == before


def test_story_that_cannot_be_stored_is_refused(played: list[str], tmp_path: Path):
    file = tmp_path / "story.yaml"
    file.write_text(STORY)
    for options, reason in (
        (["--logs", str(tmp_path / "x"), "--takes", "2"], "do not combine it with --log or --takes"),
        (["--logs", str(file)], "is an input of this command"),
    ):
        refused = CliRunner().invoke(main, ["record", str(file), *options])
        assert refused.exit_code == 2 and reason in " ".join(refused.stderr.split())
    file.write_text(STORY.replace("Published", "refused"))
    refused = CliRunner().invoke(main, ["record", str(file), "--logs", str(tmp_path / "x")])
    assert (refused.exit_code, refused.stderr) == (2, f"{file}: no such luck\n")
    assert not (tmp_path / "x").exists()


# --- the kept stories ---

WHOLE = [story for story in STORIES if (story / "scenario.yaml").exists()]


@pytest.mark.parametrize("story", each_third(WHOLE), ids=title)
def test_stored_story_is_complete_and_names_no_machine(story: Path, subtests: pytest.Subtests):
    with subtests.test(msg="an import reads its exports of before and after"):
        check_exports(story)
    facts, scenario = story_of(story), scenario_of(story)
    with subtests.test(msg="release, scenario and folder belong together"):
        assert facts["release"] == PROFILES[scenario.cluster.version].release
        assert (facts["scenario"], story.parent.name) == (story.name, scenario.cluster.version)
    with subtests.test(msg="all its steps were played, in order, by the nodes of its scenario"):
        played = [step for _, step in facts["begun"] if step is not None and step >= 0]
        assert played == list(range(len(scenario.steps)))
        assert set(facts["names"].values()) == {*scenario.known_nodes}
    with subtests.test(msg="the views of the nodes are in order of time, and end with the state of each queue"):
        times = [entry["at"] for entry in seen(story)]
        assert times and times == sorted(times)
        last: dict[str, Any] = {}
        for entry in seen(story):
            last |= entry.get("queues", {})
        assert {name: queue["state"] for name, queue in last.items() if queue} == {
            name: queue["state"] for name, queue in facts["queues"].items()
        }
    with subtests.test(msg="its logs have events"):
        assert reading_of(story).events
    with subtests.test(msg="no file names anything of the machine"):
        files = [*logs(story), story / "seen.json.gz"]
        result = "".join(map(text, files)) + "".join(file.read_text() for file in story.glob("*.json"))
        assert [word for word in ("/tmp/", "/root", "password") if word in result] == []


def check_exports(story: Path) -> None:
    """Import the exports of before and after. Compare the queues of after with those of the story's end."""
    facts, known = story_of(story), {}
    for moment in ("before", "after"):
        definitions, *listings = exports(story, moment)
        imported = import_cluster(definitions, listings).scenario
        known[moment] = {entry["queue"]: entry for entry in imported["queues"]}
        assert set(imported["cluster"]["nodes"]) <= facts["names"].keys()
    for name, queue in facts["queues"].items():
        entry = known["after"][name]
        assert facts["names"].get(entry.get("master") or entry.get("leader"), "none") in (
            queue.get("master"), queue.get("leader") or "none")  # fmt: skip
        assert entry.get("messages", 0) == queue.get("messages", entry.get("messages", 0))
    assert len(known["before"]) or not facts["exported_before"]
