"""The findings of `hawb lint` as issues with file and line, for CI systems."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from hawb.planning.advice import ADVICE
from hawb.planning.lint import Report
from hawb.planning.places import Place, Thing
from hawb.views.issues import Case, Issue, Rule, Suite

RULES = tuple(Rule(code, advice.severity, advice.why, advice.remedy, advice.source) for code, advice in ADVICE.items())


def issues(cluster: str, found: Report, places: Mapping[Thing, Place]) -> list[Issue]:
    """Return the findings about a cluster as issues, the worst first.

    A finding about a thing that no file names gets the file `cluster`.
    """
    nowhere = Place(cluster)
    listed = []
    for one in found.findings:
        place = places.get((one.kind, one.name), nowhere)
        listed.append(Issue(one.code, one.severity, one.where, one.what, place.file, place.line))
    return listed


def suite(cluster: str, found: list[Issue]) -> Suite:
    """Return a test case for each kind of finding, so that CI shows which kinds are new or gone between runs."""
    by_rule = defaultdict(list)
    for issue in found:
        by_rule[issue.rule].append(issue)
    return Suite(cluster, [Case(rule.code, by_rule[rule.code]) for rule in RULES])
