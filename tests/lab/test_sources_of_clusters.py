"""Where the lab's clusters come from."""

from __future__ import annotations

from pathlib import Path

from hawb.lab.sources import INCIDENTS, SCENARIOS, START, Export, choices, keep, said_first, title
from hawb.scenario.load import load

DATA = Path(__file__).parents[2] / "data"


def test_the_start_is_there_without_any_data(tmp_path):
    assert choices(tmp_path) == [(load(START).scenario, START)]


def test_scenarios_and_the_real_cluster_are_found_above_the_notebook(tmp_path):
    (tmp_path / "notebooks").mkdir()
    scenarios, real = tmp_path / "data" / "scenarios", tmp_path / "data" / "real"
    scenarios.mkdir(parents=True), real.mkdir()
    (scenarios / "incident-c.yaml").write_text("{scenario: Crash, cluster: {nodes: [a]}}")
    (scenarios / "b.yaml").write_text("{scenario: Bees, cluster: {nodes: [a]}}")
    (scenarios / "a.yaml").write_text("broken: [")
    (real / "definitions.json").write_text("{}")
    export = Export(real / "definitions.json", (real / "api-queues.json", real / "api-nodes.json"))
    _, *found = choices(tmp_path / "notebooks")
    assert found == [
        ("The real cluster (data/real)", export),
        (INCIDENTS, None),
        ("Crash", scenarios / "incident-c.yaml"),
        (SCENARIOS, None),
        ("a.yaml", scenarios / "a.yaml"),
        ("Bees", scenarios / "b.yaml"),
    ]


def test_a_title_stands_for_its_file():
    assert title(START) == load(START).scenario


def test_uploads_stay_in_their_folder_whatever_their_names_say(tmp_path):
    names = ["../../escape.json", "C:\\temp\\d.json", "same", "same", "..", "", "nul\0", "\ud800", "é" * 999, "a=b"]
    kept = keep(tmp_path, [(name, name.encode(errors="replace")) for name in names])
    assert all(file.resolve().is_relative_to(tmp_path) and file.is_file() for file in kept)
    names = ["escape.json", "d.json", "same", "same", "upload", "upload", "nul_", "_", "é" * 50, "a_b"]
    assert [file.name for file in kept] == names
    assert kept[0].read_bytes() == b"../../escape.json"


def test_what_a_file_says_first_is_told(tmp_path):
    file = tmp_path / "x.yaml"
    for text, told in (
        ("# https://a.org/1: a guide,\n# #anchor.\nscenario: x\n# later\n", ("https://a.org/1: a guide, #anchor.",)),
        ("scenario: x\n# later\n", ()),
        ("#\n", ()),
    ):
        file.write_text(text)
        assert said_first(file) == told
    file.write_bytes(b"\xff")
    assert said_first(file) == said_first(tmp_path / "none") == ()


def test_every_incident_says_whose_it_was():
    incidents = sorted((DATA / "scenarios").glob("incident-*.yaml"))
    assert len(incidents) > 10
    assert [file.name for file in incidents if "https://" not in said_first(file)[0]] == []
