"""What the trials of a study come to, as rows: played by the kernel, or by the engine where the kernel refuses.

Both play the same histories and tell the same record, so nobody sees from a row who played it; the engine takes some
hundred times as long.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from msgspec.structs import astuple, fields

from hawb.engine import chance
from hawb.scenario.refused import ScenarioRefused
from hawb.study import histories, played
from hawb.study.blocks import TRIAL
from hawb.study.design import Design
from hawb.study.environment import Environment
from hawb.study.kernel import setup, trial
from hawb.study.question import Study
from hawb.study.record import Record

PLACEMENT = 120
"""The purpose of the draw that seeds what RabbitMQ draws in a trial, apart from those of its history."""

Player = Callable[[np.ndarray, int, int], Record]
"""Plays a trial: (history, seed of its own draws, horizon_us)."""

SCHEMA = pa.schema([
    (TRIAL, pa.int64()),
    *((field.name, pa.int64() if field.name[-2:] != "_s" else pa.float64()) for field in fields(Record)),
])  # fmt: skip


def records(study: Study, design: str, environment: str, first: int, count: int) -> pa.RecordBatch:
    """The records of `count` trials from number `first` on, a row each with its number. A trial's row depends on the
    study's seed and its number alone. Raises ScenarioRefused where nothing can play them."""
    given, around = study.designs[design], study.environments[environment]
    play, horizon_us = player(given, around), round(study.horizon_days * histories.DAY_US)
    rows = []
    for number in range(first, first + count):
        history = histories.history(around, given.nodes, study.seed, number, horizon_us)
        seed = chance.below(1 << 62, study.seed, PLACEMENT, number, 0)
        rows.append((number, *astuple(play(history, seed, horizon_us))))
    return pa.RecordBatch.from_arrays([pa.array(column) for column in zip(*rows, strict=True)], schema=SCHEMA)


def player(design: Design, environment: Environment) -> Player:
    """Who plays a design in an environment. Raises ScenarioRefused where nobody can."""
    if setup.refused(design, environment) is None:
        return by_kernel(design, environment)
    reason = played.refused(environment)
    if reason is not None:
        raise ScenarioRefused(f"no trial can be played: {reason}")
    return lambda history, seed, horizon_us: played.play(design, environment, history, seed, horizon_us)


def by_kernel(design: Design, environment: Environment) -> Player:
    """The kernel, for a design in an environment."""

    def play(history: np.ndarray, seed: int, horizon_us: int) -> Record:
        begun = setup.begin(design, environment, seed)
        trial.play(begun[0], history, horizon_us)
        return trial.record(begun[0])

    return play
