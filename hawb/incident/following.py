"""Play a reconstructed scenario so that random choices come out as in the logs.

Which nodes autoheal restarts depends on the links that its leader knows of when it decides, so there are two candidates
for a scenario: by the rules, where the leader knows all links, or with the restarts that were seen. The closer one is
taken.

Election results are random: members that lack a leader become candidates at random times, and a member whose node comes
back may become one before it receives anything from the leader. So is the node that gets a mirror if a policy asks for
a number of them. Therefore several seeds are tried, and the one closest to the logs is taken. The remaining elections
are followed step by step: where the rules elect another leader than the logs, it transfers leadership.

The definition of a policy that is in no export is not random, but is found in the same way (`hawb.incident.policies`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, zip_longest
from math import inf
from typing import Any, NamedTuple

from msgspec.structs import replace

from hawb.incident.cluster_event import ClusterEvent
from hawb.incident.compared import BY_CHANCE, Comparison, Followed, about, compared, is_handover
from hawb.incident.depths import deepened
from hawb.incident.doubts import Doubt
from hawb.incident.policies import guessed_policies, has_unexpected_mirrors, with_other_definitions
from hawb.incident.reconstruction import Reconstruction
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.document import Step
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.size import are_limited
from hawb.scenario.verbs import TransferLeadership

DRAWS = 6
"""Number of seeds that are tried."""
DRAWS_OF_DRAINED = 24
"""Number of seeds if a drained node transfers each of its masters to a random node
(`rabbit_maintenance:random_primary_replica_transfer_candidate_node`)."""
MOST_WORK = 50_000
"""Number of steps and expected events of all seeds that are tried, or of all rounds, in total."""
ROUNDS = 24
"""Maximum number of elections that are followed per queue, with retries for nodes that are not up yet."""
DELAYS_S = (0.02, 0.5, 2.0)
"""Delay between an election and the transfer of leadership, for each try."""


class Played(NamedTuple):
    """A reconstructed story that was played: its run, its outcome, and the comparison of the outcome with the logs."""

    reconstructed: Reconstruction
    run: Run
    outcome: dict[str, Any]
    comparison: Comparison


def closest(candidates: Sequence[Reconstruction], found: Sequence[ClusterEvent]) -> Played | None:
    """Return the candidate whose outcome differs least from the logs, the first of equals; None without candidates.

    Raise ScenarioRefused if one cannot be played.
    """
    played: Played | None = None
    for candidate in candidates:
        if played is None or any(_misses(played)):
            other = play(candidate, found)
            played = other if played is None else min(played, other, key=_misses)
    return played


def play(reconstructed: Reconstruction, found: Sequence[ClusterEvent]) -> Played:
    """Play a scenario with the seed that comes closest to the logs, and correct remaining random differences.

    Raise ScenarioRefused for a step that has no rules.
    """
    played = _worked_out(_drawn(reconstructed, found), found)
    tries: Counter[tuple[str, int]] = Counter()
    for _ in range(_affordable(ROUNDS, played)):
        steps = [*_handovers(played, found, tries)]
        if not steps:
            break
        played = _played(_with(played, steps), found)
    return played


def _drawn(candidate: Reconstruction, found: Sequence[ClusterEvent]) -> Played:
    """Play with the seed that comes closest, with as many messages as queues were seen to hold.

    With another seed queues may have held other messages.
    """
    played = first = _played(deepened(candidate, found), found)
    drained = any(event["event"] == "leadership_transferred" for event in played.outcome["events"])
    for seed in range(1, _affordable(DRAWS_OF_DRAINED if drained else DRAWS, played)):
        if not any(_misses(played)):
            break
        played = min(played, _played(_seeded(first.reconstructed, seed), found), key=_misses)
    if played is first:
        return played
    return _played(deepened(_seeded(candidate, played.reconstructed.scenario.seed), found), found)


def _affordable(most: int, played: Played) -> int:
    """Return how often to play a story, at most `most` times: a large one less often, but once."""
    return max(1, min(most, MOST_WORK // (len(played.run.steps) + len(played.outcome["events"]))))


def _seeded(reconstructed: Reconstruction, seed: int) -> Reconstruction:
    return replace(reconstructed, scenario=replace(reconstructed.scenario, seed=seed))


def _worked_out(played: Played, found: Sequence[ClusterEvent]) -> Played:
    """Return the scenario with the closest definitions for policies that are in no export, found one after the other.

    Each is judged by what was seen until the next one.
    """
    places = [*guessed_policies(played.reconstructed)]
    for place, following in zip_longest(places, places[1:]):
        until_us = inf if following is None else played.reconstructed.sources[following][0].at_us
        if has_unexpected_mirrors(played.comparison, played.reconstructed.sources[place][0]):
            others = (_played(candidate, found) for candidate in with_other_definitions(played.reconstructed, place))
            played = min(chain([played], others), key=partial(_misses, until_us=until_us))
    return played


def _played(reconstructed: Reconstruction, found: Sequence[ClusterEvent]) -> Played:
    run = Run.of(reconstructed.scenario, limited=are_limited())
    played = outcome(run)
    return Played(reconstructed, run, played, compared(reconstructed, found, played))


def _misses(played: Played, until_us: float = inf) -> tuple[int, int]:
    """Return how far a scenario is from the logs until a time: differences other than elections, then elections."""
    pairs = [pair for pair in played.comparison.pairs if pair.verdict != "equal" and pair.at_us < until_us]
    elections = sum(pair.kind in BY_CHANCE for pair in pairs)
    return len(pairs) - elections, elections


def _with(played: Played, steps: Sequence[tuple[Step, ClusterEvent | None]]) -> Reconstruction:
    """Return the scenario with further steps, each with the event it follows, and without those that were refused."""
    reconstructed, refused = played.reconstructed, {error["step"] for error in played.outcome["errors"]}
    pairs = zip(reconstructed.scenario.steps, reconstructed.sources, strict=True)
    rows = [row for place, row in enumerate(pairs) if not (place in refused and is_handover(reconstructed, place))]
    rows += [(step, (one,) if one else ()) for step, one in steps]
    rows.sort(key=lambda row: row[0].at or 0)
    chances = [Doubt(kind="chance", queue=step.verb.queue, node=step.verb.node,
                     from_us=reconstructed.begins_us + round((step.at or 0) * MICROSECONDS))
               for step, source in rows if isinstance(step.verb, TransferLeadership)
               and all(one.kind == "leader_elected" for one in source)]  # fmt: skip
    return replace(
        reconstructed, scenario=replace(reconstructed.scenario, steps=tuple(step for step, _ in rows)),
        sources=tuple(source for _, source in rows),
        doubts=(*(doubt for doubt in reconstructed.doubts if doubt.kind != "chance"), *chances),
    )  # fmt: skip


def _handovers(
    played: Played, found: Sequence[ClusterEvent], tries: Counter[tuple[str, int]]
) -> Iterator[tuple[Step, ClusterEvent | None]]:
    """Yield for each queue a transfer of leadership after the first election with another result than seen."""
    reconstructed, done = played.reconstructed, set()
    followed, leaders = Followed(reconstructed, played.outcome), _Leaders(reconstructed, found)
    for pair in played.comparison.pairs:
        queue = about(pair) or ""
        if pair.kind not in BY_CHANCE or queue in done or pair.verdict == "equal" or followed.include(pair):
            continue
        leader = pair.seen.node if pair.seen else leaders.before(queue, pair.at_us)
        key = queue, pair.at_us // MICROSECONDS
        if leader is None or tries[key] == len(DELAYS_S):
            continue
        done.add(queue)
        at_s = max((pair.at_us - reconstructed.begins_us) / MICROSECONDS, pair.expected["t"] if pair.expected else 0.0)
        yield Step(TransferLeadership(queue, leader), round(at_s + DELAYS_S[tries[key]], 3)), pair.seen
        tries[key] += 1


class _Leaders:
    """The leaders of queues, as the logs show."""

    def __init__(self, reconstructed: Reconstruction, found: Sequence[ClusterEvent]) -> None:
        self._stood = {entry.queue: entry.leader for entry in reconstructed.scenario.queues}
        self._seen: dict[str | None, list[ClusterEvent]] = defaultdict(list)
        for one in found:
            if one.kind == "leader_elected":
                self._seen[one.queue].append(one)

    def before(self, queue: str, at_us: int) -> str | None:
        """Return the leader of a queue before a time."""
        seen = [one.node for one in self._seen.get(queue, ()) if one.at_us < at_us]
        return seen[-1] if seen else self._stood.get(queue)
