"""The report on failure rates of clusters: if the logs show them, how often, for how long, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins

from hawb.incident.fits import SEED, Fit
from hawb.incident.fleets import Fleet
from hawb.incident.rates import ALONE, EACH, HOWS, TOGETHER, YEAR_S, Rates, share_interval
from hawb.incident.spans import KINDS
from hawb.study.environment import Distribution
from hawb.study.numbers import Numbers
from hawb.views.formatting import counted, percent, shown
from hawb.views.hawb_commands import asking
from hawb.views.markdown import bash_word
from hawb.views.report import Part, Report, ToDo, Verdict
from hawb.views.tables import Table

QUESTION = "Do these logs show how often a node fails?"
WIDE = 3.0
"""An interval whose end is more than this many times its beginning says little."""
UNITS = ((86_400 * 2, 86_400, "days"), (3_600 * 2, 3_600, "hours"), (60 * 2, 60, "minutes"), (0, 1, "seconds"))
WORDS = {
    "time_to_failure": "until a node fails spontaneously", "repair": "until it is back",
    "time_to_common_failure": "until several nodes fail at once", "common_repair": "until they are back",
    "time_to_rolling_restart": "until a rolling restart", "restart": "how long each node is down in a rolling restart",
    "time_to_partition": "until a partition", "partition": "how long it lasts",
    "synchronisation": f"to synchronise {EACH:,} messages",
}  # fmt: skip
TIMES = ("restart", "synchronisation")
"""The kinds of spans that an upgrade plan uses."""
OF_FAILURES = {
    "stopped": "asked to stop", "power_off": "noticed only after net_ticktime", "killed": "killed or crashed",
}  # fmt: skip
ASSUMED = (
    "All nodes, clusters and years are treated alike: differences between hosts, or over time, are not considered.",
    "hawb assumes that a repaired node is as good as a new one. A node that ran when the logs began had been running"
    " for a long time.",
    "A log does not say who stopped a node. A stop counts as a failure, unless all nodes were restarted one after"
    " the other.",
    "Other nodes notice a power loss or a partition only after net_ticktime, so both seem to begin later than they do.",
    "Nodes that failed within a minute had a common cause. A common cause that affects only one node counts as"
    " that node's failure.",
    f"The 95 % intervals come from random draws (seed {SEED}) of the candidate distributions, weighted by their "
    f"likelihood."
    " The exponential distribution is used unless AICc clearly favours another.",
)
HEADS = ("what", "seen", "still open", "mean", "95 % interval", "distribution")


def verdict(rates: Rates) -> Verdict:
    """Return the verdict: yes with the rates, but if the interval is wide, no if no node has failed."""
    fit, repair = rates.fits.get(ALONE), rates.fits.get("repair")
    if not rates.samples:
        return Verdict("no", "no log shows when a node started or stopped, so there is no rate to compute")
    watched = f"{rates.watched_s / YEAR_S:.3g} node-years of logs"
    if fit is None:
        return Verdict("no", f"no node failed spontaneously in {watched}, so there is no rate to compute")
    low, high = fit.interval()
    back = "" if repair is None else f" and is back after {length(repair.best.mean_s)}"
    often = f"a node fails every {length(fit.best.mean_s)} ({between(fit)}){back}, on average"
    seen = f"according to {counted(fit.sample.events, 'failure')} in {watched}"
    if high > WIDE * low:
        return Verdict("but", f"only roughly: {often}, {seen}")
    return Verdict("yes", f"{often}, {seen}")


STUDY = "data/studies/replica-counts.yaml"
"""A study that uses the numbers, relative to hawb's data folder."""


def report_of(
    title: str, rates: Rates, fleet: Fleet | None = None, file: str | None = None, logs: Sequence[str] = (),
    study: str = STUDY,
) -> Report:  # fmt: skip
    """Return the report.

    `file` is the file to which the numbers were written, `logs` are the files and folders that were read, and `study`
    is the study file to combine with the numbers.
    """
    clusters = f"{counted(rates.clusters, 'cluster')}, most with {rates.nodes} nodes" if rates.samples else "no node"
    files = "" if fleet is None else f", {counted(fleet.files, 'file')}"
    missing = () if fleet is None else (
        *(f"{shown(one)}: {shown(why)}" for one, why in fleet.refused),
        *(f"{shown(one)} is not a RabbitMQ log: {shown(why)}" for one, why in fleet.others),
    )  # fmt: skip
    often = (Part("How often, and for how long", Table("rates", HEADS, rows(rates))),) if rates.samples else ()
    parts = (*often, *of_failures(rates))
    return Report(QUESTION, f"{shown(title)}: {clusters}{files}", verdict(rates), todo(rates, file, logs, study), parts,
                  ASSUMED, missing)  # fmt: skip


def rows(rates: Rates) -> list[tuple[str, ...]]:
    """Return a row for each kind of span that occurred."""
    found = []
    for kind, sample in rates.samples.items():
        fit, still = rates.fits[kind], len(sample.ended) - sample.events
        if fit is None:
            cells = ("", f"longer than {length(sample.total_s)} in all", "")
        else:
            cells = (length(fit.best.mean_s), between(fit), distribution(fit.best))
        found.append((WORDS[kind], f"{sample.events:,}", f"{still:,}", *cells))
    return found


