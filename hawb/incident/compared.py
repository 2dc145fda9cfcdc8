"""A retold story, played by the rules, beside what the logs have seen: event by event, and where they part.

What is compared is what a log tells of (`OF_EVENTS`), but for the elections of the metadata store, whose first leader
no file tells. The same thing about the same node and queue is one pair, if it
happened at about the same time; the order of what happens at once is free. Who is elected is chance: there the draw
that comes closest to what was seen is taken, and where another member was elected the story has it hand over
(`hawb.incident.following`), so that it goes on as the cluster did.

Where they part, either the rules are wrong, or the story is not the one that was: a step is missing that no log tells
of, or the cluster stood otherwise. So what was assumed (`hawb.incident.doubts`) is told beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.core.naming import join_queue, split_queue
from hawb.incident.asked import WHOLE, Asked
from hawb.incident.happening import Happening, is_healing
from hawb.incident.retold import Retold
from hawb.incident.teller import JOINING_US
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.document import Step
from hawb.scenario.forms import Verb
from hawb.scenario.verbs import ForgetClusterNode, Reset, TransferLeadership

Verdict = Literal["equal", "by chance", "only seen", "only expected"]
Expected = dict[str, Any]
"""An event of an outcome."""
NEAR_US = 45 * MICROSECONDS
"""How far apart the same may be seen and expected: links are missed up to a quarter of net_ticktime sooner or later,
and a boot may take half a minute longer than the quickest."""
ELECTED_US = 10 * MICROSECONDS
"""How far apart an election may be seen and expected that came out otherwise."""
OTHER_US = 2 * MICROSECONDS
"""How much later the same node is still taken for the same election than another one now."""
FOLLOWED_US = 3 * MICROSECONDS
"""How long after an election that came out otherwise the leader may hand over."""
BY_CHANCE = ("leader_elected",)
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
ALSO = {"mirrors_stopped": "master_down"}
"""What is seen and expected by another event, too: a master that is shut down says that it stops its mirrors whether it
has any or not (`rabbit_mirror_queue_master:terminate`)."""
UNCHANGED = "only seen", "node_revived"
"""What a node says though nothing changes: it boots out of maintenance mode, and is then told to come back."""
COMPARED = frozenset(kind for kind, _ in OF_EVENTS.values())
PLAYED = {"node_gone": "node_killed"}
"""What is played as another: how a node went whose log is not there nobody tells."""
WITHOUT_NODE = frozenset({"partition_begun", "partition_healed", "policy_set", "rebalanced", "synchronisation",
                          "queue_declared", "disk_lost", "autoheal"})  # fmt: skip
"""What is not about a node, or not for both."""
NODELESS = WITHOUT_NODE | {*BY_CHANCE}
TOGETHER = frozenset({"partition_begun", "partition_healed"})
"""What the engine tells link by link, and the logs at once."""
Key = tuple[str, str | None, str | None]
"""Kind, queue or name, node."""
Seen = tuple[int, Happening]
"""What was seen, with its moment."""
Looked = tuple[int, int, Expected]
"""What is expected, with its moment and its place in the outcome."""


def compared(retold: Retold, found: Sequence[Happening], told: dict[str, Any]) -> Comparison:
    """What was seen of a story beside the outcome of its scenario."""
    seen: dict[Key, list[Seen]] = {}
    expected: dict[Key, list[Looked]] = {}
    for one in found:
        key = _key_of(one)
        if key[0] in COMPARED and one.at_us >= retold.begins_us and not _is_a_part(one, found, retold):
            seen.setdefault(key, []).append((one.at_us, one))
    unlogged = {place for place in range(len(retold.sources))
                if is_handover(retold, place) or _is_offline(retold.scenario.steps[place].verb)}  # fmt: skip
    healed = {place for place, source in enumerate(retold.sources) if any(map(is_healing, source))}
    for place, event in enumerate(told["events"]):
        kind, counts = OF_EVENTS.get(event["event"], ("", _always))
        if kind == "node_stopped" and (event["step"] in healed or _healing(told["events"], event)):
            kind = "node_paused"
        if not kind or event["step"] is None or not counts(event) or event["step"] in unlogged \
                or _started_again(told["events"], event):  # fmt: skip
            continue
        rows = expected.setdefault(_key(kind, event), [])
        at_us = retold.begins_us + round(event["t"] * MICROSECONDS)
        if kind not in TOGETHER or not rows or at_us - rows[-1][0] > NEAR_US:
            rows.append((at_us, place, event))
    pairs = [pair for key in seen.keys() | expected.keys()
             for pair in _paired(key[0], seen.get(key, []), expected.get(key, []))]  # fmt: skip
    pairs = [_also(retold, told, pair) for pair in pairs if (pair.verdict, pair.kind) != UNCHANGED]
    steps = [_us(retold, step) for step in retold.scenario.steps]
    followed = [replace(pair, verdict="by chance") if pair.kind in BY_CHANCE and pair.verdict != "equal"
                and is_followed(retold, told, pair) else pair for pair in pairs]  # fmt: skip
    placed = [replace(pair, step=_step(pair, steps)) for pair in followed]
    return Comparison(tuple(sorted(placed, key=lambda pair: (pair.at_us, pair.kind, pair.place or 0))))


def _is_a_part(one: Happening, found: Sequence[Happening], retold: Retold) -> bool:
    """Whether something is a part of what the engine tells as one: a node that joins boots and stops before, a boot
    that the logs do not see to its end has none, a synchronisation that was not needed is none, what a policy
    says that no file has nobody knows, and what autoheal chose is told by its restarts where they are steps."""
    is_step = any(one in source for source in retold.sources)
    if one.kind in ("node_started", "node_stopped") and not is_step and any(
        other.kind == "node_joined" and other.node == one.node and 0 <= other.at_us - one.at_us <= JOINING_US
        for other in found
    ):
        return True
    unended = one.kind == "node_started" and one.until_us is None and not any(
        other.node == one.node and other.at_us > one.at_us for other in found)  # fmt: skip
    untold = one.kind == "policy_set" and not is_step
    as_steps = is_step and (one.kind == "autoheal" or _is_reset(one, retold))
    return unended or untold or as_steps or one.reason == "needless"


def _is_offline(verb: Verb) -> bool:
    """Whether a step forgets a member on a node that does not run, which no log tells."""
    return isinstance(verb, ForgetClusterNode) and verb.offline


def _is_reset(one: Happening, retold: Retold) -> bool:
    """Whether a disk that was found empty, or a member that others forgot, is told as a reset."""
    steps = zip(retold.scenario.steps, retold.sources, strict=True)
    return one.kind in ("disk_lost", "node_forgotten") and any(
        isinstance(step.verb, Reset) and one in source for step, source in steps
    )


def is_handover(retold: Retold, place: int) -> bool:
    """Whether a step only follows who was seen to lead."""
    source = retold.sources[place]
    verb = retold.scenario.steps[place].verb
    return isinstance(verb, TransferLeadership) and all(one.kind == "leader_elected" for one in source)


def _also(retold: Retold, told: dict[str, Any], pair: Pair) -> Pair:
    """What was only seen, with the other event by which it is expected, if that is there."""
    if pair.verdict != "only seen" or pair.kind not in ALSO or pair.seen is None:
        return pair
    wanted = ALSO[pair.kind], pair.seen.queue, pair.seen.node
    for place, event in enumerate(told["events"]):
        apart_us = abs(retold.begins_us + round(event["t"] * MICROSECONDS) - pair.at_us)
        if (event["event"], event["queue"], event["node"]) == wanted and apart_us <= NEAR_US:
            return replace(pair, verdict="equal", expected=event, place=place)
    return pair


def _healing(events: Sequence[Expected], event: Expected) -> bool:
    """Whether a broker stops because autoheal restarts it."""
    return event["because"] is not None and events[event["because"]]["event"] == "autoheal_started"


def _started_again(events: Sequence[Expected], event: Expected) -> bool:
    """Whether a mirror is started on the node on which its queue's process crashed, which no log tells."""
    cause = event
    while cause["because"] is not None:
        cause = events[cause["because"]]
        if cause["event"] == "process_crashed" and (cause["queue"], cause["node"]) == (event["queue"], event["node"]):
            return event["event"] == "mirror_added"
    return False


