"""Commands refuse scenarios that would take more than 20 seconds, unless forced."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hawb import Cluster
from hawb.cli import main
from hawb.scenario import run, size, text
from hawb.scenario.document import MOST_NODES

LARGE = "  hint: use only a part of the file, or set HAWB_LARGE=1 in the environment to play all of it"
QUORUM = {"node": "a", "arguments": {"x-queue-type": "quorum"}}


def story(**more: object) -> str:
    return json.dumps({"scenario": "a", "cluster": {"nodes": ["a", "b", "c"], "version": "4.3"}} | more)


def refused(content: str, command: str = "run") -> list[str]:
    found = CliRunner().invoke(main, [command, "-"], input=content)
    assert (found.exit_code, found.stdout) == (2, "")
    return found.stderr.splitlines()


@pytest.mark.parametrize("command", ["run", "check", "explore"])
def test_number_of_steps_is_limited(command: str) -> None:
    steps = [{"wait": 0}] * (size.MOST["steps"] + 1)
    assert refused(story(steps=steps), command) == [
        "standard input, line 1: steps: too many steps for a command", "  given: 10001",
        "  accepted: at most 10,000 steps", LARGE,
    ]  # fmt: skip


def test_number_of_queues_is_limited() -> None:
    queues = [{"queue": "q"}] * (size.MOST["queues"] + 1)
    assert refused(story(queues=queues))[:3] == [
        "standard input, line 1: queues: too many queues for a command", "  given: 15001",
        "  accepted: at most 15,000 queues",
    ]  # fmt: skip


def test_name_has_at_most_255_characters() -> None:
    policies = [{"name": "p" * length, "pattern": "", "definition": {"ha-mode": "all"}} for length in (255, 256)]
    steps = [{"set_policy": policy} for policy in policies]
    place = "steps[1] (the 2nd step): set_policy.name"
    assert refused(story(steps=steps))[0] == f"standard input, line 1: {place}: not accepted"
    assert CliRunner().invoke(main, ["run", "-"], input=story(scenario="s" * 256, steps=steps[:1])).exit_code == 0


def test_number_of_events_is_limited(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(run, "MOST_EVENTS", 100)
    content = story(steps=[{"declare": {"queue": f"q{number}"} | QUORUM} for number in range(10)])
    assert refused(content) == [
        "-: steps[4] (the 5th step): too many events are scheduled for a command", "  given: 110",
        "  accepted: at most 100 events", LARGE,
    ]  # fmt: skip
    (tmp_path / "story.json").write_text(content)
    assert len(Cluster.load(tmp_path / "story.json").queues) == 10
    result = CliRunner().invoke(main, ["run", "-", "--json"], input=content, env={"HAWB_LARGE": "1"})
    assert (result.exit_code, len(json.loads(result.stdout)["queues"])) == (0, 10)
    standing = [{"queue": f"q{number}", "type": "quorum"} for number in range(9)]
    assert refused(story(queues=standing))[0] == "-: too many events are scheduled for a command"


def test_number_of_nodes_is_limited() -> None:
    names = [f"n{number}" for number in range(MOST_NODES + 1)]
    assert refused(story(cluster={"nodes": names, "version": "4.3"}))[-1] == (
        "  accepted: a list of node names, not empty, at most 100"
    )
    joining = [{"join": name} for name in names]
    assert refused(story(steps=joining)) == [
        "standard input: steps: 104 nodes, including those that join; accepted: at most 100 nodes"
    ]


def test_number_of_yaml_values_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "MAX_VALUES", 100)
    assert refused(f"scenario: a\nsteps: [{'1, ' * 100}]") == [
        "standard input, line 2: steps[95] (the 96th step): too many values, aliases counted",
        "  accepted: at most 100 in YAML",
        "  hint: write a file of this size as JSON",
    ]  # fmt: skip


def test_line_of_a_refusal_is_not_searched_in_a_large_file(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = story(seed=-1)
    assert refused(wrong)[0] == "standard input, line 1: seed: not accepted"
    monkeypatch.setattr(text, "MOST_LOCATED", 10)
    assert refused(wrong)[0] == "standard input: seed: not accepted"
