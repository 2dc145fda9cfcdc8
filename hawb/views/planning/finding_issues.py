"""What `hawb lint` finds as issues with the file and line of what they are about, for systems that show them there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from hawb.planning.advice import ADVICE
from hawb.planning.lint import Report
from hawb.planning.places import Place, Thing
from hawb.views.issues import Case, Issue, Rule, Suite

RULES = tuple(Rule(code, advice.severity, advice.why, advice.remedy, advice.source) for code, advice in ADVICE.items())


def issues(cluster: str, found: Report, places: Mapping[Thing, Place]) -> list[Issue]:
    """The findings about a cluster, the worst first; those about what no file names are of the file `cluster`."""
    nowhere = Place(cluster)
    told = []
    for one in found.findings:
        place = places.get((one.kind, one.name), nowhere)
        told.append(Issue(one.code, one.severity, one.where, one.what, place.file, place.line))
    return told


def suite(cluster: str, told: list[Issue]) -> Suite:
    """A case for each kind of finding, so that a kind that is new or gone can be followed from run to run."""
    by_rule = defaultdict(list)
    for issue in told:
        by_rule[issue.rule].append(issue)
    return Suite(cluster, [Case(rule.code, by_rule[rule.code]) for rule in RULES])
