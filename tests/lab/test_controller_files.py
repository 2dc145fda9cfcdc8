"""Files that the lab's controller opens and saves: scenarios, exports, uploads and invalid files."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import controller

from hawb.lab.controller import Controller, Place
from hawb.lab.sources import START, Export
from hawb.scenario.load import load

REAL = Path(__file__).parents[2] / "data" / "real"
EXPORT = Export(REAL / "definitions.json", (REAL / "api-queues.json", REAL / "api-nodes.json"))

lab = controller
"""What these tests call the lab is its controller."""


def test_opening_a_scenario_can_be_undone(lab, tmp_path):
    file = tmp_path / "one.yaml"
    file.write_text("{scenario: One, cluster: {nodes: [x, y]}, steps: [kill: x]}")
    lab.act("start", "c")
    lab.open_scenario(file)
    assert (lab.outcome["nodes"], lab.now.was["nodes"]["x"]) == ({"x": "down", "y": "running"}, "running")
    lab.undo()
    assert lab.outcome["nodes"] == {"a": "running", "b": "running", "c": "running"}
    lab.undo()
    lab.redo(), lab.redo()
    assert lab.outcome["nodes"] == {"x": "down", "y": "running"}


@pytest.mark.parametrize("content", [b"\x00\xff", b"", b"a: !!python/object:os.system x", b"scenario: One", b"[" * 999])
def test_invalid_scenario_is_refused_by_name_and_changes_nothing(lab, tmp_path, content):
    before = lab.outcome
    (tmp_path / "bad.yaml").write_bytes(content)
    lab.open_scenario(tmp_path / "bad.yaml")
    assert "bad.yaml" in lab.messages[Place.SCENARIO]
    assert lab.outcome is before


def test_scenario_that_is_not_simulated_is_refused_with_its_file(lab, tmp_path):
    stream = "{declare: {queue: s, arguments: {x-queue-type: stream}}}, {consume: {queue: s, consumer: c}}"
    cluster = '{nodes: [a], version: "3.10"}'
    (tmp_path / "later.yaml").write_text(f"{{scenario: Later, cluster: {cluster}, steps: [{stream}]}}")
    lab.open_scenario(tmp_path / "later.yaml")
    assert "later.yaml" in lab.messages[Place.SCENARIO]
    lab.open_scenario(tmp_path / "missing.yaml")
    assert "missing.yaml" in lab.messages[Place.SCENARIO]


def test_export_opens_with_its_notes(lab):
    lab.open(EXPORT)
    assert len(lab.outcome["queues"]) == 31
    assert any("users" in note for note in lab.now.notes)
    assert lab.messages == {}
    lab.act("kill", "a@10.77.9.1")
    assert lab.now.notes
    lab.open(START)
    assert lab.now.notes == ()


def test_invalid_export_is_refused(lab, tmp_path):
    (tmp_path / "definitions.json").write_text('{"queues": 5}')
    lab.open_export(tmp_path / "definitions.json")
    assert "accepted" in lab.messages[Place.SCENARIO]
    assert lab.outcome["nodes"].keys() == {"a", "b", "c"}


def test_uploads_open_as_an_export(lab):
    definitions, *listings = [(file.name, file.read_bytes()) for file in (EXPORT.definitions, *EXPORT.listings)]
    lab.open_uploads([definitions], listings)
    assert len(lab.outcome["queues"]) == 31
    before = lab.outcome
    lab.open_uploads([("mine.json", b"[1, 2")])
    assert lab.messages[Place.SCENARIO].startswith("mine.json: ")
    lab.open_uploads([])
    assert "the definitions are missing" in lab.messages[Place.SCENARIO]
    assert lab.outcome is before


def test_uploads_of_one_virtual_host_need_its_name(lab):
    definitions = b'{"queues": [{"name": "q", "durable": true, "auto_delete": false, "arguments": {}}]}'
    lab.open_uploads([("d.json", definitions)], vhost="shop")
    assert list(lab.outcome["queues"]) == ["shop::q"]
    lab.open_uploads([("d.json", b"{")], vhost="shop")
    assert lab.messages[Place.SCENARIO].startswith("d.json")


def test_saved_scenario_loads_again(lab, tmp_path):
    lab.act("kill", "a")
    lab.save(str(tmp_path / "mine"))
    assert lab.messages[Place.SAVE] == f"saved as {tmp_path / 'mine.yaml'}"
    again = Controller()
    again.open_scenario(tmp_path / "mine.yaml")
    assert again.outcome == lab.outcome


def test_existing_file_is_replaced_only_at_the_second_request(lab, tmp_path):
    file = tmp_path / "taken.yaml"
    file.write_text("precious")
    lab.save(str(file))
    assert f"{file} exists" in lab.messages[Place.SAVE]
    assert "save again to replace it" in lab.messages[Place.SAVE]
    lab.act("kill", "a")
    lab.save(str(file))
    assert file.read_text() == "precious"
    lab.save(str(file))
    assert load(file).steps[-1].name == "kill"
    assert [path.name for path in tmp_path.iterdir()] == ["taken.yaml"]


@pytest.mark.parametrize("name", ["  ", "missing/folder/x.yaml", "nul\0.yaml", "x" * 300, "/", "..", "."])
def test_file_that_cannot_be_written_shows_a_message(lab, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    lab.save(name)
    assert lab.messages[Place.SAVE]
    assert not list(tmp_path.iterdir())
