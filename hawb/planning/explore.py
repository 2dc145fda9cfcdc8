"""Search for the worst case: play every scenario with up to so many faults and operations, shortest first.

The search is breadth first: all scenarios of one step, then all of two. States that no later event can distinguish
(`hawb.engine.keys.state_key`) are extended once, from the first scenario that reached them, and again only if a later
scenario has more faults or operations left. A state key leaves out which messages were confirmed; here that belongs to
a state, because the search looks for their loss.

A result holds for the model, within the bound, the moves of `hawb.planning.moves` and their times. Random choices (who
is elected, which mirror is promoted) are those of the scenario's seed, so that the scenario found can be played again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import takewhile
from typing import NamedTuple

from msgspec import Struct, msgpack
from msgspec.structs import replace

from hawb.engine.core import runs
from hawb.engine.core.moment import Moment
from hawb.engine.keys.ranks import KEPT
from hawb.engine.keys.state_key import key
from hawb.planning.goals import GOALS, reached
from hawb.planning.moves import MOVES, Spent, instants, moves
from hawb.scenario.document import Scenario, Step
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

SLICE = 32
"""Number of states that a search extends before it reports progress."""

AT_HAND = 20_000
"""Number of states of a level whose runs are kept, some 6 kB each with one queue; the scenarios that lead to the other
states are played again, to save memory."""

DIGEST_BYTES = 16
"""Digest length at which two of a billion states collide once in 10**20 searches."""

ENCODER = msgpack.Encoder(enc_hook=str, order="deterministic")


class Question(Struct, frozen=True):
    """A search's goal (`goals.GOALS`), its bound on faults and operations, and its verbs (`moves.MOVES`)."""

    goal: str
    most: Spent
    verbs: frozenset[str] = frozenset(MOVES)


class Place(NamedTuple):
    """A state, given by the steps that lead to it.

    It also holds the time of the next step, the faults and operations spent, and the run itself if that is at hand.
    """

    steps: tuple[Step, ...] = ()
    at: float | None = None
    spent: Spent = Spent()
    played: Run | None = None

    def unplayed(self) -> Place:
        """Return this state without its run: cheap to keep and to send to another process."""
        return self._replace(played=None)


class Found(NamedTuple):
    """A state reached by one more step: its place, its digest, and the queues for which it reaches the goal."""

    place: Place
    digest: bytes
    harmed: tuple[str, ...]


class Progress(Struct, frozen=True):
    """Progress of a search.

    `states` counts distinct states, `tried` the steps played. All scenarios of up to `depth` steps have been tried, and
    of those one step longer all but the extensions of `left` states. `story` is the shortest scenario that reaches the
    goal; the search is `over` once there is one, or nothing is left to try.
    """

    states: int = 1
    tried: int = 0
    depth: int = 0
    left: int = 1
    story: Scenario | None = None
    harmed: tuple[str, ...] = ()
    over: bool = False


Expand = Callable[[Run, Question, Sequence[Place]], Iterable[Found]]
"""Function that extends each place of one run by one step, in the order of the places, and yields the states found."""
Name = Callable[[Moment, Run], bytes]
"""Function that names a state of a run: two states share a name only if no later event can distinguish them."""


def explore(
    run: Run, question: Question, expand: Expand | None = None, at_a_time: int = SLICE, name: Name | None = None
) -> Iterator[Progress]:
    """Search from the end of a run, and yield the progress repeatedly. The last progress is the answer.

    The caller may stop iterating at any time. The run does not change. `expand` computes the next states of
    `at_a_time` states at once, and names each new state with `name`, by default `digest`.
    """
    expand = expand or followers
    begun = next(iter(instants(run)))
    seen = {(name or digest)(begun.moment, run): [Spent()]}
    level, progress, tried = [Place()], Progress(), 0
    while level:
        following: list[Place] = []
        for start in range(0, len(level), at_a_time):
            for found in expand(run, question, level[start : start + at_a_time]):
                tried += found.place.at is None
                if found.harmed:
                    changes = {"story": _story(run, question, found), "harmed": found.harmed, "over": True}
                    yield replace(progress, states=len(seen), tried=tried, **changes)
                    return
                if _is_new(seen, found):
                    following.append(found.place if len(following) < AT_HAND else found.place.unplayed())
            left = max(0, len(level) - start - at_a_time)
            progress = replace(progress, states=len(seen), tried=tried, left=left)
            yield progress
        level = following
        progress = replace(progress, depth=progress.depth + 1, left=len(level), over=not level)
    yield progress


def _is_new(seen: dict[bytes, list[Spent]], found: Found) -> bool:
    """Return True if the search has to extend a state, and record what its scenario has spent."""
    spent, others = found.place.spent, seen.get(found.digest)
    if others is None:
        seen[found.digest] = [spent]
        return True
    if any(other.within(spent) for other in others):
        return False
    others[:] = [*(other for other in others if not spent.within(other)), spent]
    return True


def followers(run: Run, question: Question, places: Sequence[Place]) -> Iterator[Found]:
    """Yield the states reached by extending each place by every possible next step."""
    known = list(run.moment().ledger)
    fine = [queue for queue in known if not reached(question.goal, run.moment(), [queue])]
    base, yielded = len(run.steps), set()
    current = run.copy()
    for place in places:
        current = place.played or _at(current, base, place.steps)
        left = Spent(question.most.faults - place.spent.faults, question.most.operations - place.spent.operations)
        moment = current.moment() if place.at is None else current.moment_at(place.at)
        for move in moves(moment, run.settings, left, question.verbs):
            after = current.copy()
            after.apply(Step(move.verb, place.at))
            steps, spent = (*place.steps, after.steps[-1]), place.spent + move.cost
            for then in instants(after):
                found = Found(Place(steps, then.at, spent, after), digest(then.moment, run), ())
                if then.at is None:
                    found = found._replace(harmed=reached(question.goal, then.moment, fine))
                elif (found.digest, spent) in yielded:
                    continue
                yielded.add((found.digest, spent))
                yield found


def _at(run: Run, base: int, steps: Sequence[Step]) -> Run:
    """Return the run's first `base` steps, continued with `steps`."""
    had = run.steps[base:]
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(had, steps, strict=False)))
    run = run.rewound(base + shared)
    for one in steps[shared:]:
        run.apply(one)
    return run


def digest(moment: Moment, run: Run) -> bytes:
    """Return a digest of the state and of which of its messages were confirmed."""
    confirmed = []
    for name, account in sorted(moment.ledger.items()):
        held = frozenset(content for side in moment.state.sides if name in side.queues
                         for content in side.queues[name].contents if content)  # fmt: skip
        confirmed.append((name, _promised(account.confirmed, held)))
    return blake2b(ENCODER.encode((key(moment.state, run.settings), confirmed)), digest_size=DIGEST_BYTES).digest()


@lru_cache(KEPT)
def _promised(confirmed: runs.Runs, held: frozenset[runs.Runs]) -> list[tuple[int, int]]:
    """Return which of the messages that replicas hold were confirmed, as (position, length) runs."""
    everything = runs.normal(pair for content in held for pair in content)
    promised = runs.common(confirmed, everything)
    return [(runs.size(runs.common(everything, ((0, first),))), last - first + 1) for first, last in promised]


def _story(run: Run, question: Question, found: Found) -> Scenario:
    """Return the scenario found, with expectations that state the goal."""
    goal, title = GOALS[question.goal], run.scenario.scenario
    story = replace(run.scenario, scenario=f"{title}: {goal.says}", steps=(*run.steps, *found.place.steps), racy=None)
    return replace(story, expect=goal.expected(outcome(Run.of(story)), found.harmed))
