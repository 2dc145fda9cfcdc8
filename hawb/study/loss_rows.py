"""The losses of trials as rows, with time, node, number and cause.

The kernel counts lost messages and knows no causes; the engine keeps causes. So only trials that lose messages are
played again by the engine, which is some thousand times as slow: for a thousand trials of which a quarter lose messages
it takes about ten seconds. Messages that RabbitMQ confirmed though no queue took them have their own cause, `no_queue`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from hawb.engine.core import runs
from hawb.engine.core.state import NOWHERE
from hawb.engine.core.trace import Entry
from hawb.study import histories, trial_rows
from hawb.study.cells import Cell
from hawb.study.design import Design
from hawb.study.engine_trial import SECOND_US, Played, own_seed

COLUMNS = pa.schema([
    ("trial", pa.int64()), ("loss", pa.int64()), ("at_s", pa.float64()), ("cause", pa.string()), ("node", pa.string()),
    ("messages", pa.int64()), ("confirmed", pa.int64()),
])  # fmt: skip
NO_QUEUE = "no_queue"
LOSING = ("trial", "lost", "lost_confirmed")


def losses(cell: Cell, first: int, count: int) -> Iterator[pa.RecordBatch]:
    """Yield the losses of `count` trials of a cell from number `first` on, a batch for each trial with any."""
    rows = trial_rows.records(cell.study, cell.design, cell.environment, first, count)
    for trial, lost, confirmed in zip(*(rows[name].to_pylist() for name in LOSING), strict=True):
        if lost or confirmed:
            yield pa.RecordBatch.from_pylist(list(of_trial(cell, trial)), schema=COLUMNS)


def _node_of(entry: Entry, entries: Sequence[Entry], design: Design) -> str | None:
    """Return the node of a trace entry, or of the nearest of its causes that has one; None if none has."""
    while entry.node == NOWHERE and entry.because is not None:
        entry = entries[entry.because - entries[0].number]
    return design.node_names[entry.node] if entry.node != NOWHERE else None


def of_trial(cell: Cell, trial: int) -> Iterator[dict]:
    """Yield the losses of a trial, played by the engine."""
    design, environment = cell.study.designs[cell.design], cell.study.environments[cell.environment]
    horizon_us = round(cell.study.horizon_days * histories.DAY_US)
    played = Played(design, environment, own_seed(cell.study.seed, trial))
    history = histories.history(environment, design.nodes, cell.study.seed, trial, horizon_us)
    played.through(history.tolist(), horizon_us)
    entries, account = played.turn.entries, played.account
    rows, left = [], account.lost
    for loss in reversed(played.turn.losses):  # lost messages may have come back, and been lost again
        entry, gone = entries[loss.entry - entries[0].number], runs.common(loss.numbers, left)
        left = runs.minus(left, gone)
        rows.append((entry.t_us / SECOND_US, loss.cause, _node_of(entry, entries, design), gone))
    rows.insert(0, (None, NO_QUEUE, None, runs.common(account.refused, account.confirmed)))
    for number, (at_s, cause, node, gone) in enumerate(one for one in reversed(rows) if one[-1]):
        confirmed = runs.size(runs.common(gone, account.confirmed))
        yield {"trial": trial, "loss": number, "at_s": at_s, "cause": cause, "node": node,
               "messages": runs.size(gone), "confirmed": confirmed}  # fmt: skip
