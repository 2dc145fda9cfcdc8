"""How the trials of a study are divided: into shares that Spark's tasks play, and into micro-batches of a stream.

A share is a stretch of trials of one cell, a few seconds of work. A trial's row follows from its cell and its number
alone, so that rows depend neither on shares nor on batches, cores or retries, bit for bit. What a trial costs differs
some thousand times between kernel and engine; a wrong estimate of it costs time, and nothing else.

A batch is lost when the driver is killed, and a stream waits for its last task: it is as much work as every core does
in `BATCH_S`. All cells grow together, so that each has something to show early.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql.datasource import InputPartition

from hawb.study.cells import Cell

CLASSIC_US, PARTED_US, QUORUM_US = 27, 50, 83
"""How long the kernel plays a year of the yardstick, in microseconds: a mirrored queue, one where links fail, a quorum
queue."""
ENGINE_US = 50_000
YEAR_DAYS = 365

SHARE_S = 2.5
"""The seconds of work in a share: a task costs some 50 ms, and at a batch's end a core waits for half a share on
average."""
BATCH_S = 30.0
MOST_IN_A_SHARE = 25_000
"""The most trials in a share, however short they are: some megabytes for a task."""

Costs = dict[str, float]
"""How long a trial of each cell takes, by its place, in microseconds."""
Offset = dict[str, int]
"""How many trials of each cell, by its place, a stream has come to."""


class Share(InputPartition):
    """Trials `first` to `first + count - 1` of a cell: what one task of Spark plays."""

    def __init__(self, cell: Cell, first: int, count: int) -> None:
        super().__init__(None)
        self.cell, self.first, self.count = cell, first, count


def cost_us(cell: Cell) -> float:
    """About how long a trial of a cell takes, in microseconds."""
    from hawb.study.kernel import setup  # whoever is told what cells cost need not wait for numba

    design, environment = cell.study.designs[cell.design], cell.study.environments[cell.environment]
    if setup.refused(design, environment) is not None:
        year_us = ENGINE_US
    elif design.queue_type == "quorum":
        year_us = QUORUM_US
    else:
        year_us = CLASSIC_US if environment.partitions is None else PARTED_US
    return year_us * max(cell.study.horizon_days, 1) / YEAR_DAYS


def costs(cells: Sequence[Cell]) -> Costs:
    """About how long a trial of each cell takes."""
    return {cell.place: cost_us(cell) for cell in cells}


def shares(
    cells: Sequence[Cell], costs: Costs, start: Mapping[str, int], end: Mapping[str, int], rows: int | None = None
) -> list[Share]:
    """The trials of cells between two offsets, the dearest shares first, so that the last ones end about together. With
    `rows` so many to a share, which is a task and a file, however long they take."""
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
    """Where the next batch ends, given where the last one did: the cells with the fewest trials grow first, until all
    have so many. The same where nothing is left, and for cells that have more."""
    left = [cell for cell in cells if done.get(cell.place, 0) < trials]
    if not left:
        return dict(done)
    lowest = min(done.get(cell.place, 0) for cell in left)
    a_trial_us = sum(costs[cell.place] for cell in left)
    level = min(trials, lowest + max(1, int(BATCH_S * 1e6 * cores / a_trial_us)))
    return dict(done) | {cell.place: max(level, done.get(cell.place, 0)) for cell in left}
