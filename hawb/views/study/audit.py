"""The report on an audit of a fleet, for a terminal, as one page, for programs and as gauges for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import asdict

from hawb.planning.advice import ADVICE, SEVERITIES
from hawb.study.audit import Summary
from hawb.views import bars
from hawb.views.formatting import counted, listing, shortened, shown
from hawb.views.page import report_page
from hawb.views.planning.findings import ADVISED, advice_rows
from hawb.views.prometheus import Gauge
from hawb.views.report import MOST_TO_DO, Part, Report, ToDo, Verdict
from hawb.views.tables import Table
from hawb.views.terminal import text
from hawb.views.verdicts.lint import ANSWERS

RISKY, BLOCKING = "What is risky", "What blocks a move to quorum queues"
RISKS = ("severity", "code", "queues", "share", "policies, nodes", "clusters", "for example")
BLOCKERS = ("what", "queues", "share", "clusters")
REFUSED = ("file that could not be read", "why")

MOST_REFUSED = 20
"""The maximum number of unreadable files that a terminal shows; the table of refusals has all."""
LONGEST = 60
ASSUMED = (
    "Each cluster is judged only by its own files. Facts that are not in these files are not judged.",
    "Advice depends only on the kind of finding and was not tested on each cluster. hawb lint tests it on one cluster.",
)


def report(summary: Summary) -> str:
    """Return the whole report as text."""
    return text(report_of(summary))


def report_of(summary: Summary) -> Report:
    """Return the report on a fleet."""
    queues = sum(summary.types.values())
    of_types = ", ".join(f"{number:,} {shown(kind)}" for kind, number in summary.types.items())
    about = f"{counted(summary.clusters, 'cluster')}, {counted(queues, 'queue')}{f': {of_types}' if queues else ''}"
    found = [
        (RISKY, RISKS, list(_risks(summary, queues))),
        (BLOCKING, BLOCKERS, list(_blockers(summary, queues))),
        ("What could not be read", REFUSED, list(_refused(summary))),
        ("Why, and what to do", ADVISED, advice_rows(one["code"] for one in _worst_first(summary))),
    ]  # fmt: skip
    parts = tuple(
        Part(title, Table(title, heads, [*map(tuple, rows)]), kinds=tuple(row[0] for row in rows if title == RISKY))
        for title, heads, rows in found if rows
    )  # fmt: skip
    return Report("Is the fleet in order?", about, verdict(summary), todo(summary), parts, ASSUMED)


def page(summary: Summary) -> str:
    """Return the report as one page, which fetches and runs nothing, with a bar for each kind of risk."""
    risks = [one for one in _worst_first(summary) if one["clusters"]]
    said = {one["code"]: f"{counted(one['queues'], 'queue')} in {counted(one['clusters'], 'cluster')}" for one in risks}
    numbers, tones = ({one["code"]: of(one) for one in risks} for of in (lambda one: one["clusters"], _severity))
    drawn = [bars.figure(numbers, "Clusters that have it, the worst first", said, tones)] if risks else []
    return report_page(report_of(summary), drawn)


def verdict(summary: Summary) -> Verdict:
    """Return the verdict on a fleet.

    No: a cluster has an error or a warning, or no cluster could be read. Unknown: a file could not be read. Yes:
    neither.
    """
    if not summary.clusters:
        return Verdict("no", "no cluster could be read")
    unread = f"; {counted(len(summary.refused), 'file')} could not be read" if summary.refused else ""
    worst = next(iter(_worst_first(summary)), None)
    if worst is None and unread:
        return Verdict("unknown", f"{unread[2:]}; nothing is found in {counted(summary.clusters, 'cluster')}")
    if worst is None or _severity(worst) == "note":
        of = "" if worst is None else " but notes"
        return Verdict(
            "unknown" if unread else "yes", f"nothing{of} is found in {counted(summary.clusters, 'cluster')}{unread}"
        )
    codes = [one for one in summary.risks if _severity(one) == _severity(worst)]
    kinds = counted(len(codes), f"kind of {_severity(worst)}", f"kinds of {_severity(worst)}s")
    widest = max(codes, key=lambda one: one["clusters"])
    where = f"{widest['code']} alone in {widest['clusters']:,} of {counted(summary.clusters, 'cluster')}"
    return Verdict(ANSWERS[_severity(worst)], f"there {'is' if len(codes) == 1 else 'are'} {kinds}, {where}{unread}")


def todo(summary: Summary) -> tuple[ToDo, ...]:
    """Return what to do about the worst risks, those of most clusters first."""
    bad = [one for one in _worst_first(summary) if _severity(one) != "note"]
    if not bad and summary.refused:
        names = listing(one["file"] for one in summary.refused)
        return (ToDo(f"Export {names} again, and repeat the audit: their content could not be read."),)
    return tuple(
        ToDo(f"{one['code']}, {_numbers_in_words(one)}, such as {_example(one)}: {ADVICE[one['code']].remedy}")
        for one in bad[:MOST_TO_DO]
    )


def _example(risk: dict) -> str:
    found = risk["example"]
    return shown(f"{shortened(found['thing'], LONGEST)} in {shortened(found['cluster'], LONGEST)}")


def _numbers_in_words(risk: dict) -> str:
    return f"{counted(risk['queues'], 'queue')} in {counted(risk['clusters'], 'cluster')}"


def plain(summary: Summary) -> dict[str, object]:
    """Return the summary as JSON values, with the severity of each risk."""
    return asdict(summary) | {"risks": [{"severity": _severity(one)} | one for one in _worst_first(summary)]}


def _risks(summary: Summary, queues: int) -> Iterator[list[str]]:
    for one in _worst_first(summary):
        numbers = _numbers(one["queues"], queues)
        others = f"{one['policies_and_nodes']:,}" if one["policies_and_nodes"] else ""
        yield [_severity(one), one["code"], *numbers, others, f"{one['clusters']:,}", _example(one)]


def _blockers(summary: Summary, queues: int) -> Iterator[list[str]]:
    for one in summary.blockers:
        yield [shown(one["blocker"]), *_numbers(one["queues"], queues), f"{one['clusters']:,}"]


def _refused(summary: Summary) -> Iterator[list[str]]:
    for one in summary.refused[:MOST_REFUSED]:
        yield [shown(shortened(one["file"], LONGEST)), shown(f"{one['place']}: {one['given']}, not {one['accepted']}")]
    if (more := len(summary.refused) - MOST_REFUSED) > 0:
        yield [f"and {more:,} more", "all are in the table of refused files"]


def _worst_first(summary: Summary) -> list[dict]:
    return sorted(summary.risks, key=lambda one: (SEVERITIES.index(_severity(one)), -one["clusters"]))


def _severity(risk: dict) -> str:
    return ADVICE[risk["code"]].severity


def _numbers(number: int, of: int) -> list[str]:
    return [f"{number:,}", f"{number / of:.1%}"] if number else ["", ""]


def gauges(summary: Summary) -> list[Gauge]:
    """Return gauges: the clusters and queues, those that each risk affects, and the blockers of migrations."""
    risks = [({"code": one["code"], "severity": ADVICE[one["code"]].severity}, one) for one in summary.risks]
    metrics = (
        ("clusters", "Clusters with at least one file that could be read.", [({}, summary.clusters)]),
        ("queues", "Queues by their type.", [({"type": kind}, count) for kind, count in summary.types.items()]),
        ("risk_queues", "Queues with this risk.", [(labels, one["queues"]) for labels, one in risks]),
        ("risk_clusters", "Clusters with this risk.", [(labels, one["clusters"]) for labels, one in risks]),
        ("blocked_queues", "Queues that cannot move to quorum queues because of this.",
         [({"blocker": one["blocker"]}, one["queues"]) for one in summary.blockers]),
        ("refused_files", "Files that could not be read.", [({}, len(summary.refused))]),
    )  # fmt: skip
    return [Gauge(f"hawb_audit_{name}", help, samples) for name, help, samples in metrics]
