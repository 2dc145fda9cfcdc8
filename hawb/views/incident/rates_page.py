"""The page about failure rates of clusters, with its figure."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hawb.incident.fits import Fit, lasting, survival
from hawb.incident.rates import ALONE, Rates
from hawb.views.embedded import figure_of
from hawb.views.figures import SLIM, drawn, name
from hawb.views.formatting import counted, html, percent
from hawb.views.incident.rates_report import UNITS, WORDS, between, distribution, length
from hawb.views.page import report_page, section
from hawb.views.report import Report
from hawb.views.style import FIGURE, LOOKS, PRINTED_FAINT

SHOWN = (ALONE, "repair", "time_to_common_failure", "synchronisation")
"""The kinds of spans that are drawn, if any of the kind was seen to end."""
SEEN, FITTED = LOOKS["down"], LOOKS["master"]
STEPS = {"color": PRINTED_FAINT, "linewidth": 1.3}
NOTE = (
    "Grey steps: the share of durations that were longer, of all that began within the logs, even if they had not"
    " ended (Kaplan and Meier). Line and band: the fitted distribution and its 95 % interval, which also use"
    " durations that had begun before the logs begin"
)
POINTS, DRAWS = 160, 300
LAST = 0.02
"""A panel ends where only this share lasts longer."""


def rates_figure(rates: Rates, *, slim: bool = False) -> Figure:
    """Draw the failure rates of clusters with a panel for each kind of span; a `slim` figure is for a phone.

    Raise ValueError if no span was seen to end.
    """
    fits = shown_fits(rates)
    if not fits:
        raise ValueError("no duration has ended, so there is nothing to draw")
    size, grid = ((SLIM, 1.5 + 2.1 * len(fits)), {"nrows": len(fits)}) if slim else ((10.5, 3.6), {"ncols": len(fits)})
    with drawn(sentence(rates), size, NOTE, FIGURE, sharey=True, **grid) as (figure, rows):
        panels = rows.ravel()
        for panel, (kind, fit) in zip(panels, fits, strict=True):
            _panel(panel, kind, fit)
        panels[0].set_ylabel("share that lasts longer", color=PRINTED_FAINT)
        panels[0].set_yticks([0, 0.5, 1], ["0", "half", "all"])
        panels[0].set_ylim(0, 1.03)
    return figure


def shown_fits(rates: Rates) -> list[tuple[str, Fit]]:
    """Return the kinds that are drawn, each with its fit: those with a span that was seen to end."""
    return [(kind, fit) for kind in SHOWN if (fit := rates.fits.get(kind)) is not None]


def sentence(rates: Rates) -> str:
    """Return a sentence that says what the figure shows."""
    fit, repair = rates.fits.get(ALONE), rates.fits.get("repair")
    parts = []
    if fit is not None:
        parts.append(f"A node fails every {length(fit.best.mean_s)} ({between(fit)})")
    if repair is not None:
        parts.append(f"{'and' if parts else 'A node'} is back after {length(repair.best.mean_s)}"
                    f" ({between(repair)})")  # fmt: skip
    some, of = rates.company
    if some and parts:
        parts[-1] += f"; {percent(some / of)} of failures affect several nodes at once"
    return f"{' '.join(parts)}." if parts else f"Data from {counted(rates.clusters, 'cluster')}."


def _panel(axes: Axes, kind: str, fit: Fit) -> None:
    axes.set_title(WORDS[kind])
    times_s, shares = survival(fit.sample)
    last_s = max(_until_s(fit), float(np.median(times_s)))
    unit_s, unit = next((unit_s, unit) for least, unit_s, unit in UNITS if last_s >= least)
    at_s = np.linspace(0, last_s, POINTS)
    band = np.quantile([lasting(one, at_s) for one in fit.draws(DRAWS)], (0.025, 0.975), axis=0)
    axes.fill_between(at_s / unit_s, *band, color=FITTED.colour, alpha=0.15, linewidth=0)
    within = times_s <= last_s
    axes.step(np.append(times_s[within], last_s) / unit_s, np.append(shares[within], shares[within][-1]),
              where="post", **STEPS)  # fmt: skip
    line = lasting(fit.best, at_s)
    axes.plot(at_s / unit_s, line, color=FITTED.colour, linewidth=1.6)
    place = min(int(np.searchsorted(-line, -0.62)), POINTS - 1)
    name(
        axes,
        (at_s[place] / unit_s, float(line[place])),
        distribution(fit.best).replace(", ", ",\n").replace(" (", "\n("),
    )
    axes.set_xlim(0, last_s / unit_s)
    axes.set_xlabel(f"{unit}; {fit.sample.events:,} seen to end", color=PRINTED_FAINT)


def _until_s(fit: Fit) -> float:
    """Return the time in seconds after which only the share LAST lasts longer."""
    times_s = fit.best.mean_s * np.geomspace(0.01, 50, 400)
    return float(times_s[int(np.searchsorted(-lasting(fit.best, times_s), -LAST)) - 1])


def page(found: Report, rates: Rates) -> str:
    """Return the page, which fetches and runs nothing; without data for a figure it says what is missing."""
    if shown_fits(rates):
        return report_page(found, [figure_of(partial(rates_figure, rates), "The table's first rows as curves")])
    *kinds, last = (WORDS[kind] for kind in SHOWN)
    why = f"No figure: the logs show no completed period ({', '.join(kinds)} or {last})."
    return report_page(found, below=[section("No figure", f"<p>{html(why)}</p>")])
