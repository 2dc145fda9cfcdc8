"""The records of a study's trials as rows: played by the kernel, or by the engine where the kernel refuses.

Both play the same histories to the same records, so no row shows which one played it; the engine takes some thousand
times as long. So callers learn which part of a study the engine plays, and how long that takes (`slow`). A trial's
`WEIGHT` depends on its history alone, not on the player.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import process_time

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import astuple, fields, replace

from hawb.study import engine_trial, histories
from hawb.study.compiled import is_kept
from hawb.study.design import Design
from hawb.study.environment import Environment
from hawb.study.kernel import block, setup
from hawb.study.kernel.trial import HANDED_OVER
from hawb.study.question import Study
from hawb.study.trial_record import TRIAL, WEIGHT, Record

Player = Callable[[Design, Environment, int, int, int, int], Sequence[Sequence[float] | np.ndarray]]
"""Plays trials: (design, environment, the study's seed, number of the first trial, how many, horizon_us).

Returns the columns of their records.
"""

MEASURED_S, MINUTE_S = 0.05, 60.0
"""Seconds for which the engine's speed is measured, and seconds of a minute."""
NAMES = Record.__struct_fields__
OF_EACH_CLIENT = ("publish_down_s", "consume_down_s")
"""The columns that are a mean over the trial's clients."""
SCHEMA = pa.schema([
    (TRIAL, pa.int64()),
    *((field.name, pa.int64() if field.name[-2:] != "_s" else pa.float64()) for field in fields(Record)),
    (WEIGHT, pa.float64()),
])  # fmt: skip


def records(study: Study, design: str, environment: str, first: int, count: int) -> pa.RecordBatch:
    """Return the records of `count` trials from number `first` on, a row each with the trial's number and weight.

    A trial's row depends on the study's seed and the trial's number alone. Raise TrialFailed.
    """
    given, around = study.designs[design], study.environments[environment]
    play, horizon_us = player(given, around), round(study.horizon_days * histories.DAY_US)
    try:
        columns = play(given, around, study.seed, first, count, horizon_us)
    except block.TrialFailed as failed:
        raise block.TrialFailed(f"{design} in {environment}, {failed}") from failed
    weights = histories.weights_of(around, given.nodes, study.seed, first, count, horizon_us)
    return pa.RecordBatch.from_arrays([np.arange(first, first + count), *columns, weights], schema=SCHEMA)


def player(design: Design, environment: Environment) -> Player:
    """Return the player of a design in an environment: the kernel, or the engine."""
    return by_engine if setup.refused(design, environment) else by_kernel


class Slow(Struct, frozen=True):
    """Pairs of design and environment that the engine plays, and the reason why the kernel does not.

    `one_of_each_s` is the time that the engine takes for one trial of each of them, in seconds on one core.
    """

    reason: str
    pairs: tuple[tuple[str, str], ...]
    one_of_each_s: float

    @property
    def trials_in_a_minute(self) -> int:
        """Return how many trials of each pair the engine plays in about a minute, at least one."""
        return max(1, int(MINUTE_S / self.one_of_each_s))


def engine_s(study: Study, design: str, environment: str) -> float:
    """Return how long the engine takes for a trial, in seconds of processor time.

    It is measured with the beginning of the first trial, and with twice as much of it until that takes `MEASURED_S`.
    """
    given, around, days = study.designs[design], study.environments[environment], min(1.0, study.horizon_days)
    while True:
        horizon_us = round(days * histories.DAY_US)
        history = histories.history(around, given.nodes, study.seed, 0, horizon_us)
        begun_s = process_time()
        engine_trial.play(given, around, history, engine_trial.own_seed(study.seed, 0), horizon_us)
        took_s = process_time() - begun_s
        if took_s >= MEASURED_S or days == study.horizon_days:
            return took_s * study.horizon_days / days
        days = min(2 * days, study.horizon_days)


def slow(study: Study, measure: Callable[[Study, str, str], float] = engine_s) -> list[Slow]:
    """Return the pairs that the engine plays, by the reason why the kernel does not.

    `measure` returns how long the engine takes for a trial of a pair, in seconds.
    """
    by_reason: dict[str, list[tuple[str, str]]] = {}
    for design, environment in study.cells:
        reason = setup.refused(study.designs[design], study.environments[environment])
        if reason is not None:
            by_reason.setdefault(reason, []).append((design, environment))
    return [
        Slow(reason, tuple(pairs), sum(measure(study, *pair) for pair in pairs)) for reason, pairs in by_reason.items()
    ]


def compile_kernel(study: Study) -> None:
    """Play one trial of each kind, to compile what the kernel needs and cache it. Raise TrialFailed.

    Workers that begin together would each compile it for themselves.
    """
    for cell in by_kind(study).values():
        records(replace(study, horizon_days=1), *cell, 0, 1)


def is_compiled(study: Study) -> bool:
    """Return True if the kernel's functions for a study are compiled and cached."""
    return all(is_kept(block.PLAYERS[kind][0]) for kind in by_kind(study))


def by_kind(study: Study) -> dict[np.dtype, tuple[str, str]]:
    """Return the names of a design and environment for each kind of trial that the kernel plays."""
    cells = {cell: (study.designs[cell[0]], study.environments[cell[1]]) for cell in reversed(list(study.cells))}
    return {setup.kind_of(*given): cell for cell, given in cells.items() if setup.refused(*given) is None}


def by_kernel(
    design: Design, environment: Environment, seed: int, first: int, count: int, horizon_us: int
) -> list[np.ndarray]:
    """Return the columns of the trials' records, played by the kernel.

    The engine plays the trials that fall back to it.
    """
    rows = block.rows(design, environment, seed, first, count, horizon_us)
    clients = setup.clients_of(design, environment)
    columns = [in_seconds(name, column, clients) for name, column in zip(NAMES, rows.T, strict=True)]
    for place in np.flatnonzero(rows[:, 0] == HANDED_OVER):
        played = by_engine(design, environment, seed, first + int(place), 1, horizon_us)
        for column, (value,) in zip(columns, played, strict=True):
            column[place] = value
    return columns


def in_seconds(name: str, column: np.ndarray, clients: int) -> np.ndarray:
    """Return a column of the kernel's rows as records have it: times in seconds, and those of clients as their mean.

    `clients` is the number of publishers, and of consumers, over which the kernel has added up their times.
    """
    if name[-2:] != "_s":
        return column.copy()
    return column / (clients if name in OF_EACH_CLIENT else 1) / engine_trial.SECOND_US


def by_engine(
    design: Design, environment: Environment, seed: int, first: int, count: int, horizon_us: int
) -> list[tuple[float, ...]]:
    """Return the columns of the trials' records, played by the engine."""
    rows = []
    for number in range(first, first + count):
        history = histories.history(environment, design.nodes, seed, number, horizon_us)
        own_seed = engine_trial.own_seed(seed, number)
        rows.append(astuple(engine_trial.play(design, environment, history, own_seed, horizon_us)))
    return list(zip(*rows, strict=True))
