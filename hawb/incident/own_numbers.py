"""Write a cluster's own rates as a file of numbers (`hawb.study.numbers`) for studies, replicas and upgrades.

Each number has its source and its interval, and the file has draws: environments as likely as the logs allow, so that
an answer's interval includes the uncertainty of the rates (`hawb.study.own_draws`). It holds only what was seen to
happen: for events that never occurred it has no rate, and the study's own number applies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hawb.incident.fits import SEED, SHORTEST_S, Fit
from hawb.incident.rates import ALONE, EACH, TOGETHER, YEAR_S, Rates, share_interval
from hawb.scenario.fields import LONGEST_S
from hawb.study.environment import Distribution
from hawb.study.numbers import Numbers, read_numbers

DAY_S = 24 * 3600
DRAWS = 32
"""Number of draws in a file: the number of batches of trials, on which Student's t is based."""
LONGEST_DAYS, LARGEST_SHAPE = 10_000, 100
"""Bounds of `hawb.study.environment`."""
DIGITS = 4
FAILING = {ALONE: ("node_failures", "repair"), TOGETHER: ("rack_failures", "common_repair")}
"""Failures by the kind of span that they end: what an environment calls them, and the kind of their repairs."""
SHARES = ("controlled_share", "power_off_share", "disk_loss_share")
WHAT = {ALONE: "failures of nodes alone", TOGETHER: "failures of several nodes within a minute"}


def own_numbers(rates: Rates, title: str, draws: int = DRAWS, seed: int = SEED) -> Numbers:
    """Return the numbers of a fleet under a title, with so many draws."""
    random = np.random.default_rng(seed)
    best = _environment(rates, {kind: fit.best for kind, fit in rates.fits.items() if fit}, _shares(rates))
    fits = {kind: fit.draws(draws, seed + place) for place, (kind, fit) in enumerate(rates.fits.items()) if fit}
    shares = {kind: rates.shares[kind].draws(draws, random) for kind in FAILING if rates.shares[kind].known}
    drawn = [
        _environment(rates, {kind: each[place] for kind, each in fits.items()},
                     {kind: each[place] for kind, each in shares.items()})
        for place in range(draws)
    ]  # fmt: skip
    return read_numbers({
        "numbers": title, "environment": best, "draws": drawn if best else [],
        "sources": {f"environment.{path}": f"measured: {source}" for path, source in _sources(rates)},
    })  # fmt: skip


def _shares(rates: Rates) -> dict[str, Sequence[float]]:
    return {kind: rates.shares[kind].observed() for kind in FAILING if rates.shares[kind].known}


def _environment(rates: Rates, fitted: dict[str, Distribution], shares: dict[str, Sequence[float]]) -> dict[str, Any]:
    """Return a part of an environment as plain values."""
    found: dict[str, Any] = {}
    for kind, (part, repair) in FAILING.items():
        if kind not in fitted or (kind == TOGETHER and not rates.racks):
            continue
        each = rates.racks if kind == TOGETHER else 1
        found[part] = {"groups": rates.groups} if kind == TOGETHER else {}
        found[part]["every"] = _distribution(fitted[kind], each)
        if repair in fitted:
            found[part]["repair"] = _distribution(fitted[repair])
        if kind in shares:
            found[part] |= {name: _rounded(min(1.0, value)) for name, value in zip(SHARES, shares[kind], strict=True)}
    for kind, part, name in (("time_to_partition", "partitions", "every"), ("partition", "partitions", "lasts")):
        if kind in fitted and "time_to_partition" in fitted:
            found.setdefault(part, {})[name] = _distribution(fitted[kind])
    if "time_to_rolling_restart" in fitted and "restart" in fitted:
        found["rolling_upgrades"] = {
            "every_days": _within(fitted["time_to_rolling_restart"].mean_s / DAY_S, LONGEST_DAYS),
            "down_s": _within(fitted["restart"].mean_s),
        }
    if "synchronisation" in fitted:
        found["timing"] = {"sync_messages_s": _within(EACH / fitted["synchronisation"].mean_s)}
    return found


