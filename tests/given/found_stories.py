"""Stories of bugs that the property tests found, or that were written to try them, and their outcomes."""

from __future__ import annotations

import yaml

from hawb.scenario.expect import check
from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run

# Nodes a, b and c, and the policy that a story names for all queues whose name begins with q.
POLICIES = {
    "none": None,
    "all": {"ha-mode": "all"},
    "two": {"ha-mode": "nodes", "ha-params": ["a", "b"]},
    "automatic": {"ha-mode": "all", "ha-sync-mode": "automatic"},
    "careful": {"ha-mode": "all", "ha-promote-on-failure": "when-synced", "ha-promote-on-shutdown": "always"},
}

# b joins q, which has three messages, as an unsynchronised mirror that may not take over.
UNSYNCHRONISED = """
  - declare: {queue: q, node: a}
  - stop: [b, c]
  - publish: {queue: q, count: 3}
  - {start: b, at: 2}
"""


def run_of(policy: str, steps: str, **cluster: object) -> Run:
    """Return a story's run."""
    given = {
        "scenario": "found",
        "cluster": {"nodes": ["a", "b", "c"], "version": "3.10", "timing": {"sync_messages_s": 10}} | cluster,
        "steps": yaml.safe_load(steps),
    }
    if POLICIES[policy]:
        given["policies"] = [{"name": "p", "pattern": "^q", "definition": POLICIES[policy]}]
    return Run.of(read_scenario(given))


def assert_comes_of(policy: str, steps: str, expect: str) -> None:
    """Check that a story has the expected outcome."""
    differences = check(run_of(policy, steps), yaml.safe_load(expect))
    assert not differences, "\n".join(map(str, differences))