def distribution(one: Distribution) -> str:
    """Return a distribution in words."""
    if one.distribution == "weibull":
        way = "in bursts" if (one.shape or 1) < 1 else "with age"
        return f"Weibull, shape {one.shape:.2f} ({way})"
    return one.distribution if one.shape is None else f"{one.distribution}, deviation {one.shape:.2f}"


def of_failures(rates: Rates) -> tuple[Part, ...]:
    """Return a part about how nodes failed, and how many failed together; empty if no node failed."""
    alone = rates.shares[ALONE]
    if not alone.known + alone.unknown + sum(rates.sizes.values()):
        return ()
    cells = [(OF_FAILURES[how], *_share(getattr(alone, how), alone.known)) for how in HOWS]
    crashed = alone.power_off + alone.killed
    cells.append(("came back without data, of those not asked to stop", *_share(alone.disk_lost, crashed)))
    cells.append(("failed within a minute of another node, of all failures", *_share(*rates.company)))
    notes = (f"how {counted(alone.unknown, 'failure')} happened is in no log",) if alone.unknown else ()
    return (Part("How nodes failed", Table("failures", ("how", "count", "share", "95 % interval"), cells), notes),)


def _share(some: int, of: int) -> tuple[str, str, str]:
    if not of:
        return "0 of 0", "", ""
    low, high = share_interval(some, of)
    return f"{some:,} of {of:,}", percent(some / of), f"{percent(low)} to {percent(high)}"


def todo(rates: Rates, file: str | None, logs: Sequence[str] = (), study: str = STUDY) -> tuple[ToDo, ...]:
    """Return the to-dos: use the numbers, use an environment with racks if nodes failed together, or get more logs."""
    own, asked = bash_word(file or "own.yaml"), []
    if not rates.samples:
        return (ToDo("Give the logs of RabbitMQ's nodes, such as rabbit@a.log, or folders of them."),)
    if rates.fits.get(ALONE) is None:
        return (ToDo("Give logs of a longer period, or of more clusters."),)
    takers = "hawb replicas and hawb upgrade take" if any(map(rates.fits.get, TIMES)) else "hawb replicas takes"
    write = () if file else asking("rates", logs, f"--numbers {own}")
    laid_over = (f"hawb study {bash_word(study)} --numbers {own} --output own-tables",)
    advice = f"Use these rates instead of assumed ones; {takers} --numbers {own} together with a cluster's files too."
    asked.append(ToDo(advice, (*write, *(laid_over if file or logs else ()))))
    some, of = rates.company
    if some:
        asked.append(ToDo(f"Use environments with rack_failures: {percent(some / of)} of failures affect several"
                          " nodes at once, and a study without racks leaves these out."))  # fmt: skip
    fit = rates.fits[ALONE]
    if fit is not None and fit.interval()[1] > WIDE * fit.interval()[0]:
        asked.append(ToDo("Give logs of a longer period, or of more clusters: these are too few failures."))
    return tuple(asked)


def length(seconds: float) -> str:
    """Return a duration in the largest unit of which it has at least two."""
    _, unit_s, unit = next(one for one in UNITS if seconds >= one[0])
    return f"{_figure(float(f'{seconds / unit_s:.3g}'))} {unit}"


def between(fit: Fit) -> str:
    """Return the ends of the interval of a mean, in the unit of the mean."""
    _, unit_s, unit = next(one for one in UNITS if fit.best.mean_s >= one[0])
    low, high = (float(f"{end / unit_s:.3g}") for end in fit.interval())
    return f"{_figure(low)} to {_figure(high)} {unit}"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:g}"


def plain(rates: Rates, fleet: Fleet, numbers: Numbers) -> dict[str, Any]:
    """Return the whole answer as JSON values (`hawb.views.answers.Rated`)."""
    return {
        "clusters": rates.clusters, "nodes": rates.nodes, "watched_s": rates.watched_s,
        "rates": [_plain(kind, rates.fits[kind], rates) for kind in rates.samples],
        "failures": {kind: to_builtins(rates.shares[kind]) for kind in (ALONE, TOGETHER)},
        "together": {str(size): count for size, count in sorted(rates.sizes.items())},
        "groups": rates.groups, "numbers": to_builtins(numbers),
        "refused": [{"file": file, "reason": reason} for file, reason in fleet.refused],
    }  # fmt: skip


def _plain(kind: str, fit: Fit | None, rates: Rates) -> dict[str, Any]:
    sample = rates.samples[kind]
    low, high = fit.interval() if fit else (None, None)
    return {
        "kind": kind, "means": KINDS[kind], "ended": sample.events, "open": len(sample.ended) - sample.events,
        "mean_s": fit and fit.best.mean_s, "mean_low_s": low, "mean_high_s": high,
        "distribution": fit and fit.best.distribution, "shape": fit and fit.best.shape,
        "aicc": {one.distribution.distribution: one.aicc for one in fit.candidates} if fit else {},
    }  # fmt: skip
