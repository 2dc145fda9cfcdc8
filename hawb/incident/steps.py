"""What happened as the steps of a scenario: what somebody did, or what befell a node.

What the rules make of that (promotions, elections, pauses, mirrors that join) is no step, but what the story is
compared by. Steps have the times of the logs; what was noticed late, such as a link that fell silent, is put as much
earlier, and a boot so that it ends when it did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from hawb.engine.naming import split_queue
from hawb.engine.state import CLASSIC
from hawb.incident.absences import GONE, SILENCE
from hawb.incident.doubts import Doubt
from hawb.incident.happenings import TOGETHER_US, Happening, is_healing
from hawb.incident.lives import Life
from hawb.planning.inventory import NET_TICKTIME_S
from hawb.rules.policies import Policy, effective_definition, matching
from hawb.rules.profiles import PROFILES
from hawb.scenario import verbs
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.forms import Verb

JOINING_US = 90_000_000
"""How long after its joining a node boots for it, at most; and how long after a member is forgotten its queues are."""
GIVING_US = 15_000_000
"""How long it may take until masters are given away that are told to."""
GIVEN_AWAY = ("partition_begun", "node_drained", "rebalanced", "node_forgotten", "node_paused")
"""Why a master may be another's without having crashed."""
AT_ONCE_US = 3_000_000
"""How long before its joining a node is reset for it."""
START_S, STOP_S = 5.0, 1.0
"""The longest that a boot and a stop are taken to take: what is longer is waiting."""


class Told(NamedTuple):
    """A step before it has its place: its moment, its verb, and what it was read from."""

    at_us: int
    verb: Verb
    source: tuple[Happening, ...]


class Teller:
    """What steps are made with: the story, `later` policies, as definitions of after it have them, and what is doubtful
    about them. With `healed` the restarts of autoheal are steps, as the logs have them, and are not left to the
    rules."""

    def __init__(
        self, found: Sequence[Happening], lives: Sequence[Life], imported: dict[str, Any],
        later: Sequence[dict[str, Any]] = (), healed: bool = False,
    ):  # fmt: skip
        self.found, self.lives, self.healed = found, lives, healed
        self.silence_us = _silence_us(found, imported["cluster"].get("net_ticktime"))
        self.policies = {policy["name"]: policy for policy in imported["policies"]}
        self.later_policies = {policy["name"]: policy for policy in later}
        self.operator_policies = imported["operator_policies"]
        self.profile = PROFILES[imported["cluster"]["version"]]
        self.boot_us = min([round(START_S * MICROSECONDS), *map(booted_us, self._boots())])
        stops = [one.until_us - one.at_us for one in found if one.kind == "node_stopped" and one.until_us]
        self.stop_us = min([round(STOP_S * MICROSECONDS), *stops])
        self.doubts: list[Doubt] = []

    def _boots(self) -> Iterator[Happening]:
        waited = {one.node for one in self.found if one.kind == "node_waiting"}
        return (one for one in self.found if one.kind == "node_started" and one.node not in waited and booted_us(one))

    def near(self, kind: str, node: str | None, at_us: int, within_us: int) -> Happening | None:
        """What happened to a node about then."""
        return next((one for one in self.found if one.kind == kind and one.node == node
                     and abs(one.at_us - at_us) <= within_us), None)  # fmt: skip

    def joins(self, one: Happening) -> bool:
        """Whether what happens to a node is a part of its joining: a new one boots and stops for it, or one that was
        reset, and then it boots."""
        for other in self.found:
            if other.kind == "node_joined" and other.node == one.node and one.at_us - other.at_us <= JOINING_US:
                before = [life for life in self.lives if life.node == one.node and life.from_us < other.at_us]
                resets = [reset.at_us for reset in self.found if reset.kind == "node_reset" and reset.node == one.node
                          and reset.at_us <= other.at_us]  # fmt: skip
                new = len(before) == 1 and before[0].first.kind == "node_starting"
                empty = self.lost_disk(other)
                from_us = before[0].from_us if new else max([*resets, *([empty] if empty else [])], default=other.at_us)
                if one.at_us >= from_us:
                    return True
        return False

    def lost_disk(self, joined: Happening) -> int | None:
        """When a node that joins booted on an empty disk, though it had been a member."""
        disks = [one.at_us for one in self.found if one.kind == "disk_lost" and one.node == joined.node
                 and 0 <= joined.at_us - one.at_us <= JOINING_US]  # fmt: skip
        boots = [one.at_us for one in self.found if one.kind == "node_started" and one.node == joined.node
                 and disks and one.at_us <= disks[-1]]  # fmt: skip
        return boots[-1] if boots else None

    def doubt(self, kind: str, **about: Any) -> None:
        """Notes what is not told."""
        self.doubts.append(Doubt(kind=kind, **about))


