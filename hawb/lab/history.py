"""Keep the lab's history: a chain of points, each with its own run, along which undo and redo move.

At each point of a story, `run` has the steps that were played and `ahead` those that follow. Going back in a story is
an action like any other and makes a new point; actions there keep the steps ahead. Looking back at a moment is one
action, however many moments the user looks at in a row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from hawb.engine.core.moment import Moment
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
"""The looks of the marks on the slider of moments."""


class Point:
    """A point of the history; undo leads to the point `before` it (None at the very beginning).

    `notes` are about the opened cluster, `opened` is True if a cluster was opened here, and `passed_s` is the simulated
    time in seconds that playing has let pass since the point before. `alternatives` are those last computed here.
    `rest` is the number of steps that set up the cluster before the user's first action; stepping back stops there.

    A point may look back from another point, its `origin`: it shows the moment `at_s`, with the messages that are in
    flight then, and an action there happens at that moment.
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
        """Return the outcome to compare with; None if there is none.

        It is the outcome of the point before. Where a cluster was opened it is that before the last step of its story.
        """
        if self._origin is not None:
            return None
        if not self.opened:
            return self.before.outcome
        return None if self.before_last_step is None else self.before_last_step[1]

    @cached_property
    def before_last_step(self) -> tuple[Moment, dict] | None:
        """Return the moment and the outcome before the last step of the story.

        None if the story has no step since the cluster was at rest, or another moment is shown.
        """
        if not self.steps or self.at_s is not None:
            return None
        earlier = self.run.rewound(len(self.run.steps) - 1)
        return earlier.moment(), outcome(earlier, shared=self.shared_events(earlier))

    def shared_events(self, run: Run) -> list[dict]:
        """Return the first events of this point's outcome that it shares with another run."""
        return self.outcome["events"][: self.run.shared_entries(run)]

    @cached_property
    def forecasts(self) -> dict[str, Forecast]:
        """Return the forecast for each running node now."""
        return {forecast.node: forecast for forecast in safe_to_stop(self.run)}

    @cached_property
    def harms(self) -> list[Harm]:
        """Return the harm that the story has done to queues so far."""
        return harms(self.run)

    @property
    def origin(self) -> Point:
        """Return the point from which this one looks back, or this point if it does not."""
        return self._origin or self

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the steps that were played since the cluster was at rest."""
        return tuple(self.run.steps[self.rest :])

    @cached_property
    def moments_us(self) -> list[int]:
        """Return the times of events since the cluster was at rest, and the last moment, in microseconds.

        Among them are those at which members ask for votes and answer, so that an election can be stopped half way.
        """
        moment = self.origin.moment
        began = self.run.rewound(self.rest).moment().state.time_us if self.rest else 0
        times = {entry.t_us for entry in moment.trace()} | {ballot.t_us for ballot in moment.all_ballots()}
        return sorted({began, moment.state.time_us, *(time for time in times if time > began)})

    @cached_property
    def marked(self) -> list[tuple[int, str]]:
        """Return (index in `moments_us`, look) of each mark on the timeline, earliest first."""
        places = {us: place for place, us in enumerate(self.moments_us)}
        found = ((places.get(entry.t_us), MARKED.get(entry.event)) for entry in self.moment.trace())
        return list(dict.fromkeys((place, look) for place, look in found if look in TICKED and place is not None))

    @property
    def position(self) -> int:
        """Return the index of the last of `moments_us` that has passed."""
        return self.position_at(self.moment.state.time_us / MICROSECONDS)

    def position_at(self, t: float) -> int:
        """Return the index of the last of `moments_us` that has passed at a time of the story, in seconds."""
        return bisect_right(self.origin.moments_us, round(t * MICROSECONDS)) - 1

    def looking_at(self, position: int) -> Point:
        """Return the point that shows one of the origin's `moments_us`, just after its events.

        For the last moment this is the origin itself.
        """
        origin = self.origin
        if position >= len(origin.moments_us) - 1:
            return origin
        at_s = (origin.moments_us[max(position, 0)] + 1) / MICROSECONDS
        steps = origin.run.steps_at(at_s)
        run, ahead = origin.run.rewound(steps), (*origin.run.steps[steps:], *origin.ahead)
        return Point(run, ahead, before=origin, notes=self.notes, rest=self.rest, origin=origin, at_s=at_s)

    @property
    def document(self) -> dict:
        """Return the whole story as a scenario document, with the steps ahead."""
        now = plain(self.run.scenario)
        return now | {"steps": [*now.get("steps", ()), *map(plain, self.ahead)]}

    def next(self, run: Run, ahead: tuple[Step, ...], passed_s: float = 0.0) -> Point:
        """Return a point after this one, of the same cluster."""
        return Point(run, ahead, before=self, notes=self.notes, passed_s=passed_s, rest=self.rest)

    def with_step(self, step: Mapping) -> Point:
        """Return the point after one more step, written as in a file. Raise ScenarioRefused."""
        return self.next(*self._with(step))

    def refusal(self, step: Mapping) -> str:
        """Return RabbitMQ's text if it would refuse a step now, or why the step cannot be played; else ""."""
        try:
            run, _ahead = self._with(step)
        except ScenarioRefused as refused:
            return refused.problem
        number = len(self.run.steps)
        return "\n".join(refusal.text for refusal in run.moment().refusals if refusal.step == number)

    def _with(self, step: Mapping) -> tuple[Run, tuple[Step, ...]]:
        """Return the run after one more step, and the steps ahead. Raise ScenarioRefused if it cannot be played."""
        run, step = self.run.copy(), self._now() | dict(step)
        if "join" not in step:
            run.apply_plain(step)
            return run, self.ahead
        # A run needs to know from its beginning which nodes will join, so the story is played again.
        document, played = self.document, len(run.steps)
        steps = [*document["steps"][:played], step, *document["steps"][played:]]
        return part(document | {"steps": steps}, played + 1)

    def _now(self) -> dict:
        """Return the field `at` for a step that is added while an earlier moment is shown; else no field."""
        return {} if self.at_s is None else {"at": self.at_s}

    def with_change(self, change: Mapping) -> Point:
        """Return the point after the same steps in a changed scenario. Raise ScenarioRefused."""
        return self.next(*part(self.document | change, len(self.run.steps)))

    def with_step_back(self) -> Point:
        """Return the point before the last step, which is then ahead. Raise IndexError if there is none."""
        run = self.run.copy()
        step = run.undo()
        return self.next(run, (step, *self.ahead))

    def with_step_forward(self) -> Point:
        """Return the point after the first of the steps ahead. Raise IndexError if there is none."""
        run = self.run.copy()
        run.apply(self.ahead[0])
        return self.next(run, self.ahead[1:])

    def with_time_passed(self, seconds: float) -> Point:
        """Return the point after `seconds` more of simulated time; consecutive calls make one wait."""
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
    """Return the run of a scenario's first `played` steps, and the steps ahead. Raise ScenarioRefused."""
    scenario = read_scenario(document)
    run = Run(scenario)
    for step in scenario.steps[:played]:
        run.apply(step)
    return run, scenario.steps[played:]
