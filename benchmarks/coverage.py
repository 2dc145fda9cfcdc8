"""Coverage of a study's 95 % intervals: of means, of paired differences and of shares, by the number of trials.

The mean of `TRIALS` trials of a cell counts as the true value. The trials are split into samples of equal size, each of
which gets the interval that a study of that size prints (`hawb.study.intervals`). Coverage is the share of samples
whose interval holds the true value; 95 % is right. Beside it is the mean number of trials in a sample that had any of
the measure: a study's thresholds (`LEAST_EVENTS`, `LEAST_APART`) are such numbers, and can be checked against it. A
study shows the interval of a mean only with enough trials (`trials_for_mean`): the lines `wrong` have the share of
samples whose interval misses the true mean, and the share of those that also show it.
`python -m benchmarks coverage` prints the table as Markdown.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from msgspec import Struct

from hawb.study import trial_rows
from hawb.study.intervals import BATCHES, STUDENT_T, trials_for_mean, wilson
from hawb.study.load import load

STUDIES = Path(__file__).parent.parent / "data" / "studies"
TRIALS, AT_A_TIME = 80_000, 20_000
SIZES = (64, 192, 992, 4_992)
"""Trials in a sample; multiples of the number of batches."""
FEWEST = 16
"""No coverage is shown for fewer samples."""


class Measured(Struct, frozen=True):
    """A measure of one design of a study or, with a `baseline`, its difference from that design."""

    study: str
    environment: str
    design: str
    measure: str
    baseline: str | None = None


MEASURED = (
    Measured("monthly-failures", "monthly", "mirrored", "queue_down_s"),
    Measured("monthly-failures", "monthly", "quorum", "queue_down_s"),
    Measured("monthly-failures", "monthly", "quorum", "queue_down_s", "mirrored"),
    Measured("replica-counts", "three-racks", "quorum-3", "queue_down_s"),
    Measured("replica-counts", "three-racks", "classic-3", "queue_down_s"),
    Measured("replica-counts", "three-racks", "classic-3", "queue_down_s", "quorum-3"),
    Measured("policies", "kills", "manual-stop-when-kill-always", "lost_confirmed"),
    Measured("policies", "kills", "manual-stop-when-kill-always", "queue_down_s"),
    Measured("policies", "kills", "automatic-stop-when-kill-always", "lost_confirmed"),
    Measured("policies", "kills", "automatic-stop-when-kill-always", "lost_confirmed", "manual-stop-when-kill-always"),
    Measured("policies", "kills", "manual-stop-when-kill-always", "delivered_twice"),
    Measured("policies", "kills", "automatic-stop-when-kill-always", "sync_blocked_s"),
)


def figures() -> list[str]:
    """The table in Markdown."""
    played: dict[tuple[str, ...], np.ndarray] = {}
    heads = ["measure", "interval of", *(f"{size:,} trials" for size in SIZES)]
    lines = [f"| {' | '.join(heads)} |", "|---|---|" + "---|" * len(SIZES)]
    for one in MEASURED:
        values, beside = of(one, one.design, played), one.baseline and of(one, one.baseline, played)
        where = f"`{one.measure}`, {one.design} in {one.environment}"
        if beside is None:
            lines.append(_line(where, "mean", values, values > 0, covered_mean))
            lines.append(_line(where, "wrong", values, values > 0, covered_mean, shown_means))
            lines.append(_line(where, "share", values > 0, values > 0, covered_share))
        else:
            had = (values > 0).astype(int) + (beside > 0)
            lines.append(_line(f"{where}, beside {one.baseline}", "difference", values - beside, had, covered_mean))
    return lines


def of(one: Measured, design: str, played: dict[tuple[str, ...], np.ndarray]) -> np.ndarray:
    """Return the values of a measure in all trials of a design."""
    place = one.study, one.environment, design, one.measure
    if place not in played:
        study = load(STUDIES / f"{one.study}.yaml")
        for first in range(0, TRIALS, AT_A_TIME):
            rows = trial_rows.records(study, design, one.environment, first, AT_A_TIME)
            for name in {each.measure for each in MEASURED}:
                key = one.study, one.environment, design, name
                values = played.setdefault(key, np.zeros(TRIALS))
                values[first : first + AT_A_TIME] = rows[name].to_numpy(zero_copy_only=False)
    return played[place]


def covered_mean(samples: np.ndarray, truth: float) -> np.ndarray:
    """Return, for each sample (a row), whether the interval of its mean by batches covers the true value."""
    return np.abs(samples.mean(axis=1) - truth) <= half_interval(samples)


def half_interval(samples: np.ndarray) -> np.ndarray:
    """Return half the interval of each sample's mean by batches."""
    batches = samples.reshape(len(samples), -1, BATCHES).mean(axis=1)
    return STUDENT_T * batches.std(axis=1, ddof=1) / np.sqrt(BATCHES)


def shown_means(samples: np.ndarray) -> np.ndarray:
    """Return, for each sample, whether a study shows the interval of its mean."""
    means, shares, trials = samples.mean(axis=1), (samples > 0).mean(axis=1), samples.shape[1]
    takes = np.full(len(samples), np.inf)
    some = means > 0
    takes[some] = trials_for_mean(means[some], half_interval(samples)[some], trials, shares[some], np.maximum)
    return takes <= trials


def covered_share(samples: np.ndarray, truth: float) -> np.ndarray:
    """Return, for each sample, whether Wilson's interval of its share covers the true value."""
    low, high = wilson(samples.mean(axis=1), samples.shape[1], np.sqrt)
    return (low <= truth) & (truth <= high)


def _line(where: str, what: str, values: np.ndarray, had: np.ndarray, covered, shown=None) -> str:
    cells = []
    for size in SIZES:
        count = TRIALS // size
        if count < FEWEST:
            cells.append("")
            continue
        samples = np.asarray(values[: count * size], float).reshape(count, size)
        held = covered(samples, float(np.mean(values)))
        if shown is None:
            cells.append(f"{100 * held.mean():.0f} % ({size * float(np.mean(had)):.3g})")
        else:
            cells.append(f"{100 * (~held).mean():.0f} → {100 * (~held & shown(samples)).mean():.0f} %")
    return f"| {where} | {what} | {' | '.join(cells)} |"
