"""The linter's report as tables for a notebook: policies in force, findings, and what each kind of finding means."""

from __future__ import annotations

from hawb.planning.lint import Report
from hawb.views.planning.findings import ADVISED, FOUND, IN_FORCE, advice_rows, in_force_rows, rows, summary
from hawb.views.tables import Table


def in_force_table(found: Report) -> Table:
    """Return the policy and operator policy that apply to each queue, with the matching policies that they override."""
    return Table("In force", IN_FORCE, [tuple(row) for row in in_force_rows(found.assigned.assignments)])


def found_table(found: Report) -> Table:
    """Return the findings, the worst first; findings that differ only in the queue share a row."""
    return Table(summary(found), FOUND, [tuple(row) for row in rows(found.findings)])


def advice_table(found: Report) -> Table:
    """Return why each kind of finding matters, what to do, and the source."""
    return Table("Why, and what to do", ADVISED, advice_rows(finding.code for finding in found.findings))
