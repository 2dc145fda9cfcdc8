"""Divide the trials of a study into shares that Spark's tasks play, and into micro-batches of a stream.

A share is a range of trials of one cell, a few seconds of work. A trial's row depends on its cell and its number alone,
so rows depend neither on shares nor on batches, cores or retries, bit for bit. The cost of a trial differs some
thousand times between kernel and engine; a wrong estimate of it costs time, and nothing else.

A batch is lost when the driver is killed, and a stream waits for its last task: it is as much work as every core does
in `BATCH_S`. All cells grow together, so that each has early results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql.datasource import InputPartition

from hawb.study.cells import Cell

CLASSIC_US, PARTED_US, QUORUM_US = 27, 50, 83
"""The time that the kernel needs for a year of the yardstick, in microseconds.

The values are for a mirrored queue, for one where links fail, and for a quorum queue.
"""
ENGINE_US = 50_000
YEAR_DAYS = 365

SHARE_S = 2.5
"""The seconds of work in a share.

A task costs some 50 ms, and at a batch's end a core waits for half a share on average.
"""
BATCH_S = 30.0
MOST_IN_A_SHARE = 25_000
"""The most trials in a share, however short they are: some megabytes for a task."""

Costs = dict[str, float]
"""The time for a trial of each cell, by its place, in microseconds."""
Offset = dict[str, int]
"""The number of trials of each cell, by its place, that a stream has reached."""


class Share(InputPartition):
    """Trials `first` to `first + count - 1` of a cell: the work of one task of Spark."""

    def __init__(self, cell: Cell, first: int, count: int) -> None:
        super().__init__(None)
        self.cell, self.first, self.count = cell, first, count


def cost_us(cell: Cell) -> float:
    """Return about how long a trial of a cell takes, in microseconds."""
    from hawb.study.kernel import setup  # callers that pass costs in need not wait for numba

    design, environment = cell.study.designs[cell.design], cell.study.environments[cell.environment]
    if setup.refused(design, environment) is not None:
        year_us = ENGINE_US
    elif design.queue_type == "quorum":
        year_us = QUORUM_US
    else:
        year_us = CLASSIC_US if environment.partitions is None else PARTED_US
    return year_us * max(cell.study.horizon_days, 1) / YEAR_DAYS


def costs(cells: Sequence[Cell]) -> Costs:
    """Return about how long a trial of each cell takes, in microseconds."""
    return {cell.place: cost_us(cell) for cell in cells}


def shares(
    cells: Sequence[Cell], costs: Costs, start: Mapping[str, int], end: Mapping[str, int], rows: int | None = None
) -> list[Share]:
    """Return the trials of cells between two offsets, the most expensive shares first.

    So all tasks end at about the same time. With `rows` a share, which is a task and a file, has that many trials,
    however long they take.
    """
    found = [(share.count * costs[cell.place], share) for cell in cells
             for share in _of_cell(cell, costs, start.get(cell.place, 0), end.get(cell.place, 0), rows)]  # fmt: skip
    return [share for _, share in sorted(found, key=lambda pair: -pair[0])]


def _of_cell(cell: Cell, costs: Costs, first: int, end: int, rows: int | None) -> Iterator[Share]:
    most = rows or max(1, min(MOST_IN_A_SHARE, int(SHARE_S * 1e6 / costs[cell.place])))
    pieces = -(-(end - first) // most)
    for piece in range(pieces):
        begins, ends = (first + (end - first) * number // pieces for number in (piece, piece + 1))
        yield Share(cell, begins, ends - begins)


def next_offset(cells: Sequence[Cell], costs: Costs, done: Mapping[str, int], trials: int, cores: int) -> Offset:
    """Return the end of the next batch, given the end of the last one.

    The cells with the fewest trials grow first, until all have equally many. Cells with `trials` or more stay the same.
    """
    left = [cell for cell in cells if done.get(cell.place, 0) < trials]
    if not left:
        return dict(done)
    lowest = min(done.get(cell.place, 0) for cell in left)
    a_trial_us = sum(costs[cell.place] for cell in left)
    level = min(trials, lowest + max(1, int(BATCH_S * 1e6 * cores / a_trial_us)))
    return dict(done) | {cell.place: max(level, done.get(cell.place, 0)) for cell in left}
