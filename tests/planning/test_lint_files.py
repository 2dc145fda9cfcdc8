"""The policy linter on files: a real cluster's exports, a scenario, and hostile input."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path

import msgspec
import pytest
from conftest import LONG
from hypothesis import given, settings
from hypothesis import strategies as st
from inventories import FILES, HA, REAL, ROOT, cluster, codes, policy, queue

from hawb.exports.untrusted import ImportRefused
from hawb.planning import inventory
from hawb.planning.assignments import assign
from hawb.planning.inventory import Inventory, Queue
from hawb.planning.lint import Report, lint
from hawb.rules import patterns
from hawb.rules.patterns import TooSlow
from hawb.rules.profiles import PROFILES
from hawb.scenario.load import load
from hawb.scenario.run import Run
from hawb.views.planning import findings

# Real files


def test_queues_of_a_real_cluster_have_the_policies_that_its_broker_reports():
    assigned = assign(inventory.of_files(FILES)).assignments
    assert len(assigned) == 31
    for one in assigned:
        assert one.in_force.policy == one.queue.facts.policy
        assert one.in_force.definition == one.queue.facts.effective_definition


def test_findings_of_a_real_cluster():
    found = lint(inventory.of_files(FILES))
    result = {(finding.code, finding.name) for finding in found.findings if finding.severity != "note"}
    assert result == {
        ("mirroring-silenced", "orders.tmp.carts"),
        ("one-replica", "orders.tmp.carts"),
        ("promotes-always-on-shutdown", "always"),
        ("no-policy", "plain.dlx"),
        ("no-policy", "plain.durable"),
        ("no-policy", "plain.transient"),
        ("even-members", "qq.pair"),
        ("one-member", "qq.single"),
    }
    assert [policy.name for policy in found.assigned.assignments[8].silenced] == ["orders-safe"]


def queue_rows(given: Inventory, found: Report) -> list[tuple]:
    """Return names, effective definition, policies and findings of each queue in a report."""
    one_by_one = zip(given.queues, found.assigned.assignments, found.queues, strict=True)
    return [
        (queue.full_name, one.in_force, one.policies, [finding.plain() for finding in findings])
        for queue, one, findings in one_by_one
    ]


@pytest.mark.parametrize("files", [FILES, FILES[:1], FILES[1:2]], ids=["both", "export", "listing"])
def test_queues_checked_together_have_the_findings_of_each_alone(files: list[Path]):
    """Queues that differ only in name are checked once."""
    given = inventory.of_files(files)
    given.queues += [Queue(vhost, f"{one.name}.2", one.facts) for one in given.queues for vhost in (one.vhost, "other")]
    found = lint(given)
    assert len(found.kinds) < len(given.queues)
    alone = []
    for one in given.queues:
        just = msgspec.structs.replace(given, queues=[one])
        alone += queue_rows(just, lint(just))
    assert queue_rows(given, found) == alone


def test_queues_with_different_overridden_policies_are_checked_separately():
    silenced = policy("mirrors", "^qa", priority=0, **HA)
    found = lint(cluster(policy("ttl", "^q", priority=1, message_ttl=9), silenced, queues=[queue("q"), queue("qa")]))
    one, other = ({finding.code for finding in findings} for findings in found.queues)
    assert other - one == {"mirroring-silenced"}


def test_listing_alone_shows_effective_policies():
    found = lint(inventory.of_files([REAL / "api-queues.json"]))
    assert {one.in_force.policy for one in found.assigned.assignments} >= {"ha-all", "ttl-10min", None}
    assert {"even-members", "when-synced-needs-confirms"} <= codes(found)
    assert not {"no-policy", "policy-differs", "matches-nothing"} & codes(found)


def test_reading_keeps_no_state_for_the_next():
    listing = [REAL / "api-queues.json"]
    before = inventory.of_files(listing)
    assert inventory.of_files([*listing, REAL / "api-policies.json"]).policies
    assert inventory.of_files(listing) == before


def test_scenario_is_linted_at_its_end():
    played = Run.of(load(ROOT / "data" / "scenarios" / "unsynchronised-mirror-promoted.yaml"))
    result = inventory.of_run(played)
    assert result.nodes == {"a": False, "b": True, "c": False}
    [standing] = result.queues
    assert (standing.facts.node, standing.facts.mirrors, standing.facts.message_bytes) == ("b", [], 10_240)
    [finding] = lint(result).findings
    assert (finding.code, finding.name) == ("no-mirror-runs", "ha.orders")


def test_second_export_is_refused(tmp_path: Path):
    (tmp_path / "other.json").write_text('{"queues": []}')
    with pytest.raises(ImportRefused, match="second definitions export"):
        inventory.of_files([*FILES, tmp_path / "other.json"])


# Files of strangers


def test_endless_pattern_is_refused_with_the_policys_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(patterns, "MOST_STEPS", 500_000)
    queues = [queue(f"{'a' * 14}{number}!") for number in range(60)]
    slow = policy("slow", pattern="^(a+)+$", **HA)
    assert lint(cluster(policy(), slow, queues=queues[:3])).assigned.assignments
    with pytest.raises(TooSlow, match="policy 'slow'"):
        lint(cluster(policy(), slow, queues=queues))


def test_names_are_escaped():
    hostile = "\x1b[2Jq\n\u202e{0}"
    policies = policy(hostile, "q", priority=1, max_length=1), policy("ha", "q", **HA)
    found = lint(cluster(*policies, queues=[queue(hostile)]))
    for part in (findings.report(found), json.dumps(findings.plain(found))):
        assert "\x1b" not in part and "\u202e" not in part
    assert "mirroring-silenced" in codes(found)


ODD = [None, True, 0, -1, 1, 2, 2**63 - 1, 1.5, 1e300, "x", "all", "exactly", "nodes", "(", "", [], ["a", 1], {"a": 1}]
KEYS = sorted(PROFILES["3.13"].policy_settings)


@given(st.integers(0, 2**32))
@settings(max_examples=5_000 if LONG else 30)
def test_mutated_export_or_listing_is_linted_or_refused(
    tmp_path_factory: pytest.TempPathFactory, seed: int
):
    draw, export = random.Random(seed), json.loads(FILES[0].read_text())
    listing = json.loads(FILES[1].read_text())
    bodies = copy.deepcopy(export["policies"])
    export["parameters"] = [
        {"component": "operator_policy", "name": body.pop("name"), "vhost": body.pop("vhost"), "value": body}
        for body in bodies[:3]
    ]
    result = [policy["definition"] for policy in export["policies"]] + [body["definition"] for body in bodies[:3]]
    listed_queues = [queue["arguments"] for queue in export["queues"]]
    listed_queues += [queue["effective_policy_definition"] for queue in listing]
    for _ in range(draw.randint(1, 9)):
        place = draw.choice(draw.choice([result, export["policies"], listing, listed_queues]))
        keys = list(place) if draw.random() < 0.3 and place else KEYS + [f"x-{key}" for key in KEYS] + ["pattern"]
        if isinstance(place, dict):
            place[draw.choice(keys)] = draw.choice(ODD)
    export["rabbitmq_version"] = draw.choice(["3.8.9", "3.10.8", "3.13.7", "4.0.5"])
    folder = tmp_path_factory.getbasetemp()
    (folder / "definitions.json").write_text(json.dumps(export))
    (folder / "queues.json").write_text(json.dumps(listing))
    for files in (["definitions.json", "queues.json"], ["queues.json"]):
        try:
            found = lint(inventory.of_files([folder / file for file in files]))
        except ImportRefused:
            continue
        assert findings.report(found)
        json.dumps(findings.plain(found))
