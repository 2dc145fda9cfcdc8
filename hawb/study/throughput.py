"""Predict messages a second, and the time of each: a small physical model, fitted to published measurements.

The seconds that a message takes are

    round_trip_s / in_flight + base_s x column ** power x column ** power ...

The first term is a publisher waiting for confirms: with one unconfirmed message at a time only this counts. The second
is the work of the busiest resource: each setup (machine, disk, release) has its own `base_s`, all share the powers. By
Little's law `in_flight` messages are then on their way for in_flight times as long.

Each form was chosen by its error on rows that were held out (root mean square of logarithms, classic and quorum): 0.16
and 0.13 for this form; 0.30 and 0.25 with the smaller of both rates in place of the sum of both times, for a queue
never only waits or only works; 0.23 and 0.21 with a cost for each byte in place of a power of the size. The power is no
law of nature: far beyond 5 kB network and disk set other bounds, and so values more than twice beyond the published
range are refused.

Errors are relative, so the fit is a least-squares one of logarithms. Each queue type is fitted separately.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from msgspec import Struct

from hawb.study.least_squares import dot, solve
from hawb.study.prediction import NotMeasuredError, Prediction
from hawb.study.published import Row, table

MAX_STEPS = 200
BEYOND = 2
"""The factor by which a prediction may leave the published range."""


class Law(Struct, frozen=True):
    """The columns of a model.

    Each value of `base` has a time of its own, `powers` multiply it, and `limit` is the publishers' limit of
    unconfirmed messages (None: the figures have none).
    """

    base: str
    powers: tuple[str, ...]
    limit: str | None
    leaves_out: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns whose values a prediction needs."""
        return (self.base, *self.powers, *filter(None, [self.limit]))


ONE_QUEUE = Law(
    "setup",
    ("size_bytes", "replicas"),
    "in_flight",
    (
        "all other load on the nodes, deep queues, the number of publishers and consumers, TLS",
        "distant replicas: the model assumes the round trip of one data centre, the same for any number of replicas",
        "machines for which no figures were published; to add your own machine, give a measurement (`measured`)",
    ),
)
CLUSTER = Law(
    "disk",
    ("nodes", "vcpus"),
    None,
    (
        "any other workload than a hundred queues, messages of 1 kB and consumers that keep up",
        "other numbers of replicas: two copies for classic queues, three for quorum queues",
        "that the blog posts count the best rate in two different ways, which favours quorum queues",
    ),
)


