"""What each number of replicas costs and brings, as one page with its figure."""

from __future__ import annotations

from functools import partial

from hawb.study.replicas import WhatIf
from hawb.views.embedded import figure_of
from hawb.views.page import report_page
from hawb.views.study.replica_costs import report_of
from hawb.views.study.replica_figure import replica_figure


def page(found: WhatIf) -> str:
    """One page, which fetches and runs nothing."""
    drawn = figure_of(partial(replica_figure, found), "The table's numbers as lines")
    return report_page(report_of(found), [drawn])
