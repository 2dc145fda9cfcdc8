"""Published rates and latencies with the model that was fitted to them, as a figure and as tables.

Classic queues are squares, quorum queues lighter hexagons; lines are the fit. The band is the interval of a prediction:
a mark outside it is a row that the other rows did not predict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from hawb.study.published import Row
from hawb.study.throughput import Model
from hawb.views.figures import drawn, name
from hawb.views.formatting import counted
from hawb.views.study.estimates import number
from hawb.views.style import FIGURE, LOOKS, MARKERS, PAPER, PRINTED_FAINT

LOOK = {name: {"color": LOOKS[name].colour, "marker": MARKERS[LOOKS[name].glyph]} for name in ("classic", "quorum")}
NUMBERS = EngFormatter(sep="")

CLOSE = 1.25
"""A prediction is close to the published value if neither is more than this many times the other."""

NOTE = "Marks are published figures, and lines are the fit; nine of ten new figures should be within the bands"

LIMITED = "c5.4xlarge io1 3.8.4"
SIZED = "GKE e2-standard-16 3.10.1"


def throughput_figure(queues: dict[str, Model], clusters: dict[str, Model]) -> Figure:
    """Draw models of one queue and of a cluster, by queue type (`classic`, `quorum`), with the published figures.

    The panels show rate and latency by the publisher's limit, rate by message size for one copy and three, and all rows
    of the clusters, each predicted from the other rows.
    """
    with drawn(sentence(queues, clusters), (10.5, 8.2), NOTE, FIGURE, nrows=2, ncols=2) as (figure, axes):
        _by_limit(axes[0, 0], queues)
        _latency(axes[0, 1], queues)
        _by_size(axes[1, 0], queues)
        _held_out(axes[1, 1], clusters)
    return figure


def sentence(queues: dict[str, Model], clusters: dict[str, Model]) -> str:
    """Return which queue type has the higher rate with many unconfirmed messages, as far as the intervals show it.

    The sentence also counts the clusters whose rate the other rows predict.
    """
    at_most = {}
    for queue_type, model in queues.items():
        rows = _measured(model, LIMITED)
        limit = max(row["in_flight"] for row in rows)
        at_most[queue_type] = model.rate(**_asked(model, rows[0], in_flight=limit))
    slow, fast = sorted(at_most, key=lambda queue_type: at_most[queue_type].value)
    ratio = at_most[fast].value / at_most[slow].value
    more = f"A {fast} queue passes on {ratio:.1f} times as many messages a second as a {slow} one"
    if at_most[fast].low <= at_most[slow].high:
        more = "Which type of queue passes on more messages a second is not known"
    errors = [error for model in clusters.values() for error in model.held_out if error is not None]
    near = sum(abs(error) <= math.log(CLOSE) for error in errors)
    return f"{more}; of {len(errors)} clusters {near} are predicted within a quarter from the other clusters."


def held_out_table(model: Model) -> pd.DataFrame:
    """Return every row of a model with the published rate, and the rate that the model without this row predicts.

    The error is in per cent; it is empty if no other row has the same base.
    """
    rows = []
    for row, error in zip(model.rows, model.held_out, strict=True):
        known = {column: row[column] for column in (*model.law.columns, "rate_per_s")}
        ratio = math.nan if error is None else math.exp(error)
        rows.append(known | {"predicted_per_s": ratio * row["rate_per_s"], "off_percent": 100 * (ratio - 1)})
    return pd.DataFrame(rows).round({"predicted_per_s": 0, "off_percent": 1})


def limits_table(
    queues: dict[str, Model], limits: Sequence[int], copies: dict[str, int], **asked: object
) -> pd.DataFrame:
    """Return messages a second and median latency of one queue by the publisher's limit, each with its interval.

    The last row has the model's error on held-out rows; `copies` is the number of replicas by type. Raise
    NotMeasuredError outside the measured range.
    """
    columns: dict[str, list[str]] = {}
    for queue_type, model in queues.items():
        given = {"replicas": copies[queue_type]} | asked
        rates = {
            "messages/s": [model.rate(in_flight=limit, **given) for limit in limits],
            "latency, ms": [model.latency(in_flight=limit, **given) for limit in limits],
        }
        for measure, found in rates.items():
            thousand = 1000 if measure == "latency, ms" else 1
            cells = [" to ".join(number(thousand * end) for end in (each.low, each.high)) for each in found]
            columns[f"{queue_type}, {measure}"] = [
                *(f"{number(thousand * each.value)} ({ends})" for each, ends in zip(found, cells, strict=True)),
                f"{found[0].error:.0%} of {found[0].rows}",
            ]
    index = pd.Index([*map("{:,}".format, limits), "median error"], name="unconfirmed at most")
    return pd.DataFrame(columns, index=index)


def _by_limit(axes: Axes, queues: dict[str, Model]) -> None:
    axes.set_title(f"one queue, 1 kB: messages/s by unconfirmed messages at most\n{LIMITED}")
    for queue_type, model in queues.items():
        rows = _measured(model, LIMITED)
        limits = _between(rows, "in_flight")
        label = f"{queue_type}, {rows[0]['replicas']} copies"
        _draw(axes, queue_type, rows, "in_flight", "rate_per_s", label)
        rates = [model.rate(**_asked(model, rows[0], in_flight=limit)) for limit in limits]
        _line(axes, queue_type, limits, rates)
        name(axes, (limits[-1], rates[-1].value), label.replace(", ", ",\n"))
    _logarithmic(axes)
    axes.set_yticks((500, 1000, 2000, 5000, 10_000, 20_000))


def _latency(axes: Axes, queues: dict[str, Model]) -> None:
    axes.set_title("the same: median seconds from publishing to consuming,\nwhere the figures have it")
    for queue_type, model in queues.items():
        rows = _measured(model, LIMITED)
        limits = _between(rows, "in_flight")
        _draw(axes, queue_type, [row for row in rows if row["p50_s"]], "in_flight", "p50_s", queue_type)
        latencies = [model.latency(**_asked(model, rows[0], in_flight=limit)) for limit in limits]
        _line(axes, queue_type, limits, latencies)
        name(axes, (limits[-1], latencies[-1].value), queue_type)
    axes.hlines(0.005, 1, 20, color=PRINTED_FAINT, linestyle=":", linewidth=1)
    latencies = "published for 1 to 20:\nbelow 5 ms"
    axes.annotate(latencies, (1, 0.005), (0, 3), textcoords="offset points", color=PRINTED_FAINT)
    _logarithmic(axes, y=EngFormatter("s", sep=" "))


def _by_size(axes: Axes, queues: dict[str, Model]) -> None:
    axes.set_title(f"one queue: messages/s by size, one copy (hollow, dashed) and three\n{SIZED}")
    for queue_type, model in queues.items():
        for replicas in (1, 3):
            rows = [row for row in _measured(model, SIZED) if row["replicas"] == replicas]
            sizes = _between(rows, "size_bytes")
            alone = {"markerfacecolor": PAPER} if replicas == 1 else {}
            label = f"{queue_type}, {counted(replicas, 'copy', 'copies')}"
            _draw(axes, queue_type, rows, "size_bytes", "rate_per_s", label, **alone)
            predictions = [model.rate(**_asked(model, rows[0], size_bytes=size)) for size in sizes]
            _line(axes, queue_type, sizes, predictions, band=replicas == 3, linestyle="--" if replicas == 1 else "-")
            name(axes, (sizes[30], predictions[30].value), label, (0, 12 if replicas == 1 else -11), ha="center")
    _logarithmic(axes, x=EngFormatter("B", sep=" "))
    axes.set_yticks((5000, 10_000, 20_000, 50_000))


def _held_out(axes: Axes, clusters: dict[str, Model]) -> None:
    axes.set_title("100 queues on 3 to 9 nodes: messages/s published\nand, upwards, predicted from all other rows")
    for queue_type, model in clusters.items():
        found = held_out_table(model)
        axes.plot(found["rate_per_s"], found["predicted_per_s"], **LOOK[queue_type], linestyle="", label=queue_type,
                  alpha=0.75, markersize=5)  # fmt: skip
    ends = np.array([18_000, 90_000])
    axes.plot(ends, ends, color=PRINTED_FAINT, linewidth=1)
    for share in (1 / CLOSE, CLOSE):
        axes.plot(ends, share * ends, color=PRINTED_FAINT, linewidth=1, linestyle=":")
    axes.annotate("dotted: a quarter more, a fifth less", (90_000, 15_000), color=PRINTED_FAINT, ha="right")
    _logarithmic(axes)
    axes.legend(fontsize=8, loc="upper left")  # the marks form a cloud without lines to label
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks((20_000, 30_000, 50_000, 80_000))


def _measured(model: Model, setup: str) -> list[Row]:
    return [row for row in model.rows if row["setup"] == setup]


def _asked(model: Model, row: Row, **changed: float) -> Row:
    return {column: row[column] for column in model.law.columns} | changed


def _between(rows: Sequence[Row], column: str) -> np.ndarray:
    values = [row[column] for row in rows]
    return np.geomspace(min(values), max(values), 60)


def _draw(axes: Axes, queue_type: str, rows: Sequence[Row], x: str, y: str, label: str, **how: str) -> None:
    axes.plot(
        [row[x] for row in rows], [row[y] for row in rows], linestyle="", markersize=6, label=label,
        **LOOK[queue_type], **how,
    )  # fmt: skip


def _line(axes: Axes, queue_type: str, places: np.ndarray, predictions: list, band: bool = True, **how: str) -> None:
    colour = LOOK[queue_type]["color"]
    axes.plot(places, [found.value for found in predictions], color=colour, linewidth=1.5, **how)
    if band:
        lows, highs = [found.low for found in predictions], [found.high for found in predictions]
        axes.fill_between(places, lows, highs, color=colour, alpha=0.12, linewidth=0)


def _logarithmic(axes: Axes, x: EngFormatter = NUMBERS, y: EngFormatter = NUMBERS) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(x)
    axes.yaxis.set_major_formatter(y)
    axes.minorticks_off()
