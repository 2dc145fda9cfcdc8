"""The model against what real clusters did: every recording in data/recorded, field by field."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hawb.broker import recordings
from hawb.broker.compare import compare, uncompared
from hawb.rules.profiles import PROFILES
from hawb.scenario.document import Uncompared
from hawb.scenario.load import load, load_known
from hawb.scenario.refused import ScenarioRefused

DATA = Path(__file__).parent.parent / "data"
FILES = sorted((DATA / "recorded").glob("*/*.json"))
KNOWN = load_known(DATA / "known-differences.yaml")
OF_A_MACHINE = re.compile(r"/(?:tmp|root|home|usr|etc|var)/|\b\d+\.\d+\.\d+\.\d+\b|@|hawb-\d|(?i:cookie|password)")

each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")


def scenario_of(file: Path):
    return load(DATA / "scenarios" / f"{file.stem}.yaml")


@each_file
def test_model_and_recording_agree(file: Path):
    played = recordings.read(file).as_played(scenario_of(file))
    assert [str(difference) for difference in compare(played, KNOWN.get(file.stem))] == []


@each_file
def test_a_recording_is_of_the_scenario_as_it_stands(file: Path):
    recording = recordings.read(file)
    assert recording.played == recordings.digest(scenario_of(file)), f"its steps have changed: {recording.record_again}"
    assert recording.version == file.parent.name
    assert recording.outcome["broker"]["rabbitmq"] == PROFILES[recording.version].release


@each_file
def test_a_recording_tells_nothing_of_the_machine(file: Path):
    assert OF_A_MACHINE.findall(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", KNOWN)
def test_every_field_known_to_differ_does_so_in_some_recording(name: str):
    differing = set()
    for file in (file for file in FILES if file.stem == name):
        for difference in compare(recordings.read(file).as_played(scenario_of(file))):
            differing |= {difference.field, f"steps.{difference.step}.{difference.field}"}
    unneeded = [
        field
        for field in KNOWN[name].fields
        if not any(map(uncompared([Uncompared((field,), "-")]).fullmatch, differing))
    ]
    assert unneeded == []


def test_known_differences_are_checked_like_scenarios(tmp_path: Path):
    file = tmp_path / "known.yaml"
    file.write_text("orders: {fields: [queue.q], reason: x}\n")
    with pytest.raises(ScenarioRefused, match=r"known.yaml, line 1: orders: fields: 'queue.q' begins with none of"):
        load_known(file)


# --- what a recording is ---


def test_a_digest_is_of_what_is_played_alone():
    text = "scenario: x\ncluster: {nodes: [a]}\nsteps:\n  - declare: {queue: q}\n  - expect: {queues: {q: null}}\n"
    same = text.replace("scenario: x", "scenario: y").replace("q: null", "q: {messages: 0}")
    same += "expect: {queues: {q: null}}\nracy: {fields: [queues], reason: x}\n"
    digest = recordings.digest(load(text))
    assert recordings.digest(load(same)) == digest
    assert recordings.digest(recordings.at_version(load(text), "3.8")) == digest
    assert recordings.digest(load(text.replace("queue: q", "queue: r"))) != digest
    assert recordings.digest(load(text.partition("  - expect")[0])) != digest
