"""Figures of distributions over trials, and of the convergence of an estimate, which a mean with interval hides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from hawb.study.live import Estimate
from hawb.views.figures import drawn, name
from hawb.views.formatting import percent
from hawb.views.study.estimate_figures import decades
from hawb.views.study.estimates import Shown
from hawb.views.style import FIGURE, LOOKS

Spread = Sequence[tuple[float, float]]
"""Values, each with the share of trials that have more."""

SIZE = (10.5, 4.2)


def distribution_figure(spreads: Mapping[str, Spread], shown: Shown, types: Mapping[str, str] | None = None) -> Figure:
    """Draw for each design the share of trials that have more than a value (`hawb.study.quantiles.spread`)."""
    most = max((values[-1][0] * shown.times, design) for design, values in spreads.items())
    title = f"The worst trial of {most[1]} has {shown.text(most[0])} {shown.title}."
    note = "Each line shows the share of trials with more; if it begins below 100 %, the other trials had none"
    with drawn(title, SIZE, note, FIGURE) as (figure, axes):
        (axes,) = axes[0]
        least = min((value for spread in spreads.values() for value, _ in spread if value > 0), default=1.0)
        least = max(least, most[0] / shown.times / 1e4) * shown.times
        for design, spread in spreads.items():
            look = LOOKS[(types or {}).get(design, "classic")]
            begin = min((share for value, share in spread if value * shown.times < least), default=1.0)
            steps = [(least, begin), *((value * shown.times, share) for value, share in spread
                                       if value * shown.times >= least)]  # fmt: skip
            axes.step(*zip(*steps, strict=True), where="post", color=look.colour)
            name(axes, [step for step in steps if step[1] >= begin / 2][-1], design)
        axes.set_xscale("log")
        axes.set_xlim(least, max(most[0], 2 * least))
        ticks = decades(least, max(most[0], 2 * least))
        axes.set_xticks(ticks, [f"{tick:,.10g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.set_xlabel(shown.title)
    return figure


def convergence_figure(looks: Sequence[Estimate], shown: Shown) -> Figure:
    """Draw an estimate of one cell with its interval by the number of trials (`hawb.study.estimates.growing`)."""
    trials = [row["trials"] for row in looks]
    values = [shown.of(row) for row in looks]
    value, low, high = values[-1]
    caption = shown.text(value) if low is None else f"{shown.text(value)} ({shown.text(low)} to {shown.text(high)})"
    title = f"After {trials[-1]:,} trials it is {caption} {shown.title}."
    with drawn(title, SIZE, "The band is the 95 % interval, where there is one", FIGURE) as (figure, axes):
        (axes,) = axes[0]
        colour = LOOKS["classic"].colour
        axes.plot(trials, [one[0] for one in values], color=colour)
        known = [(count, *ends) for count, (_, *ends) in zip(trials, values, strict=True) if None not in ends]
        if known:
            axes.fill_between(*zip(*known, strict=True), color=colour, alpha=0.2, linewidth=0)
        axes.set_xscale("log")
        axes.set_xticks(trials, [f"{count:,}" for count in trials])
        axes.minorticks_off()
        axes.set_ylim(bottom=min(0.0, *(one[0] for one in values)))
        axes.yaxis.set_major_formatter(lambda tick, _: percent(tick) if shown.share else f"{tick:,.10g}")
        axes.set_xlabel("trials")
    return figure
