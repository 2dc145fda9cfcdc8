"""A scenario written as YAML loads back to an equal one."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from scenario_strategies import scenarios, steps

from hawb.scenario.document import Cluster, Scenario, Step
from hawb.scenario.dump import dump, plain
from hawb.scenario.load import load, read_scenario, read_step
from hawb.scenario.verbs import ClearPolicy, Heal, Kill, Partition, Publish, SetPolicy, Wait


def written(*verbs) -> str:
    """Return the lines of the steps in a dumped scenario."""
    scenario = Scenario(scenario="t", cluster=Cluster(("a", "b")), steps=tuple(Step(verb) for verb in verbs))
    return dump(scenario).partition("steps:\n")[2]


@given(scenarios)
def test_scenario_round_trips_through_yaml(scenario):
    loaded = load(dump(scenario))
    assert loaded == scenario
    assert list(loaded.cluster.down) == list(scenario.cluster.down)


@given(steps)
def test_step_round_trips_through_plain_values(step):
    assert read_step(plain(step), ("a", "rabbit@b", "on", "3.10", "é: #")) == step


@pytest.mark.parametrize(
    ("verb", "line"),
    [
        (Kill(("a",)), "- kill: a\n"),
        (Kill(("a", "b")), "- kill: [a, b]\n"),
        (Heal(), "- heal: true\n"),
        (ClearPolicy("ha"), "- clear_policy: ha\n"),
        (ClearPolicy("ha", "dev"), "- clear_policy: {name: ha, vhost: dev}\n"),
        (Wait(75.0), "- wait: 75\n"),
        (Wait(0.5), "- wait: 0.5\n"),
        (Partition((("a",), ("b",))), "- partition: [[a], [b]]\n"),
        (Publish(queue="q", count=3), "- publish: {queue: q, count: 3}\n"),
        (
            SetPolicy("ha", "^on$", {"ha-mode": "all"}),
            "- set_policy: {name: ha, pattern: ^on$, definition: {ha-mode: all}}\n",
        ),
    ],
)
def test_step_is_written_in_its_short_form_on_one_line(verb, line):
    assert written(verb) == line


def test_defaults_are_left_out_and_a_version_is_quoted():
    scenario = Scenario(scenario="t", cluster=Cluster(("a", "no"), version="3.10"))
    assert dump(scenario) == "scenario: t\ncluster:\n  nodes: [a, 'no']\n  version: '3.10'\n"


def test_repeated_values_are_written_without_anchors():
    verb = SetPolicy("ha", "", {"ha-mode": "all"})
    assert "&" not in written(verb, verb)


@given(scenarios)
def test_other_yaml_readers_read_the_same_values(scenario):
    """The file does not depend on how this loader reads dates or `1:30`."""
    assert yaml.safe_load(dump(scenario)) == plain(scenario)


@pytest.mark.parametrize("name", [
    "q\u2028\u2029\u202e\u2066\u200f\x85", "\x1b[31m\x7f\x07", "tab\tbell", "a\nb\u202e", "\U000e0001 far", "\ufeffq",
    "é 中 ✕",
])  # fmt: skip
def test_unprintable_names_are_escaped_and_load_back(name: str):
    asked = {"scenario": name, "cluster": {"nodes": [name, "b"]}, "steps": [{"declare": {"queue": name, "node": name}}],
             "expect": {"queues": {name: {"messages": 0}}}}  # fmt: skip
    scenario = read_scenario(asked)
    text = dump(scenario)
    assert {c for c in text if not c.isprintable()} <= {"\n"}
    assert load(text) == scenario
