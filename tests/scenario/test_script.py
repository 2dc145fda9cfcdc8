"""A story as a Python script: whoever runs it has the same story."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from views_outcomes import HOSTILE, UNSYNCHRONISED

from hawb import Cluster
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.script import script
from hawb.scenario.verbs import Expect

SCENARIOS = sorted((Path(__file__).parents[2] / "data" / "scenarios").glob("*.yaml"))


def played(text: str) -> dict:
    """The outcome of the cluster that a script makes."""
    names: dict = {}
    exec(compile(text.replace("print(", "str("), "script.py", "exec"), names)
    return names["cluster"].outcome


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_a_script_tells_the_story_that_it_was_made_of(file):
    scenario = load(file)
    bare = replace(scenario, steps=tuple(step for step in scenario.steps if not isinstance(step.verb, Expect)))
    assert played(script(bare)) == outcome(Run.of(bare))


def test_a_script_runs_by_itself_and_tells_what_was_lost(tmp_path):
    cluster = Cluster.of(load(UNSYNCHRONISED))
    file = tmp_path / "story.py"
    file.write_text(cluster.python())
    ran = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True)
    assert "Messages 1 to 100 of ha.orders were lost" in ran.stdout
    assert repr(cluster) in ran.stdout


def test_a_step_is_a_call_as_a_person_would_write_it():
    lines = Cluster.of(load(UNSYNCHRONISED)).python().splitlines()
    assert "cluster.declare('ha.orders', node='a')" in lines
    assert "cluster.publish('ha.orders', 100)" in lines
    assert "cluster.kill('a')" in lines
    parted = Cluster("a", "b", "c", version="3.10").partition(["a"], ["b", "c"]).heal(at=3)
    assert parted.python().splitlines()[-6:-4] == ["cluster.partition(['a'], ['b', 'c'])", "cluster.heal(at=3)"]


def test_no_name_becomes_code():
    for name in [*HOSTILE, "'''", '"""', "{beginning}", "\\", "'); import os; ('"]:
        cluster = Cluster("a", title=name, version="3.10").declare(name, node="a").publish(name, 2)
        told = played(cluster.python())
        assert (told["scenario"], list(told["queues"])) == (name, [name])
        assert told == cluster.outcome


def test_a_new_node_joins_in_python_too():
    cluster = Cluster("a", version="3.10").declare("q", node="a").join("b")
    assert cluster.outcome["nodes"] == {"a": "running", "b": "running"}
    assert json.loads(json.dumps(played(cluster.python()))) == cluster.outcome
