"""How often clusters fail, as one page with its figure."""

from __future__ import annotations

from functools import partial

from hawb.incident.rates import Rates
from hawb.views.embedded import figure_of
from hawb.views.formatting import html
from hawb.views.incident.rates_figure import SHOWN, rates_figure, shown_fits
from hawb.views.incident.rates_report import WORDS
from hawb.views.page import report_page, section
from hawb.views.report import Report


def page(found: Report, rates: Rates) -> str:
    """One page, which fetches and runs nothing; it says what there is too little of for a figure."""
    if shown_fits(rates):
        return report_page(found, [figure_of(partial(rates_figure, rates), "The table's first rows as curves")])
    *kinds, last = (WORDS[kind] for kind in SHOWN)
    why = f"No figure: the logs show no completed period ({', '.join(kinds)} or {last})."
    return report_page(found, below=[section("No figure", f"<p>{html(why)}</p>")])
