"""The duration of a synchronisation as a table and as a figure, with the model's error on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from hawb.study.prediction import Prediction
from hawb.study.published import table
from hawb.study.sync_duration import duration
from hawb.views.figures import drawn, name
from hawb.views.formatting import counted
from hawb.views.study.estimates import number
from hawb.views.style import LOOKS, MARKERS, PRINTED_FAINT

LINES = ("-", "--", ":", "-.")
LINE_LOOK, ROW_LOOK = LOOKS["master"], LOOKS["lost"]
HIDDEN = 0.05
"""Lines that differ by less than this share are drawn as one."""

NOTE = "Triangles are published measurements, with their batch sizes; nine of ten new ones should be within the bands"

UNITS = ((3600.0, "h"), (60.0, "min"), (1.0, "s"))


def duration_table(depths: Sequence[int], batch_sizes: Sequence[int], **more: float) -> pd.DataFrame:
    """Return seconds by depth (rows) and batch size (columns), each with its interval.

    `more` are other arguments of `hawb.study.sync_duration.duration`. Raise NotMeasuredError outside the measured
    range.
    """
    columns = {
        f"batches of {batch_size:,}": [in_a_cell(duration(depth, batch_size=batch_size, **more)) for depth in depths]
        for batch_size in batch_sizes
    }
    return pd.DataFrame(columns, index=pd.Index([f"{depth:,}" for depth in depths], name="messages"))


def in_a_cell(found: Prediction) -> str:
    """Return a prediction's value and interval in one unit."""
    unit, name = next(pair for pair in UNITS if found.value >= pair[0] or pair[0] == 1.0)
    value, low, high = (number(each / unit) for each in (found.value, found.low, found.high))
    return f"{value} {name} ({low} to {high})"


def longest_batches(sizes_bytes: Sequence[int], networks_mb_s: Sequence[float], net_ticktime_s: float) -> pd.DataFrame:
    """Return the largest batch, in messages, that passes within net_ticktime, by message size and network rate.

    A larger batch delays the ticks on the link for so long that its nodes consider each other down.
    """
    columns = {
        f"{network:g} MB/s": [f"{int(network * 1e6 * net_ticktime_s / size):,}" for size in sizes_bytes]
        for network in networks_mb_s
    }
    return pd.DataFrame(columns, index=pd.Index([f"{size:,} bytes" for size in sizes_bytes], name="messages of"))


def duration_figure(depths: Sequence[int], batch_sizes: Sequence[int], **more: float) -> Figure:
    """Draw seconds by depth, with a line and its interval for up to four batch sizes, and the published figures.

    Batch sizes with nearly the same durations share a line. Raise NotMeasuredError outside the measured range.
    """
    found = {size: [duration(depth, batch_size=size, **more) for depth in depths] for size in batch_sizes}
    caption = sentence(depths[-1], {size: predictions[-1] for size, predictions in found.items()})
    with drawn(caption, (10.5, 4.2), NOTE) as (figure, ((axes,),)):
        axes.set_title("seconds for which a queue is blocked, by its depth")
        for line, (sizes, predictions) in zip(LINES, _alike(found), strict=False):
            _draw(axes, depths, predictions, line, f"batches of {_either(sizes)}")
        for row in table("synchronisation").rows:
            axes.plot(row["messages"], row["duration_s"], color=ROW_LOOK.colour, marker=MARKERS[ROW_LOOK.glyph])
            name(axes, (row["messages"], row["duration_s"]), f"batches of {row['batch_size']:,}", (8, -5))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.yaxis.set_major_formatter(EngFormatter("s", sep=" "))
        axes.minorticks_off()
        axes.set_xlabel("messages", color=PRINTED_FAINT)
    return figure


def sentence(depth: int, found: dict[int, Prediction]) -> str:
    """Return how long a number of messages blocks a queue, with the largest batches and with the smallest."""
    small, large = min(found), max(found)
    text = f"{counted(depth)} {'blocks' if depth == 1 else 'block'} a queue for {in_a_cell(found[large])}"
    if in_a_cell(found[small]) == in_a_cell(found[large]):
        return f"{text}, in batches of {_either(sorted(found))}."
    return f"{text} in batches of {large:,}, and for {in_a_cell(found[small])} in batches of {small:,}."


def _alike(found: dict[int, list[Prediction]]) -> list[tuple[list[int], list[Prediction]]]:
    """Return the lines to draw, each with its batch sizes: sizes with nearly the same durations share a line."""
    lines: list[tuple[list[int], list[Prediction]]] = []
    for size, predictions in found.items():
        same = [sizes for sizes, others in lines
                if all(abs(one.value / other.value - 1) < HIDDEN
                       for one, other in zip(predictions, others, strict=True))]  # fmt: skip
        if same:
            same[0].append(size)
        else:
            lines.append(([size], predictions))
    return lines


def _either(sizes: Sequence[int]) -> str:
    return " or ".join(f"{size:,}" for size in sizes)


def _draw(axes: Axes, depths: Sequence[int], found: Sequence[Prediction], line: str, label: str) -> None:
    values, lows, highs = ([getattr(each, end) for each in found] for end in ("value", "low", "high"))
    axes.plot(depths, values, color=LINE_LOOK.colour, linestyle=line, label=label)
    axes.fill_between(depths, lows, highs, color=LINE_LOOK.colour, alpha=0.12, linewidth=0)
    name(axes, (depths[-1], values[-1]), label)
