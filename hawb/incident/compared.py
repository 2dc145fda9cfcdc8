"""Compare a reconstructed scenario, played by the rules, with the logs, event by event.

Events are compared if a log records them (`OF_EVENTS`), except elections of the metadata store, whose first leader no
file holds. Events of the same kind about the same node and queue form a pair if they happened at about the same time;
the order of simultaneous events is free. Election results are random: the random choices closest to the logs are taken,
and where another member was elected the scenario transfers leadership (`hawb.incident.following`), so that it goes on
as the cluster did.

Where they differ, either the rules are wrong, or the scenario is not what happened: a step is missing that no log
records, or the cluster's initial state was different. So the assumptions (`hawb.incident.doubts`) are shown too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.core.naming import join_queue, split_queue
from hawb.incident.asked import WHOLE, Asked
from hawb.incident.cluster_event import ClusterEvent, is_healing
from hawb.incident.reconstruction import Reconstruction
from hawb.incident.step_context import JOINING_US
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.document import Step
from hawb.scenario.fields import Verb
from hawb.scenario.verbs import ForgetClusterNode, Reset, TransferLeadership

Verdict = Literal["equal", "by chance", "only seen", "only expected"]
Expected = dict[str, Any]
"""An event of an outcome."""
NEAR_US = 45 * MICROSECONDS
"""Maximum time between a seen and an expected event: silent links are detected within a quarter of net_ticktime, and a
boot may take half a minute longer than the fastest."""
ELECTED_US = 10 * MICROSECONDS
"""Maximum time between a seen and an expected election with another result."""
OTHER_US = 2 * MICROSECONDS
"""Penalty for matching an election of another node, as a time."""
FOLLOWED_US = 3 * MICROSECONDS
"""Maximum time from an election with another result to the transfer of leadership."""
MOST_TOGETHER = 200
"""Maximum number of events, logged and expected, that are matched together: the work grows with its square."""
BY_CHANCE = ("leader_elected",)
"""Where chance may choose another node."""


class Pair(Struct, frozen=True):
    """An event in the logs beside an expected event.

    `seen` holds the lines of the logs; `expected` is an event of the outcome, at `place` in its list of events. `by
    chance`: the same happened to another node, where the choice is random. Where they differ, `step` is the last step
    of the scenario before.
    """

    verdict: Verdict
    kind: str
    at_us: int
    step: int | None
    seen: ClusterEvent | None = None
    expected: Expected | None = None
    place: int | None = None


class Comparison(Struct, frozen=True):
    """All pairs in the order of time."""

    pairs: tuple[Pair, ...]

    @property
    def equal(self) -> int:
        """Return how many pairs agree, on the same node or by chance on another."""
        return sum(pair.verdict in ("equal", "by chance") for pair in self.pairs)

    @property
    def apart(self) -> tuple[Pair, ...]:
        """Return the pairs that differ."""
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
"""Kind of event for each event of the engine, and a test for which of these events it holds."""
ALSO = {"mirrors_stopped": "master_down"}
"""Kinds that match another event, too: a master that is shut down logs that it stops its mirrors even if it has none
(`rabbit_mirror_queue_master:terminate`)."""
UNCHANGED = "only seen", "node_revived"
"""Logged without a change: the node booted out of maintenance mode, and is then ordered to leave it."""
COMPARED = frozenset(kind for kind, _ in OF_EVENTS.values())
PLAYED = {"node_gone": "node_killed"}
"""Kinds that are played as another kind: the end of a node without a log has no known cause."""
WITHOUT_NODE = frozenset({"partition_begun", "partition_healed", "policy_set", "rebalanced", "synchronisation",
                          "queue_declared", "disk_lost", "autoheal"})  # fmt: skip
"""Kinds that concern no node, or not in both sequences."""
NODELESS = WITHOUT_NODE | {*BY_CHANCE}
TOGETHER = frozenset({"partition_begun", "partition_healed"})
"""Kinds that the engine reports for each link, and the logs once."""
Key = tuple[str, str | None, str | None]
"""Kind, queue or name, node."""
Seen = tuple[int, ClusterEvent]
"""An event, with its time."""
Looked = tuple[int, int, Expected]
"""An expected event, with its time and its place in the outcome."""


def compared(reconstructed: Reconstruction, found: Sequence[ClusterEvent], played: dict[str, Any]) -> Comparison:
    """Compare the logs of a scenario with its outcome."""
    seen: dict[Key, list[Seen]] = {}
    expected: dict[Key, list[Looked]] = {}
    uncounted = _uncounted(found, reconstructed)
    for one in found:
        key = _key_of(one)
        if key[0] in COMPARED and one.at_us >= reconstructed.begins_us and one not in uncounted:
            seen.setdefault(key, []).append((one.at_us, one))
    unlogged = {place for place, step in enumerate(reconstructed.scenario.steps)
                if is_handover(reconstructed, place) or _is_offline(step.verb)}  # fmt: skip
    healed = {place for place, source in enumerate(reconstructed.sources) if any(map(is_healing, source))}
    for place, event in enumerate(played["events"]):
        kind, counts = OF_EVENTS.get(event["event"], ("", _always))
        if kind == "node_stopped" and (event["step"] in healed or _healing(played["events"], event)):
            kind = "node_paused"
        if not kind or event["step"] is None or not counts(event) or event["step"] in unlogged \
                or _started_again(played["events"], event):  # fmt: skip
            continue
        rows = expected.setdefault(_key(kind, event), [])
        at_us = reconstructed.begins_us + round(event["t"] * MICROSECONDS)
        if kind not in TOGETHER or not rows or at_us - rows[-1][0] > NEAR_US:
            rows.append((at_us, place, event))
    pairs = [pair for key in seen.keys() | expected.keys()
             for pair in _paired(key[0], seen.get(key, []), expected.get(key, []))]  # fmt: skip
    also = _also_expected(reconstructed, played)
    pairs = [_also(also, pair) for pair in pairs if (pair.verdict, pair.kind) != UNCHANGED]
    steps = [_us(reconstructed, step) for step in reconstructed.scenario.steps]
    transferred = Followed(reconstructed, played)
    followed = [replace(pair, verdict="by chance") if pair.kind in BY_CHANCE and pair.verdict != "equal"
                and transferred.include(pair) else pair for pair in pairs]  # fmt: skip
    placed = [replace(pair, step=_step(pair, steps)) for pair in followed]
    return Comparison(tuple(sorted(placed, key=lambda pair: (pair.at_us, pair.kind, pair.place or 0))))


def _uncounted(found: Sequence[ClusterEvent], reconstructed: Reconstruction) -> set[ClusterEvent]:
    """Return the events that the engine reports as part of another event, or cannot report.

    A node that joins boots and stops before; a boot whose end is not logged has no counterpart; an unnecessary
    synchronisation is none; the content of a policy that no file holds is unknown; and autoheal's choice shows in its
    restarts if they are steps, as an empty disk or a member that others forgot does in a reset.
    """
    steps = [*zip(reconstructed.scenario.steps, reconstructed.sources, strict=True)]
    of_steps = {one for _, source in steps for one in source}
    of_resets = {one for step, source in steps if isinstance(step.verb, Reset) for one in source}
    joined_us: dict[str | None, list[int]] = defaultdict(list)
    last_us: dict[str | None, int] = {}
    for one in found:
        last_us[one.node] = max(one.at_us, last_us.get(one.node, one.at_us))
        if one.kind == "node_joined":
            joined_us[one.node].append(one.at_us)

    def is_uncounted(one: ClusterEvent) -> bool:
        if one.kind in ("node_started", "node_stopped") and one not in of_steps and any(
            0 <= at_us - one.at_us <= JOINING_US for at_us in joined_us.get(one.node, ())
        ):
            return True
        unended = one.kind == "node_started" and one.until_us is None and last_us[one.node] <= one.at_us
        unknown = one.kind == "policy_set" and one not in of_steps
        is_reset = one.kind in ("disk_lost", "node_forgotten") and one in of_resets
        as_steps = one in of_steps and (one.kind == "autoheal" or is_reset)
        return unended or unknown or as_steps or one.reason == "needless"

    return set(filter(is_uncounted, found))


def _is_offline(verb: Verb) -> bool:
    """Return True if a step forgets a member from a node that does not run, which no log records."""
    return isinstance(verb, ForgetClusterNode) and verb.offline


def is_handover(reconstructed: Reconstruction, place: int) -> bool:
    """Return True if a step only follows the leader seen in the logs."""
    source = reconstructed.sources[place]
    verb = reconstructed.scenario.steps[place].verb
    return isinstance(verb, TransferLeadership) and all(one.kind == "leader_elected" for one in source)


Also = Mapping[tuple[str | None, ...], list[Looked]]


def _also_expected(reconstructed: Reconstruction, played: dict[str, Any]) -> Also:
    """Return the expected events that match another kind, too (`ALSO`), by their kind, queue and node."""
    found: dict[tuple[str | None, ...], list[Looked]] = defaultdict(list)
    for place, event in enumerate(played["events"]):
        if event["event"] in ALSO.values():
            at_us = reconstructed.begins_us + round(event["t"] * MICROSECONDS)
            found[event["event"], event["queue"], event["node"]].append((at_us, place, event))
    return found


def _also(expected: Also, pair: Pair) -> Pair:
    """Return a pair that was only seen, matched with an equivalent expected event if there is one."""
    if pair.verdict != "only seen" or pair.kind not in ALSO or pair.seen is None:
        return pair
    for at_us, place, event in expected.get((ALSO[pair.kind], pair.seen.queue, pair.seen.node), ()):
        if abs(at_us - pair.at_us) <= NEAR_US:
            return replace(pair, verdict="equal", expected=event, place=place)
    return pair


def _healing(events: Sequence[Expected], event: Expected) -> bool:
    """Return True if a broker stops because autoheal restarts it."""
    return event["because"] is not None and events[event["because"]]["event"] == "autoheal_started"


def _started_again(events: Sequence[Expected], event: Expected) -> bool:
    """Return True if a mirror is started on the node where its queue process crashed, which no log records."""
    cause = event
    while cause["because"] is not None:
        cause = events[cause["because"]]
        if cause["event"] == "process_crashed" and (cause["queue"], cause["node"]) == (event["queue"], event["node"]):
            return event["event"] == "mirror_added"
    return False


def _key_of(one: ClusterEvent) -> Key:
    about = one.name if one.kind in ("policy_set", "alarm_set", "alarm_cleared") else one.queue
    return PLAYED.get(one.kind, one.kind), about, None if one.kind in NODELESS else one.node


def _key(kind: str, event: Expected) -> Key:
    detail = event["detail"]
    queue = event["queue"] and join_queue(*split_queue(event["queue"]))
    about = detail.get("name") if kind == "policy_set" else detail.get("resource") if "alarm" in kind else queue
    return kind, about, None if kind in NODELESS else event["node"]


def _paired(kind: str, seen: Sequence[Seen], expected: Sequence[Looked]) -> Iterator[Pair]:
    """Yield pairs with one key, in order of time in both sequences, matched with the least total time difference."""
    most_us = ELECTED_US if kind in BY_CHANCE else NEAR_US
    for some, others in _groups(seen, expected, most_us):
        yield from _matched(kind, some, others, most_us)


def _groups(
    seen: Sequence[Seen], expected: Sequence[Looked], most_us: int
) -> Iterator[tuple[Sequence[Seen], Sequence[Looked]]]:
    """Divide both sequences into parts whose events are too far apart to match each other, and long parts further."""
    times = sorted(map(itemgetter(0), (*seen, *expected)))
    far = [place for place, (one, other) in enumerate(pairwise(times), 1) if other - one > most_us]
    i = j = begin = 0
    for end in [*far, len(times)]:
        for last in (*range(begin + MOST_TOGETHER, end, MOST_TOGETHER), end):
            until_us = times[last - 1]
            k, m = (bisect_right(rows, until_us, key=itemgetter(0)) for rows in (seen, expected))
            yield seen[i:k], expected[j:m]
            i, j = k, m
        begin = end


def _matched(kind: str, seen: Sequence[Seen], expected: Sequence[Looked], most_us: int) -> Iterator[Pair]:
    costs = [[0] * (len(expected) + 1) for _ in range(len(seen) + 1)]
    for i in range(len(seen), -1, -1):
        for j in range(len(expected), -1, -1):
            costs[i][j] = min(_ways(costs, i, j, seen, expected, most_us), default=(0, ""))[0]
    i = j = 0
    while i < len(seen) or j < len(expected):
        way = min(_ways(costs, i, j, seen, expected, most_us))[1]
        mine = seen[i] if way != "only expected" else None
        other = expected[j] if way != "only seen" else None
        i, j = i + (mine is not None), j + (other is not None)
        at_us = mine[0] if mine else other[0] if other else 0
        verdict = way if way != "equal" or _same_node(kind, mine, other) else "by chance"
        yield Pair(verdict, kind, at_us, None, mine and mine[1], other and other[2], other and other[1])


def _ways(
    costs: list[list[int]], i: int, j: int, seen: Sequence[Seen], expected: Sequence[Looked], most_us: int
) -> list[tuple[int, Verdict]]:
    """Return the ways to match the next events of both sequences, each with its total cost to the end."""
    ways: list[tuple[int, Verdict]] = []
    if i < len(seen) and j < len(expected) and (apart_us := abs(seen[i][0] - expected[j][0])) <= most_us:
        other = 0 if seen[i][1].node == expected[j][2]["node"] else OTHER_US
        ways.append((apart_us + other + costs[i + 1][j + 1], "equal"))
    if i < len(seen):
        ways.append((most_us + costs[i + 1][j], "only seen"))
    if j < len(expected):
        ways.append((most_us + costs[i][j + 1], "only expected"))
    return ways


def _same_node(kind: str, seen: Seen | None, expected: Looked | None) -> bool:
    return kind not in BY_CHANCE or (seen and seen[1].node) == (expected and expected[2]["node"])


def about(pair: Pair) -> str | None:
    """Return the queue that a pair is about; None if it is about nodes."""
    return pair.seen.queue if pair.seen else pair.expected and pair.expected["queue"]


class Followed:
    """The elections after which a scenario successfully transfers leadership to the leader in the logs.

    That is done if an election had another result, or only one side had an election.
    """

    def __init__(self, reconstructed: Reconstruction, played: dict[str, Any]) -> None:
        refused = {error["step"] for error in played["errors"]}
        self._begins_us = reconstructed.begins_us
        self._transfers: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for place, step in enumerate(reconstructed.scenario.steps):
            if isinstance(verb := step.verb, TransferLeadership) and place not in refused \
                    and is_handover(reconstructed, place):  # fmt: skip
                self._transfers[verb.queue].append((_us(reconstructed, step), verb.node))

    def include(self, pair: Pair) -> bool:
        """Return True if the election of a pair is one of them."""
        expected_us = self._begins_us + round(pair.expected["t"] * MICROSECONDS) if pair.expected else 0
        from_us = max(pair.at_us, expected_us)
        return any(0 <= at_us - from_us <= FOLLOWED_US and node == (pair.seen.node if pair.seen else node)
                   for at_us, node in self._transfers.get(about(pair) or "", ()))  # fmt: skip


def _us(reconstructed: Reconstruction, step: Step) -> int:
    """Return the time of a step by the reference clock."""
    return reconstructed.begins_us + round((step.at or 0) * MICROSECONDS)


def _step(pair: Pair, steps: Sequence[int]) -> int | None:
    """Return the last step before a pair."""
    return bisect_right(steps, pair.at_us) - 1 if steps and steps[0] <= pair.at_us else None


def trimmed(
    comparison: Comparison, reconstructed: Reconstruction, found: Sequence[ClusterEvent], asked: Asked
) -> Comparison:
    """Return the comparison without expected events that need not be in the logs of the span.

    Such events follow from what was under way when the span began, or are still under way at its end, or were logged
    just after its end.
    """
    if asked == WHOLE:
        return comparison
    after = {(one.kind, one.queue) for one in found if asked.is_over(one.at_us)
             and one.at_us <= reconstructed.ends_us + NEAR_US}  # fmt: skip

    def outside(pair: Pair) -> bool:
        if pair.verdict != "only expected" or pair.expected is None:
            return False
        source = reconstructed.sources[pair.expected["step"]]
        before = bool(source) and max(one.at_us for one in source) < reconstructed.begins_us
        return before or asked.is_over(pair.at_us) or (
            pair.at_us > reconstructed.ends_us - NEAR_US and asked.until_us is not None
            and (pair.kind, about(pair)) in after
        )

    return Comparison(tuple(pair for pair in comparison.pairs if not outside(pair)))
