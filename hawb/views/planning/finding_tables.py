"""A linter's report for a notebook: what is in force where, what was found, and what each kind of finding means."""

from __future__ import annotations

from hawb.planning.lint import Report
from hawb.views.planning.findings import ADVISED, FOUND, IN_FORCE, advice_rows, in_force_rows, rows, summary
from hawb.views.tables import Table


def in_force_table(found: Report) -> Table:
    """The single policy, and the operator policy, that apply to each queue, and which others these silence."""
    return Table("In force", IN_FORCE, [tuple(row) for row in in_force_rows(found.assigned.assignments)])


def found_table(found: Report) -> Table:
    """The findings, the worst first; those that differ in nothing but the queue are one row."""
    return Table(summary(found), FOUND, [tuple(row) for row in rows(found.findings)])


def advice_table(found: Report) -> Table:
    """For each kind of finding why it matters, what to do, and where that stands."""
    return Table("Why, and what to do", ADVISED, advice_rows(finding.code for finding in found.findings))


def tables(found: Report) -> list[Table]:
    """The three tables of a report."""
    return [in_force_table(found), found_table(found), advice_table(found)]
