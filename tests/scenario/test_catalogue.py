"""The catalogue of scenarios: groups and sources as in the README."""

from __future__ import annotations

from browser_pages import ROOT

from hawb.scenario.catalogue import ELSEWHERE, catalogue

FOLDER = ROOT / "data" / "scenarios"


def test_every_scenario_is_in_a_group_with_its_source():
    found = catalogue(FOLDER)
    assert sorted(entry.file for entry in found) == sorted(FOLDER.glob("*.yaml"))
    assert ELSEWHERE not in {entry.group for entry in found}
    first = found[0]
    assert (first.name, first.group) == ("unsynchronised-mirror-promoted", "Which mirror takes over")
    assert first.source == "#start-stop, #promoting-unsynchronised-mirrors"


def test_files_missing_from_the_readme_come_last(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").touch()
    (tmp_path / "README.md").write_text("## First\n\n| file | | |\n|---|---|---|\n| [b](b.yaml) | B | `b:b` |\n")
    assert [(entry.name, entry.group, entry.source) for entry in catalogue(tmp_path)] == [
        ("b", "First", "b:b"), ("a", ELSEWHERE, "")
    ]  # fmt: skip
