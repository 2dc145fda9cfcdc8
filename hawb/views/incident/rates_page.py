"""How often clusters fail, as one page with its figure."""

from __future__ import annotations

from hawb.incident.rates import Rates
from hawb.views.embedded import svg
from hawb.views.incident.rates_figure import rates_figure
from hawb.views.page import figure, report_page
from hawb.views.report import Report


def page(found: Report, rates: Rates) -> str:
    """One page, which fetches and runs nothing; without a figure where nothing ended."""
    drawn = []
    if any(rates.fits.values()):
        drawn.append(figure(svg(rates_figure(rates), "The table's first rows as curves"), sized=True))
    return report_page(found, drawn)
