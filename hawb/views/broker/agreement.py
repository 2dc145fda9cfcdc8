"""The share of agreement of model and broker: by release, by verb, and by pairs of queue settings, as a heat map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from hawb.conformance import kept_campaigns
from hawb.conformance.kept_campaigns import Kept as Campaign
from hawb.conformance.kept_campaigns import KeptCampaign
from hawb.conformance.wide_campaigns import Pair
from hawb.conformance.wide_settings import FACTORS, ROUNDS
from hawb.scenario.checkout import data_folder_for
from hawb.views.broker.model_vs_broker import DIFFERS, Kept, verdict
from hawb.views.figures import headline
from hawb.views.style import FIGURE, GRID, LINE, LOOKS, PAPER
from hawb.views.tables import Table

STYLE = FIGURE | {"axes.grid": False, "axes.spines.left": False, "axes.spines.bottom": False, "axes.facecolor": GRID}
CELL_INCHES, LEFT, RIGHT, BELOW, ABOVE = 0.17, 2.6, 3.9, 2.5, 0.6
"""Inches: a cell, and the room for names (left), factors and scales (right), names (below), and the title (above)."""
SCALE_LONG, SCALE_HIGH, SCALE_APART = 1.7, 0.14, 1.0
"""Inches: width and height of a colour scale, and the distance from the top of one to the next."""
LEAST_WIDTH = 7.0
WORST = 0.9
"""The colour is strongest at this share of agreeing queue-stories and below."""
AGREE = LinearSegmentedColormap.from_list("agree", [LOOKS["lost"].colour, PAPER])
ASKED = LinearSegmentedColormap.from_list("asked", [PAPER, LOOKS["master"].colour])


def _share(equal: int, asked: int) -> str:
    """Return a share in per cent, rounded down, so that only full agreement reads as 100 %."""
    return f"{1000 * equal // asked / 10:.1f}%"


# Kept campaigns


def campaigns(data: Path | None = None) -> list[Campaign]:
    """Return all campaigns in `data/recorded/wide`, by release and seed.

    Raise FileNotFoundError outside a checkout.
    """
    folder = (data or data_folder_for("the campaigns")) / "recorded" / "wide"
    found = [kept_campaigns.read(file) for file in folder.glob("*.jsonl")]
    return sorted(found, key=lambda one: (_by_number(one[0].release), one[0].seed))


def by_release(all_kept: Sequence[Campaign]) -> Table:
    """Return how many queue-stories were played on each release, and how many agreed."""
    rows = []
    for release, group in groupby((head for head, _ in all_kept), key=lambda head: head.release):
        heads = list(group)
        stories, queues, equal = (sum(getattr(one, name) for one in heads) for name in ("stories", "queues", "equal"))
        rows.append((release, stories, queues, equal, queues - equal, _share(equal, queues) if queues else ""))
    return Table("Wide stories", ("release", "stories", "queue-stories", "agree", "differ", "agree of all"), rows)


def what_differs(all_kept: Sequence[Campaign]) -> Table:
    """Return each queue-story that differs, by name."""
    rows = [(head.release, _seed(head), story, ", ".join(fields))
            for head, _ in all_kept for story, fields in head.differing.items()]  # fmt: skip
    return Table("Queue-stories that differ", ("release", "seed", "story and queue", "fields"), rows)


def _seed(head: KeptCampaign) -> str:
    return str(head.seed)


def _by_number(release: str) -> list[int]:
    return [int(part) for part in release.split(".")]


# By verb


def by_verb(recordings: Iterable[Kept]) -> Table:
    """Return the number of recordings with each verb, by release, and how many of them differ."""
    asked: Counter = Counter()
    differing: Counter = Counter()
    releases: set[str] = set()
    for kept in recordings:
        release, differs = kept.recording.version, verdict(kept) == DIFFERS
        releases.add(release)
        for verb in {step.name for step in kept.scenario.steps}:
            asked[verb, release] += 1
            differing[verb] += differs
    columns = sorted(releases, key=_by_number)
    verbs = sorted({verb for verb, _ in asked}, key=lambda verb: (-sum(asked[verb, one] for one in columns), verb))
    rows = [(verb, *(asked[verb, release] for release in columns), differing[verb]) for verb in verbs]
    return Table("Recordings with each verb", ("verb", *columns, "differ"), rows)


# By each two settings


def heat_map(counts: Sequence[Pair]) -> Figure:
    """Draw a map of each pair of settings that were played together.

    The share of agreement is below the diagonal, the number of plays above it. Pairs that were never played are grey.
    """
    places = _places(counts)
    asked, share = (np.full((len(places), len(places)), np.nan) for _ in range(2))
    for one in counts:
        low, high = sorted((places[one.factor, one.value], places[one.other_factor, one.other_value]))
        asked[low, high] = one.asked
        share[high, low] = one.equal / one.asked
    with plt.style.context(["default", STYLE]):
        size = CELL_INCHES * len(places)
        width, height = max(size + LEFT + RIGHT, LEAST_WIDTH), size + BELOW + ABOVE
        figure = plt.figure(figsize=(width, height))
        headline(figure, sentence(counts))
        axes = figure.add_axes((LEFT / width, BELOW / height, size / width, size / height))
        most = float(np.nanmax(asked, initial=2))
        often = axes.imshow(asked, cmap=ASKED, norm=LogNorm(1, most))
        agree = axes.imshow(share, cmap=AGREE, vmin=WORST, vmax=1)
        _lines(axes, list(places))
        _mark(axes, share)
        worst = f"below: agree of those\n({LOOKS['lost'].glyph} {WORST:.0%} or less)"
        _scale(figure, often, 0, "above: times asked", "{x:,.0f}", (1, most))
        _scale(figure, agree, 1, worst, "{x:.0%}", (WORST, (1 + WORST) / 2, 1))
        plt.close(figure)
    return figure


def sentence(counts: Sequence[Pair]) -> str:
    """Return how often model and broker agree, and for which pair of settings least.

    Each pair of a queue-story's settings counts.
    """
    if not counts:
        return "Nothing was asked."
    asked, equal = sum(one.asked for one in counts), sum(one.equal for one in counts)
    least = min(counts, key=lambda one: (one.equal / one.asked, -one.asked))
    if equal == asked:
        return "Model and broker agree in everything that was asked."
    pair = f"{least.factor}: {least.value} and {least.other_factor}: {least.other_value}"
    return (
        f"Model and broker agree in {_share(equal, asked)} of what was asked, least often of queues with {pair} "
        f"({least.equal / least.asked:.0%} of {least.asked:,})."
    )


def _places(counts: Sequence[Pair]) -> dict[tuple[str, str], int]:
    """Return the row of each value that was played, in the order of the factors in `ROUNDS`."""
    met = {found for one in counts for found in ((one.factor, one.value), (one.other_factor, one.other_value))}
    known = [(factor, value) for factor in FACTORS
             for value in dict.fromkeys(value for factors in ROUNDS for value in factors[factor])]  # fmt: skip
    ordered = [one for one in known if one in met] + sorted(met - set(known))
    return {one: place for place, one in enumerate(ordered)}


def _lines(axes: Axes, values: list[tuple[str, str]]) -> None:
    """Name each row and column, and draw a line between factors."""
    names = [value if value != "unset" else "(unset)" for _, value in values]
    axes.set_xticks(range(len(values)), names, rotation=90)
    axes.set_yticks(range(len(values)), names)
    axes.tick_params(length=0)
    for factor, group in groupby(range(len(values)), key=lambda place: values[place][0]):
        rows = list(group)
        axes.axhline(rows[-1] + 0.5, color=LINE, linewidth=0.5)
        axes.axvline(rows[-1] + 0.5, color=LINE, linewidth=0.5)
        axes.annotate(factor, (len(values) - 0.3, (rows[0] + rows[-1]) / 2), annotation_clip=False, va="center",
                      weight="bold")  # fmt: skip


def _scale(figure: Figure, image: AxesImage, place: int, label: str, form: str, ticks: tuple[float, ...]) -> None:
    """Draw a colour scale at the right, below the previous one, in a size that does not depend on the map's."""
    width, height = figure.get_size_inches()
    left, top = width - SCALE_LONG - 0.25, ABOVE + 0.45 + place * SCALE_APART
    room = (left / width, 1 - (top + SCALE_HIGH) / height, SCALE_LONG / width, SCALE_HIGH / height)
    bar = figure.colorbar(image, cax=figure.add_axes(room), orientation="horizontal", ticks=ticks)
    bar.minorticks_off()
    bar.ax.set_title(label, loc="left", fontsize=9)
    bar.ax.xaxis.set_major_formatter(form)


def _mark(axes: Axes, share: np.ndarray) -> None:
    """Mark the pairs that agree least, so that they do not differ by colour alone."""
    for row, column in zip(*np.nonzero(share <= WORST), strict=True):
        axes.annotate(LOOKS["lost"].glyph, (column, row), ha="center", va="center", fontsize=8)