def _key_of(one: Happening) -> Key:
    about = one.name if one.kind in ("policy_set", "alarm_set", "alarm_cleared") else one.queue
    return PLAYED.get(one.kind, one.kind), about, None if one.kind in NODELESS else one.node


def _key(kind: str, event: Expected) -> Key:
    detail = event["detail"]
    queue = event["queue"] and join_queue(*split_queue(event["queue"]))
    about = detail.get("name") if kind == "policy_set" else detail.get("resource") if "alarm" in kind else queue
    return kind, about, None if kind in NODELESS else event["node"]


def _paired(kind: str, seen: Sequence[Seen], expected: Sequence[Looked]) -> Iterator[Pair]:
    """Pairs of the same key, in the order of time on both sides, the way that has the least time between them."""
    most_us = ELECTED_US if kind in BY_CHANCE else NEAR_US
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
    """How the next ones on both sides may go together, each with what that costs to the end."""
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
    """The queue that a pair is about; None if it is about nodes."""
    return pair.seen.queue if pair.seen else pair.expected and pair.expected["queue"]


def is_followed(retold: Retold, told: dict[str, Any], pair: Pair) -> bool:
    """Whether the story hands over to who was seen to lead, where an election came out otherwise or only one side had
    one, and whether that could be done."""
    queue = about(pair)
    refused = {error["step"] for error in told["errors"]}
    at_us = max(pair.at_us, retold.begins_us + round(pair.expected["t"] * MICROSECONDS) if pair.expected else 0)
    return any(
        verb.queue == queue and place not in refused and 0 <= _us(retold, step) - at_us <= FOLLOWED_US
        and verb.node == (pair.seen.node if pair.seen else verb.node)
        for place, step in enumerate(retold.scenario.steps)
        if is_handover(retold, place) and isinstance(verb := step.verb, TransferLeadership)
    )  # fmt: skip


