"""How long a synchronisation takes, as a table and as a picture, with how far the model was off on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from hawb.study.prediction import Prediction
from hawb.study.published import table
from hawb.study.sync_duration import duration
from hawb.views.study.estimates import number
from hawb.views.style import FIGURE, LOOKS, MARKERS, PRINTED, PRINTED_FAINT

LINES = ("-", "--", ":", "-.")
LINE_LOOK, ROW_LOOK = LOOKS["master"], LOOKS["lost"]
UNITS = ((3600.0, "h"), (60.0, "min"), (1.0, "s"))


def duration_table(depths: Sequence[int], batch_sizes: Sequence[int], **more: float) -> pd.DataFrame:
    """Seconds by depth (rows) and batch size (columns), each with its interval; `more` are other arguments of
    `hawb.study.sync_duration.duration`. Raises NotMeasuredError."""
    columns = {
        f"batches of {batch_size:,}": [in_a_cell(duration(depth, batch_size=batch_size, **more)) for depth in depths]
        for batch_size in batch_sizes
    }
    return pd.DataFrame(columns, index=pd.Index([f"{depth:,}" for depth in depths], name="messages"))


def in_a_cell(found: Prediction) -> str:
    """A prediction's value and interval in one unit."""
    unit, name = next(pair for pair in UNITS if found.value >= pair[0] or pair[0] == 1.0)
    value, low, high = (number(each / unit) for each in (found.value, found.low, found.high))
    return f"{value} {name} ({low} to {high})"


def longest_batches(sizes_bytes: Sequence[int], networks_mb_s: Sequence[float], net_ticktime_s: float) -> pd.DataFrame:
    """The largest batch, in messages, that passes within net_ticktime: by message size (rows) and link (columns). A
    larger one holds the link's ticks back for so long that its nodes take each other for dead."""
    columns = {
        f"{network:g} MB/s": [f"{int(network * 1e6 * net_ticktime_s / size):,}" for size in sizes_bytes]
        for network in networks_mb_s
    }
    return pd.DataFrame(columns, index=pd.Index([f"{size:,} bytes" for size in sizes_bytes], name="messages of"))


def duration_figure(depths: Sequence[int], batch_sizes: Sequence[int], **more: float) -> Figure:
    """Seconds by depth, a line for each of up to four batch sizes, beside what was published; the band is the interval
    of the last one. Raises NotMeasuredError."""
    with plt.style.context(["default", FIGURE]):
        figure, axes = plt.subplots(figsize=(10.5, 3.6), layout="constrained")
        axes.set_title("seconds for which a queue is blocked, by its depth; published measurements as triangles")
        for line, batch_size in zip(LINES, batch_sizes, strict=False):
            found = [duration(depth, batch_size=batch_size, **more) for depth in depths]
            _draw(axes, depths, found, line, f"batches of {batch_size:,}", band=batch_size == batch_sizes[-1])
        for row in table("synchronisation").rows:
            axes.plot(row["messages"], row["duration_s"], color=ROW_LOOK.colour, marker=MARKERS[ROW_LOOK.glyph])
            axes.annotate(f"batches of {row['batch_size']:,}", (row["messages"], row["duration_s"]), (8, -3),
                          textcoords="offset points", color=PRINTED)  # fmt: skip
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.yaxis.set_major_formatter(EngFormatter("s", sep=" "))
        axes.minorticks_off()
        axes.set_xlabel("messages", color=PRINTED_FAINT)
        axes.legend(loc="upper left")
        plt.close(figure)  # shown by whoever asked for it, and not a second time by pyplot
    return figure


def _draw(
    axes: Axes, depths: Sequence[int], found: Sequence[Prediction], line: str, label: str, band: bool
) -> None:
    axes.plot(depths, [each.value for each in found], color=LINE_LOOK.colour, linestyle=line, label=label)
    if band:
        lows, highs = [each.low for each in found], [each.high for each in found]
        axes.fill_between(depths, lows, highs, color=LINE_LOOK.colour, alpha=0.12, linewidth=0)
