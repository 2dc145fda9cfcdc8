"""The scenarios in data/scenarios: each meets its expectations, and together they reach every event and cause."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from headlines import disagreements
from json_schemas import validate
from msgspec.structs import replace
from samples import each_third

from hawb.engine.core import runs
from hawb.engine.core.ledger import imbalance
from hawb.engine.core.moment import Moment
from hawb.engine.core.trace import CAUSES, EVENTS
from hawb.raft.member import ROLES
from hawb.scenario.document import Scenario
from hawb.scenario.dump import dump
from hawb.scenario.expect import check
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome, outcome_json
from hawb.scenario.run import Run
from hawb.scenario.script import script
from hawb.scenario.verbs import Expect
from hawb.views.cluster.replicas import seen_by
from hawb.views.story.roles import node_states, roles

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


@cache
def scenario_in(file: Path) -> Scenario:
    return load(file)


@cache
def played(file: Path) -> Run:
    return Run.of(scenario_in(file))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_scenario(file: Path, subtests):
    """Play each scenario, and look at all that is said of it."""
    scenario, run = scenario_in(file), played(file)
    result = outcome(run)
    with subtests.test("ends as it expects to"):
        assert scenario.expect, "it expects nothing"
        assert [str(difference) for difference in check(run, scenario.expect)] == []
    with subtests.test("has headlines that its ledger bears out"):
        assert disagreements(result) == []
    with subtests.test("names the source of its rule first"):
        comment = re.match(r"(# .*\n)*", file.read_text(encoding="utf-8"))[0]
        assert re.search("guide|rabbit", comment, re.IGNORECASE)
    with subtests.test("is the same after it was written and loaded"):
        assert load(dump(scenario)) == scenario
    with subtests.test("has an outcome that the JSON Schema allows"):
        validate("run", json.loads(outcome_json(run)))
    with subtests.test("has a ledger that balances after every step"):
        moments = [run.moment(steps) for steps in range(len(run.steps) + 1)]
        moments += [run.moment_of(index) for index in range(len(run.steps))]
        assert [wrong for moment in moments for wrong in imbalances(moment)] == []
    with subtests.test("has lanes that end as the outcome does"):
        check_lanes(run, result)


@pytest.mark.parametrize("file", each_third(FILES), ids=lambda file: file.stem)
def test_outcome_is_the_same_without_expectations_and_as_a_script(file: Path):
    scenario, result = scenario_in(file), outcome(played(file))
    bare = replace(scenario, steps=tuple(step for step in scenario.steps if not isinstance(step.verb, Expect)))
    bare_outcome = outcome(Run.of(replace(bare, expect=None)))
    assert [part for part in ("nodes", "queues", "ledger", "consumers") if result[part] != bare_outcome[part]] == []
    assert outcome_of_script(script(bare)) == bare_outcome


def outcome_of_script(text: str) -> dict:
    """Return the outcome of the cluster that a script makes."""
    names: dict = {}
    exec(compile(text.replace("print(", "str("), "script.py", "exec"), names)
    return names["cluster"].outcome


def check_lanes(run: Run, result: dict) -> None:
    """Check that the lanes end with the state of each node and the role of each replica in the outcome."""
    for node, spans in node_states(result).items():
        assert spans[-1][1].replace("booting", "down") == result["nodes"][node]
    for name, queue in result["queues"].items():
        last = {node: spans[-1][1] for node, spans in roles(result, name).items()}
        if queue["type"] != "classic":
            assert last == members_of(run, name)
        else:
            assert {node: role for node, role in last.items() if role not in role_of(queue, node)} == {}


def members_of(run: Run, name: str) -> dict[str, str]:
    """Return the role of each node's member of a quorum queue. A leader that no side knows as
    its running leader is `leader_alone`."""
    state = run.moment().state
    group, found = state.groups[name], {}
    leaders = {side.queues[name].master for side in state.sides if name in side.queues and side.queues[name].up}
    for index, node in enumerate(run.settings.names):
        member = group.members.get(index)
        runs = member is not None and state.nodes[index].status == "running" and not group.stopped >> index & 1
        found[node] = "none" if not runs else ROLES[member.role]
        if found[node] == "leader" and index not in leaders:
            found[node] = "leader_alone"
    return found


def role_of(queue: dict, node: str) -> tuple[str, ...]:
    """Return the possible roles of a node as its side sees them. A view does not say which mirrors are synchronised."""
    seen = seen_by(queue, [node])
    if node == seen["master"] and seen["state"] != "down":
        return ("master",)
    if node not in seen["mirrors"]:
        return ("none",)
    if seen["synchronised_mirrors"] is None:
        return "synchronised", "unsynchronised"
    return ("synchronised" if node in seen["synchronised_mirrors"] else "unsynchronised",)


def imbalances(moment: Moment) -> list[str]:
    """Return the imbalances of the ledger of each queue, also of deleted ones."""
    found = []
    for name, account in moment.ledger.items():
        sides = [side.queues[name].content for side in moment.state.sides if name in side.queues]
        wrong = imbalance(account, runs.normal(pair for content in sides for pair in content))
        found += [f"{name}: {wrong}"] if wrong else []
    return found


@pytest.mark.full
def test_outcome_is_the_same_bytes_under_any_hash_seed():
    """Compare with the hash seed of this process."""
    printed = all_outcomes("1" if os.environ.get("PYTHONHASHSEED") != "1" else "2")
    assert printed == "".join(f"{outcome_json(played(file))}\n" for file in FILES).encode()


def all_outcomes(hash_seed: str) -> bytes:
    """Return the outcomes of all files, played in another process."""
    command = [sys.executable, "-c", PRINT_ALL, *map(str, FILES)]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    return subprocess.run(command, env=environment, check=True, capture_output=True).stdout


def test_every_cause_of_loss_occurs():
    assert {loss.cause for file in FILES for loss in played(file).moment().losses} == set(CAUSES)


def test_every_event_occurs_or_has_a_reason():
    occurring = {entry.event for file in FILES for entry in played(file).moment().trace()}
    assert occurring == EVENTS.keys() - NOT_REACHED.keys()


def test_events_have_only_documented_fields():
    used = {(entry.event, key) for file in FILES for entry in played(file).moment().trace() for key in entry.detail}
    assert [(event, key) for event, key in sorted(used) if not re.search(rf"\b{key}\b", EVENTS[event])] == []


def test_table_in_the_readme_lists_every_file_with_its_title():
    rows = re.findall(r"^\| \[(.+?)\]\((.+?)\) \| (.+?) \|", (FOLDER / "README.md").read_text(encoding="utf-8"), re.M)
    assert sorted(rows) == sorted((file.stem, file.name, scenario_in(file).scenario) for file in FILES)