def _silence_us(found: Sequence[Happening], net_ticktime_s: float | None) -> int:
    """How long a link is silent before it is missed. Where no file tells, it is Erlang's default, but no longer than
    since the ends of a link last told of each other."""
    if net_ticktime_s is not None:
        return round(net_ticktime_s * MICROSECONDS)
    silent = [one for one in found if one.kind == "partition_begun" and one.reason == SILENCE]
    since = [one.at_us - touched for one in silent if (touched := in_touch_us(found, one)) is not None]
    return min([round(NET_TICKTIME_S * MICROSECONDS), *since])


def in_touch_us(found: Sequence[Happening], apart: Happening) -> int | None:
    """When the ends of links that broke told of each other the last time before, if they did: that one had come up, has
    a mirror, leads."""
    before = (one for one in found if one.at_us < apart.at_us - AT_ONCE_US)
    told = ((one.at_us, event) for one in before for event in one.events if event.peer and event.kind not in GONE)
    return max((at_us for at_us, event in told if tuple(sorted((event.node, event.peer or ""))) in apart.pairs),
               default=None)  # fmt: skip


def booted_us(started: Happening) -> int:
    """How long a boot took until others heard of it; 0 if nobody did."""
    up = [event.at_us for event in started.events if event.kind == "rabbit_up"]
    seen = [*up[:1], *([started.until_us] if started.until_us else [])]
    return max(0, min(seen) - started.at_us) if seen else 0


# What becomes a step


def stopped(tell: Teller, one: Happening) -> Iterator[Told]:
    """A stop, but for that of a node that joins or is reset."""
    if not tell.joins(one):
        yield Told(one.at_us, verbs.Stop((one.node or "",)), (one,))


def paused(tell: Teller, one: Happening) -> Iterator[Told]:
    """A node that autoheal restarts, where that is to be followed."""
    if tell.healed and is_healing(one):
        node = one.node or ""
        chosen = [other for other in tell.found if other.kind == "autoheal" and node in other.nodes
                  and 0 <= one.at_us - other.at_us <= JOINING_US]  # fmt: skip
        tell.doubt("healed", node=node, from_us=one.at_us)
        yield Told(one.at_us, verbs.Stop((node,)), (one, *chosen[-1:]))


def _is_healed(tell: Teller, last: Life) -> bool:
    """Whether a life ended in a restart that is told as steps."""
    return tell.healed and any(is_healing(one) and one.node == last.node and one.at_us == last.until_us
                               for one in tell.found)  # fmt: skip


def killed(tell: Teller, one: Happening) -> Iterator[Told]:
    """A kill; a node that fell silent lost its power as long before as others take to notice."""
    node = one.node or ""
    if one.reason == SILENCE:
        life = next(life for life in tell.lives if life.node == node and life.until_us == one.at_us)
        tell.doubt("silent_since", node=node, until_us=one.at_us)
        yield Told(max(life.seen_us, one.at_us - tell.silence_us), verbs.PowerOff((node,)), (one,))
        return
    if not any(event.peer == node for event in one.events):
        tell.doubt("end_unseen", node=node, from_us=one.at_us)
    if one.kind == "node_gone":
        tell.doubt("no_log", node=node)
    yield Told(one.at_us, verbs.Kill((node,)), (one,))


def started(tell: Teller, one: Happening) -> Iterator[Told]:
    """A boot of a node that was down, and not one that comes back by itself; on an empty disk, if it says so."""
    node, last = one.node or "", _last_end(tell, one)
    if last is None or (last.ended_by == "paused" and not _is_healed(tell, last)) or tell.joins(one):
        return
    begins_us = one.at_us
    if not tell.near("node_waiting", node, one.at_us, JOINING_US) and (took_us := booted_us(one)):
        begins_us = max((last.until_us or 0) + 1, one.at_us + took_us - tell.boot_us)
    disk = tell.near("disk_lost", node, one.at_us, TOGETHER_US * 3)
    if disk:
        yield Told(begins_us - 1, verbs.Wipe(node), (disk,))
    verb = verbs.ForceBoot(node) if _is_forced(tell, one) else verbs.Start((node,))
    yield Told(begins_us, verb, (one,))