class Model(Struct, frozen=True):
    """A law fitted to rows.

    `parameters` are the natural logarithms of `round_trip_s` and of the `bases_s`, and the powers, in this order.
    `held_out` has for each row the logarithm of predicted by published rate, fitted to all other rows; None for a row
    that is the only one of its base.
    """

    law: Law
    rows: tuple[Row, ...]
    bases: tuple[str, ...]
    parameters: tuple[float, ...]
    held_out: tuple[float | None, ...]

    @classmethod
    def of(cls, law: Law, rows: Sequence[Row]) -> Model:
        """Return the model of a law, fitted to rows."""
        bases = tuple(dict.fromkeys(row[law.base] for row in rows))

        def off(index: int) -> float | None:
            others = [*rows[:index], *rows[index + 1 :]]
            if all(row[law.base] != rows[index][law.base] for row in others):
                return None
            predicted = _log_seconds(_fit(law, bases, others), *_columns(law, bases, rows[index]))
            return -predicted - math.log(rows[index]["rate_per_s"])

        fitted = tuple(_fit(law, bases, rows))
        return cls(law, tuple(rows), bases, fitted, tuple(map(off, range(len(rows)))))

    @property
    def round_trip_s(self) -> float:
        """Return the seconds that a publisher waits for the confirm of a single message; 0 in a law without a limit."""
        return math.exp(self.parameters[0]) if self.law.limit else 0.0

    @property
    def bases_s(self) -> dict[str, float]:
        """Return the seconds of work for a message whose columns are all 1, by base."""
        return dict(zip(self.bases, map(math.exp, self.parameters[1:]), strict=False))

    @property
    def powers(self) -> dict[str, float]:
        """Return the power by which each column lengthens the time of a message; below 0 it shortens it."""
        return dict(zip(self.law.powers, self.parameters[1 + len(self.bases) :], strict=True))

    @property
    def errors(self) -> list[float]:
        """Return the errors on the rows that could be held out."""
        return [error for error in self.held_out if error is not None]

    def fitted_per_s(self, row: Row) -> float:
        """Return the rate for a row, without a check that similar rows were published."""
        return math.exp(-_log_seconds(self.parameters, *_columns(self.law, self.bases, row)))

    def rate(self, **row: str | float | None) -> Prediction:
        """Return messages a second, for a value of each of the law's columns.

        `in_flight=None` is a publisher without a limit. Raise NotMeasuredError for another base, a column too many or
        too few, or a value more than `BEYOND` times beyond the published range.
        """
        warnings = self._warnings(row)
        value = self.fitted_per_s(row)
        return Prediction.of(value, "messages/s", self.errors, warnings=warnings, leaves_out=self.law.leaves_out)

    def latency(self, **row: str | float | None) -> Prediction:
        """Return the median seconds from publishing to consuming.

        The publishers have as many unconfirmed messages as they may, and the consumers keep up. Little's law gives the
        mean time from publishing to confirming; published medians are a share of that, the same for all limits. Raise
        NotMeasuredError as `rate` does, and if no limit is given.
        """
        limit = self.law.limit and row.get(self.law.limit)
        if limit is None:
            raise NotMeasuredError("latency", limit, "a limit of unconfirmed messages, if the formula has one")
        warnings = self._warnings(row)
        shares = [
            math.log(known["p50_s"] * self.fitted_per_s(known) / known[self.law.limit])
            for known in self.rows
            if known.get("p50_s") is not None
        ]
        share = fmean(shares)
        held_out = [(share * len(shares) - left) / (len(shares) - 1) - left for left in shares]
        value = math.exp(share) * limit / self.fitted_per_s(row)
        more = ("a load below the limit, and percentiles above the median", *self.law.leaves_out)
        return Prediction.of(value, "s", held_out, warnings=warnings, leaves_out=more)

    def _warnings(self, row: Row) -> tuple[str, ...]:
        """Return warnings for a row outside of the published range. Raise NotMeasuredError if it is too far."""
        law = self.law
        if row.keys() != set(law.columns):
            raise NotMeasuredError("columns", ", ".join(row), ", ".join(law.columns))
        if row[law.base] not in self.bases:
            hint = "measure one rate yourself, and give it as a row of `measured` with a new base"
            raise NotMeasuredError(law.base, row[law.base], ", ".join(self.bases), hint)
        own = [known for known in self.rows if known[law.base] == row[law.base]]
        found = [f"{row[law.base]} is based on one row"] if len(own) == 1 else []
        for column in law.columns[1:]:
            found += _outside(column, row[column], _range(self.rows, column), _range(own, column), row[law.base])
        return tuple(found)


def one_queue(queue_type: str, measured: Sequence[Row] = ()) -> Model:
    """Return the model of one queue of a type (`classic` of version 1, alone or mirrored, or `quorum`) on idle nodes.

    `measured` are your own measurements: rows with setup, size_bytes, replicas, in_flight and rate_per_s. One row is
    enough for a new setup. Its other figures then follow from the published setups.
    """
    by_disk = [row for row in table("one-queue-by-disk").rows if row["lazy_rate_per_s"] == 0]
    rows = [*table("one-queue-by-in-flight").rows, *table("one-queue-by-size").rows, *by_disk]
    return Model.of(ONE_QUEUE, [*_of_type(queue_type, rows), *_checked(ONE_QUEUE, measured)])


def cluster(queue_type: str, measured: Sequence[Row] = ()) -> Model:
    """Return the model of a hundred queues of a type on a cluster.

    The queues are `classic` with one mirror, or `quorum` with three members. `measured` are your own measurements: rows
    with disk, nodes, vcpus and rate_per_s.
    """
    rows = _of_type(queue_type, table("cluster-sizes").rows)
    return Model.of(CLUSTER, [*rows, *_checked(CLUSTER, measured)])


