"""What the steps of a retold story are made with: what happened, and what follows from it for each node.

What was noticed late is known by it: how long a link is silent until it is missed, how long a boot and a stop take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from hawb.incident.absences import GONE, SILENCE
from hawb.incident.doubts import Doubt
from hawb.incident.happening import Happening, is_healing
from hawb.incident.lives import Life, is_booting
from hawb.planning.inventory import NET_TICKTIME_S
from hawb.rules.profiles import PROFILES
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.forms import Verb

JOINING_US = 90_000_000
"""How long after its joining a node boots for it, at most; and how long after a member is forgotten its queues are."""
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
    """What steps are made with: the story, what exports of after it have (`later`: policies, and queues with their
    arguments), and what is doubtful about it. With `healed` the restarts of autoheal are steps, as the logs have them,
    and are not left to the rules."""

    def __init__(
        self, found: Sequence[Happening], lives: Sequence[Life], imported: dict[str, Any],
        later: dict[str, Any] | None = None, healed: bool = False,
    ):  # fmt: skip
        self.found, self.lives, self.healed = found, lives, healed
        self.silence_us = _silence_us(found, imported["cluster"].get("net_ticktime"))
        self.policies = {policy["name"]: policy for policy in imported["policies"]}
        self.later_policies = {policy["name"]: policy for policy in (later or {}).get("policies", ())}
        self.later_arguments = {entry["queue"]: entry.get("arguments", {}) for entry in (later or {}).get("queues", ())}
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

    def last_of(self, kind: str, one: Happening, since: Happening | None = None) -> Happening | None:
        """The last time that something happened to a node before something else did."""
        found = (other for other in self.found if other.kind == kind and other.node == one.node
                 and (since.at_us if since else 0) <= other.at_us <= one.at_us)  # fmt: skip
        return max(found, key=lambda other: other.at_us, default=None)

    def joins(self, one: Happening) -> bool:
        """Whether what happens to a node is a part of its joining: a new one boots and stops for it, or one that was
        reset, and then it boots, once."""
        for other in self.found:
            if other.kind == "node_joined" and other.node == one.node and one.at_us <= self.booted_by_us(other):
                before = [life for life in self.lives if life.node == one.node and life.from_us < other.at_us]
                resets = [reset.at_us for reset in self.found if reset.kind == "node_reset" and reset.node == one.node
                          and reset.at_us <= other.at_us]  # fmt: skip
                new = len(before) == 1 and before[0].first.kind == "node_starting"
                empty = self.lost_disk(other)
                from_us = before[0].from_us if new else max([*resets, *([empty] if empty else [])], default=other.at_us)
                if one.at_us >= from_us:
                    return True
        return False

    def booted_by_us(self, joined: Happening) -> int:
        """When a node boots that has joined, or would at the latest."""
        boots = (one.at_us for one in self.found if one.kind == "node_started" and one.node == joined.node
                 and joined.at_us <= one.at_us <= joined.at_us + JOINING_US)  # fmt: skip
        return next(boots, joined.at_us + JOINING_US)

    def lost_disk(self, joined: Happening) -> int | None:
        """When a node that joins booted on an empty disk, though it had been a member."""
        disks = [one.at_us for one in self.found if one.kind == "disk_lost" and one.node == joined.node
                 and 0 <= joined.at_us - one.at_us <= JOINING_US]  # fmt: skip
        boots = [one.at_us for one in self.found if one.kind == "node_started" and one.node == joined.node
                 and disks and one.at_us <= disks[-1]]  # fmt: skip
        return boots[-1] if boots else None

    def boots_still(self, one: Happening) -> bool:
        """Whether a node still boots as its log ends, waits for nobody, and has told nobody that it runs."""
        booting = any(is_booting(life) for life in self.lives if life.node == one.node and life.from_us == one.at_us)
        waits = any(other.kind == "node_waiting" and other.node == one.node and other.at_us >= one.at_us
                    for other in self.found)  # fmt: skip
        return booting and not waits and not any(event.kind == "rabbit_up" for event in one.events)

    def last_end(self, one: Happening) -> Life | None:
        """How the life of a node before something that happened to it ended."""
        ended = [life for life in self.lives if life.node == one.node and life.until_us and life.from_us < one.at_us]
        return ended[-1] if ended else None

    def is_healed(self, last: Life) -> bool:
        """Whether a life ended in a restart by autoheal that is told as steps."""
        return self.healed and any(is_healing(one) and one.node == last.node and one.at_us == last.until_us
                                   for one in self.found)  # fmt: skip

    def is_forced(self, started: Happening) -> bool:
        """Whether a node was made to boot without waiting: nobody else runs once it has booted, and somebody ran after
        it had gone, for whom Mnesia would have had it wait (`rabbit_table:wait`)."""
        ended, booted_at_us = self.last_end(started), started.until_us
        if self.profile.khepri or booted_at_us is None or ended is None or ended.until_us is None:
            return False
        others = [life for life in self.lives if life.node != started.node and life.from_us < booted_at_us
                  and life.ended_by != "failed"]  # fmt: skip
        runs = any(life.until_us is None or life.until_us > booted_at_us for life in others)
        return not runs and any((life.until_us or 0) > ended.until_us for life in others)

    def left(self, forgotten: Happening) -> bool:
        """Whether a node that others say they forgot had left by itself, being reset: quorum queues go on counting on
        their members there, which it misses once it has joined again."""
        return any(one.kind == "member_anew" and one.node == forgotten.node and one.at_us > forgotten.at_us
                   for one in self.found)  # fmt: skip

    def forgotten_how(self, joined: Happening) -> Happening | Literal["reset"]:
        """How the cluster came to know a node no more that joins it with an empty disk: by the happening that was seen;
        offline, before another node booted that would have had to wait for it; or, since nobody tells, by a reset."""
        empty_us = self.lost_disk(joined) or joined.at_us
        ended_us = max((life.until_us or 0 for life in self.lives
                        if life.node == joined.node and life.from_us < empty_us), default=0)  # fmt: skip
        since = [one for one in self.found if ended_us <= one.at_us <= joined.at_us]
        told = [one for one in since if one.kind in ("node_forgotten", "node_reset") and one.node == joined.node
                and not self.left(one)]  # fmt: skip
        forced = [one for one in since if one.kind == "node_started" and one.node != joined.node
                  and self.is_forced(one)]  # fmt: skip
        return next(iter([*told, *forced]), "reset")

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
