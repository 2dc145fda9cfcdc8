"""A study cut into blocks of trials, each a Parquet file: what is done is what has a file.

A block is a stretch of trials of one design in one environment. Its file has the numbers of its first and last trial as
its name, below `design=…/environment=…` as Spark reads partitions, and stands there whole or not at all. So a study
that was killed goes on with the blocks that have no file, and no trial is ever counted twice, whoever plays it again.

Blocks follow from the study alone and a trial from its number, so that the rows do not depend on tasks, cores or
retries, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
from msgspec import Struct

from hawb.study.folders import write_parquet
from hawb.study.question import Study

TRIALS_IN_A_BLOCK = 10_000
"""Seconds of work, a file of a megabyte: little is lost with a task, and a million trials are a hundred files."""

TRIALS = "trials"
TRIAL, WEIGHT = "trial", "weight"
"""The folder of the files, and the columns with a trial's number and with what it counts for (`hawb.study.renewals`);
where rows have no weight it is 1."""

Records = Callable[[Study, str, str, int, int], pa.RecordBatch]
"""What plays a block: (study, design, environment, number of the first trial, how many) to a row for each trial, in
their order, with its number in the column `trial`. Design and environment are given by their names in the study. A
trial's row is the same whatever block it is played in."""


class Block(Struct, frozen=True, order=True):
    """Trials `first` to `last` of a design in an environment."""

    design: str
    environment: str
    first: int
    last: int

    @property
    def count(self) -> int:
        """How many trials it has."""
        return self.last - self.first + 1

    @property
    def file(self) -> Path:
        """Its file below a study's folder."""
        cell = Path(TRIALS, f"design={self.design}", f"environment={self.environment}")
        return cell / f"{self.first:012}-{self.last:012}.parquet"


class RowsRefused(ValueError):  # noqa: N818 - it reads as what happened
    """Rows that are not what a block is to have."""


def done(folder: Path) -> list[Block]:
    """The blocks that have a file."""
    return sorted(map(_block, (folder / TRIALS).glob("design=*/environment=*/[0-9]*.parquet")))


def _block(file: Path) -> Block:
    design, environment = (part.name.partition("=")[2] for part in (file.parent.parent, file.parent))
    first, last = map(int, file.stem.split("-"))
    return Block(design, environment, first, last)


def missing(study: Study, found: list[Block]) -> list[Block]:
    """The blocks that are still to be played, given those that have a file: the gaps, cut at multiples of
    `TRIALS_IN_A_BLOCK`; first the beginnings of all cells, so that each has something to show early."""
    gaps = [block for cell in study.cells for block in _gaps(cell, study.trials, found)]
    return sorted(gaps, key=lambda block: (block.first, study.cells.index((block.design, block.environment))))


def _gaps(cell: tuple[str, str], trials: int, found: list[Block]) -> Iterator[Block]:
    first = 0
    for block in [*(one for one in found if (one.design, one.environment) == cell), Block(*cell, trials, trials)]:
        while first < block.first:
            end = min(block.first, (first // TRIALS_IN_A_BLOCK + 1) * TRIALS_IN_A_BLOCK)
            yield Block(*cell, first, end - 1)
            first = end
        first = block.last + 1


def play(
    block: Block, study: Study, records: Records, folder: Path, goes_on: Callable[[], bool] = lambda: True
) -> None:
    """Plays a block into its file, unless that is there, or nobody wants it any more (`goes_on`). Raises
    RowsRefused."""
    file = folder / block.file
    if goes_on() and not file.exists():
        rows = rows_of(block, study, records)
        if goes_on():
            write_parquet(file, rows.schema, [rows])


def rows_of(block: Block, study: Study, records: Records) -> pa.RecordBatch:
    """A block's rows. Raises RowsRefused where they are not of its trials; whatever is raised has a note of the
    block."""
    try:
        rows = records(study, block.design, block.environment, block.first, block.count)
        numbers = rows[TRIAL].to_pylist() if TRIAL in rows.schema.names else None
        if numbers != list(range(block.first, block.last + 1)):
            raise RowsRefused(f"{TRIAL}: not {block.first} to {block.last}, each once and in order")
        return rows
    except Exception as error:
        error.add_note(f"in trials {block.first} to {block.last} of {block.design} in {block.environment}")
        raise
