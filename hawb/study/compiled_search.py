"""Search for the worst case with the compiled kernel (`hawb.study.kernel.search`).

The kernel plays the stories, and names and counts states as the engine does. The engine plays the cases of
`search_refusals.REFUSALS` or `quorum_refusals.REFUSALS`, and states that do not fit into the kernel (`OverflowError`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import blake2b
from itertools import combinations
from types import ModuleType
from typing import Any

import numpy as np

from hawb.engine.core.moment import Moment
from hawb.engine.core.settings import Settings
from hawb.engine.raft_groups.group import STORE
from hawb.planning import explore, moves
from hawb.planning.explore import DIGEST_BYTES, Found, Place, Question
from hawb.planning.goals import GOALS, reached
from hawb.planning.moves import PATIENCE, Spent
from hawb.scenario.beginning import MICROSECONDS, microseconds
from hawb.scenario.document import Step
from hawb.scenario.fields import Verb
from hawb.scenario.run import Run
from hawb.scenario.verbs import Heal, Kill, Partition, PowerOff, Publish, Start, Stop, SyncQueue, Wait, Wipe
from hawb.study.compiled import is_kept
from hawb.study.kernel import khepri_search, quorum_search, search, search_moves
from hawb.study.kernel.search_state import MOST_NODES
from hawb.study.kernel.state import NEVER
from hawb.study.moments import Classic, SearchRefused, bits
from hawb.study.quorum_moments import OfGroup, OfKhepri

MOST_STEPS, MOST_FOUND, MOST_WORDS = 96, 256, 1024
"""The most steps possible at a moment, the most states they may lead to, and the longest name of a state in words."""
SUBSETS = np.array([bits(some) for size in range(1, MOST_NODES + 1) for some in combinations(range(MOST_NODES), size)])
"""Sets of nodes as bits, in the order of `hawb.planning.moves`."""


def refused(run: Run) -> str | None:
    """Return the reason why the engine has to search from a run's current state; None if the kernel can."""
    try:
        numbers_of(run.moment(), run.settings)
    except SearchRefused as reason:
        return str(reason)
    return None


def of_groups(moment: Moment) -> bool:
    """Return True if the moment has quorum queues or streams."""
    return bool(moment.state.groups.keys() - {STORE})


def numbers_of(moment: Moment, settings: Settings) -> np.ndarray:
    """Return a moment as one row of `SEARCHED`, `KHEPRI_SEARCHED` or `QUORUM_SEARCHED` of the kernel.

    Raise SearchRefused, with the reason, if a row cannot hold it.
    """
    kind = OfKhepri if settings.profile.khepri else Classic
    return (OfGroup if of_groups(moment) else kind)(moment, settings).row


def kernel_of(run: Run) -> ModuleType:
    """Return the kernel module whose `named` and `followers` search from a run's current state."""
    if of_groups(run.moment()):
        return quorum_search
    return khepri_search if run.settings.profile.khepri else search


def is_compiled(run: Run) -> bool:
    """Return True if the functions of a search from a run's current state are compiled and cached."""
    return all(map(is_kept, (kernel_of(run).named, kernel_of(run).followers)))


