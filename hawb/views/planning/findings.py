"""The linter's report for terminal, page, JSON and CI systems: policies in force, findings, and what to do about them.

Findings that differ only in the queue share a row, so that a thousand queues without a policy are one line.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from hawb.engine.core.naming import join_queue
from hawb.planning.advice import ADVICE, SEVERITIES
from hawb.planning.assignments import Assignment
from hawb.planning.findings import Finding
from hawb.planning.followed import helping
from hawb.planning.lint import Report
from hawb.planning.places import Place, Thing
from hawb.views import bars
from hawb.views.formatting import counted, listing, shortened, shown
from hawb.views.issues import Case, Issue, Rule, Suite
from hawb.views.page import report_page
from hawb.views.report import MOST_TO_DO, Part
from hawb.views.report import Report as Answered
from hawb.views.tables import Table
from hawb.views.terminal import text
from hawb.views.verdicts import lint

LONGEST_NAME = 40

IN_FORCE = ("policy", "operator policy", "overridden", "queues")
FOUND = ("severity", "code", "where", "what")
ADVISED = ("code", "why", "do", "source")
ASSUMED = (
    "The answer follows from the release's rules and the policies in the files. It changes when a policy changes.",
)


def report(found: Report) -> str:
    """Return the report as text."""
    return text(report_of("", found))


def page(cluster: str, found: Report, notes: Sequence[str] = ()) -> str:
    """Return the report as one page, which fetches and runs nothing; `notes` say what the cluster's files lack."""
    codes = Counter(one.code for one in found.findings)
    severities = {code: ADVICE[code].severity for code in codes}
    drawn = [bars.figure(codes, "Findings by kind, the worst first", tones=severities)] if codes else []
    return report_page(report_of(cluster, found, notes), drawn)


def report_of(cluster: str, found: Report, notes: Sequence[str] = ()) -> Answered:
    """Return the report on a cluster: the findings, the meaning of each kind of finding, and the policies in force."""
    listed, assigned = found.findings, found.assigned.assignments
    helps, useless = helping(found, MOST_TO_DO)
    in_force = Table("In force", IN_FORCE, [*map(tuple, in_force_rows(assigned))])
    parts = [Part("Which policy applies to each queue", in_force)]
    if listed:
        cells = rows(listed)
        kinds = tuple(severity for severity, *_ in cells)
        parts = [Part("What was found", Table("What was found", FOUND, [*map(tuple, cells)]), kinds=kinds),
                 Part("Why, and what to do", Table("Why", ADVISED, advice_rows((one.code for one in listed), useless))),
                 *parts]
    return Answered(
        "Do the policies have the effect that they should?",
        f"{cluster}: {summary(found)}" if cluster else summary(found),
        lint.verdict(listed, len(assigned), found.missing), lint.todo(listed, found.missing, helps),
        tuple(parts), ASSUMED, tuple(notes),
    )  # fmt: skip


def advice_rows(codes: Iterable[str], useless: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """Return why each code matters, what to do, and the source, as rows with the columns of `ADVISED`.

    For codes in `useless` the remedy is left out, because it improves nothing.
    """
    known = [(code, ADVICE[code]) for code in dict.fromkeys(codes)]
    return [(code, one.why, "" if code in useless else one.remedy, one.source) for code, one in known]


def summary(found: Report) -> str:
    """Return the number of findings by severity, and the number of queues and policies."""
    counts = Counter(finding.severity for finding in found.findings)
    counts_text = ", ".join(counted(counts[severity], severity) for severity in SEVERITIES)
    assigned = found.assigned
    policies = counted(len(assigned.reaches), "policy", "policies")
    return f"{counts_text} in {counted(len(assigned.assignments), 'queue')} and {policies}"


def in_force_rows(assignments: Iterable[Assignment]) -> list[list[str]]:
    """Return the policy and operator policy that apply to each queue, with the matching policies that they override.

    The rows have the columns of `IN_FORCE`.
    """
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for one in assignments:
        silenced = [*one.policies[1:], *one.operator_policies[1:]]
        names = [join_queue(policy.vhost, policy.name) for policy in silenced]
        vhost, mine, theirs = one.queue.vhost, one.in_force.policy, one.in_force.operator_policy
        both = [shown(join_queue(vhost, name)) if name else "none" for name in (mine, theirs)]
        groups[(*both, listing(names))].append(one.queue.full_name)
    return [[*group, f"{len(names):,}: {listing(sorted(names))}"] for group, names in sorted(groups.items())]


def rows(findings: Sequence[Finding]) -> list[list[str]]:
    """Return the findings as rows with the columns of `FOUND`, in the order of the findings."""
    groups: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    for one in findings:
        groups[one.severity, one.code, one.kind, one.what].append(one.name)
    return [
        [severity, code, _where(kind, names), shown(what)]
        for (severity, code, kind, what), names in groups.items()
    ]


def _where(kind: str, names: Sequence[str]) -> str:
    first = shown(shortened(names[0], LONGEST_NAME))
    return f"{kind} {first}" if len(names) == 1 else f"{kind} {first} and {len(names) - 1:,} more"


def plain(found: Report) -> dict[str, object]:
    """Return the report as JSON values, with each queue and each finding by itself."""
    return {
        "queues": [
            {
                "queue": one.queue.full_name,
                "type": one.queue.type,
                "policy": one.in_force.policy,
                "operator_policy": one.in_force.operator_policy,
                "silenced": [policy.name for policy in one.policies[1:]],
                "silenced_operator_policies": [policy.name for policy in one.operator_policies[1:]],
            }
            for one in found.assigned.assignments
        ],
        "findings": [finding.plain() for finding in found.findings],
    }


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
