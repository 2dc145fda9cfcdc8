"""A block of trials, compiled: each is drawn, played and summarised in the memory of the first.

Python is not run in between. A trial for which a table is too small returns to Python before its end, and falls back to
the engine. Any other exception is a fault of the kernel, which the engine must not hide: `TrialFailed` names the trial.
"""

from __future__ import annotations

import numpy as np

from hawb.study import histories
from hawb.study.compiled import compiled, inner, with_parts
from hawb.study.design import Design
from hawb.study.draws import draw
from hawb.study.engine_trial import PLACEMENT
from hawb.study.environment import Environment
from hawb.study.histories import drawn
from hawb.study.kernel import (
    khepri_state,
    khepri_trial,
    many_clients_state,
    many_clients_trial,
    partitioned_khepri_trial,
    partitioned_quorum_state,
    partitioned_quorum_trial,
    partitioned_state,
    partitioned_trial,
    quorum_state,
    quorum_trial,
    setup,
    state,
)
from hawb.study.kernel.trial import HANDED_OVER, clean_up, play, summarise
from hawb.study.trial_record import Record

FIELDS = len(Record.__struct_fields__)
DRAWN = np.empty((0, 3), np.int64)
"""In place of a history: each trial draws its own."""


class TrialFailed(RuntimeError):  # noqa: N818 - it reads as what happened
    """A fault of the kernel, with its trial."""


def rows(design: Design, environment: Environment, seed: int, first: int, count: int, horizon_us: int) -> np.ndarray:
    """Return the results of `count` trials from number `first` on, with the study's `seed`: a row each.

    Columns are in the order of `Record`, times in microseconds. In a trial that falls back to the engine each number is
    `trial.HANDED_OVER`. Raise ValueError with the reason for what the kernel cannot do, and TrialFailed.
    """
    table = histories.sources(environment, design.nodes)
    return rows_in(setup.begin_trial(design, environment, 0), table, seed, first, count, horizon_us)


def rows_in(
    begun: np.ndarray, table: np.ndarray, seed: int, first: int, count: int, horizon_us: int,
    history: np.ndarray = DRAWN,
) -> np.ndarray:  # fmt: skip
    """Return the rows of trials that are played in the memory of one that has begun (`setup.begin_trial`).

    `table` has the sources of their histories. The last trial stays in the memory. With a `history` it is played in
    place of drawn ones, and RabbitMQ's own draws are by the seed with which the trial has begun. Raise TrialFailed.
    """
    words, drawn_by = begun.view(np.int64), np.uint64(seed & (2**64 - 1))
    play_them, words_before_tables = PLAYERS[begun.dtype]
    beginning, results, done = words[:words_before_tables].copy(), np.empty((count, FIELDS), np.int64), np.zeros(1, int)
    while done[0] < count:
        try:
            play_them(begun, words, beginning, table, drawn_by, first, horizon_us, history, results, done)
        except OverflowError:
            results[done[0]] = HANDED_OVER
            done += 1
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
            raise TrialFailed(f"trial {first + done[0]} of seed {seed}, a fault of the kernel's: {fault}") from error
    return results


@compiled
def played(trials, words, beginning, table, seed, first, horizon_us, given, results, done):
    """Play trials from the one on of which so many are `done`, and write their rows.

    `table` has the sources of their histories, `given` a history or none. `trials` is one trial that has begun, `words`
    the same as plain numbers, and `beginning` its first words.
    """
    t = trials[0]
    while done[0] < len(results):
        k = done[0]
        clean_up(t, words, beginning)
        history = given
        if not len(given):
            t.setup.seed = own_seed(seed, first + k)
            history = drawn(table, t.setup.nodes, seed, first + k, horizon_us)
        play(t, history, horizon_us)
        summarise(t, results[k])
        done[0] += 1


@inner
def own_seed(seed, number):
    """Return the seed of RabbitMQ's draws in a trial: `hawb.study.engine_trial.own_seed`."""
    return np.int64(draw(seed, np.uint64(PLACEMENT), np.uint64(number), np.uint64(0)) >> np.uint64(2))


quorum_played = with_parts(played, quorum_trial.PARTS | {clean_up: quorum_trial.clean_up})
"""The player of a quorum queue's trials."""

partitioned_quorum_played = with_parts(
    played, partitioned_quorum_trial.PARTS | {clean_up: partitioned_quorum_trial.clean_up}
)  # fmt: skip
"""The player of a quorum queue's trials in a network whose links may fail."""

partitioned_played = with_parts(played, partitioned_trial.PARTS)
"""The player of a classic queue's trials in a network whose links may fail."""

khepri_played = with_parts(played, khepri_trial.PARTS)
"""The player of a classic queue's trials in a cluster with Khepri."""

partitioned_khepri_played = with_parts(played, partitioned_khepri_trial.PARTS)
"""The player of a classic queue's trials in a cluster with Khepri whose links may fail."""

many_clients_played = with_parts(played, many_clients_trial.PARTS)
"""The player of a classic queue's trials with clients on every node, in any network."""

many_clients_khepri_played = with_parts(played, many_clients_trial.KHEPRI_PARTS)
"""The player of such trials in a cluster with Khepri."""

PLAYERS = {
    state.TRIAL: (played, state.WORDS_BEFORE_TABLES),
    khepri_state.KHEPRI_TRIAL: (khepri_played, khepri_state.WORDS_BEFORE_TABLES),
    khepri_state.PARTITIONED_KHEPRI_TRIAL: (
        partitioned_khepri_played, khepri_state.WORDS_BEFORE_PARTITIONED_TABLES,
    ),
    partitioned_state.PARTITIONED_TRIAL: (partitioned_played, partitioned_state.WORDS_BEFORE_TABLES),
    many_clients_state.MANY_CLIENTS_TRIAL: (many_clients_played, many_clients_state.WORDS_BEFORE_TABLES),
    many_clients_state.MANY_CLIENTS_KHEPRI_TRIAL: (
        many_clients_khepri_played, many_clients_state.WORDS_BEFORE_KHEPRI_TABLES,
    ),
    quorum_state.QUORUM_TRIAL: (quorum_played, quorum_state.WORDS_BEFORE_TABLES),
    partitioned_quorum_state.PARTITIONED_QUORUM_TRIAL: (
        partitioned_quorum_played, partitioned_quorum_state.WORDS_BEFORE_TABLES,
    ),
}
"""The player of each kind of trial, and the number of words before the trial's tables."""
