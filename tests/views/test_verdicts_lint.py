"""The verdict of the policy linter."""

from __future__ import annotations

import pytest
from inventories import cluster, policy, queue

from hawb.planning.findings import Finding
from hawb.planning.lint import lint
from hawb.views.verdicts.lint import todo, verdict

NOTE = Finding("matches-everything", "policy", "p", {"pattern": ".*"})
WARNING = Finding("no-policy", "queue", "q")
ERROR = Finding("priority-tie", "policy", "one", {"priority": 1, "others": ["two"], "queues": ["q"]})


@pytest.mark.parametrize(
    ("findings", "sentence"),
    [
        ([], "Yes: no problem with 2 queues or the policies that apply to them."),
        ([NOTE], "Yes: there is 1 note."),
        ([NOTE, NOTE], "Yes: there are 2 notes, and nothing worse."),
        ([WARNING], "No: queue q: no policy applies, so there is one replica."),
        ([WARNING, Finding("no-policy", "queue", "r"), NOTE],
         "No: queues q and r: no policy applies, so there is one replica (2 warnings, 1 note in all)."),
        ([ERROR], "No: policy one: has the same priority, 1, as 'two'; they match 'q' of the same queues."),
    ],
)  # fmt: skip
def test_verdict_is_that_of_the_worst_finding(findings: list[Finding], sentence: str):
    assert verdict(findings, 2).sentence == sentence


def test_advice_is_the_remedy_of_the_worst_findings_without_notes():
    asked = todo([NOTE, WARNING, ERROR])
    assert [one.what.partition(":")[0] for one in asked] == ["one", "q"]
    assert todo([NOTE]) == ()
    many = [Finding(code, "queue", "q", {}) for code in ("no-policy", "one-replica", "policy-differs", "even-members")]
    assert len(todo(many)) == 3


def test_verdict_covers_the_findings_of_the_linter():
    found = lint(cluster(policy("low", "q", ha_mode="all"), policy("high", "q", 9, message_ttl=1), queues=[queue("q")]))
    assert verdict(found.findings, 1).sentence.startswith("No: queue q: not mirrored: 'high' applies and ")
