"""The page of an audit: its verdict and its advice."""

from __future__ import annotations

import pytest
from answered_reports import risk

from hawb.study.audit import Summary
from hawb.views.study.audit import report_of, todo, verdict

REFUSED = [{"file": "x", "place": "p", "given": "g", "accepted": "a"}]


@pytest.mark.parametrize(
    ("clusters", "risks", "refused", "sentence"),
    [
        (0, [], REFUSED, "No: no cluster could be read."),
        (3, [], [], "Yes: nothing is found in 3 clusters."),
        (3, [risk("matches-everything")], [], "Yes: nothing but notes is found in 3 clusters."),
        (3, [], REFUSED, "Cannot tell: 1 file could not be read; nothing is found in 3 clusters."),
        (3, [risk("no-policy", 5, 2), risk("one-replica", 9, 1)], [],
         "No: there are 2 kinds of warnings, no-policy alone in 2 of 3 clusters."),
        (1, [risk("no-policy"), risk("mirroring-silenced")], [],
         "No: there is 1 kind of error, mirroring-silenced alone in 1 of 1 cluster."),
    ],
)  # fmt: skip
def test_verdict_is_that_of_the_worst_risk(clusters: int, risks: list, refused: list, sentence: str):
    assert verdict(Summary(clusters, {"classic": 9}, risks, [], refused)).sentence == sentence


def test_advice_begins_with_the_worst_risk_of_most_clusters():
    risks = [risk("matches-everything"), risk("one-replica", 2, 1), risk("no-policy", 1, 4), risk("mirroring-silenced")]
    asked = todo(Summary(9, {}, risks, [], []))
    assert [one.what.partition(",")[0] for one in asked] == ["mirroring-silenced", "no-policy", "one-replica"]
    assert asked[0].what.startswith("mirroring-silenced, 2 queues in 1 cluster, such as queue q in one: ")
    assert todo(Summary(9, {}, [risk("matches-everything")], [], [])) == ()


def test_page_states_that_its_advice_was_not_simulated():
    assert "was not tested on each cluster" in report_of(Summary(9, {}, [], [], [])).assumptions[1]
