"""A planned upgrade, or those along a road, as one page with everything: also what is drawn, which text and JSON do
without."""

from __future__ import annotations

from functools import partial

from hawb.views.embedded import figure_of
from hawb.views.page import closed, report_page
from hawb.views.planning.planned_upgrade import REHEARSAL, REPORT, RUNBOOK, PlannedUpgrade
from hawb.views.planning.road_upgrade import RoadUpgrade
from hawb.views.planning.upgrade_figure import upgrade_figure

PLAN, ROLL = "Each node's restart over time, as in the table", "Each node's restart over time, {}"


def page(found: PlannedUpgrade | RoadUpgrade) -> str:
    """A plan, or the plans along a road, as one page, which fetches and runs nothing."""
    below = [closed("The runbook", found.runbook())]
    if isinstance(found, RoadUpgrade):
        drawn = [_over_time(roll.planned, ROLL.format(roll.title), roll.title) for roll in found.rolls]
    else:
        drawn = [_over_time(found, PLAN)]
        below.append(closed("The rehearsal, for hawb check", found.rehearsal()))
    return report_page(found.report(), drawn, below)


def texts(planned: PlannedUpgrade) -> dict[str, str]:
    """Everything that a reader can save, by the name of its file."""
    return {REPORT: page(planned), RUNBOOK: planned.runbook(), REHEARSAL: planned.rehearsal()}


def _over_time(planned: PlannedUpgrade, said: str, caption: str = "") -> str:
    plan = planned.plan
    return figure_of(partial(upgrade_figure, plan.stages, plan.rehearsal.scenario), said, caption)