def _distribution(one: Distribution, times: float = 1) -> dict[str, Any]:
    """Return a distribution as plain values."""
    values = {"mean_s": _within(one.mean_s * times), "distribution": one.distribution}
    return values if one.shape is None else values | {"shape": _within(one.shape, LARGEST_SHAPE)}


def _within(value: float, most: float = LONGEST_S) -> float:
    """Return a number that a study takes: of a few failures a draw may last longer, or less long, than that."""
    return min(most, max(SHORTEST_S, _rounded(value)))


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _sources(rates: Rates) -> Iterator[tuple[str, str]]:
    """Yield (path, source) of the numbers."""
    best = _environment(rates, {kind: fit.best for kind, fit in rates.fits.items() if fit}, _shares(rates))
    watched = f"in {rates.watched_s / YEAR_S:.3g} node-years of logs"
    for kind, (part, repair) in FAILING.items():
        if part not in best:
            continue
        each = rates.racks if kind == TOGETHER else 1
        yield (
            f"{part}.every",
            f"{_count(rates.fits[kind])} {WHAT[kind]} {watched}, mean {_days(rates.fits[kind], each)}",
        )
        if "repair" in best[part]:
            yield f"{part}.repair", f"{_count(rates.fits[repair])} repairs, mean {_seconds(rates.fits[repair])}"
        if kind == TOGETHER:
            yield f"{part}.groups", "how many of a cluster's nodes went together"
        if SHARES[0] in best[part]:
            shares = rates.shares[kind]
            crashed = shares.power_off + shares.killed
            for name, some, of in zip(SHARES, (shares.stopped, shares.power_off, shares.disk_lost),
                                      (shares.known, shares.known, crashed), strict=True):  # fmt: skip
                yield f"{part}.{name}", f"{some} of {of}{_not_stops(name)}, 95 % {_share_interval(some, of)}"
    for kind, path in (("time_to_partition", "partitions.every"), ("partition", "partitions.lasts")):
        if path.split(".")[1] in best.get("partitions", {}):
            source = _days(rates.fits[kind]) if kind == "time_to_partition" else _seconds(rates.fits[kind])
            yield path, f"{_count(rates.fits[kind])} partitions, mean {source}"
    if "rolling_upgrades" in best:
        turns = rates.fits["time_to_rolling_restart"]
        yield "rolling_upgrades.every_days", f"{_count(turns)} rolling restarts, mean {_days(turns)}"
        away = rates.fits["restart"]
        yield "rolling_upgrades.down_s", f"{_count(away)} restarts of nodes in them, mean {_seconds(away)}"
    if "timing" in best:
        pace = rates.fits["synchronisation"]
        low, high = (EACH / end for end in pace.interval())
        yield (
            "timing.sync_messages_s",
            f"{_count(pace)} synchronisations, 95 % {figure(high)} to {figure(low)} messages a second",
        )


def _count(fit: Fit | None) -> int:
    return fit.sample.events if fit else 0


def _not_stops(name: str) -> str:
    return " that were no stops" if name == "disk_loss_share" else ""


def _share_interval(some: int, of: int) -> str:
    low, high = share_interval(some, of)
    return f"{low:.2g} to {high:.2g}"


def _days(fit: Fit | None, times: float = 1) -> str:
    return _interval(fit, DAY_S / times, "days")


def _seconds(fit: Fit | None) -> str:
    return _interval(fit, 1, "seconds")


def _interval(fit: Fit | None, unit_s: float, unit: str) -> str:
    if fit is None:
        return ""
    low, high = fit.interval()
    return f"{figure(fit.best.mean_s / unit_s)} {unit}, 95 % {figure(low / unit_s)} to {figure(high / unit_s)}"


def figure(value: float) -> str:
    """Return a number with three significant digits, without an exponent."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:g}"
