"""Find what a scenario did to a queue: lost messages, unavailability, and the step that caused it."""

from __future__ import annotations

from msgspec import Struct

from hawb.engine.core import runs
from hawb.engine.core.moment import Moment
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.trace import Entry
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.run import Run

OUTAGES = ("queue_unavailable", "queue_down", "master_down")
"""Events that make a queue unavailable; when a master goes down, a mirror may be promoted at once."""

BRIEF_US = 10_000
"""A shorter outage is a failover, for which no alternative is sought."""


class Harm(Struct, frozen=True):
    """What one step, given by its index, did to a queue from `t_s` on.

    It lists the messages lost and the seconds of unavailability in the whole scenario.
    """

    queue: str
    step: int
    t_s: float
    lost: Runs = EMPTY
    unavailable_s: float = 0.0


def harms(run: Run) -> list[Harm]:
    """Return the harm that a scenario did: losses before outages, each in order of time.

    Of several outages of a queue the last one counts. Harm that follows from the initial state and from no step is left
    out, as no change of a step could prevent it.
    """
    moment = run.moment()
    outages = _outages(moment)
    if not (outages or moment.losses):
        return []
    trace = moment.trace()
    found = _losses(moment, trace)
    ended = {entry.queue: entry for entry in trace if entry.event in OUTAGES and entry.queue in outages}
    for name, end in ended.items():
        step = root(trace, end).step
        harm = found.get((name, step)) or Harm(name, step, end.t_us / MICROSECONDS)
        found[name, step] = Harm(name, step, harm.t_s, harm.lost, outages[name] / MICROSECONDS)
    caused = [harm for (_, step), harm in found.items() if step >= 0]
    return sorted(caused, key=lambda harm: (not harm.lost, harm.t_s, harm.queue))


def _outages(moment: Moment) -> dict[str, int]:
    """Return for how many microseconds each queue was unavailable; leave out outages as brief as a failover."""
    down = {name: (account.down, account.down.at(moment.state.time_us)) for name, account in moment.ledger.items()}
    return {name: us for name, (span, us) in down.items() if span.since_us is not None or us >= BRIEF_US}


def _losses(moment: Moment, trace: list[Entry]) -> dict[tuple[str, int], Harm]:
    """Return the losses by queue and step."""
    found: dict[tuple[str, int], Harm] = {}
    for loss in moment.losses:
        entry = trace[loss.entry]
        step = root(trace, entry).step
        harm = found.get((loss.queue, step)) or Harm(loss.queue, step, entry.t_us / MICROSECONDS)
        found[loss.queue, step] = Harm(loss.queue, step, harm.t_s, runs.union(harm.lost, loss.numbers))
    return found


def root(trace: list[Entry], entry: Entry) -> Entry:
    """Return the first entry of the causal chain that leads to this entry."""
    while entry.because is not None:
        entry = trace[entry.because]
    return entry
