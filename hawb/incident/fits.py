"""Fit distributions to durations by likelihood, including durations whose end no log shows.

A duration is *fresh* if its beginning was seen, and *ended* if its end was. One that was under way when the logs begin
is not fresh: it is longer than it appears, and the likelihood has to account for that. If conditions have been the same
for long, a time t from the beginning of the logs to the end of such a duration has the density S(t) / mean, where S is
the survival function (D. R. Cox, "Renewal Theory", 1962, on the forward recurrence time); it went on for t with the
probability of the integral of S from t on, over the mean. No Python package has that, nor the interval of a mean under
censoring, so the likelihood is implemented here, and a test compares it with published fits.

The candidates are the distributions of a study's environment: exponential, Weibull, lognormal, by their mean and shape.
By AICc (C. Hurvich and C.-L. Tsai, "Regression and time series model selection in small samples", 1989), with the ended
durations as sample size, the exponential is taken unless another is better by `CLEARLY`. The uncertainty of parameters
and distribution is expressed by draws: distributions by their Akaike weights, parameters by their likelihood, flat in
their logarithms. For an exponential these draws give the exact interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from hawb.study.environment import Distribution

EXPONENTIAL, WEIBULL, LOGNORMAL = NAMES = ("exponential", "weibull", "lognormal")
CLEARLY = 4.0
"""Minimum AICc difference for which another distribution replaces the exponential."""
SHORTEST_S = 1e-6
DRAWS, SEED = 4_000, 37
"""Number of draws for an interval, and their seed."""
STEP, REACH, CELLS = 1e-3, 4.0, 15
"""Step of a derivative; width of the grid around a likelihood's peak in standard deviations, and its cells."""
LOG_SHAPES = (math.log(0.1), math.log(10.0))
"""Bounds of the shapes."""
FAR = 25.0
"""Beyond this, a normal tail is approximated by its first term."""
NODES, WEIGHTS = ((1 + x) / 2 if place == 0 else x / 2 for place, x in enumerate(np.polynomial.legendre.leggauss(48)))
"""Nodes and weights of an integral from 0 to 1."""

Grid = tuple[np.ndarray, np.ndarray]
"""Points, a row each with the logarithms of mean and shape and how likely they are; and how wide a cell is."""


class Sample(Struct, frozen=True):
    """Lengths of time in seconds, which of them ended, and which are fresh."""

    lengths_s: np.ndarray
    ended: np.ndarray
    fresh: np.ndarray

    @classmethod
    def of(cls, lengths_s: Sequence[float], ended: Sequence[bool], fresh: Sequence[bool] | None = None) -> Sample:
        """Return a sample of durations in seconds, with a flag for each; without `fresh` all are fresh."""
        every = np.ones(len(lengths_s), bool) if fresh is None else np.asarray(fresh, bool)
        return cls(np.maximum(np.asarray(lengths_s, float), SHORTEST_S), np.asarray(ended, bool), every)

    @property
    def events(self) -> int:
        """Return how many durations ended."""
        return int(self.ended.sum())

    @property
    def total_s(self) -> float:
        """Return the total observed time in seconds."""
        return float(self.lengths_s.sum())


class Candidate(Struct, frozen=True):
    """A distribution at its most likely parameters, `log_likelihood` there, and its AICc."""

    distribution: Distribution
    log_likelihood: float
    aicc: float
    grid: Grid


class Fit(Struct, frozen=True):
    """A sample with the distributions that were fitted to it; the first one fits best."""

    sample: Sample
    candidates: tuple[Candidate, ...]

    @property
    def best(self) -> Distribution:
        """Return the chosen distribution."""
        return self.candidates[0].distribution

    def draws(self, count: int = DRAWS, seed: int = SEED) -> list[Distribution]:
        """Draw distributions as likely as the sample allows."""
        random = np.random.default_rng(seed)
        least = min(one.aicc for one in self.candidates)
        weights = np.array([math.exp((least - one.aicc) / 2) for one in self.candidates])
        chosen = random.choice(len(weights), size=count, p=weights / weights.sum())
        drawn = [_drawn(one, int((chosen == place).sum()), random) for place, one in enumerate(self.candidates)]
        taken = [iter(each) for each in drawn]
        return [next(taken[place]) for place in chosen]

    def interval(self, of: Callable[[Distribution], float] = lambda one: one.mean_s) -> tuple[float, float]:
        """Return the 95 % interval of a number of the distribution, by default its mean in seconds."""
        low, high = np.quantile([of(one) for one in self.draws()], (0.025, 0.975))
        return float(low), float(high)


