"""Advice of the linter can be followed on the running release, and removes the finding."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from inventories import cluster, policy, queue
from lint_cases import CASES
from msgspec.structs import replace
from samples import each_third

from hawb.planning import followed as followed_module
from hawb.planning.advice import ADVICE
from hawb.planning.followed import (
    WAYS,
    Way,
    cycle_broken,
    followed,
    helping,
    policy_changed,
    queue_changed,
    quorum,
    set_keys,
    severity,
)
from hawb.planning.inventory import Inventory
from hawb.planning.lint import lint
from hawb.planning.remedies import improved
from hawb.rules.policy_validation import refusal
from hawb.rules.profiles import PROFILES
from hawb.views.planning import findings
from hawb.views.verdicts.lint import bad

NOTES: dict[str, list[Way]] = {
    "matches-everything": [lambda given, found: policy_changed(given, found, lambda one: [replace(one, pattern="^q")])],
    "more-replicas-than-nodes": [set_keys(ha_params=2)],
    "dead-letter-retries": [cycle_broken],
    "when-synced-needs-confirms": [lambda given, found: replace(given, published=9, confirmed=9)],
    "blocks-quorum": [lambda given, found: queue_changed(
        replace(given, policies=[]), found.name, durable=True, auto_delete=False, arguments={})],
    "changes-for-quorum": [quorum],
}  # fmt: skip
"""The same for notes, about which nothing has to be done."""
DONE: dict[str, Sequence[Way]] = {**WAYS, **NOTES}

NOT_MIRRORED = ("4.0", "4.3")
OF_MIRRORS = {
    "mirroring-silenced", "no-policy", "one-replica", "no-mirror-runs", "unsynchronised-mirrors",
    "sync-batch-over-ticktime", "sync-batch-large", "when-synced-without-confirms", "when-synced-needs-confirms",
    "exactly-promotes-always", "promotes-always-on-shutdown", "mirrors-on-all-nodes", "unknown-node",
    "more-replicas-than-nodes",
}  # fmt: skip
"""Findings whose advice takes mirrors."""


def test_every_advice_is_tested_here():
    assert DONE.keys() == ADVICE.keys()


def refused(after: Inventory, before: Inventory) -> list[str]:
    """Return why the release would refuse the policies that an advice sets. Unknown settings have findings of their
    own."""
    new = [one for one in (*after.policies, *after.operator_policies)
           if one not in (*before.policies, *before.operator_policies)]  # fmt: skip
    fields = [
        {"pattern": one.pattern, "priority": one.priority, "apply_to": one.apply_to, "definition": known}
        for one in new
        if (known := {key: one.definition[key] for key in one.definition.keys() & after.profile.policy_settings})
    ]
    return [why for one in fields if (why := refusal(one, after.profile, operator=False))]


@pytest.mark.parametrize("version", PROFILES)
@pytest.mark.parametrize("case", each_third(CASES))
def test_following_the_advice_removes_the_finding(case: str, version: str):
    given = replace(CASES[case], profile=PROFILES[version])
    before = lint(given).findings
    if version in NOT_MIRRORED:
        assert OF_MIRRORS.isdisjoint(one.code for one in before)
    for found in before:
        for do in DONE[found.code]:
            after = do(given, found)
            assert not refused(after, given), found.code
            left = lint(after).findings
            assert not any((one.code, one.name, one.detail) == (found.code, found.name, found.detail) for one in left)
            new = {one.code for one in left if one.severity == "error"} - {one.code for one in before}
            assert not new, found.code


@pytest.mark.parametrize("version", ["3.10", "4.0"])
@pytest.mark.parametrize("case", each_third(CASES))
def test_each_given_advice_reduces_errors_and_warnings(case: str, version: str):
    """Each advice assumes that those before it are followed. Advice that is not given improves nothing."""
    there = replace(CASES[case], profile=PROFILES[version])
    wanted = bad(lint(there).findings)
    helps, useless = helping(lint(there), 3)
    assert len(helps) <= 3 and (helps or useless or not wanted)
    for code in wanted:
        ways = [improved(there, [(code, way)], severity, followed) for way in WAYS[code]]
        assert code not in useless or not any(ways)
        there = next(filter(None, ways)) if code in helps else there
    assert len(helps) == 3 or {*bad(lint(there).findings)} & {*wanted} <= {*useless}


def test_advice_that_improves_nothing_is_not_given():
    two = cluster(queues=[queue("q", node="a")], nodes={"a": True, "b": True}, version="4.0")
    assert [*bad(lint(two).findings)] == ["classic-queue"]
    assert helping(lint(two), 3) == ([], ["classic-queue"])  # a majority of two members is both
    report = findings.report_of("", lint(two))
    assert not any("anew as a quorum queue" in one.what for one in report.todo)
    [row] = [row for row in report.parts[1].table.rows if row[0] == "classic-queue"]
    assert row[2] == ""


def test_advice_about_many_queues_is_that_about_a_few():
    def of(count: int) -> Inventory:
        queues = [queue(f"q{number}", node="abc"[number % 3], messages=number) for number in range(count)]
        return cluster(policy("idle", "^z", max_length=9), queues=queues, version="4.0")

    assert helping(lint(of(9)), 3) == helping(lint(of(900)), 3) == (["matches-nothing", "classic-queue"], [])


def test_advice_about_many_policies_is_that_about_a_few(monkeypatch: pytest.MonkeyPatch):
    def of(count: int) -> Inventory:
        idle = [policy(f"idle {number}", f"^z{number}", max_length=9) for number in range(count)]
        queues = [queue(f"q{number}", node="abc"[number % 3], messages=number) for number in range(9)]
        return cluster(policy("live", "^q", max_length=9), *idle, queues=queues, version="4.0")

    looked_at: list[int] = []
    monkeypatch.setattr(followed_module, "lint", lambda given: looked_at.append(len(given.policies)) or lint(given))
    few, many = helping(lint(of(9)), 3), helping(lint(of(900)), 3)
    assert few == many == (["matches-nothing", "classic-queue"], [])
    assert max(looked_at) == 11


def test_policy_is_split_by_the_existing_queue_types():
    dead = policy("dl", ".*", delivery_limit=9)
    both = cluster(dead, queues=[queue(type="quorum"), queue("s", type="stream")], version="3.13")
    assert [*bad(lint(both).findings)] == ["passes-over"]
    assert helping(lint(both), 3) == (["passes-over"], [])


@pytest.mark.parametrize("led", [{"node": "b"}, {"type": "quorum", "leader": "b", "members": ["b", "a"]}])
def test_rebalancing_is_advised_without_a_list_of_nodes(led: dict[str, object]) -> None:
    other = queue("other", **led | ({"leader": "a"} if "leader" in led else {"node": "a"}))
    piled = cluster(queues=[other, *(queue(f"q{number}", **led) for number in range(8))], nodes={})
    assert "masters-piled" in {one.code for one in lint(piled).findings}
    assert improved(piled, [("masters-piled", way) for way in WAYS["masters-piled"]], severity, followed)