def _us(retold: Retold, step: Step) -> int:
    """When a step is, by the reference's clock."""
    return retold.begins_us + round((step.at or 0) * MICROSECONDS)


def _step(pair: Pair, steps: Sequence[int]) -> int | None:
    """The last step before something."""
    before = [place for place, at_us in enumerate(steps) if at_us <= pair.at_us]
    return next(islice(reversed(before), 1), None)


def trimmed(comparison: Comparison, retold: Retold, found: Sequence[Happening], asked: Asked) -> Comparison:
    """The comparison without what the rules expect of other times than the span's: of what lasted already as the story
    begins, of what is still under way as it ends, and what was seen just after its end."""
    if asked == WHOLE:
        return comparison
    after = {(one.kind, one.queue) for one in found if asked.is_over(one.at_us)
             and one.at_us <= retold.ends_us + NEAR_US}  # fmt: skip

    def outside(pair: Pair) -> bool:
        if pair.verdict != "only expected" or pair.expected is None:
            return False
        source = retold.sources[pair.expected["step"]]
        before = bool(source) and max(one.at_us for one in source) < retold.begins_us
        return before or asked.is_over(pair.at_us) or (
            pair.at_us > retold.ends_us - NEAR_US and asked.until_us is not None and (pair.kind, about(pair)) in after
        )

    return Comparison(tuple(pair for pair in comparison.pairs if not outside(pair)))
