"""A planned upgrade, or the plans across several releases, as one page with figures, which text and JSON lack."""

from __future__ import annotations

from functools import partial

from hawb.views.embedded import figure_of
from hawb.views.page import closed, report_page
from hawb.views.planning.planned_upgrade import REHEARSAL, REPORT, RUNBOOK, PlannedUpgrade
from hawb.views.planning.road_upgrade import RoadUpgrade
from hawb.views.planning.upgrade_figure import upgrade_figure

PLAN, ROLL = "Each node's restart over time, as in the table", "Each node's restart over time, {}"


def page(found: PlannedUpgrade | RoadUpgrade) -> str:
    """Return a plan, or the plans across several releases, as one page, which fetches and runs nothing."""
    below = [closed("The runbook", found.runbook())]
    if isinstance(found, RoadUpgrade):
        drawn = [_over_time(roll.planned, ROLL.format(roll.title), roll.title) for roll in found.rolls]
    else:
        drawn = [_over_time(found, PLAN)]
        below.append(closed("The rehearsal, for hawb check", found.rehearsal()))
    return report_page(found.report(), drawn, below)


def texts(planned: PlannedUpgrade) -> dict[str, str]:
    """Return the content of all files of a plan by file name."""
    return {REPORT: page(planned), RUNBOOK: planned.runbook(), REHEARSAL: planned.rehearsal()}


def _over_time(planned: PlannedUpgrade, said: str, caption: str = "") -> str:
    plan = planned.plan
    return figure_of(partial(upgrade_figure, plan.stages, plan.rehearsal.scenario), said, caption)
