"""A run: a scenario played step by step, which can be looked at, taken back and continued at any point.

A step without a time begins when the cluster has settled after the step before; one with a time begins then, whatever
is in flight. So a run keeps each step's moment as it was before any reaction, and settles it only to be looked at or to
go on from: continuing with `at` gives what the whole file would have given.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from msgspec.structs import replace

from hawb.engine import advance, first_elections
from hawb.engine.clients.steady import flows
from hawb.engine.clients.steady.closing import close_with_nodes
from hawb.engine.core.agenda import only_timers
from hawb.engine.core.moment import Moment
from hawb.engine.core.naming import join_queue, split_queue
from hawb.engine.core.settings import Settings
from hawb.engine.core.turn import TooMuch, Turn
from hawb.engine.streams import is_stream
from hawb.rules.patterns import Budget, TooSlow
from hawb.scenario import beginning
from hawb.scenario.actions import ACTIONS
from hawb.scenario.beginning import MICROSECONDS, microseconds
from hawb.scenario.document import Scenario, Step
from hawb.scenario.load import read_step
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.size import MOST_EVENTS, WHAT_TO_DO
from hawb.scenario.verbs import Consume, Crash, Expect, Wait


class Run:
    """A scenario with the state of the cluster after each step (its moments).

    Raise ScenarioRefused if a step needs something that has no rules, or the scenario has a policy that RabbitMQ
    refuses.
    """

    def __init__(self, scenario: Scenario, *, limited: bool = False):
        self._most_events = MOST_EVENTS if limited else None
        self._beginning = replace(scenario, steps=())
        self.settings = beginning.settings_of(scenario)
        self._steps: list[Step] = []
        self._budget = Budget()
        with _refusing(self._budget):
            first = beginning.begin(scenario, self.settings)
        self._courses: first_elections.Courses = {}
        self._stages: list[_Stage] = [self._stage(first)]

    @classmethod
    def of(cls, scenario: Scenario, *, limited: bool = False) -> Run:
        """Return the scenario, played to its end.

        With `limited`, raise ScenarioRefused once more happens than a command plays (`hawb.scenario.size`).
        """
        run = cls(scenario, limited=limited)
        for step in scenario.steps:
            run.apply(step)
        if limited:
            run.moment()  # refuses the scenario here, where its file is known
        return run

    @property
    def scenario(self) -> Scenario:
        """Return the steps so far as a scenario."""
        return replace(self._beginning, steps=tuple(self._steps))

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the steps so far."""
        return tuple(self._steps)

    def apply(self, step: Step) -> None:
        """Play one more step. Raise ScenarioRefused, and change nothing, if hawb has no rules for it."""
        index = len(self._steps)
        if isinstance(step.verb, Expect):
            # An expect step changes nothing, and does not let the cluster settle.
            self._steps.append(step)
            self._stages.append(self._stages[-1])
            return
        with _refusing(self._budget, index):
            turn = self._turn_at(step.at, index)
            turn.step, turn.because = index, None
            refuse_unsupported(step, turn)
            if isinstance(step.verb, Wait):
                advance.through(turn, turn.now_us + microseconds(step.verb.seconds))
            else:
                ACTIONS[type(step.verb)](turn, step.verb)
                close_with_nodes(turn)
        self._steps.append(step)
        self._stages.append(self._stage(turn.finish()))

    def apply_plain(self, given: object) -> None:
        """Play one more step written as in a file: {"kill": "a", "at": 3}."""
        self.apply(read_step(given, self.settings.names, len(self._steps)))

    def undo(self) -> Step:
        """Undo the last step and return it. Raise IndexError if there is none."""
        step = self._steps.pop()
        self._stages.pop()
        return step

    def copy(self) -> Run:
        """Return a copy of the run. Later steps on the copy do not change this run."""
        other = object.__new__(Run)
        own = {"_steps": list(self._steps), "_stages": list(self._stages), "_most_events": None}
        other.__dict__ = self.__dict__ | own
        return other

    def rewound(self, steps: int) -> Run:
        """Return a copy of the run after its first `steps` steps."""
        other = self.copy()
        del other._steps[steps:], other._stages[steps + 1 :]
        return other

    def shared_entries(self, other: Run) -> int:
        """Return how many entries at the beginning of both traces are the same, as one run is a copy of the other."""
        mine, others = self._stages, other._stages
        shortest = range(min(len(mine), len(others)))
        shared = bisect_left(shortest, True, key=lambda number: mine[number] is not others[number])
        return mine[shared - 1].reached.entries_so_far if shared else 0

    def steps_at(self, time_s: float) -> int:
        """Return how many steps had begun at a time. A wait counts only when it has ended."""
        return bisect_right(self._stages[1:], microseconds(time_s), key=lambda stage: stage.reached.state.time_us)

    @property
    def reached_s(self) -> float:
        """Return the time, in seconds, when the last step was played or its wait ended."""
        return self._stages[-1].reached.state.time_us / MICROSECONDS

    def moment(self, steps: int | None = None) -> Moment:
        """Return the settled moment after `steps` steps, by default after the last step."""
        return self._stages[-1 if steps is None else steps].settled

    def moment_of(self, step: int) -> Moment:
        """Return the moment at which a step begins: at the step's time, or settled if the step has none."""
        return self._turn_at(self._steps[step].at, step).finish()

    def moment_at(self, time_s: float) -> Moment:
        """Return the moment at a future time, with the messages that are then in transit.

        Raise ValueError for a time in the past.
        """
        if time_s < self.reached_s:
            raise ValueError(f"{time_s:g} s is in the past: the last step was played at {self.reached_s:g} s")
        reached = self._stages[-1].reached
        if time_s == self.reached_s and not flows.has_flows(reached.state):
            return reached
        return self._turn_at(time_s, len(self._steps)).finish()

    def _stage(self, reached: Moment) -> _Stage:
        step = len(self._steps) - 1 if self._steps else None
        return _Stage(self.settings, reached, self._budget, self._courses, self._most_events, step)

    def _turn(self, moment: Moment, step: int) -> Turn:
        turn = Turn(self.settings, moment, step)
        turn.most_events = self._most_events
        return turn

    def _turn_at(self, time_s: float | None, index: int) -> Turn:
        stage = self._stages[index]
        if time_s is None:
            return self._turn(stage.settled, index)
        turn = self._turn(stage.reached, index)
        with _refusing(self._budget):
            advance.before(turn, microseconds(time_s))
        turn.look_from_outside()
        return turn