class Compiled:
    """A compiled search from a run's current state.

    Creating one raises SearchRefused where the kernel cannot search (`refused`).
    """

    def __init__(self, run: Run, question: Question):
        self._run, self._asked, self._settings = run, question, run.settings
        self._begun, self._kernel = numbers_of(run.moment(), run.settings), kernel_of(run)
        self._states = np.zeros(MOST_STEPS, self._begun.dtype)
        self._words = self._states.view(np.int64).reshape(MOST_STEPS, -1)
        self._first, self._changed = self._begun.view(np.int64), np.zeros(2 * self._words.shape[1], np.int64)
        self._names = np.zeros((MOST_FOUND, MOST_WORDS), np.int64)
        self._rows = np.zeros((MOST_FOUND, search.HARMED + 1), np.int64)
        (self._queue,) = run.moment().state.queues
        fine = not reached(question.goal, run.moment(), [self._queue])
        self._goal = list(GOALS).index(question.goal) if fine else -1
        self._verbs = bits(number for number, verb in enumerate(moves.MOVES) if verb in question.verbs)
        self._wait_s = PATIENCE * run.settings.net_ticktime_s
        self._wait_us = microseconds(self._wait_s)
        self._verb = cache(self._verb_of)

    def name(self, moment: Moment, run: Run) -> bytes:
        """Return the name of a state; the engine's where the kernel has none."""
        try:
            self._states[:1] = numbers_of(moment, run.settings)
            self._kernel.named(self._states, self._names[0])
        except (SearchRefused, OverflowError):
            return explore.digest(moment, run)
        return self._digest(0)

    def expand(self, run: Run, question: Question, places: Sequence[Place]) -> Iterator[Found]:
        """Extend each place by one step, as `hawb.planning.explore.followers` does."""
        for place in places:
            try:
                found = self._followers(place, question)
            except OverflowError:
                found = self._by_engine(run, question, place)
            yield from found

    def _followers(self, place: Place, question: Question) -> list[Found]:
        if place.played is None:
            self._replay(place.steps)
        else:
            search.restore(self._words[search.NOW], self._first, np.frombuffer(place.played, np.int64))
        left = question.most.faults - place.spent.faults, question.most.operations - place.spent.operations
        return self._found(place, self._extend(place.at, self._verbs, *left))

    def _extend(self, at: float | None, verbs: int, faults: int, operations: int) -> int:
        """Take all possible steps of some verbs from the first state. Return the number of states reached."""
        return self._kernel.followers(
            self._states, self._words, self._names, self._rows, SUBSETS, moment_us(at), verbs, faults, operations,
            self._goal, self._wait_us,
        )  # fmt: skip

    def _replay(self, steps: Sequence[Step]) -> None:
        """Play steps from the state in which the search began."""
        self._states[:1] = self._begun
        for step in steps:
            verb, nodes = self._code(step.verb)
            count = self._extend(step.at, 1 << verb, MOST_NODES, 1)
            chosen = self._rows[:count, search.STEP_NODES] == nodes
            self._words[search.NOW] = self._words[self._rows[:count][chosen][0, search.REACHED]]

    def _found(self, place: Place, count: int) -> list[Found]:
        """Return the states that the kernel found, as values."""
        found, last = [], -1
        for row, values in enumerate(self._rows[:count].tolist()):
            verb, nodes, state, when, from_us, duration_us, faults, operations, harmed = values
            if state != last:
                steps = (*place.steps, Step(self._verb(verb, nodes), place.at))
                spent = Spent(place.spent.faults + faults, place.spent.operations + operations)
                played, last = self._played(state), state
            at = None
            if when != search.SETTLED:
                at = from_us / MICROSECONDS
            if when == search.IN_SYNC:
                at += duration_us / MICROSECONDS / 2
            harm = self._proven(steps) if harmed else ()
            found.append(Found(Place(steps, at, spent, played), self._digest(row), harm))
        return found

    def _proven(self, steps: Sequence[Step]) -> tuple[str, ...]:
        """Return the queue for which a story reaches the goal when the engine plays it.

        Raise AssertionError if the engine does not reach the goal.
        """
        run = self._run.copy()
        for step in steps:
            run.apply(step)
        harm = reached(self._asked.goal, run.moment(), [self._queue])
        if not harm:
            raise AssertionError(f"the compiled search found {self._asked.goal} where the engine does not: {steps}")
        return harm

    def _by_engine(self, run: Run, question: Question, place: Place) -> Iterator[Found]:
        """Extend a place by one step, played by the engine."""
        for found in explore.followers(run, question, [place.unplayed()]):
            at = found.place.at
            moment = found.place.played.moment() if at is None else found.place.played.moment_at(at)
            yield Found(found.place.unplayed(), self.name(moment, run), found.harmed)

    def _played(self, row: int) -> bytes:
        """Return a state as its differences from the first state."""
        count = search.differences(self._words[row], self._first, self._changed)
        return self._changed[:count].tobytes()

    def _digest(self, row: int) -> bytes:
        words = self._names[row]
        return blake2b(words[: words[0] + 1].data, digest_size=DIGEST_BYTES).digest()

    # Steps as numbers and as verbs.

    def _named(self, nodes: int) -> tuple[str, ...]:
        return tuple(name for node, name in enumerate(self._settings.names) if nodes >> node & 1)

    def _verb_of(self, verb: int, nodes: int) -> Verb:
        """Return a step's verb as a scenario has it."""
        names = self._named(nodes & search_moves.GROUP)
        if verb == search_moves.PARTITION:
            return Partition((names, self._named(nodes >> search_moves.SECOND_GROUP)))
        if verb == search_moves.PUBLISH_ONE:
            return Publish(queue=self._queue, count=1, node=names[0])
        return WITHOUT_NODES[verb](self) if verb in WITHOUT_NODES else ON_NODES[verb](names)

    def _code(self, verb: Any) -> tuple[int, int]:
        """Return the number of a verb, and its nodes as bits."""
        number = VERBS.index(type(verb))
        if number in WITHOUT_NODES:
            return number, 1
        groups = getattr(verb, "groups", None) or (getattr(verb, "nodes", None) or (verb.node,),)
        groups_as_bits = [bits(map(self._settings.node, group)) for group in groups]
        return number, sum(group << place * search_moves.SECOND_GROUP for place, group in enumerate(groups_as_bits))


VERBS = (Wait, Publish, Start, SyncQueue, Heal, Stop, Kill, PowerOff, Partition, Wipe)
"""The verbs; a verb's index is its number."""
WITHOUT_NODES = {
    search_moves.WAIT: lambda self: Wait(self._wait_s),
    search_moves.SYNC_QUEUE: lambda self: SyncQueue(self._queue),
    search_moves.HEAL: lambda self: Heal(),
}
ON_NODES = {
    search_moves.START: Start, search_moves.STOP: Stop, search_moves.KILL: Kill, search_moves.POWER_OFF: PowerOff,
    search_moves.WIPE: lambda names: Wipe(*names),
}  # fmt: skip


def moment_us(at: float | None) -> int:
    """Return the time of a step in microseconds; NEVER for the time at which the cluster has settled."""
    return NEVER if at is None else microseconds(at)