def _is_forced(tell: Teller, one: Happening) -> bool:
    """Whether a node was made to boot without waiting: nobody else runs once it has booted, and somebody ran after it
    had gone, for whom Mnesia would have had it wait (`rabbit_table:wait`)."""
    ended, booted_at_us = _last_end(tell, one), one.until_us
    if tell.profile.khepri or booted_at_us is None or ended is None or ended.until_us is None:
        return False
    others = [life for life in tell.lives if life.node != one.node and life.from_us < booted_at_us]
    runs = any(life.until_us is None or life.until_us > booted_at_us for life in others)
    return not runs and any((life.until_us or 0) > ended.until_us for life in others)


def _last_end(tell: Teller, one: Happening) -> Life | None:
    """How the life of a node before a boot ended."""
    ended = [life for life in tell.lives if life.node == one.node and life.until_us and life.from_us < one.at_us]
    return ended[-1] if ended else None


def joined(tell: Teller, one: Happening) -> Iterator[Told]:
    """A node that joins, and may have lost its disk."""
    if tell.lost_disk(one):
        yield Told(one.at_us - 1, verbs.Wipe(one.node or ""), (one,))
    yield Told(one.at_us, verbs.Join(one.node or ""), (one,))


def parted(tell: Teller, one: Happening) -> Iterator[Told]:
    """Links that broke: between sides, or single ones."""
    at_us = one.at_us
    if one.reason == SILENCE:
        tell.doubt("silent_since", from_us=at_us - tell.silence_us, until_us=at_us)
        at_us -= tell.silence_us
    links = set(one.pairs)
    sides = sides_of(one.nodes, links)
    across = {(one, other) for some in sides for others in sides if some != others for one in some for other in others
              if one < other}  # fmt: skip
    if len(sides) > 1 and across == links:
        yield Told(at_us, verbs.Partition(tuple(sides)), (one,))
    else:
        yield Told(at_us, verbs.Cut(tuple(sorted(links))), (one,))


def sides_of(nodes: Sequence[str], links: set[tuple[str, str]]) -> list[tuple[str, ...]]:
    """The nodes in groups that still reach each other, if these links are broken."""
    sides: list[list[str]] = []
    for node in nodes:
        near = [side for side in sides if any((min(node, one), max(node, one)) not in links for one in side)]
        merged = sorted([node, *(one for side in near for one in side)])
        sides = [*(side for side in sides if side not in near), merged]
    return [tuple(side) for side in sorted(sides)]


def healed(_: Teller, one: Happening) -> Iterator[Told]:
    """Links that work again."""
    yield Told(one.at_us, verbs.Heal(), (one,))


def forgotten(_: Teller, one: Happening) -> Iterator[Told]:
    """A member that is forgotten."""
    yield Told(one.at_us, verbs.ForgetClusterNode(one.node or "", one.events[-1].node), (one,))


def reset(tell: Teller, one: Happening) -> Iterator[Told]:
    """A node that leaves, but for the reset of one that joins."""
    if not tell.near("node_joined", one.node, one.at_us, AT_ONCE_US):
        yield Told(one.at_us, verbs.Reset(one.node or ""), (one,))


def on_node(verb: Callable[[str], Verb]) -> Callable[[Teller, Happening], Iterator[Told]]:
    """What is done to a node."""

    def tell_it(_: Teller, one: Happening) -> Iterator[Told]:
        yield Told(one.at_us, verb(one.node or one.events[0].node), (one,))

    return tell_it


def member_added(_: Teller, one: Happening) -> Iterator[Told]:
    """A member of a quorum queue that was added."""
    yield Told(one.at_us, verbs.AddMember(one.queue or "", one.node or ""), (one,))


def member_removed(tell: Teller, one: Happening) -> Iterator[Told]:
    """A member of a quorum queue that was removed, but for those of a node that is forgotten."""
    if not any(other.kind == "node_forgotten" and other.node == one.node and 0 <= one.at_us - other.at_us <= JOINING_US
               for other in tell.found):  # fmt: skip
        yield Told(one.at_us, verbs.DeleteMember(one.queue or "", one.node or ""), (one,))


def declared(_: Teller, one: Happening) -> Iterator[Told]:
    """A quorum queue that was declared."""
    arguments = {"x-queue-type": "quorum", "x-quorum-initial-group-size": one.count or 1}
    yield Told(one.at_us, verbs.Declare(one.queue or "", one.events[0].node, arguments=arguments), (one,))


def deleted(_: Teller, one: Happening) -> Iterator[Told]:
    """A queue that was deleted."""
    yield Told(one.at_us, verbs.Delete(one.queue or ""), (one,))


def alarmed(_: Teller, one: Happening) -> Iterator[Told]:
    """An alarm that is set or over, but for those that end with their node."""
    verb = verbs.Alarm if one.kind == "alarm_set" else verbs.ClearAlarm
    if one.name in ("memory", "disk") and one.reason != "dead":
        yield Told(one.at_us, verb(one.node or "", one.name), (one,))


