"""A retold story, played by the rules, beside what the logs have seen: event by event, and where they part.

What is compared is what a log tells of (`OF_EVENTS`), but for the elections of the metadata store, whose first leader
no file tells. The same thing about the same node and queue is one pair, if it
happened at about the same time; the order of what happens at once is free. Who is elected is chance, and so is which
mirror is the older one of two that joined at once: there the draw (the scenario's seed) is taken that comes closest to
what was seen, and where another node remains that is told as chance.

Where they part, either the rules are wrong, or the story is not the one that was: a step is missing that no log tells
of, or the cluster stood otherwise. So what was assumed (`hawb.incident.doubts`) is told beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.naming import join_queue, split_queue
from hawb.incident.happenings import Happening
from hawb.incident.retold import Retold
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

Verdict = Literal["equal", "by chance", "only seen", "only expected"]
Expected = dict[str, Any]
"""An event of an outcome."""
NEAR_US = 45 * MICROSECONDS
"""How far apart the same may be seen and expected: links are missed up to a quarter of net_ticktime sooner or later,
and a boot may take half a minute longer than the quickest."""
DRAWS = 24
"""How many seeds are tried for the one that comes closest to what was seen."""
BY_CHANCE = ("leader_elected", "mirror_promoted")
"""Where chance may choose another node."""


class Pair(Struct, frozen=True):
    """What was seen beside what the rules expect. `seen` has the lines of the logs; `expected` is an event of the
    outcome, at `place` in its list of events. `by chance`: the same happened to another node, where luck decides. Where
    they part, `step` is the last step of the scenario before."""

    verdict: Verdict
    kind: str
    at_us: int
    step: int | None
    seen: Happening | None = None
    expected: Expected | None = None
    place: int | None = None


class Comparison(Struct, frozen=True):
    """All pairs in the order of time."""

    pairs: tuple[Pair, ...]

    @property
    def equal(self) -> int:
        """How many were as expected, whoever it was by chance."""
        return sum(pair.verdict in ("equal", "by chance") for pair in self.pairs)

    @property
    def apart(self) -> tuple[Pair, ...]:
        """The pairs in which they part."""
        return tuple(pair for pair in self.pairs if pair.verdict in ("only seen", "only expected"))


def _always(_: Expected) -> bool:
    return True


def _because(*reasons: str) -> Callable[[Expected], bool]:
    return lambda event: event["detail"].get("reason", event["detail"].get("until")) in reasons


def _of_a_group(event: Expected) -> bool:
    return event["detail"].get("type") == "quorum"


OF_EVENTS: Mapping[str, tuple[str, Callable[[Expected], bool]]] = {
    "node_stopping": ("node_stopped", _always),
    "node_killed": ("node_killed", _always),
    "node_lost_power": ("node_killed", _always),
    "node_pausing": ("node_paused", _always),
    "node_running": ("node_started", _always),
    "node_drained": ("node_drained", _always),
    "node_revived": ("node_revived", _always),
    "node_joined": ("node_joined", _always),
    "node_forgotten": ("node_forgotten", _always),
    "disk_lost": ("disk_lost", _always),
    "links_timed_out": ("partition_begun", _always),
    "links_healed": ("partition_healed", _always),
    "autoheal_started": ("autoheal", _always),
    "mirror_added": ("mirror_added", _always),
    "mirror_removed": ("mirror_dropped", _because("policy", "transfer")),
    "promoted": ("mirror_promoted", _always),
    "mirrors_stopped": ("mirrors_stopped", _always),
    "sync_started": ("synchronisation", _always),
    "leader_elected": ("leader_elected", _always),
    "queue_declared": ("queue_declared", _of_a_group),
    "member_added": ("member_added", _always),
    "member_removed": ("member_removed", _always),
    "queue_recovered": ("queue_restarted", _because("process_restarted")),
    "alarm_set": ("alarm_set", _always),
    "alarm_cleared": ("alarm_cleared", _always),
    "policy_set": ("policy_set", _always),
    "rebalance_started": ("rebalanced", _always),
}
"""What kind of happening an event of the engine is, and which of these events are."""
COMPARED = frozenset(kind for kind, _ in OF_EVENTS.values())
WITHOUT_NODE = frozenset({"partition_begun", "partition_healed", "policy_set", "rebalanced", "synchronisation",
                          "queue_declared", "disk_lost", "autoheal"})  # fmt: skip
"""What is not about a node, or not for both."""
TOGETHER = frozenset({"partition_begun", "partition_healed"})
"""What the engine tells link by link, and the logs at once."""
Key = tuple[str, str | None, str | None]
"""Kind, queue or name, node."""


def play(retold: Retold, found: Sequence[Happening]) -> tuple[Run, dict[str, Any], Comparison]:
    """Plays a story with the draw that comes closest to what was seen: the run, its outcome, and what is compared.
    Raises ScenarioRefused for a step that has no rules."""
    best: tuple[tuple[int, int], Run, dict[str, Any], Comparison] | None = None
    for seed in range(DRAWS):
        run = Run.of(replace(retold.scenario, seed=seed))
        told = outcome(run)
        comparison = compared(retold, found, told)
        verdicts = [pair.verdict for pair in comparison.pairs]
        misses = len(comparison.apart), verdicts.count("by chance")
        if best is None or misses < best[0]:
            best = (misses, run, told, comparison)
        if misses[1] == 0:
            break
    assert best is not None
    return best[1:]


def compared(retold: Retold, found: Sequence[Happening], told: dict[str, Any]) -> Comparison:
    """What was seen of a story beside the outcome of its scenario."""
    seen: dict[Key, list[tuple[int, Happening]]] = {}
    expected: dict[Key, list[tuple[int, int, Expected]]] = {}
    for one in found:
        if one.kind in COMPARED and one.at_us >= retold.begins_us:
            seen.setdefault(_key_of(one), []).append((one.at_us, one))
    for place, event in enumerate(told["events"]):
        kind, counts = OF_EVENTS.get(event["event"], ("", _always))
        if kind == "node_stopped" and _healing(told["events"], event):
            kind = "node_paused"
        if not kind or event["step"] is None or not counts(event):
            continue
        rows = expected.setdefault(_key(kind, event), [])
        at_us = retold.begins_us + round(event["t"] * MICROSECONDS)
        if kind not in TOGETHER or not rows or at_us - rows[-1][0] > NEAR_US:
            rows.append((at_us, place, event))
    pairs = [pair for key in seen.keys() | expected.keys()
             for pair in _paired(key[0], seen.get(key, []), expected.get(key, []))]  # fmt: skip
    pairs = [*_by_chance(pairs)]
    steps = [retold.begins_us + round((step.at or 0) * MICROSECONDS) for step in retold.scenario.steps]
    placed = [replace(pair, step=_step(pair, steps)) for pair in pairs]
    return Comparison(tuple(sorted(placed, key=lambda pair: (pair.at_us, pair.kind, pair.place or 0))))


def _healing(events: Sequence[Expected], event: Expected) -> bool:
    """Whether a broker stops because autoheal restarts it."""
    return event["because"] is not None and events[event["because"]]["event"] == "autoheal_started"


def _key_of(one: Happening) -> Key:
    about = one.name if one.kind in ("policy_set", "alarm_set", "alarm_cleared") else one.queue
    return one.kind, about, None if one.kind in WITHOUT_NODE else one.node


def _key(kind: str, event: Expected) -> Key:
    detail = event["detail"]
    queue = event["queue"] and join_queue(*split_queue(event["queue"]))
    about = detail.get("name") if kind == "policy_set" else detail.get("resource") if "alarm" in kind else queue
    return kind, about, None if kind in WITHOUT_NODE else event["node"]


def _paired(
    kind: str, seen: Sequence[tuple[int, Happening]], expected: Sequence[tuple[int, int, Expected]]
) -> Iterator[Pair]:
    """Pairs of the same key in the order of time, as far as they are near each other."""
    mine, others = list(seen), list(expected)
    while mine and others:
        if abs(mine[0][0] - others[0][0]) <= NEAR_US:
            at_us, one = mine.pop(0)
            _, place, event = others.pop(0)
            yield Pair("equal", kind, at_us, None, one, event, place)
        elif mine[0][0] < others[0][0]:
            yield Pair("only seen", kind, mine[0][0], None, mine.pop(0)[1])
        else:
            at_us, place, event = others.pop(0)
            yield Pair("only expected", kind, at_us, None, None, event, place)
    yield from (Pair("only seen", kind, at_us, None, one) for at_us, one in mine)
    yield from (Pair("only expected", kind, at_us, None, None, event, place) for at_us, place, event in others)


def _by_chance(pairs: Sequence[Pair]) -> Iterator[Pair]:
    """What was seen of one node and expected of another, where chance chooses, becomes one pair."""
    left = [pair for pair in pairs if pair.verdict == "only expected" and pair.kind in BY_CHANCE]
    for pair in pairs:
        if pair.verdict == "only seen" and pair.kind in BY_CHANCE:
            other = next((one for one in left if _alike(pair, one)), None)
            if other is not None:
                left.remove(other)
                yield replace(pair, verdict="by chance", expected=other.expected, place=other.place)
                continue
        if pair not in left and not (pair.verdict == "only expected" and pair.kind in BY_CHANCE):
            yield pair
    yield from left


def _alike(seen: Pair, expected: Pair) -> bool:
    """Whether two are the same but for the node."""
    queues = seen.seen and seen.seen.queue, expected.expected and expected.expected["queue"]
    return seen.kind == expected.kind and queues[0] == queues[1] and abs(seen.at_us - expected.at_us) <= NEAR_US


def _step(pair: Pair, steps: Sequence[int]) -> int | None:
    """The last step before something."""
    before = [place for place, at_us in enumerate(steps) if at_us <= pair.at_us]
    return next(islice(reversed(before), 1), None)
