"""The context in which steps of a scenario are made: what happened, and what follows for each node.

It knows the delays of late detection: how long a link is silent until it is detected, how long a boot and a stop take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from hawb.incident.absences import GONE, SILENCE
from hawb.incident.cluster_event import ClusterEvent, is_healing
from hawb.incident.doubts import Doubt
from hawb.incident.node_runs import NodeRun, is_booting
from hawb.planning.inventory import NET_TICKTIME_S
from hawb.rules.profiles import PROFILES
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.fields import Verb

JOINING_US = 90_000_000
"""Maximum time from joining to the node's boot for it, and from removing a node to removing its members."""
AT_ONCE_US = 3_000_000
"""Maximum time from a reset to the joining that it is for."""
START_S, STOP_S = 5.0, 1.0
"""Maximum duration of a boot and of a stop; anything longer is waiting."""


class TimedStep(NamedTuple):
    """A step with its time, its verb and the log messages that it was made from, not yet in order."""

    at_us: int
    verb: Verb
    source: tuple[ClusterEvent, ...]


class StepContext:
    """The context in which steps are made.

    It holds the events, the contents of later exports (`later`: policies, and queues with their arguments), and the
    doubts. With `healed`, restarts by autoheal are steps, as the logs have them, and are not left to the rules.
    """

    def __init__(
        self, found: Sequence[ClusterEvent], node_runs: Sequence[NodeRun], imported: dict[str, Any],
        later: dict[str, Any] | None = None, healed: bool = False,
    ):  # fmt: skip
        self.found, self.node_runs, self.healed = found, node_runs, healed
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

    def _boots(self) -> Iterator[ClusterEvent]:
        waited = {one.node for one in self.found if one.kind == "node_waiting"}
        return (one for one in self.found if one.kind == "node_started" and one.node not in waited and booted_us(one))

    def near(self, kind: str, node: str | None, at_us: int, within_us: int) -> ClusterEvent | None:
        """Return an event of that kind on a node, at most `within_us` before or after a time; None if there is none."""
        return next((one for one in self.found if one.kind == kind and one.node == node
                     and abs(one.at_us - at_us) <= within_us), None)  # fmt: skip

    def last_of(self, kind: str, one: ClusterEvent, since: ClusterEvent | None = None) -> ClusterEvent | None:
        """Return the last event of a kind to a node before another event, or None."""
        found = (other for other in self.found if other.kind == kind and other.node == one.node
                 and (since.at_us if since else 0) <= other.at_us <= one.at_us)  # fmt: skip
        return max(found, key=lambda other: other.at_us, default=None)

    def joins(self, one: ClusterEvent) -> bool:
        """Return True if a boot or stop is a part of `join_cluster`.

        A new node stops and boots while it joins; a node that was reset boots once.
        """
        for other in self.found:
            if other.kind == "node_joined" and other.node == one.node and one.at_us <= self.booted_by_us(other):
                before = [run for run in self.node_runs if run.node == one.node and run.from_us < other.at_us]
                resets = [reset.at_us for reset in self.found if reset.kind == "node_reset" and reset.node == one.node
                          and reset.at_us <= other.at_us]  # fmt: skip
                new = len(before) == 1 and before[0].first.kind == "node_starting"
                empty = self.lost_disk(other)
                from_us = before[0].from_us if new else max([*resets, *([empty] if empty else [])], default=other.at_us)
                if one.at_us >= from_us:
                    return True
        return False

    def booted_by_us(self, joined: ClusterEvent) -> int:
        """Return when a node that has joined boots, or would at the latest."""
        boots = (one.at_us for one in self.found if one.kind == "node_started" and one.node == joined.node
                 and joined.at_us <= one.at_us <= joined.at_us + JOINING_US)  # fmt: skip
        return next(boots, joined.at_us + JOINING_US)

    def lost_disk(self, joined: ClusterEvent) -> int | None:
        """Return when a node that joins booted on an empty disk though it had been a cluster member, or None."""
        disks = [one.at_us for one in self.found if one.kind == "disk_lost" and one.node == joined.node
                 and 0 <= joined.at_us - one.at_us <= JOINING_US]  # fmt: skip
        boots = [one.at_us for one in self.found if one.kind == "node_started" and one.node == joined.node
                 and disks and one.at_us <= disks[-1]]  # fmt: skip
        return boots[-1] if boots else None

    def boots_still(self, one: ClusterEvent) -> bool:
        """Return True if a node still boots as its log ends, waits for no node, and no node has seen it running."""
        booting = any(is_booting(run) for run in self.node_runs if run.node == one.node and run.from_us == one.at_us)
        waits = any(other.kind == "node_waiting" and other.node == one.node and other.at_us >= one.at_us
                    for other in self.found)  # fmt: skip
        return booting and not waits and not any(event.kind == "rabbit_up" for event in one.events)

    def last_end(self, one: ClusterEvent) -> NodeRun | None:
        """Return the last run of a node that ended before an event, or None."""
        ended = [run for run in self.node_runs if run.node == one.node and run.until_us and run.from_us < one.at_us]
        return ended[-1] if ended else None

    def is_healed(self, last: NodeRun) -> bool:
        """Return True if a node's run ended in a restart by autoheal that is a step of the scenario."""
        return self.healed and any(is_healing(one) and one.node == last.node and one.at_us == last.until_us
                                   for one in self.found)  # fmt: skip

    def is_forced(self, started: ClusterEvent) -> bool:
        """Return True if a node was forced to boot: it booted alone where Mnesia would have made it wait.

        That is so if no other node ran once it had booted, although one ran after it had stopped (`rabbit_table:wait`).
        """
        ended, booted_at_us = self.last_end(started), started.until_us
        if self.profile.khepri or booted_at_us is None or ended is None or ended.until_us is None:
            return False
        others = [run for run in self.node_runs if run.node != started.node and run.from_us < booted_at_us
                  and run.ended_by != "failed"]  # fmt: skip
        runs = any(run.until_us is None or run.until_us > booted_at_us for run in others)
        return not runs and any((run.until_us or 0) > ended.until_us for run in others)

    def left(self, forgotten: ClusterEvent) -> bool:
        """Return True if a node that others report as removed had left by itself, by a reset.

        Quorum queues then still count on their members there, which are missing once it has joined again.
        """
        return any(one.kind == "member_anew" and one.node == forgotten.node and one.at_us > forgotten.at_us
                   for one in self.found)  # fmt: skip

    def forgotten_how(self, joined: ClusterEvent) -> ClusterEvent | Literal["reset"]:
        """Return how a node that joins with an empty disk had been removed from the cluster.

        Return the removal that the logs show. If they show none, return an offline removal if another node booted that
        would have had to wait for the node, else a reset.
        """
        empty_us = self.lost_disk(joined) or joined.at_us
        ended_us = max((run.until_us or 0 for run in self.node_runs
                        if run.node == joined.node and run.from_us < empty_us), default=0)  # fmt: skip
        since = [one for one in self.found if ended_us <= one.at_us <= joined.at_us]
        removals = [one for one in since if one.kind in ("node_forgotten", "node_reset") and one.node == joined.node
                and not self.left(one)]  # fmt: skip
        forced = [one for one in since if one.kind == "node_started" and one.node != joined.node
                  and self.is_forced(one)]  # fmt: skip
        return next(iter([*removals, *forced]), "reset")

    def doubt(self, kind: str, **about: Any) -> None:
        """Record an assumption."""
        self.doubts.append(Doubt(kind=kind, **about))


