"""How often clusters fail, as one page with its figure."""

from __future__ import annotations

from functools import partial

from hawb.incident.rates import Rates
from hawb.views.embedded import figure_of
from hawb.views.incident.rates_figure import rates_figure
from hawb.views.page import report_page
from hawb.views.report import Report


def page(found: Report, rates: Rates) -> str:
    """One page, which fetches and runs nothing; without a figure where nothing ended."""
    drawn = []
    if any(rates.fits.values()):
        drawn.append(figure_of(partial(rates_figure, rates), "The table's first rows as curves"))
    return report_page(found, drawn)
