"""A linter's report for a terminal and for programs: what is in force where, what was found, and what to do about it.

Findings that differ in nothing but the queue are one row, so that a thousand queues without a policy are one line.
"""

from __future__ import annotations

import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from hawb.engine.naming import join_queue
from hawb.planning.advice import ADVICE, SEVERITIES
from hawb.planning.assignments import Assignment
from hawb.planning.findings import Finding
from hawb.planning.lint import Report
from hawb.views.formatting import counted, listing, shortened, shown
from hawb.views.tables import WIDTH, columns

LONGEST_NAME = 40

IN_FORCE = ("policy", "operator policy", "silenced", "queues")
FOUND = ("", "code", "where", "what")


def report(found: Report) -> str:
    """The whole report: counts, what is in force, what was found, and the advice for each code."""
    parts = [summary(found), in_force(found.assigned.assignments)]
    if found.findings:
        parts += [table(found.findings), advice(finding.code for finding in found.findings)]
    return "\n\n".join(parts)


def summary(found: Report) -> str:
    """How many findings of each severity there are, and in how many policies, queues and nodes."""
    counts = Counter(finding.severity for finding in found.findings)
    told = ", ".join(counted(counts[severity], severity) for severity in SEVERITIES)
    assigned = found.assigned
    policies = counted(len(assigned.reaches), "policy", "policies")
    return f"{told} in {counted(len(assigned.assignments), 'queue')} and {policies}"


def in_force(assignments: Iterable[Assignment]) -> str:
    """The single policy, and the operator policy, that apply to each queue, and which others these silence."""
    return columns(in_force_rows(assignments), IN_FORCE)


def in_force_rows(assignments: Iterable[Assignment]) -> list[list[str]]:
    """The rows of `in_force`, with the columns of `IN_FORCE`."""
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for one in assignments:
        silenced = [*one.policies[1:], *one.operator_policies[1:]]
        names = [join_queue(policy.vhost, policy.name) for policy in silenced]
        vhost, mine, theirs = one.queue.vhost, one.in_force.policy, one.in_force.operator_policy
        both = [shown(join_queue(vhost, name)) if name else "none" for name in (mine, theirs)]
        groups[(*both, listing(names))].append(one.queue.full_name)
    return [[*group, f"{len(names):,}: {listing(sorted(names))}"] for group, names in sorted(groups.items())]


def table(findings: Sequence[Finding]) -> str:
    """The findings, the worst first."""
    return columns(rows(findings), FOUND)


def rows(findings: Sequence[Finding]) -> list[list[str]]:
    """The rows of `table`, with the columns of `FOUND`."""
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


def advice(codes: Iterable[str]) -> str:
    """Why each code matters, where that is written, and what to do."""
    lines = []
    for code in dict.fromkeys(codes):
        known = ADVICE[code]
        lines.append(code)
        for label, text in (("why", known.why), ("source", known.source), ("do", known.remedy)):
            lines += textwrap.wrap(text, WIDTH, initial_indent=f"  {label + ':':<8}", subsequent_indent=" " * 10)
    return "\n".join(lines)


def plain(found: Report) -> dict[str, object]:
    """The report as JSON has it: every queue and every finding by itself."""
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
