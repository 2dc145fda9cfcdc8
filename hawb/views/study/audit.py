"""What an audit of a fleet comes to, for a terminal and for programs."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import asdict

from hawb.planning.advice import ADVICE, SEVERITIES
from hawb.study.audit import Summary
from hawb.views.formatting import counted, shortened, shown
from hawb.views.planning.findings import advice
from hawb.views.tables import columns

RISKS = ("", "code", "queues", "share", "policies, nodes", "clusters", "for example")
BLOCKERS = ("what blocks a move to quorum queues", "queues", "share", "clusters")
REFUSED = ("file that could not be read", "why")

MOST_REFUSED = 20
"""How many unreadable files a terminal shows; all are in the table of refusals."""
LONGEST = 60


def report(summary: Summary) -> str:
    """The whole report."""
    queues = sum(summary.types.values())
    of_types = ", ".join(f"{number:,} {shown(kind)}" for kind, number in summary.types.items())
    parts = [f"{counted(summary.clusters, 'cluster')}, {counted(queues, 'queue')}{f': {of_types}' if queues else ''}"]
    if summary.risks:
        parts.append(columns(list(_risks(summary, queues)), RISKS))
    if summary.blockers:
        rows = [[one["blocker"], *_numbers(one["queues"], queues), f"{one['clusters']:,}"] for one in summary.blockers]
        parts.append(columns(rows, BLOCKERS))
    if summary.refused:
        parts.append(columns(list(_refused(summary)), REFUSED))
    return "\n\n".join([*parts, advice(one["code"] for one in _worst_first(summary))]).rstrip()


def plain(summary: Summary) -> dict[str, object]:
    """The summary as JSON has it, with the severity of each risk."""
    return asdict(summary) | {"risks": [{"severity": _severity(one)} | one for one in _worst_first(summary)]}


def _risks(summary: Summary, queues: int) -> Iterator[list[str]]:
    for one in _worst_first(summary):
        example = f"{shortened(one['example']['thing'], LONGEST)} in {shortened(one['example']['cluster'], LONGEST)}"
        numbers = _numbers(one["queues"], queues)
        others = f"{one['policies_and_nodes']:,}" if one["policies_and_nodes"] else ""
        yield [_severity(one), one["code"], *numbers, others, f"{one['clusters']:,}", shown(example)]


def _refused(summary: Summary) -> Iterator[list[str]]:
    for one in summary.refused[:MOST_REFUSED]:
        yield [shown(shortened(one["file"], LONGEST)), shown(f"{one['place']}: {one['given']}, not {one['accepted']}")]
    if (more := len(summary.refused) - MOST_REFUSED) > 0:
        yield [f"and {more:,} more", ""]


def _worst_first(summary: Summary) -> list[dict]:
    return sorted(summary.risks, key=lambda one: SEVERITIES.index(_severity(one)))


def _severity(risk: dict) -> str:
    return ADVICE[risk["code"]].severity


def _numbers(number: int, of: int) -> list[str]:
    return [f"{number:,}", f"{number / of:.1%}"] if number else ["", ""]
