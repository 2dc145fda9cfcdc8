"""Play cases with the kernel's own source as plain Python, in a process in which numba compiles nothing.

It takes seconds for what the compiled kernel plays in milliseconds, but a kernel takes minutes to compile.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct
from random_studies import Case

ROOT = Path(__file__).parents[2]


class Asked(Struct, frozen=True):
    """A case, its history as rows of whole numbers, and the horizon in microseconds."""

    given: Case
    history: list[tuple[int, int, int]]
    horizon_us: int


class Played(Struct, frozen=True):
    """The row of a trial, and the counter of scheduled events and draws."""

    row: list[int]
    counter: int


def played(asked: Sequence[Asked]) -> list[Played]:
    """Return what the kernel's source makes of cases. Raise CalledProcessError if it fails."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": f"{ROOT}:{Path(__file__).parent}"}
    process = subprocess.run(
        [sys.executable, "-W", "ignore", __file__], input=msgspec.json.encode(asked), stdout=subprocess.PIPE,
        env=environment, check=True,
    )  # fmt: skip
    return msgspec.json.decode(process.stdout, type=list[Played])


def play(asked: Asked) -> Played:
    """Play a case in this process."""
    from hawb.study import histories
    from hawb.study.kernel import block, setup
    from hawb.study.kernel.trial import HANDED_OVER

    design, environment = asked.given.design, asked.given.environment
    begun = setup.begin_trial(design, environment, asked.given.number)
    table, words = histories.sources(environment, design.nodes), begun.view(np.int64)
    player, words_before_tables = block.PLAYERS[begun.dtype]
    rows, history = np.full((1, block.FIELDS), HANDED_OVER), np.array(asked.history, np.int64).reshape(-1, 3)
    beginning, done = words[:words_before_tables].copy(), np.zeros(1, np.int64)
    try:
        player(begun.view(np.recarray), words, beginning, table, np.uint64(0), 0, asked.horizon_us, history, rows, done)
    except OverflowError:
        rows[:] = HANDED_OVER
    return Played(rows[0].tolist(), int(begun["moment"]["counter"][0]))


if __name__ == "__main__":
    found = [play(asked) for asked in msgspec.json.decode(sys.stdin.buffer.read(), type=list[Asked])]
    sys.stdout.buffer.write(msgspec.json.encode(found))
