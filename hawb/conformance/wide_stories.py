"""Wide stories: one plot with fifty queues or more at once, each with its own settings.

So one boot of a cluster tests fifty times as much as a random scenario with four queues.

Story `n` of a seed is the same on any machine: its draws are counted, and a queue's settings are a row of a covering
array (`hawb.conformance.wide_settings`). Over as many consecutive stories as there are plots, from a multiple of that
on, every possible triple of values occurs, the plot's among them: one story has every pair that its plot allows.

The steps of all queues at one moment are one step without a time and others with time 0, which is past: so they begin
at once, in their order, and the cluster settles before the next moment. A queue takes one step at a moment, and none
waits for another.

Wide stories leave out the races that random scenarios leave out (`hawb.conformance.random_scenarios`):

* Locators that choose, and mirrors with more than one candidate: lists of nodes place them, modes are set over lists,
  and where mirrors come together lists are set before (`wide_plots`, `wide_settings.ONLY`). Under fifty queues' load
  those that a list adds to a queue with messages come in any order: they are added one by one.
* Nodes that go down or come up together, links that fail, and autoheal.
* Events during a synchronisation: the cluster settles before the next step.
* Clients with a rate, consumers of a queue of which none comes first, and clients at two nodes that publish to one
  queue at once. Where messages expire, all of them have expired before the next step.
* Operations on a queue that is down or has no majority, except publishing to one that is mirrored.
* The result of elections: no step depends on a leader, and members are named. Clients that published before a majority
  was gone do not publish afterwards.

One race remains: nodes that come up one by one may remove each other's mirrors from the recoverable ones, which `races`
allows for; with more than three nodes the recoverable mirrors are random, and the scenario declares the field racy.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import zip_longest
from typing import Any, NamedTuple

from msgspec.structs import replace

from hawb.conformance.compare import WHOLE, Cut
from hawb.conformance.random_cast import LOOK, SECONDS, Cast, Steps
from hawb.conformance.random_scenarios import FEW, RACY, dealt
from hawb.conformance.wide_plots import PLOTS, Act, PlotStep
from hawb.conformance.wide_queues import WideQueue, owner, queue_of
from hawb.conformance.wide_settings import EXPIRING, Row, rows
from hawb.rules.quorum_profiles import QUORUM_PROFILES
from hawb.scenario.document import Scenario, Step
from hawb.scenario.load import read_scenario
from hawb.scenario.verbs import Expect, SetPolicy

DRAWS, DECK_OF_PLOTS = 53, 54
"""The purposes of the draws, beside those of `random_scenarios` and `wide_settings`."""
SIZES = (3, 3, 4, 5)
"""The numbers of nodes of a cluster, each item equally likely."""
TICK_S = 6
"""The most time until a quorum queue's leader compares the queue with its policy, in seconds.

Leaders do so in some releases.
"""
ROUND = len(PLOTS)
"""The number of stories in which every triple of values occurs."""


BY_QUEUE = frozenset({"queues", "ledger", "consumers"})
"""The parts of an outcome by queue, or by the name of a queue's consumer."""
SHARED = frozenset({"events", "version"})
"""The parts of the model's outcome that every queue needs to find races (`races`)."""


class WideStory(NamedTuple):
    """A story, and the settings of each of its queues."""

    scenario: Scenario
    settings: dict[str, Row]


