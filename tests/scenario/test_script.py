"""A story as a Python script that reproduces it."""

from __future__ import annotations

import json
import subprocess
import sys

from views_outcomes import HOSTILE, UNSYNCHRONISED

from hawb import Cluster
from hawb.scenario.load import load


def played(text: str) -> dict:
    """Return the outcome of the cluster that a script makes."""
    names: dict = {}
    exec(compile(text.replace("print(", "str("), "script.py", "exec"), names)
    return names["cluster"].outcome


def test_script_runs_and_prints_the_loss(tmp_path):
    cluster = Cluster.of(load(UNSYNCHRONISED))
    file = tmp_path / "story.py"
    file.write_text(cluster.python())
    ran = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True)
    assert "Messages 1 to 100 of ha.orders were lost" in ran.stdout
    assert repr(cluster) in ran.stdout


def test_step_is_a_short_method_call():
    lines = Cluster.of(load(UNSYNCHRONISED)).python().splitlines()
    assert "cluster.declare('ha.orders', node='a')" in lines
    assert "cluster.publish('ha.orders', 100)" in lines
    assert "cluster.kill('a')" in lines
    parted = Cluster("a", "b", "c", version="3.10").partition(["a"], ["b", "c"]).heal(at=3)
    assert parted.python().splitlines()[-6:-4] == ["cluster.partition(['a'], ['b', 'c'])", "cluster.heal(at=3)"]


def test_names_are_escaped_in_the_script():
    for name in [*HOSTILE, "'''", '"""', "{beginning}", "\\", "'); import os; ('"]:
        cluster = Cluster("a", title=name, version="3.10").declare(name, node="a").publish(name, 2)
        result = played(cluster.python())
        assert (result["scenario"], list(result["queues"])) == (name, [name])
        assert result == cluster.outcome


def test_join_works_in_python():
    cluster = Cluster("a", version="3.10").declare("q", node="a").join("b")
    assert cluster.outcome["nodes"] == {"a": "running", "b": "running"}
    assert json.loads(json.dumps(played(cluster.python()))) == cluster.outcome
