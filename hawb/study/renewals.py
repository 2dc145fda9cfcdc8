"""Draw the times and durations of failures: each source independent, or, biased, more often while other nodes are down.

Biased drawing (`hawb.study.environment.FailureBiasing`) is importance sampling. A source of failures (a node, host or
rack) whose time to a failure has the hazard h(age) fails with `times` · h(age) instead while nodes are down, or were
`after_us` ago, and it would take down another one. A trial counts for its weight, the likelihood ratio of its failures:
without biasing by with biasing. The factor of each source is, with H(age) the integral of its hazard,

    times ** -(its failures while biased) · exp((times - 1) · (the growth of H while biased)),

exactly, for any distribution that has a hazard, because whether a source is biased depends on the past alone. Failures
that do not worsen others are drawn without bias, so that a year of dozens of them does not degrade the weight.

A factor that is too large degrades the weight too: a source that is biased for long without a failure gives its trial
an ever larger weight. So a source is no longer biased once so many failures of it are expected in the trial that all
sources together would reach `MOST_EXPECTED`. Hence no weight is above e ** MOST_EXPECTED, however long a repair takes,
and an estimate has a finite variance wherever it has one without biasing. The limit is for repairs of heavy tails: with
a much lower limit, trials would show events beyond it too rarely for an interval to be right.

Sources: failure biasing is E. E. Lewis and F. Böhm's ("Monte Carlo simulation of Markov unreliability models", 1984);
by hazards, for other distributions than the exponential: V. F. Nicola, M. K. Nakayama, P. Heidelberger and A. Goyal,
"Fast simulation of highly dependable systems with general failure and repair processes", 1993. The limit is hawb's own.
"""

from __future__ import annotations

import numpy as np

from hawb.study.compiled import compiled, with_arrays
from hawb.study.draws import exponential, hazard, length_us, logarithm, uniform

UNTIL, HOW, DISK, LASTS = range(4)
"""The draws of each failure: its time, its kind, whether the disk is lost, its duration."""

MOST_EXPECTED = 6.0
"""The most biased failures that are expected in a trial."""

SINCE, END, FROM, DUE, FAILURE, RUNS_OUT = range(6)
"""The columns of a biased source's clock.

They are: up since, down until, counted up to, time of its next event, number of its next failure, and whether that
event only ends the biasing.
"""

GOAL, SPENT, LEFT, FACTOR, LOGARITHM = range(5)
"""The columns of a biased source's share.

They are: the hazard at which it fails, the hazard so far, the hazard that may still be biased, the current factor of
its failure rate, and the logarithm of its likelihood ratio.
"""


@with_arrays
def drawn_as(source, failure):
    """Return the number that all random draws about one failure of a source have in common."""
    return source.unit << 26 | failure << 2


@with_arrays
def until_us(source, seed, trial, failure):
    """Return the time for which a source is up until a failure."""
    u = uniform(seed, source.purpose, trial, drawn_as(source, failure) | UNTIL)
    return length_us(source.every_kind, source.every_us, source.every_shape, u)


@with_arrays
def lasts_us(source, seed, trial, failure):
    """Return the duration of a failure."""
    u = uniform(seed, source.purpose, trial, drawn_as(source, failure) | LASTS)
    return length_us(source.lasts_kind, source.lasts_us, source.lasts_shape, u)


@compiled
def weights(table, seed, first, count, horizon_us):
    """Return the weights of `count` trials from number `first` on."""
    found = np.empty(count)
    for k in range(count):
        found[k] = exponential(biased(table, seed, first + k, horizon_us)[2])
    return found


@with_arrays
def biased(table, seed, trial, horizon_us):
    """Return the failures of the biased sources, their number, and the logarithm of the likelihood ratio.

    A failure is a row (begin_us, end_us, source, number of the failure).
    """
    failures, count, now_us = np.empty((64, 4), np.int64), 0, 0
    clocks, shares = np.zeros((len(table), 6), np.int64), np.zeros((len(table), 5))
    sources = [source for source in range(len(table)) if table[source].times > 0]
    for source in sources:
        shares[source, LEFT] = MOST_EXPECTED / len(sources)
        renew(table[source], clocks[source], shares[source], seed, trial, 0)
    while True:
        away = gone(table, sources, clocks, now_us)
        for source in sources:
            aim(table[source], clocks[source], shares[source], away, now_us)
        now_us = next_us(table, sources, clocks, now_us)
        if now_us >= horizon_us:
            return failures, count, ratio(table, sources, clocks, shares, horizon_us)
        for source in sources:
            if clocks[source, DUE] <= now_us and happen(
                table[source], clocks[source], shares[source], seed, trial, now_us
            ):
                if count == len(failures):
                    failures = np.concatenate((failures, np.empty_like(failures)))
                failures[count, 0], failures[count, 1] = now_us, clocks[source, END]
                failures[count, 2], failures[count, 3] = source, clocks[source, FAILURE] - 1
                count += 1


