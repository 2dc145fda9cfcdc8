"""The model compared with every recording in data/recorded, field by field."""

from __future__ import annotations

import contextlib
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import LONG
from recorded_scenarios import DATA, OF_A_MACHINE, scenario_of
from samples import each_third, sample

from hawb.broker import node_logs, real, recordings
from hawb.broker.node_logs import LogLine
from hawb.broker.real import Played
from hawb.cli import main
from hawb.conformance.compare import compare, differences, uncompared
from hawb.conformance.races import SEEDS
from hawb.rules.profiles import PROFILES
from hawb.scenario.document import Scenario, Uncompared
from hawb.scenario.load import load, load_known
from hawb.scenario.outcome import outcome
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.run import Run
from hawb.views.broker.model_vs_broker import FEW_SEEDS

FILES = sorted((DATA / "recorded").glob("*/*.json"))
KNOWN = load_known(DATA / "known-differences.yaml")


# Notebook 05, which `make test` plays, counts those that agree among all of them.
@pytest.mark.parametrize("file", each_third(FILES), ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_model_agrees_with_the_recording(file: Path, subtests):
    recording, scenario = recordings.read(file), scenario_of(file)
    takes = recording.takes(scenario)
    with subtests.test("the model agrees with it"):
        assert [str(difference) for take in takes for difference in compare(take, KNOWN.get(file.stem))] == []
    with subtests.test("it is of the scenario as it stands"):
        assert recording.played == recordings.digest(scenario), f"its steps have changed: {recording.record_again}"
        assert recording.version == file.parent.name
        assert recording.outcome["broker"]["rabbitmq"] == PROFILES[recording.version].release
    with subtests.test("it names nothing of the machine that recorded it"):
        text = file.read_text(encoding="utf-8")
        erlang = recording.outcome["broker"]["erlang"]  # of four numbers, as an address is
        text = text.replace(f'"erlang": "{erlang}"', "")
        for node in scenario.known_nodes:  # a scenario may name its nodes as Erlang does
            text = text.replace(rf"\"{node}\"", "").replace(f'"{node}"', "").replace(f"'{node}'", "")
        assert OF_A_MACHINE.findall(text) == []
    if scenario.racy:
        with subtests.test("three takes differ in each field that is said to be a race"):
            assert len(takes) >= 3
            assert not_shown_by(takes, scenario.racy.fields) == []


def not_shown_by(takes: list[Played], fields: tuple[str, ...]) -> list[str]:
    """Return those of the fields in which no two takes differ."""
    differing = set()
    for one, other in combinations(takes, 2):
        found = [("", one.outcome, other.outcome)]
        found += [(f"steps.{step}.", one.glances[step], other.glances[step]) for step in one.glances]
        differing |= {
            f"{where}{field}"
            for where, mine, its in found
            for field, *_ in differences({"errors": [], "ledger": {}, "consumers": {}, "queues": {}} | mine, its)
        }
    return [name for name in fields if not any(map(uncompared([Uncompared((name,), "-")]).fullmatch, differing))]


@pytest.mark.parametrize("name", sample(KNOWN, 5))
def test_each_known_difference_occurs_in_a_recording(name: str):
    differing = set()
    for file in (file for file in FILES if file.stem == name):
        for take in recordings.read(file).takes(scenario_of(file)):
            for difference in compare(take, seeds=SEEDS if LONG else FEW_SEEDS):
                differing |= {difference.field, f"steps.{difference.step}.{difference.field}"}
    unneeded = [
        field
        for field in KNOWN[name].fields
        if not any(map(uncompared([Uncompared((field,), "-")]).fullmatch, differing))
    ]
    assert unneeded == []


def test_invalid_known_differences_are_refused(tmp_path: Path):
    file = tmp_path / "known.yaml"
    file.write_text("orders: {fields: [queue.q], reason: x}\n")
    with pytest.raises(ScenarioRefused, match=r"known.yaml, line 1: orders: fields: 'queue.q' does not begin with"):
        load_known(file)


def test_scenarios_without_a_recording_are_listed_with_a_reason():
    readme = (DATA / "recorded" / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| ([a-z0-9-]+) \| .+ \|$", readme.partition("## Not recorded")[2], re.M)
    recorded = {file.stem for file in FILES if file.parent.name == "3.10"}
    assert set(named) - {"scenario"} == {file.stem for file in (DATA / "scenarios").glob("*.yaml")} - recorded


def is_refused(scenario: Scenario) -> bool:
    """Return True if the release refuses the scenario's initial cluster."""
    try:
        Run(scenario)
    except ScenarioRefused:
        return True
    return False


@pytest.mark.parametrize("version", sample(["3.8", "4.0", "4.3"]))
def test_readme_counts_the_scenarios_recorded_with_other_releases(version: str):
    readme = (DATA / "recorded" / "README.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| {re.escape(version)} \| (\d+) \| (\d+) \| (\d+) \|$", readme, re.M)
    names = [file.stem for file in FILES if file.parent.name == version]
    others = [load(file) for file in (DATA / "scenarios").glob("*.yaml") if file.stem not in names]
    refused = sum(is_refused(recordings.at_version(scenario, version)) for scenario in others)
    assert [int(number) for number in row.groups()] == [len(names), refused, len(others) - refused]


# --- what a recording is ---


def test_digest_covers_only_the_played_steps():
    text = "scenario: x\ncluster: {nodes: [a]}\nsteps:\n  - declare: {queue: q}\n  - expect: {queues: {q: null}}\n"
    same = text.replace("scenario: x", "scenario: y").replace("q: null", "q: {messages: 0}")
    same += "expect: {queues: {q: null}}\nracy: {fields: [queues], reason: x}\n"
    digest = recordings.digest(load(text))
    assert recordings.digest(load(same)) == digest
    assert recordings.digest(recordings.at_version(load(text), "3.8")) == digest
    assert recordings.digest(load(text.replace("queue: q", "queue: r"))) != digest
    assert recordings.digest(load(text.partition("  - expect")[0])) != digest


STORY = """
scenario: Published
cluster: {nodes: [a, b], version: "3.10"}
steps:
  - declare: {queue: q, node: a}
  - publish: {queue: q, count: 3}
  - expect: {queues: {q: {messages: 3}}}
racy: {fields: [steps.2.nodes], reason: a matter of luck}
"""


@pytest.fixture
def result(monkeypatch) -> dict[str, Any]:
    """Replace the broker by the model. Return changes to the outcome that a test may set."""
    changed: dict[str, Any] = {}

    def play(_bench: object, scenario: Scenario, version: str, logged: bool = False) -> Played:
        run = Run.of(recordings.at_version(scenario, version))
        result = outcome(run) | {"broker": {"rabbitmq": "3.10.8", "erlang": "25.2.3"}}
        glances = {2: outcome(run, run.moment_of(2)) | {"nodes": {}}}
        return Played(run.scenario, result | changed, glances, [LogLine(0, "a", "node b up")] if logged else [])

    monkeypatch.setattr(real, "bench", contextlib.nullcontext)
    monkeypatch.setattr(real, "play", play)
    return changed


@pytest.mark.usefixtures("result")
def test_record_stores_the_brokers_outcome(tmp_path: Path):
    file = tmp_path / "story.yaml"
    file.write_text(STORY)
    result = CliRunner().invoke(main, ["record", str(file), "--to", str(tmp_path / "kept")])
    assert (result.exit_code, result.output) == (0, f"{tmp_path}/kept/3.10/story.json: 0 s\n")
    recording = recordings.read(tmp_path / "kept" / "3.10" / "story.json")
    assert recording.outcome["queues"]["q"]["ids"] == [[1, 3]]
    assert list(recording.glances) == [2]
    assert recording.record_again == "hawb record --broker 3.10 data/scenarios/story.yaml"
    assert compare(recording.as_played(load(file))) == []


def test_racy_scenario_is_recorded_several_times(result: dict[str, Any], tmp_path: Path):
    file, kept = tmp_path / "story.yaml", tmp_path / "3.10" / "story.json"
    file.write_text(STORY)
    assert CliRunner().invoke(main, ["record", str(file), "--to", str(tmp_path), "--takes", "3"]).exit_code == 0
    recording = recordings.read(kept)
    assert recording.record_again == "hawb record --broker 3.10 --takes 3 data/scenarios/story.yaml"
    assert [compare(take) for take in recording.takes(load(file))] == [[], [], []]


def test_logs_are_stored_on_request_and_from_then_on(result: dict[str, Any], tmp_path: Path):
    file, log = tmp_path / "story.yaml", tmp_path / "3.10" / "story.log"
    file.write_text(STORY)
    record = ["record", str(file), "--to", str(tmp_path)]
    assert (CliRunner().invoke(main, record).exit_code, log.exists()) == (0, False)
    assert (CliRunner().invoke(main, [*record, "--log"]).exit_code, log.exists()) == (0, True)
    log.write_text("")
    assert CliRunner().invoke(main, record).exit_code == 0
    assert node_logs.read(log) == (recordings.digest(load(file)), [LogLine(0, "a", "node b up")])


def test_compare_lists_what_it_leaves_out(result: dict[str, Any], tmp_path: Path):
    result["nodes"] = {"a": "down", "b": "running"}
    file, known = tmp_path / "story.yaml", tmp_path / "known.yaml"
    file.write_text(STORY)
    known.write_text("story: {fields: [nodes.a], reason: asleep}\n")
    differs = CliRunner().invoke(main, ["compare", str(file), "--known", str(tmp_path / "none.yaml")])
    assert (differs.exit_code, "nodes.a: the model says running" in differs.output) == (1, True)
    agrees = CliRunner().invoke(main, ["compare", str(file), "--known", str(known)])
    assert agrees.exit_code == 0
    assert "not compared, racy: steps.2.nodes (a matter of luck)" in agrees.output
    assert "not compared, known to differ: nodes.a (asleep)" in agrees.output


def test_unreadable_and_unwritable_files_are_refused(result: dict[str, Any], tmp_path: Path):
    file, known = tmp_path / "story.yaml", tmp_path / "known.yaml"
    file.write_text(STORY)
    known.write_text("story: x\n")
    for command in (["record", str(file), "--to", str(file)], ["compare", str(file), "--known", str(known)]):
        refused = CliRunner().invoke(main, command)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert (
            "is an input of this command" in refused.stderr or "known.yaml, line 1: story: not a map" in refused.stderr
        )
