"""The histories of trials as rows: each failure, repair and planned work, with its time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from hawb.study import histories
from hawb.study.cells import Cell
from hawb.study.engine_trial import SECOND_US

AT_A_TIME = 1_000
"""The number of trials whose events make one batch: some tens of thousands of rows."""

OF_THE_CLOCK = (histories.RATE,)
"""Events that are left out: the beginning of an hour is no event of the cluster."""
WITHOUT_NODES = (histories.BURST, histories.CONSUMERS_AWAY, histories.CONSUMERS_BACK)


def faults(cell: Cell, first: int, count: int) -> Iterator[pa.RecordBatch]:
    """Yield the events of `count` trials of a cell from number `first` on, in batches.

    The columns are trial, event, at_s, kind and nodes.
    """
    design, environment = cell.study.designs[cell.design], cell.study.environments[cell.environment]
    horizon_us = round(cell.study.horizon_days * histories.DAY_US)
    sets = [tuple(name for bit, name in enumerate(design.node_names) if nodes >> bit & 1)
            for nodes in range(1 << design.nodes)]  # fmt: skip
    for begins in range(first, first + count, AT_A_TIME):
        trials = range(begins, min(begins + AT_A_TIME, first + count))
        drawn = [histories.history(environment, design.nodes, cell.study.seed, trial, horizon_us) for trial in trials]
        yield _rows(trials, [one[~np.isin(one[:, 1], OF_THE_CLOCK)] for one in drawn], sets, design.nodes)


def _rows(trials: range, drawn: list[np.ndarray], sets: list[tuple[str, ...]], nodes: int) -> pa.RecordBatch:
    events = np.concatenate(drawn) if drawn else np.empty((0, 3), np.int64)
    counts = [len(one) for one in drawn]
    return pa.RecordBatch.from_pydict({
        "trial": np.repeat(np.array(trials, np.int64), counts),
        "event": np.concatenate([np.arange(count) for count in counts]) if counts else np.empty(0, np.int64),
        "at_s": events[:, 0] / SECOND_US,
        "kind": pa.array([histories.NAMES[kind] for kind in events[:, 1].tolist()], pa.string()),
        "nodes": pa.array([_nodes(kind, about, sets, nodes) for _, kind, about in events.tolist()],
                          pa.list_(pa.string())),
    })  # fmt: skip


def _nodes(kind: int, about: int, sets: list[tuple[str, ...]], nodes: int) -> tuple[str, ...]:
    """Return the nodes of an event; empty for kinds without nodes."""
    return () if kind in WITHOUT_NODES else sets[about & (1 << nodes) - 1]
