"""A linter's report for a notebook: what is in force where, what was found, and what each kind of finding means."""

from __future__ import annotations

import pandas as pd

from hawb.planning.advice import ADVICE
from hawb.planning.lint import Report
from hawb.views.findings import FOUND, IN_FORCE, in_force_rows, rows


def in_force_table(found: Report) -> pd.DataFrame:
    """The single policy, and the operator policy, that apply to each queue, and which others these silence."""
    return pd.DataFrame(in_force_rows(found.assigned.assignments), columns=IN_FORCE)


def found_table(found: Report) -> pd.DataFrame:
    """The findings, the worst first; what differs in nothing but the queue is one row."""
    return pd.DataFrame(rows(found.findings), columns=("severity", *FOUND[1:]))


def advice_table(found: Report) -> pd.DataFrame:
    """For each kind of finding why it matters, what to do, and where that stands."""
    codes = dict.fromkeys(finding.code for finding in found.findings)
    told = [(code, ADVICE[code].why, ADVICE[code].remedy, ADVICE[code].source) for code in codes]
    return pd.DataFrame(told, columns=("code", "why", "do", "source")).set_index("code")


def tables(found: Report) -> list[pd.DataFrame]:
    """All three."""
    return [in_force_table(found), found_table(found), advice_table(found)]
