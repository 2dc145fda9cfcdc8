"""Plan an upgrade with a cluster's own times: how long its nodes are down for one, and its settings of time.

Decisions:

* Of own numbers an upgrade takes `environment.rolling_upgrades.down_s`, which replaces `Task.away_s`, and
  `environment.timing`, laid over the scenario's. Failure rates decide nothing about a plan.
* The search for the plan uses the numbers themselves. Each draw (`hawb.study.numbers.Numbers.draws`) is a cluster as
  likely under the measurements: the plan that was found is played once more in each, with its order and waits, and the
  answer has the interval in which the cluster's own figures are with 95 %. Other plans are not played in the draws:
  the user has to choose before knowing the true times.
* A cluster's own figure is like one more draw, which is below the least of n draws once in n + 1 times. So the interval
  leaves out a fortieth of n + 1 at each end, less than one of 32 draws; a fortieth of n would be an interval of 89 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hawb.planning.full_stop import FullStop, full_stop
from hawb.planning.upgrade import Plan, Prediction, Task, played_restarts, prediction
from hawb.scenario.document import Scenario
from hawb.scenario.load import read_file
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.run import Run
from hawb.study.numbers import Numbers, over, read_numbers
from hawb.study.question import source_of

DOWN = "rolling_upgrades"
TAKEN = (f"{DOWN}.down_s", "timing")
"""The parts of an environment that an upgrade takes."""
CUTS = 40
"""The number of parts of 2.5 % into which draws are cut; an interval of 95 % leaves out the first and the last."""


class Times(Struct, frozen=True):
    """The time that a node is down for its upgrade (None if unknown), and values that replace `Timing`."""

    away_s: float | None
    timing: dict[str, float]

    def task(self, task: Task) -> Task:
        """Return a task with this downtime."""
        return task if self.away_s is None else replace(task, away_s=self.away_s)

    def over(self, scenario: Scenario) -> Scenario:
        """Return a scenario whose cluster has these times."""
        cluster = scenario.cluster
        return replace(scenario, cluster=replace(cluster, timing=replace(cluster.timing, **self.timing)))


class OwnTimes(Struct, frozen=True):
    """A user's own times with the title of their file, the source of each, and their draws."""

    title: str
    times: Times
    sources: dict[str, str]
    draws: tuple[Times, ...] = ()

    def with_away(self, away_s: float) -> OwnTimes:
        """Return the same times with a known downtime of nodes, in every draw too."""
        sources = {path: source for path, source in self.sources.items() if path != TAKEN[0]}
        draws = tuple(replace(draw, away_s=away_s) for draw in self.draws)
        return replace(self, times=replace(self.times, away_s=away_s), sources=sources, draws=draws)


class Within(Struct, frozen=True):
    """The intervals, from all draws, in which the cluster's own figures lie with 95 %.

    They are those of the plan's duration, of the queues' seconds of unavailability in total, and of the messages lost.
    `away` are nodes that do not run at the end of some draw.
    """

    draws: int
    duration_s: tuple[float, float]
    outage_s: tuple[float, float]
    lost: tuple[float, float]
    away: tuple[str, ...] = ()


def read_times(file: Path) -> OwnTimes:
    """Return the times of a file of numbers. Raise ScenarioRefused, which names the file, also if it has none."""

    def read(given: Any) -> OwnTimes:
        return own_times(read_numbers(given))

    return read_file(file, None, read)


def own_times(numbers: Numbers) -> OwnTimes:
    """Return the times for an upgrade from own numbers. Raise ScenarioRefused if they have none."""
    environment = numbers.environment
    times = _times(environment)
    if times.away_s is None and not times.timing:
        accepted = " or ".join(TAKEN)
        raise ScenarioRefused("nothing that an upgrade takes", ("environment",), given=environment, accepted=accepted)
    sources = {
        path: source_of(numbers.sources, f"environment.{path}") or "" for path in
        (*([TAKEN[0]] if times.away_s is not None else []), *(f"timing.{name}" for name in times.timing))
    }  # fmt: skip
    draws = tuple(_times(over(environment, draw)) for draw in numbers.draws)
    return OwnTimes(numbers.numbers, times, sources, draws)


def _times(environment: dict[str, Any]) -> Times:
    timing = {name: float(value) for name, value in (environment.get("timing") or {}).items()}
    down_s = (environment.get(DOWN) or {}).get("down_s")
    return Times(None if down_s is None else float(down_s), timing)


def within(scenario: Scenario, task: Task, plan: Plan | FullStop, own: OwnTimes) -> Within | None:
    """Return the results of a plan for a scenario's cluster in the draws; None if no draw has other times.

    Raise ScenarioRefused if a step of the scenario is impossible with these times.
    """
    if all(draw == own.times for draw in own.draws):
        return None
    played = [_played(draw, scenario, task, plan, place) for place, draw in enumerate(own.draws)]
    away = {node: None for one in played for node in one.away}
    spans = {name: middle([getattr(one, name) for one in played]) for name in ("duration_s", "outage_s", "lost")}
    return Within(len(played), **spans, away=tuple(away))


def _played(times: Times, scenario: Scenario, task: Task, plan: Plan | FullStop, place: int) -> Prediction:
    task = times.task(task)
    try:
        run = Run.of(times.over(scenario))
        if isinstance(plan, FullStop):
            return full_stop(run, task, plan.stops, plan.starts, plan.name).prediction
        return prediction(run.moment(), *played_restarts(run, task, plan.restarts))
    except ScenarioRefused as refused:
        refused.problem += f", with the times of draw {place}"
        raise


def middle(values: Sequence[float]) -> tuple[float, float]:
    """Return the interval in which one more value is with 95 %.

    It interpolates between neighbours and stays within the range of the values.
    """
    if len(values) < 2:
        return values[0], values[0]
    cuts = quantiles(values, n=CUTS)
    return round(max(cuts[0], min(values)), 6), round(min(cuts[-1], max(values)), 6)