def policy_set(tell: Teller, one: Happening) -> Iterator[Told]:
    """A policy, which the log names but does not tell: the last one of a name is what definitions of after have."""
    name = one.name or ""
    later = any(other.kind == one.kind and other.name == name and other.at_us > one.at_us for other in tell.found)
    if not later and (policy := tell.later_policies.get(name)):
        yield Told(one.at_us, verbs.SetPolicy(**policy), (one,))
        return
    policy = tell.policies.get(name)
    if policy is None:
        tell.doubt("policy_unknown", name=one.name, from_us=one.at_us)
        return
    tell.doubt("policy_as_exported", name=one.name, from_us=one.at_us)
    yield Told(one.at_us, verbs.SetPolicy(**policy), (one,))


def moved(tell: Teller, one: Happening) -> Iterator[Told]:
    """A leader that was moved, and not by rebalancing or draining."""
    if not any(other.kind in ("rebalanced", "node_drained") and 0 <= one.at_us - other.at_us <= JOINING_US
               for other in tell.found):  # fmt: skip
        yield Told(one.at_us, verbs.TransferLeadership(one.queue or "", one.node or ""), (one,))


def taken_over(tell: Teller, one: Happening) -> Iterator[Told]:
    """The master's process that crashed: a mirror took over, and replicas miss one on a node that lived on, saw the
    others, and had not been told to give masters away."""
    told = [other for other in tell.found if other.kind == "mirrors_missed" and other.queue == one.queue
            and abs(other.at_us - one.at_us) <= AT_ONCE_US]  # fmt: skip
    missed = {node for other in told for node in other.nodes}
    before = [other for other in tell.found if 0 <= one.at_us - other.at_us <= GIVING_US]
    given = any(other.kind in GIVEN_AWAY or (other.kind == "mirror_dropped" and other.queue == one.queue)
                for other in before)  # fmt: skip
    gone = {life.node for life in tell.lives
            if life.until_us is not None and abs(one.at_us - life.until_us) <= GIVING_US}  # fmt: skip
    running = {life.node for life in tell.lives if life.from_us < one.at_us <= life.seen_us}
    if missed and not given and missed <= running - gone:
        yield Told(one.at_us, verbs.Crash(one.queue or ""), (one,))


def crashed(_: Teller, one: Happening) -> Iterator[Told]:
    """A queue's process that crashed."""
    yield Told(one.at_us, verbs.Crash(one.queue or "", one.node), (one,))


def synchronised(tell: Teller, one: Happening) -> Iterator[Told]:
    """A synchronisation that somebody asked for: without a policy that does it by itself."""
    queue = one.queue or ""
    if one.reason == "needless" or _automatic(tell, queue):
        return
    yield Told(one.at_us, verbs.SyncQueue(queue), (one,))
    if one.reason == "cancelled" and one.until_us:
        yield Told(one.until_us, verbs.CancelSyncQueue(queue), (one,))


def _automatic(tell: Teller, queue: str) -> bool:
    """Whether a policy has mirrors of a queue synchronised as they join."""
    decides = []
    for entries in (tell.policies.values(), tell.operator_policies):
        policies = [Policy.of(**entry) for entry in entries]
        found = matching(policies, *split_queue(queue), CLASSIC, tell.profile, declaring=False)
        decides.append(found[0] if found else None)
    return effective_definition(*decides).get("ha-sync-mode") == "automatic"


STEPS: dict[str, Callable[[Teller, Happening], Iterator[Told]]] = {
    "node_stopped": stopped,
    "node_paused": paused,
    "node_killed": killed,
    "node_gone": killed,
    "node_started": started,
    "node_drained": on_node(verbs.Drain),
    "node_revived": on_node(verbs.Revive),
    "node_joined": joined,
    "node_forgotten": forgotten,
    "node_reset": reset,
    "partition_begun": parted,
    "partition_healed": healed,
    "member_added": member_added,
    "member_removed": member_removed,
    "queue_shrunk": on_node(verbs.ForceShrink),
    "queue_declared": declared,
    "queue_deleted": deleted,
    "queue_moved": moved,
    "queue_restarted": crashed,
    "mirror_promoted": taken_over,
    "synchronisation": synchronised,
    "alarm_set": alarmed,
    "alarm_cleared": alarmed,
    "policy_set": policy_set,
    "rebalanced": on_node(lambda _: verbs.Rebalance()),
}
"""How each kind of happening becomes steps; others follow from the rules."""
