"""A source of trials that are made up: fast, told apart by their numbers, and waiting or failing where a test asks it.

The class is made within a function, so that it goes to Spark's workers by value: they need not find this file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from hawb.engine.core import randomness
from hawb.study.load import read_study
from hawb.study.question import Study
from hawb.study.sources import Trials
from hawb.study.tables import TRIALS

CELLS = [("one", "calm"), ("one", "rough"), ("two", "calm"), ("two", "rough")]
MADE_UP = 777
TRIALS_ASKED = 400
"""Of each cell: two batches, the first of 300."""


def study(
    trials: int = 25, seed: int = 3, replicas: int = 2, designs: tuple[str, ...] = ("one", "two"), **more: object
) -> Study:
    """A question whose trials count as slow ones, so that they are cut into shares and batches of a few dozen."""
    environment = {"traffic": {"publish_per_s": 1, "consume_per_s": 1, "mode": "tx"}}
    design = {"queue_type": "classic", "nodes": 3, "version": "3.10"}
    given = {
        "study": "made up", "seed": seed, "trials": trials, "horizon_days": 365,
        "designs": {name: design | {"replicas": replicas if name == "one" else 3} for name in designs},
        "environments": {"calm": environment, "rough": environment},
    }  # fmt: skip
    return read_study(given | more)


def row(seed: int, cell: tuple[str, str], trial: int, shift: int = 0) -> Mapping[str, float]:
    """Return a trial's outcome, which depends only on the study's seed, its cell and its number."""
    lost = randomness.below(10, seed, MADE_UP, trial, CELLS.index(cell) + shift)
    return {"trial": trial, "lost": max(0, lost - 7), "publish_down_s": lost / 7, "weight": 1.0}


def expected(trials: int, cells: Sequence[tuple[str, str]] = CELLS, shift: int = 0) -> list[tuple]:
    """Return a study's outcome: design, environment and the columns of a made-up trial."""
    return sorted((*cell, *row(3, cell, trial, shift).values()) for cell in cells for trial in range(trials))


def made_up(
    shift: int = 0, gate: Path | None = None, dies: Path | None = None, breaks: tuple[str, int] | None = None
) -> type[Trials]:
    """A source. With a `gate`, a pipe, each share but the first of a cell waits until somebody opens it. Where there is
    a file `dies`, one worker takes it away and dies. The share that holds a design's trial `breaks` raises."""
    kinds = {column.name: column.type for column in TRIALS.columns if column.type != pa.string()}
    cells, purpose, gates, deadly = CELLS, MADE_UP, gate and str(gate), dies and str(dies)

    def records(study: Study, design: str, environment: str, first: int, count: int) -> pa.RecordBatch:
        import os
        import signal

        if deadly and os.path.exists(deadly):  # noqa: PTH110 - nothing of this module goes along
            os.unlink(deadly)  # noqa: PTH108
            os.kill(os.getpid(), signal.SIGKILL)
        if gates and first:
            os.close(os.open(gates, os.O_RDONLY))
        if breaks and breaks[0] == design and first <= breaks[1] < first + count:
            raise ZeroDivisionError("half way")
        cell = cells.index((design, environment)) + shift
        lost = [randomness.below(10, study.seed, purpose, number, cell) for number in range(first, first + count)]
        columns = {name: pa.array([0] * count, kind) for name, kind in kinds.items()} | {
            "trial": pa.array(range(first, first + count), pa.int64()),
            "lost": pa.array([max(0, one - 7) for one in lost], pa.int64()),
            "publish_down_s": pa.array([one / 7 for one in lost], pa.float64()),
            "weight": pa.array([1.0] * count, pa.float64()),
        }
        return pa.record_batch(columns)

    class Source(Trials):
        @classmethod
        def name(cls) -> str:
            return "made-up-trials"

    Source.records = staticmethod(records)
    return Source


def opened(gate: Path) -> int:
    """Opens a gate for good, until the file is closed that this gives."""
    return os.open(gate, os.O_RDWR)