@contextmanager
def _refusing(budget: Budget, step: int | None = None) -> Iterator[None]:
    """Take the steps of searches for patterns from a budget; raise ScenarioRefused once it is spent.

    Raise it too where more happens than the run may schedule.
    """
    path = () if step is None else ("steps", step)
    try:
        with budget.in_force():
            yield
    except TooSlow as slow:
        raise ScenarioRefused(slow.problem, path, given=slow.pattern, accepted=slow.accepted) from None
    except TooMuch as much:
        raise ScenarioRefused(
            "too many events are scheduled for a command", path, given=much.count,
            accepted=f"at most {much.most:,} events", hint=WHAT_TO_DO,
        ) from None  # fmt: skip


class _Stage:
    """The result of a step: as it was before any reaction, and settled."""

    def __init__(
        self,
        settings: Settings,
        reached: Moment,
        budget: Budget,
        courses: first_elections.Courses,
        most_events: int | None,
        step: int | None,
    ):
        self._settings = settings
        self._budget = budget
        self._courses = courses
        self._most_events = most_events
        self._step = step
        self.reached = reached

    @cached_property
    def settled(self) -> Moment:
        """Return the moment after everything but timers has happened."""
        if only_timers(self.reached.state.agenda):
            return self.reached
        turn = Turn(self._settings, self.reached, 0)
        turn.most_events = self._most_events
        with _refusing(self._budget, self._step):
            first_elections.settle(turn, self._courses)
        return turn.finish()


OF_STREAMS = {
    Consume: "hawb has no rules for consumers and their offsets, retention, super streams, filters, single active"
             " consumers and the stream protocol",
    Crash: "hawb has no rules for a crashing process of a stream",
}
"""The steps that hawb refuses on a stream, each with the reason."""

ACCEPTED = (
    "accepted: publish, delete, add_member, delete_member, grow, shrink, transfer_leadership, rebalance, and all"
    " steps about nodes and links"
)


def refuse_unsupported(step: Step, turn: Turn) -> None:
    """Raise ScenarioRefused if hawb has no rules for a step on a stream."""
    verb = step.verb
    if not isinstance(verb, Consume | Crash):
        return
    name = join_queue(*split_queue(verb.queue))
    if is_stream(turn, name):
        reason = f"{verb.queue} is a stream: {OF_STREAMS[type(verb)]}; {ACCEPTED}"
        raise ScenarioRefused(reason, ("steps", turn.step, step.name, "queue"))