@with_arrays
def happen(source, clock, share, seed, trial, now_us):
    """Process a source's due event. Return True if it is a failure."""
    if clock[END] == now_us:
        renew(source, clock, share, seed, trial, now_us)
        return False
    count_time(source, clock, share, now_us)
    if clock[RUNS_OUT]:
        share[LEFT], share[FACTOR] = 0.0, 0.0
        return False
    share[LOGARITHM] -= logarithm(share[FACTOR])
    clock[END] = clock[DUE] = now_us + lasts_us(source, seed, trial, clock[FAILURE])
    clock[FAILURE] += 1
    return True


@with_arrays
def ratio(table, sources, clocks, shares, horizon_us):
    """Return the logarithm of the likelihood ratio at the horizon."""
    total = 0.0
    for source in sources:
        if clocks[source, END] <= horizon_us:
            count_time(table[source], clocks[source], shares[source], horizon_us)
        total += shares[source, LOGARITHM]
    return total


@with_arrays
def renew(source, clock, share, seed, trial, now_us):
    """Put a source up, as good as new."""
    u = uniform(seed, source.purpose, trial, drawn_as(source, clock[FAILURE]) | UNTIL)
    clock[SINCE] = clock[FROM] = now_us
    share[GOAL], share[SPENT], share[FACTOR] = -logarithm(u), 0.0, 0.0


@with_arrays
def gone(table, sources, clocks, now_us):
    """Return the nodes that are down, or were less than `after_us` ago, as bits."""
    away = 0
    for source in sources:
        if clocks[source, END] and now_us < clocks[source, END] + table[source].after_us:
            away |= table[source].nodes
    return away


@with_arrays
def aim(source, clock, share, away, now_us):
    """Set the failure rate of a source that is up from now on, and the time of its next event."""
    if clock[END] > now_us:
        return
    is_worse = away != 0 and source.nodes & ~away != 0
    factor = source.times if is_worse and share[LEFT] > 0 else 1.0
    if factor == share[FACTOR]:
        return
    count_time(source, clock, share, now_us)
    share[FACTOR] = factor
    ahead = share[GOAL] - share[SPENT]
    clock[RUNS_OUT] = int(factor > 1 and share[LEFT] < ahead)
    if clock[RUNS_OUT]:
        ahead = share[LEFT]
    reached = ahead / factor + aged(source, clock[FROM] - clock[SINCE])
    age_us = length_us(source.every_kind, source.every_us, source.every_shape, exponential(-reached))
    clock[DUE] = max(now_us, clock[SINCE] + age_us)


@with_arrays
def count_time(source, clock, share, now_us):
    """Account for the time that has passed for a source."""
    passed = aged(source, now_us - clock[SINCE]) - aged(source, clock[FROM] - clock[SINCE])
    if share[FACTOR] > 1:
        share[LOGARITHM] += (share[FACTOR] - 1) * passed
        share[LEFT] -= share[FACTOR] * passed
    share[SPENT] += share[FACTOR] * passed
    clock[FROM] = now_us


@with_arrays
def aged(source, age_us):
    """Return a source's cumulative hazard at an age."""
    return hazard(source.every_kind, source.every_us, source.every_shape, age_us)


@with_arrays
def next_us(table, sources, clocks, now_us):
    """Return the time of the next event, or at which nodes have been back for long enough."""
    found = clocks[sources[0], DUE] if len(sources) else np.int64(1 << 62)
    for source in sources:
        found = min(found, clocks[source, DUE])
        back_us = clocks[source, END] + table[source].after_us
        if clocks[source, END] and back_us > now_us:
            found = min(found, back_us)
    return found
