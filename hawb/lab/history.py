"""The lab's history: a chain of points, each a run as a value, so that undo and redo only move along the chain.

A point stands somewhere in a story: `run` has the steps that were played, `ahead` those that are still to come. Going
back in a story is an action like any other, which makes a new point; what is done there does not take away the steps
ahead. Looking back at a moment is one action too, however often another moment is chosen.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from hawb.engine.core.state import State
from hawb.lab.sources import START
from hawb.planning.alternatives import Alternatives
from hawb.planning.harm import Harm, harms
from hawb.planning.safe_to_stop import Forecast, safe_to_stop
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.document import Step
from hawb.scenario.dump import plain
from hawb.scenario.load import ScenarioRefused, load, read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views.story.marks import MARKED

TICKED = ("fault", "cut", "promoted", "lost")
"""The looks of marks that stand on the slider of moments."""


class Point:
    """A point of the history, and the one `before` it, to which undo leads (None at the beginning of everything).

    `notes` are on the cluster that was opened, `opened` is whether one was opened here, and `passed_s` the seconds of
    simulated time that playing has let pass since the point before. `alternatives` are those last asked for here.
    `rest` is how many steps set the cluster up before the person came: nothing leads back behind them.

    A point may look back from another, its `origin`: it stands at the moment `at_s`, with whatever is on its way then,
    and an action there happens at that moment.
    """

    def __init__(
        self,
        run: Run,
        ahead: tuple[Step, ...] = (),
        *,
        before: Point | None = None,
        notes: Sequence[str] = (),
        opened: bool = False,
        passed_s: float = 0.0,
        rest: int = 0,
        origin: Point | None = None,
        at_s: float | None = None,
    ):
        self.run, self.ahead, self.before, self.notes = run, ahead, before, tuple(notes)
        self.opened, self.passed_s, self.rest, self._origin, self.at_s = opened, passed_s, rest, origin, at_s
        self.moment = run.moment() if at_s is None else run.moment_at(at_s)
        self.outcome = outcome(run, self.moment, () if before is None else before.shared_events(run))
        self.alternatives: Alternatives | None = None

    @cached_property
    def was(self) -> dict | None:
        """The outcome to compare with: that of the point before or, where a cluster was opened, that before the last
        step of its story; None if its story has no step."""
        if self._origin is not None:
            return None
        if not self.opened:
            return self.before.outcome
        return None if self.before_last_step is None else self.before_last_step[1]

    @cached_property
    def before_last_step(self) -> tuple[State, dict] | None:
        """The state and the outcome before the last step of the story; None if it has no step since the cluster was at
        rest, or another moment is looked at."""
        if not self.steps or self.at_s is not None:
            return None
        earlier = self.run.rewound(len(self.run.steps) - 1)
        return earlier.moment().state, outcome(earlier, shared=self.shared_events(earlier))

    def shared_events(self, run: Run) -> list[dict]:
        """The first events of this point's outcome that it shares with another run."""
        return self.outcome["events"][: self.run.shared_entries(run)]

    @cached_property
    def forecasts(self) -> dict[str, Forecast]:
        """The forecast for each running node now."""
        return {forecast.node: forecast for forecast in safe_to_stop(self.run)}

    @cached_property
    def harms(self) -> list[Harm]:
        """The harm that the story has done to queues so far."""
        return harms(self.run)

    @property
    def origin(self) -> Point:
        """The point from which this one looks back; itself, if it does not."""
        return self._origin or self

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that were played since the cluster was at rest."""
        return tuple(self.run.steps[self.rest :])

    @cached_property
    def moments_us(self) -> list[int]:
        """The moments at which anything happened since the cluster was at rest, and the last one."""
        moment = self.origin.moment
        began = self.run.rewound(self.rest).moment().state.time_us if self.rest else 0
        times = {entry.t_us for entry in moment.trace()}
        return sorted({began, moment.state.time_us, *(time for time in times if time > began)})

    @cached_property
    def marked(self) -> list[tuple[int, str]]:
        """Which of the `moments_us` have marks on a timeline, and of which look, the earliest first."""
        places = {us: place for place, us in enumerate(self.moments_us)}
        found = ((places.get(entry.t_us), MARKED.get(entry.event)) for entry in self.moment.trace())
        return list(dict.fromkeys((place, look) for place, look in found if look in TICKED and place is not None))

    @property
    def position(self) -> int:
        """The index of the last of `moments_us` that is over."""
        return bisect_right(self.origin.moments_us, self.moment.state.time_us) - 1

    def looking_at(self, position: int) -> Point:
        """The point that looks from this one's origin at one of its `moments_us`, just after what happened then; the
        origin itself for the last."""
        origin = self.origin
        if position >= len(origin.moments_us) - 1:
            return origin
        at_s = (origin.moments_us[max(position, 0)] + 1) / MICROSECONDS
        steps = origin.run.steps_at(at_s)
        run, ahead = origin.run.rewound(steps), (*origin.run.steps[steps:], *origin.ahead)
        return Point(run, ahead, before=origin, notes=self.notes, rest=self.rest, origin=origin, at_s=at_s)

    @property
    def document(self) -> dict:
        """The whole story as a scenario file holds it, with the steps ahead."""
        now = plain(self.run.scenario)
        return now | {"steps": [*now.get("steps", ()), *map(plain, self.ahead)]}

    def next(self, run: Run, ahead: tuple[Step, ...], passed_s: float = 0.0) -> Point:
        """A point after this one, of the same cluster."""
        return Point(run, ahead, before=self, notes=self.notes, passed_s=passed_s, rest=self.rest)

    def with_step(self, step: Mapping) -> Point:
        """The point after one more step, written as in a file. Raises ScenarioRefused."""
        return self.next(*self._with(step))

    def refusal(self, step: Mapping) -> str:
        """Return what RabbitMQ would answer if it refused a step now, or why the step cannot be played; "" if it would
        take the step."""
        try:
            run, _ahead = self._with(step)
        except ScenarioRefused as refused:
            return refused.problem
        number = len(self.run.steps)
        return "\n".join(refusal.text for refusal in run.moment().refusals if refusal.step == number)

    def _with(self, step: Mapping) -> tuple[Run, tuple[Step, ...]]:
        """Return the run after one more step, and the steps ahead. Raise ScenarioRefused for a step that cannot be
        played."""
        run, step = self.run.copy(), self._now() | dict(step)
        if "join" not in step:
            run.apply_plain(step)
            return run, self.ahead
        # A story knows from its beginning which nodes will join, so it is played anew.
        document, played = self.document, len(run.steps)
        steps = [*document["steps"][:played], step, *document["steps"][played:]]
        return part(document | {"steps": steps}, played + 1)

    def _now(self) -> dict:
        """The time of a step that is added here, if it has one."""
        return {} if self.at_s is None else {"at": self.at_s}

    def with_change(self, change: Mapping) -> Point:
        """The point after the same steps in a scenario with some parts changed. Raises ScenarioRefused."""
        return self.next(*part(self.document | change, len(self.run.steps)))

    def with_step_back(self) -> Point:
        """The point before the last step, which then is ahead. Raises IndexError when there is none."""
        run = self.run.copy()
        step = run.undo()
        return self.next(run, (step, *self.ahead))

    def with_step_forward(self) -> Point:
        """The point after the first of the steps ahead. Raises IndexError when there is none."""
        run = self.run.copy()
        run.apply(self.ahead[0])
        return self.next(run, self.ahead[1:])

    def with_time_passed(self, seconds: float) -> Point:
        """The point after `seconds` more of simulated time; with the time that playing has let pass it is one wait."""
        start = self.before if self.passed_s else self
        passed_s = self.passed_s + seconds
        run = start.run.copy()
        run.apply_plain(start._now() | {"wait": passed_s})
        return start.next(run, start.ahead, passed_s)


def opened(file: Path, *, before: Point | None = None, notes: Sequence[str] = ()) -> Point:
    """Return the end of a scenario file's story; the lab's own cluster is at rest there. Raise ScenarioRefused."""
    run = Run.of(load(file))
    return Point(run, before=before, notes=notes, opened=True, rest=len(run.steps) if file == START else 0)


def part(document: Mapping, played: int) -> tuple[Run, tuple[Step, ...]]:
    """A scenario whose first steps were played, and the steps that are ahead. Raises ScenarioRefused."""
    scenario = read_scenario(document)
    run = Run(scenario)
    for step in scenario.steps[:played]:
        run.apply(step)
    return run, scenario.steps[played:]