def _of_type(queue_type: str, rows: Sequence[Row]) -> list[Row]:
    known = dict.fromkeys(row["queue_type"] for row in rows)
    if queue_type not in known:
        raise NotMeasuredError("queue_type", queue_type, ", ".join(known))
    return [row for row in rows if row["queue_type"] == queue_type]


def _checked(law: Law, measured: Sequence[Row]) -> Sequence[Row]:
    """Return a user's own rows, checked here because no test reads them. Raise NotMeasuredError."""
    for row in measured:
        needed = (*law.columns, "rate_per_s")
        if missing := [column for column in needed if column not in row]:
            raise NotMeasuredError(missing[0], None, f"in each row of measured: {', '.join(needed)}")
        for column in needed[1:]:
            if not _counts(row[column]) and (column != law.limit or row[column] is not None):
                raise NotMeasuredError(column, row[column], "a number from 1")
    return measured


def _counts(value: object) -> bool:
    return isinstance(value, int | float) and 1 <= value < math.inf


def _fit(law: Law, bases: Sequence[str], rows: Sequence[Row]) -> list[float]:
    """Return the parameters with the least squares of logarithms, by Gauss and Newton's method."""
    times = [-math.log(row["rate_per_s"]) for row in rows]
    columns = [_columns(law, bases, row) for row in rows]
    alone = [time + waiting for time, (waiting, _) in zip(times, columns, strict=True) if waiting < math.inf]
    parameters = [min(0.0, *alone) if alone else 0.0, *[fmean(times)] * len(bases), *[0.0] * len(law.powers)]
    for _ in range(MAX_STEPS):
        predicted = [_log_seconds(parameters, *both) for both in columns]
        shares = [math.exp(parameters[0] - waiting - predicted[n]) for n, (waiting, _) in enumerate(columns)]
        slopes = [[share, *((1 - share) * one for one in working)]
                  for share, (_, working) in zip(shares, columns, strict=True)]  # fmt: skip
        step = solve(slopes, [time - prediction for time, prediction in zip(times, predicted, strict=True)])
        parameters = [one + change for one, change in zip(parameters, step, strict=True)]
        if max(map(abs, step)) < 1e-10:
            return parameters
    raise RuntimeError(f"no fit within {MAX_STEPS} steps")


def _log_seconds(parameters: Sequence[float], waiting: float, working: Sequence[float]) -> float:
    """Return the logarithm of the sum of both times of a message, computed so that neither overflows."""
    low, high = sorted((parameters[0] - waiting, dot(working, parameters[1:])))
    return high + math.log1p(math.exp(low - high))


def _columns(law: Law, bases: Sequence[str], row: Row) -> tuple[float, list[float]]:
    """Return the logarithm of a row's limit, and the row of its base and the logarithms of its powers' columns."""
    limit = row.get(law.limit) or math.inf
    of_base = [float(row[law.base] == base) for base in bases]
    return math.log(limit), [*of_base, *(math.log(row[column]) for column in law.powers)]


def _range(rows: Sequence[Row], column: str) -> tuple[float, float] | None:
    values = [row[column] for row in rows if row.get(column) is not None]
    return (min(values), max(values)) if values else None


def _outside(
    column: str, value: float | None, known: tuple[float, float], own: tuple[float, float] | None, base: str
) -> list[str]:
    """Return warnings for a value outside of all published rows, or of those with this base. Raise NotMeasuredError."""
    if value is None:
        return []
    low, high = known
    least, most = max(1, low / BEYOND), high * BEYOND
    if not _counts(value) or not least <= value <= most:
        raise NotMeasuredError(column, value, f"{least:g} to {most:g}; published are {low:g} to {high:g}")
    if not low <= value <= high:
        return [f"{column} {value:g} is outside the published range, {low:g} to {high:g}"]
    if own is None:
        return [f"{column}: {base} has no values of its own; its effect is taken from the other figures"]
    if not own[0] <= value <= own[1]:
        there = f"{own[0]:g}" if own[0] == own[1] else f"{own[0]:g} to {own[1]:g}"
        return [f"{column} {value:g}: {base} was measured at {there}; its effect is taken from the other figures"]
    return []
