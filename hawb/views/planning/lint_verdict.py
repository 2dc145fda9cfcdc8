"""Do the policies do what they say: what a linter found in a sentence, and what to do about the worst of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hawb.planning.advice import ADVICE, SEVERITIES
from hawb.planning.findings import Finding
from hawb.views.formatting import counted, listing, shown
from hawb.views.report import MOST_TO_DO, Answer, ToDo, Verdict

ANSWERS: dict[str, Answer] = {"error": "no", "warning": "but", "note": "yes"}
"""The answer by the worst finding."""


def verdict(findings: Sequence[Finding], queues: int) -> Verdict:
    """Whether policies protect what they are to protect: no with an error, yes without a warning."""
    counts = Counter(one.severity for one in findings)
    if not findings:
        return Verdict("yes", f"nothing is wrong with {counted(queues, 'queue')} and what applies to them")
    worst = min(findings, key=lambda one: SEVERITIES.index(one.severity))
    alike = [one.name for one in findings if (one.code, one.what) == (worst.code, worst.what)]
    told = ", ".join(counted(counts[severity], severity) for severity in SEVERITIES if counts[severity])
    if worst.severity == "note":
        return Verdict("yes", f"there is {told}" if len(findings) == 1 else f"there are {told}, and nothing worse")
    others = f" ({told} in all)" if len(findings) > 1 else ""
    return Verdict(ANSWERS[worst.severity], f"{worst.kind} {listing(alike)}: {shown(worst.what)}{others}")


def todo(findings: Sequence[Finding]) -> tuple[ToDo, ...]:
    """What to do about the worst kinds of findings that are more than notes, each with whom it is about."""
    bad = [one for one in findings if one.severity != "note"]
    codes = list(dict.fromkeys(one.code for one in sorted(bad, key=lambda one: SEVERITIES.index(one.severity))))
    names = {code: dict.fromkeys(one.name for one in bad if one.code == code) for code in codes}
    return tuple(ToDo(f"{listing(names[code])}: {ADVICE[code].remedy}") for code in codes[:MOST_TO_DO])