def fit(sample: Sample, names: Sequence[str] = NAMES) -> Fit | None:
    """Return the fit of a sample; None if no duration ended, as no distribution can be fitted then."""
    if not sample.events:
        return None
    found = [_candidate(name, sample) for name in names if name == EXPONENTIAL or sample.events > 3]
    first, *others = found
    best = min(found, key=lambda one: one.aicc)
    if best.aicc > first.aicc - CLEARLY:
        best = first
    return Fit(sample, (best, *(one for one in (first, *others) if one is not best)))


def survival(sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Return the Kaplan-Meier estimate from the fresh durations.

    That is: times in seconds, and the share that lasts longer than each; the first are 0 and 1.
    """
    lengths_s, ended = sample.lengths_s[sample.fresh], sample.ended[sample.fresh]
    times, died = np.unique(lengths_s[ended], return_counts=True)
    at_risk = np.array([(lengths_s >= time).sum() for time in times])
    return np.concatenate([[0.0], times]), np.concatenate([[1.0], np.cumprod(1 - died / at_risk)])


def lasting(distribution: Distribution, times_s: np.ndarray) -> np.ndarray:
    """Return the share of a distribution's durations that last longer than each of some times."""
    shape = math.log(distribution.shape or 1.0)
    parts = _parts(distribution.distribution, math.log(distribution.mean_s), shape, np.maximum(times_s, SHORTEST_S))
    return np.exp(parts[1])


# Likelihood


def _candidate(name: str, sample: Sample) -> Candidate:
    """Return the most likely distribution of a kind."""

    def likelihood(point: np.ndarray) -> float:
        return log_likelihood(name, point, sample)

    free = 1 if name == EXPONENTIAL else 2
    starts = [np.array([math.log(sample.total_s / sample.events), at]) for at in ((0.0,) if free == 1 else (-0.5, 0.5))]
    peak, curved = max((_climbed(likelihood, start, free) for start in starts), key=lambda end: likelihood(end[0]))
    most, events = likelihood(peak), sample.events
    corrected = 2 * free + (2 * free * (free + 1) / (events - free - 1) if events > free + 1 else 0.0)
    shape = None if name == EXPONENTIAL else round(math.exp(peak[1]), 6)
    distribution = Distribution(mean_s=math.exp(peak[0]), distribution=name, shape=shape)
    return Candidate(distribution, most, corrected - 2 * most, _grid(likelihood, peak, curved, free, most))


def log_likelihood(name: str, point: np.ndarray, sample: Sample) -> float:
    """Return the log-likelihood of a distribution with the logarithms (mean, shape)."""
    mean, shape = float(point[0]), float(point[1])
    density, tail = _parts(name, mean, shape, sample.lengths_s)
    total = np.where(sample.ended, density, tail)[sample.fresh].sum()
    cut = ~sample.fresh
    if cut.any():
        total += (tail[cut & sample.ended] - mean).sum()
        going_on = sample.lengths_s[cut & ~sample.ended]
        total += (_log_left(name, mean, shape, going_on) - mean).sum()
    return float(total)


def _parts(name: str, mean: float, shape: float, times_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithms of the density and of the survival function at some times."""
    logs = np.log(times_s)
    if name == LOGNORMAL:
        deviation = math.exp(shape)
        z = (logs - mean + deviation**2 / 2) / deviation
        return -(z**2) / 2 - logs - shape - math.log(2 * math.pi) / 2, _log_tail(z)
    power, scale = _scale(name, mean, shape)
    hazards = np.exp(np.minimum(power * (logs - scale), 700.0))
    return math.log(power) + power * (logs - scale) - logs - hazards, -hazards


def _scale(name: str, mean: float, shape: float) -> tuple[float, float]:
    """Return a Weibull's shape and the logarithm of its scale; an exponential has shape 1."""
    power = 1.0 if name == EXPONENTIAL else math.exp(shape)
    return power, mean - math.lgamma(1 + 1 / power)


def _log_left(name: str, mean: float, shape: float, times_s: np.ndarray) -> np.ndarray:
    """Return the logarithm of the integral of the survival function from some times on."""
    if name == LOGNORMAL:
        deviation = math.exp(shape)
        z = (np.log(times_s) - mean + deviation**2 / 2) / deviation
        ahead, behind = mean + _log_tail(z - deviation), np.log(times_s) + _log_tail(z)
        return ahead + np.log1p(-np.minimum(np.exp(np.minimum(behind - ahead, 0.0)), 1 - 1e-12))
    power, scale = _scale(name, mean, shape)
    spent = np.exp(np.minimum(power * (np.log(times_s) - scale), 600.0))
    end = np.exp(np.minimum(scale + np.log(spent + 40.0) / power, 600.0))
    dense = 1 + 1 / power  # nodes lie closer where what lasts falls fast
    ahead = (end - times_s)[:, None] * NODES**dense
    hazards = np.exp(power * (np.log(times_s[:, None] + ahead) - scale)) - spent[:, None]
    inside = np.exp(-hazards) * dense * NODES ** (dense - 1) * (end - times_s)[:, None]
    return np.log((inside * WEIGHTS).sum(axis=1)) - spent


def _log_tail(z: np.ndarray) -> np.ndarray:
    """Return the logarithm of the probability that a standard normal variable exceeds some numbers."""
    near = np.array([math.erfc(min(one, FAR) / math.sqrt(2)) / 2 for one in z])
    far = np.maximum(z, FAR)
    return np.where(z < FAR, np.log(near), -(far**2) / 2 - np.log(far * math.sqrt(2 * math.pi)))


# Peak of the likelihood and its surroundings


def _climbed(likelihood: Callable[[np.ndarray], float], start: np.ndarray, free: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where a likelihood is largest, and minus its second derivatives there.

    Uses Newton's method with halved steps.
    """
    point = start
    for _ in range(60):
        slope, curved = _derivatives(likelihood, point, free)
        step = np.zeros(2)
        step[:free] = np.linalg.solve(_positive(curved), slope)
        step *= min(1.0, 1.0 / max(1e-12, float(np.abs(step).max())))
        here = likelihood(point)
        while likelihood(_within(point + step)) < here and np.abs(step).max() > 1e-7:
            step /= 2
        if np.abs(step).max() <= 1e-7:
            break
        point = _within(point + step)
    return point, _positive(_derivatives(likelihood, point, free)[1])


def _within(point: np.ndarray) -> np.ndarray:
    return np.array([point[0], min(max(point[1], LOG_SHAPES[0]), LOG_SHAPES[1])])


def _derivatives(
    likelihood: Callable[[np.ndarray], float], point: np.ndarray, free: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradient, and the negative second derivatives."""
    ways = np.eye(2)[:free] * STEP
    here = likelihood(point)
    ahead, behind = ([likelihood(point + sign * way) for way in ways] for sign in (1, -1))
    slope = np.array([(one - other) / (2 * STEP) for one, other in zip(ahead, behind, strict=True)])
    curved = np.diag([(2 * here - one - other) / STEP**2 for one, other in zip(ahead, behind, strict=True)])
    if free == 2:
        both = [likelihood(point + a * ways[0] + b * ways[1]) for a in (1, -1) for b in (1, -1)]
        curved[0, 1] = curved[1, 0] = -(both[0] - both[1] - both[2] + both[3]) / (4 * STEP**2)
    return slope, curved


def _positive(curved: np.ndarray) -> np.ndarray:
    """Return a matrix whose eigenvalues are made positive, so that a step leads uphill."""
    values, ways = np.linalg.eigh(curved)
    return (ways * np.maximum(np.abs(values), 1e-3)) @ ways.T


def _grid(
    likelihood: Callable[[np.ndarray], float], peak: np.ndarray, curved: np.ndarray, free: int, most: float
) -> Grid:
    """Return points around the peak, along the axes of its curvature, with their likelihood."""
    values, ways = np.linalg.eigh(curved)
    axes = np.zeros((2, free))
    axes[:free] = ways / np.sqrt(values)
    steps = np.linspace(-REACH, REACH, CELLS if free == 2 else CELLS * 8)
    places = np.stack([one.ravel() for one in np.meshgrid(*[steps] * free)], axis=1)
    points = np.array([_within(peak + axes @ place) for place in places])
    likely = np.exp([min(0.0, likelihood(point) - most) for point in points])
    return np.hstack([points, likely[:, None]]), axes * (steps[1] - steps[0])


def _drawn(one: Candidate, count: int, random: np.random.Generator) -> list[Distribution]:
    """Draw distributions of one kind, each within a cell chosen by its likelihood."""
    points, cell = one.grid
    likely = points[:, 2] / points[:, 2].sum()
    taken = points[random.choice(len(points), size=count, p=likely), :2]
    aside = random.uniform(-0.5, 0.5, (count, cell.shape[1])) @ cell.T
    kind = one.distribution.distribution
    return [
        Distribution(mean_s=math.exp(mean), distribution=kind,
                     shape=None if kind == EXPONENTIAL else math.exp(_within(np.array([mean, shape]))[1]))
        for mean, shape in taken + aside
    ]  # fmt: skip
