"""The summary of a sweep as a picture and in words: what each policy loses, and what it costs in time.

Rows are combinations, those of a controlled stop above and those of a kill below in the same order, so that the eye can
compare the two. No two marks differ by colour alone, and each has its number beside it.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from hawb.views.style import FIGURE, LOOKS, MARKERS, PAPER

STYLE = FIGURE | {"axes.grid.axis": "x", "axes.spines.left": False, "ytick.left": False, "ytick.labelleft": False}

HEADINGS = {"stop": "Controlled stop of the master's node", "kill": "kill -9 of the master's node"}
SETTINGS = {
    "ha_sync_mode": "ha-sync-mode",
    "ha_promote_on_shutdown": "ha-promote-\non-shutdown",
    "ha_promote_on_failure": "ha-promote-\non-failure",
}
EMPHASISED = ("always", "automatic")
"""Set in bold, so that rows that differ in one word can be told apart."""

LOST, DOWN, BLOCKED = (LOOKS[name].colour for name in ("lost", "down", "unsynchronised"))


def sweep_figure(table: pd.DataFrame) -> Figure:
    """The table of `hawb.study.sweep.summary` drawn: settings, share of trials with a loss, messages, seconds."""
    rows, places, headings = _places(table)
    with plt.style.context(["default", STYLE]):
        figure, axes = plt.subplots(
            1, 4, figsize=(10.5, 6.2), sharey=True, width_ratios=(3.4, 2, 2, 2.6), layout="constrained"
        )
        _settings(axes[0], rows, places, headings)
        _shares(axes[1], rows, places)
        _messages(axes[2], rows, places)
        _seconds(axes[3], rows, places)
        axes[0].set_ylim(max(places) + 0.7, min(headings) - 0.6)
        plt.close(figure)  # shown by whoever asked for it, and not a second time by pyplot
    return figure


def sweep_in_words(table: pd.DataFrame) -> str:
    """The same facts as text: one sentence a combination, under a line for each kind of shutdown."""
    lines = []
    for shutdown, heading in HEADINGS.items():
        lines += [f"{heading}:", *(f"  {_sentence(row)}" for row in _rows(table) if row["shutdown"] == shutdown)]
    return "\n".join(lines)


def _sentence(row: dict) -> str:
    settings = ", ".join(f"{key.replace('_', '-')} {row[key]}" for key in SETTINGS)
    share, low, high = (100 * row[key] for key in ("loss_share", "loss_share_low", "loss_share_high"))
    return (
        f"{settings}: {share:.1f} % of {row['trials']} trials lose messages ({low:.1f} to {high:.1f} %),"
        f" {row['mean_lost']:,.0f} on average; {row['mean_down_s']:.1f} s without a master,"
        f" {row['mean_blocked_s']:.1f} s blocked by synchronisation."
    )


def _rows(table: pd.DataFrame) -> list[dict]:
    return table.to_dict("records")


def _places(table: pd.DataFrame) -> tuple[list[dict], list[float], dict[float, str]]:
    """The rows as drawn from top to bottom, how far down each stands, and the headings by how far down they stand."""
    rows, places, headings = [], [], {}
    down = 0.0
    for shutdown, heading in HEADINGS.items():
        headings[down] = heading
        group = [row for row in _rows(table) if row["shutdown"] == shutdown]
        rows += group
        places += [down + place for place in range(1, len(group) + 1)]
        down += len(group) + 1.6
    return rows, places, headings


def _settings(axes: Axes, rows: list[dict], places: list[float], headings: dict[float, str]) -> None:
    """The policies as text."""
    axes.set_axis_off()
    for column, (key, name) in enumerate(SETTINGS.items()):
        axes.text(column, min(headings) - 0.9, name, va="baseline", weight="bold")
        for row, place in zip(rows, places, strict=True):
            axes.text(column, place, row[key], va="center", weight="bold" if row[key] in EMPHASISED else "normal")
    for height, heading in headings.items():
        axes.text(0, height, heading, va="center", weight="bold", size=9.5)
    axes.set_xlim(0, len(SETTINGS))


def _shares(axes: Axes, rows: list[dict], places: list[float]) -> None:
    """Share of trials with a loss and its interval: a triangle, or a ring where no trial had one."""
    axes.set_title("trials that lose messages,\nwith 95 % interval")
    for row, place in zip(rows, places, strict=True):
        share, high = row["loss_share"], row["loss_share_high"]
        marker = {"marker": MARKERS[LOOKS["lost"].glyph]} if share else {"marker": "o", "markerfacecolor": PAPER}
        axes.hlines(place, row["loss_share_low"], high, color=LOST, linewidth=2, alpha=0.5)
        axes.plot(share, place, color=LOST, markersize=6, **marker)
        axes.annotate(f"{share:.0%}", (high, place), (7, 0), textcoords="offset points", va="center")
    axes.set_xlim(-0.04, 1.3)
    axes.set_xticks((0, 0.5, 1), ("0%", "50%", "100%"))


def _messages(axes: Axes, rows: list[dict], places: list[float]) -> None:
    """Lost messages, the mean over all trials."""
    axes.set_title("messages lost,\nmean of all trials")
    lost = [row["mean_lost"] for row in rows]
    bars = axes.barh(places, lost, height=0.6, color=LOST)
    axes.bar_label(bars, [f"{value:,.0f}" for value in lost], padding=3)
    axes.set_xlim(0, 1.5 * max(*lost, 1))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.locator_params("x", nbins=3)


def _seconds(axes: Axes, rows: list[dict], places: list[float]) -> None:
    """Seconds without a master, and after them the seconds blocked by synchronisation."""
    axes.set_title("seconds unavailable,\nmean of all trials")
    down, blocked = [row["mean_down_s"] for row in rows], [row["mean_blocked_s"] for row in rows]
    axes.barh(places, down, height=0.6, color=DOWN, label="without a master")
    bars = axes.barh(
        places, blocked, left=down, height=0.6, facecolor=PAPER, edgecolor=BLOCKED, hatch="/////",
        linewidth=[1 if value else 0 for value in blocked], label="blocked by synchronisation",
    )  # fmt: skip
    axes.bar_label(bars, [f"{d:.1f} + {b:.1f}" for d, b in zip(down, blocked, strict=True)], padding=3)
    axes.set_xlim(0, 1.5 * max(*map(sum, zip(down, blocked, strict=True)), 1))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.legend(loc="upper left", bbox_to_anchor=(-0.03, -0.05), borderpad=0)
