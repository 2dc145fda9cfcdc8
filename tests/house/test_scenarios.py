"""The scenarios in data/scenarios: each ends as it expects to, and together they reach every event and every cause."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from json_schemas import validate
from msgspec.structs import replace

from hawb.engine import runs
from hawb.engine.ledger import imbalance
from hawb.engine.moment import Moment
from hawb.engine.trace import CAUSES, EVENTS
from hawb.scenario.document import Scenario
from hawb.scenario.dump import dump
from hawb.scenario.expect import check
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome, outcome_json
from hawb.scenario.run import Run
from hawb.scenario.verbs import Expect

FOLDER = Path(__file__).parents[2] / "data" / "scenarios"
FILES = sorted(FOLDER.glob("*.yaml"))

NOT_REACHED: dict[str, str] = {}
"""Events that no scenario reaches, each with the reason."""

PRINT_ALL = """
import sys
from pathlib import Path
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome_json
from hawb.scenario.run import Run

for file in sys.argv[1:]:
    print(outcome_json(Run.of(load(Path(file)))))
"""

each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


@cache
def scenario_in(file: Path) -> Scenario:
    return load(file)


@cache
def played(file: Path) -> Run:
    return Run.of(scenario_in(file))


@each_file
def test_it_ends_as_it_expects_to(file: Path):
    assert scenario_in(file).expect, "it expects nothing"
    assert [str(difference) for difference in check(played(file), scenario_in(file).expect)] == []


@each_file
def test_it_names_the_source_of_its_rule_first(file: Path):
    comment = re.match(r"(# .*\n)*", file.read_text(encoding="utf-8"))[0]
    assert re.search("guide|rabbit", comment, re.IGNORECASE)


@each_file
def test_written_and_loaded_again_it_has_the_same_outcome(file: Path):
    assert outcome_json(Run.of(load(dump(scenario_in(file))))) == outcome_json(played(file))


@each_file
def test_its_outcome_is_as_the_schema_tells(file: Path):
    validate("run", json.loads(outcome_json(played(file))))


@each_file
def test_without_its_expectations_it_has_the_same_outcome(file: Path):
    steps = tuple(step for step in scenario_in(file).steps if not isinstance(step.verb, Expect))
    bare = Run.of(replace(scenario_in(file), steps=steps, expect=None))
    now, bare_now = outcome(played(file)), outcome(bare)
    assert [part for part in ("nodes", "queues", "ledger", "consumers") if now[part] != bare_now[part]] == []


@each_file
def test_the_ledger_balances_after_every_step(file: Path):
    run = played(file)
    moments = [run.moment(steps) for steps in range(len(run.steps) + 1)]
    moments += [run.moment_of(index) for index in range(len(run.steps))]
    assert [wrong for moment in moments for wrong in imbalances(moment)] == []


def imbalances(moment: Moment) -> list[str]:
    """What is wrong with the books of any queue, or of one that is gone."""
    found = []
    for name, account in moment.ledger.items():
        sides = [side.queues[name].content for side in moment.state.sides if name in side.queues]
        wrong = imbalance(account, runs.normal(pair for content in sides for pair in content))
        found += [f"{name}: {wrong}"] if wrong else []
    return found


def test_the_outcome_is_the_same_bytes_whatever_the_hash_seed():
    first, second = (all_outcomes(seed) for seed in ("1", "2"))
    assert first.count(b"\n") == len(FILES)
    assert first == second


def all_outcomes(hash_seed: str) -> bytes:
    """The outcomes of all files, played by a Python of their own."""
    command = [sys.executable, "-c", PRINT_ALL, *map(str, FILES)]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    return subprocess.run(command, env=environment, check=True, capture_output=True).stdout


def test_every_cause_of_loss_occurs():
    assert {loss.cause for file in FILES for loss in played(file).moment().losses} == set(CAUSES)


def test_every_event_occurs_but_those_with_a_reason():
    occurring = {entry.event for file in FILES for entry in played(file).moment().trace()}
    assert occurring == EVENTS.keys() - NOT_REACHED.keys()


def test_events_have_only_the_fields_that_are_documented():
    used = {(entry.event, key) for file in FILES for entry in played(file).moment().trace() for key in entry.detail}
    assert [(event, key) for event, key in sorted(used) if not re.search(rf"\b{key}\b", EVENTS[event])] == []


def test_the_table_in_the_readme_has_every_file_with_its_title():
    rows = re.findall(r"^\| \[(.+?)\]\((.+?)\) \| (.+?) \|", (FOLDER / "README.md").read_text(encoding="utf-8"), re.M)
    assert sorted(rows) == sorted((file.stem, file.name, scenario_in(file).scenario) for file in FILES)