def _silence_us(found: Sequence[ClusterEvent], net_ticktime_s: float | None) -> int:
    """Return how long a link is silent before it is detected, in microseconds.

    If no file says, it is Erlang's default, but at most the time since the ends of a link last had contact.
    """
    if net_ticktime_s is not None:
        return round(net_ticktime_s * MICROSECONDS)
    silent = [one for one in found if one.kind == "partition_begun" and one.reason == SILENCE]
    since = [one.at_us - touched for one in silent if (touched := in_touch_us(found, one)) is not None]
    return min([round(NET_TICKTIME_S * MICROSECONDS), *since])


def in_touch_us(found: Sequence[ClusterEvent], apart: ClusterEvent) -> int | None:
    """Return when the ends of broken links last logged that they were connected; None if they never did.

    Such a message says that the other node came up, has a mirror, or leads a queue.
    """
    before = (one for one in found if one.at_us < apart.at_us - AT_ONCE_US)
    contacts = ((one.at_us, event) for one in before for event in one.events if event.peer and event.kind not in GONE)
    return max((at_us for at_us, event in contacts if tuple(sorted((event.node, event.peer or ""))) in apart.pairs),
               default=None)  # fmt: skip


def booted_us(started: ClusterEvent) -> int:
    """Return how long a boot took until other nodes saw it, in microseconds; 0 if none did."""
    up = [event.at_us for event in started.events if event.kind == "rabbit_up"]
    seen = [*up[:1], *([started.until_us] if started.until_us else [])]
    return max(0, min(seen) - started.at_us) if seen else 0
