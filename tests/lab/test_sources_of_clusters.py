"""Sources of the lab's clusters: the start, scenarios, the real cluster and uploads."""

from __future__ import annotations

from pathlib import Path

from hawb.lab.sources import GROUPS, REAL, START, TITLE, Export, choices, keep, said_first, title
from hawb.scenario.catalogue import ELSEWHERE, catalogue
from hawb.scenario.load import load

DATA = Path(__file__).parents[2] / "data"


def test_initial_cluster_needs_no_data(tmp_path):
    assert choices(tmp_path) == [(TITLE, START)]
    assert load(START).scenario == TITLE


def test_scenarios_and_the_real_cluster_are_found_above_the_notebook(tmp_path):
    (tmp_path / "notebooks").mkdir()
    scenarios, real = tmp_path / "data" / "scenarios", tmp_path / "data" / "real"
    scenarios.mkdir(parents=True), real.mkdir()
    for name in "abc":
        (scenarios / f"{name}.yaml").write_text(f"{{scenario: The story {name}, cluster: {{nodes: [a]}}}}")
    (scenarios / "d.yaml").write_text("broken: [")
    lines = "## Own group\n\n| [b](b.yaml) | Bees | `b` |\n\n## Incidents\n\n| [c](c.yaml) | Crash | - |\n"
    (scenarios / "README.md").write_text(lines)
    (real / "definitions.json").write_text("{}")
    export = Export(real / "definitions.json", (real / "api-queues.json", real / "api-nodes.json"))
    assert choices(tmp_path / "notebooks") == [
        (TITLE, START),
        (REAL, export),
        ("Incidents", None),
        ("Crash", scenarios / "c.yaml"),
        (ELSEWHERE, None),
        ("The story a", scenarios / "a.yaml"),
        ("d.yaml", scenarios / "d.yaml"),
        ("Own group", None),
        ("Bees", scenarios / "b.yaml"),
    ]


def test_scenarios_are_in_known_groups_under_their_own_titles():
    found = catalogue(DATA / "scenarios")
    assert {entry.group for entry in found} | {ELSEWHERE} == {*GROUPS}
    assert [entry.file.name for entry in found[::25] if entry.title != title(entry.file)] == []


def test_title_is_read_from_its_file():
    assert title(START) == load(START).scenario


def test_uploads_are_stored_in_their_folder_whatever_their_names(tmp_path):
    names = ["../../escape.json", "C:\\temp\\d.json", "same", "same", "..", "", "nul\0", "\ud800", "é" * 999, "a=b"]
    kept = keep(tmp_path, [(name, name.encode(errors="replace")) for name in names])
    assert all(file.resolve().is_relative_to(tmp_path) and file.is_file() for file in kept)
    names = ["escape.json", "d.json", "same", "same", "upload", "upload", "nul_", "_", "é" * 50, "a_b"]
    assert [file.name for file in kept] == names
    assert kept[0].read_bytes() == b"../../escape.json"


def test_first_comment_of_a_file_is_shown(tmp_path):
    file = tmp_path / "x.yaml"
    for text, item in (
        ("# https://a.org/1: a guide,\n# #anchor.\nscenario: x\n# later\n", ("https://a.org/1: a guide, #anchor.",)),
        ("scenario: x\n# later\n", ()),
        ("#\n", ()),
    ):
        file.write_text(text)
        assert said_first(file) == item
    file.write_bytes(b"\xff")
    assert said_first(file) == said_first(tmp_path / "none") == ()


def test_every_incident_names_its_source():
    incidents = sorted((DATA / "scenarios").glob("incident-*.yaml"))
    assert len(incidents) > 10
    assert [file.name for file in incidents if "https://" not in said_first(file)[0]] == []