@lru_cache(maxsize=2 * ROUND)
def wide_story(seed: int, n: int, version: str = "3.10") -> WideStory:
    """Return story `n` (from 0) of a seed, for a profile of the rules."""
    plot = dealt(tuple(PLOTS), seed, DECK_OF_PLOTS, n)
    chosen = [row for row in rows(seed, n // ROUND, version) if row["plot"] == plot]
    settings = {f"q{number:02}": row for number, row in enumerate(chosen, 1)}
    stage = Stage(Cast(seed, DRAWS, n, SIZES), settings, version)
    steps = [*stage.beginning(), *(step for part in PLOTS[plot](stage.size) for step in stage.play(part)),
             *stage.published(), LOOK]  # fmt: skip
    file: dict[str, Any] = {
        "scenario": f"Wide story {n} of seed {seed}: {plot}, {len(settings)} queues",
        "cluster": stage.cluster | {"version": version},
        "steps": steps,
    }
    racy = RACY["racy"] | {"fields": ["queues.*.recoverable_mirrors"]}
    return WideStory(read_scenario(file | ({"racy": racy} if stage.size > FEW else {})), settings)


def alone(scenario: Scenario, queue: str) -> Scenario:
    """Return a wide story for one of its queues alone; its steps have no others to begin with."""
    steps = [replace(step, at=None) for step in scenario.steps if queue_of(step.verb) in (None, queue)]
    return replace(scenario, scenario=f"{scenario.scenario}, of which {queue or 'none'}", steps=tuple(steps))


def narrowed(scenario: Scenario, queue: str) -> Scenario:
    """Return a wide story for one of its queues, each step in its place: steps of other queues become looks.

    Their policies stay, since a node that was forced to boot applies no policy before one is set.
    """
    look, mine = Step(Expect({})), (None, queue)
    kept = (isinstance(step.verb, SetPolicy) or queue_of(step.verb) in mine for step in scenario.steps)
    steps = (replace(step, at=None) if stays else look for step, stays in zip(scenario.steps, kept, strict=True))
    return replace(scenario, steps=tuple(steps))


def cut_of(scenario: Scenario) -> Cut:
    """Return the function that divides the outcome of a wide story by queue, with a part for the cluster (`WHOLE`)."""
    owners = [queue_of(step.verb) for step in scenario.steps]
    queues = sorted(set(filter(None, owners)))

    def cut(outcome: dict[str, Any]) -> dict[str, dict[str, Any]]:
        shared = {key: value for key, value in outcome.items() if key in SHARED}
        parts = {queue: shared | part_of(outcome, queue, owners) for queue in queues}
        nothing: dict[str, Any] = {key: {} for key in BY_QUEUE & outcome.keys()}
        nothing |= {"deleted": []} if "deleted" in outcome else {}
        return parts | {WHOLE: outcome | nothing | {"errors": errors_of(outcome, None, owners)}}

    return cut


def part_of(outcome: dict[str, Any], queue: str, owners: list[str | None]) -> dict[str, Any]:
    """Return the part of an outcome about a queue, and about others whose names begin with the queue's."""
    found: dict[str, Any] = {
        key: {name: entry for name, entry in outcome[key].items() if owner(name) == queue}
        for key in BY_QUEUE & outcome.keys()
    }
    if "deleted" in outcome:
        found["deleted"] = [name for name in outcome["deleted"] if owner(name) == queue]
    return found | {"errors": errors_of(outcome, queue, owners)}


def errors_of(outcome: dict[str, Any], queue: str | None, owners: list[str | None]) -> list[dict[str, Any]]:
    """Return the errors of a queue's steps."""
    return [error for error in outcome["errors"] if owners[error["step"]] == queue]


class Stage:
    """The queues of a story, and the nodes that run."""

    def __init__(self, cast: Cast, settings: dict[str, Row], version: str):
        self.cluster = cast.cluster
        self._order = cast.order(cast.nodes)
        self._running = list(self._order)
        self._queues = [WideQueue(cast, name, row, self._order) for name, row in settings.items()]
        self._expiring = any(row["argument"] in EXPIRING for row in settings.values())
        self._compares = QUORUM_PROFILES[version].compares_policies

    @property
    def size(self) -> int:
        """Return the number of nodes."""
        return len(self._order)

    def beginning(self) -> Steps:
        """Make queues with replicas, messages from each node, and consumers at the nodes that go down last."""
        return [
            *moment(queue.placed() for queue in self._queues),
            *in_turn(queue.target() for queue in self._queues),
            *moment(queue.declared() for queue in self._queues),
            *(step for place in range(1, self.size) for step in moment(queue.joined(place) for queue in self._queues)),
            *self.published(),
            *(step for place in range(1, self.size) for step in moment(queue.behind(place) for queue in self._queues)),
            *moment(queue.mode() for queue in self._queues),
            *in_turn(queue.consumed() for queue in self._queues),
            LOOK,
        ]

    def published(self) -> Steps:
        """Publish to each queue from each running node, one node after the other."""
        nodes = [node for node in self._order if node in self._running]
        steps = [
            step for node in nodes for step in moment(queue.published(node, self._running) for queue in self._queues)
        ]
        return [*steps, {"wait": SECONDS}] if self._expiring else steps

    def play(self, part: PlotStep) -> Steps:
        """Return the steps of an act of the plot."""
        node = self._order[part.node]
        match part.act:
            case Act.STOP | Act.KILL:
                self._running.remove(node)
                for queue in self._queues:
                    queue.gone(self._running)
                return [{part.act.value: node}]
            case Act.START | Act.FORCE_BOOT:
                self._running.append(node)
                # A node that is forced to boot is alone: a look shows its state before other nodes come.
                return [
                    {part.act.value: node}, *([{"wait": TICK_S}] if self._compares else []),
                    *([LOOK] if part.act == Act.FORCE_BOOT else []),
                ]  # fmt: skip
            case Act.MEANWHILE:
                return [
                    LOOK, *self.published(), *moment(queue.answered(self._running) for queue in self._queues),
                    *in_turn(queue.meanwhile(self._order[-1]) for queue in self._queues), *self.published(), LOOK,
                ]  # fmt: skip
            case Act.PUBLISH:
                return [*self.published(), LOOK]
            case Act.LISTED:
                return moment(queue.listed() for queue in self._queues)
            case Act.REWRITTEN:
                return moment(queue.rewritten() for queue in self._queues)


def in_turn(done: Iterable[list[Steps]]) -> Steps:
    """Return the steps of queues in turn: the first of each queue, then the second of each that has one."""
    return [step for parts in zip_longest(*done, fillvalue=[]) for step in moment(parts)]


def moment(parts: Iterable[Steps]) -> Steps:
    """Return the steps of queues at one moment: the first begins when the cluster has settled, the others with it."""
    steps = [step for part in parts for step in part]
    return [step | ({"at": 0} if index else {}) for index, step in enumerate(steps)]
