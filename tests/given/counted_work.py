"""Count the work that a call does, in lines of hawb's that it runs: the same on each machine, unlike time."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import hawb

HAWB = f"{Path(hawb.__file__).parent}/"


def lines_run(does: Callable[[], object]) -> Counter[str]:
    """Return how many lines of each room of hawb's run while `does` is called. A line in a loop counts each time, but a
    loop within C, such as `list.count`, counts once."""
    count: Counter[str] = Counter()

    def count_line(frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            count[frame.f_code.co_filename] += 1
        return count_line

    def trace(frame: FrameType, _event: str, _argument: Any) -> Any:
        return count_line if frame.f_code.co_filename.startswith(HAWB) else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        does()
    finally:
        sys.settrace(before)
    rooms: Counter[str] = Counter()
    for file, lines in count.items():
        rooms[file.removeprefix(HAWB).partition("/")[0]] += lines
    return rooms


def growth(work: Callable[[int], Counter[str]], size: int) -> dict[str, float]:
    """Return, for each room, by how much more its work grows from twice to three times a size than from once to twice:
    1 where it grows with the size, 1.7 where it grows with its square alone."""
    once, twice, thrice = (work(times * size) for times in (1, 2, 3))
    grown = {room: (thrice[room] - twice[room], twice[room] - once[room]) for room in thrice}
    return {room: more / less if less else float(more > 0) for room, (more, less) in grown.items()}
