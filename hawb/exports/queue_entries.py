"""Join definitions and listings into the queues of a scenario.

Each oddity is kept with the queues that have it, so that a thousand queues make one note. A note names all queues that
are left out, but only the first few of those that are imported with a default in place of a fact.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from hawb.engine.core.naming import join_queue, split_queue
from hawb.engine.queues.lifecycle import is_known_type
from hawb.exports.definitions import DefinedQueue, Definitions, Key
from hawb.exports.listings import Listings
from hawb.exports.queue_rows import QueueFacts
from hawb.exports.untrusted import named, quoted, worded
from hawb.rules.profiles import Profile
from hawb.rules.queue_types import STREAM, TYPES

_MOST_NAMES = 20
_MOST_MESSAGES = 10**12
_MOST_BYTES = 2**40
_USUAL_STATES = {None, "running", "idle", "flow", "syncing"}
_DECLARED = {"type": "classic", "durable": True, "auto_delete": False, "arguments": {}}
_DEFAULTS = _DECLARED | {"unacknowledged": 0, "mirrors": [], "synchronised_mirrors": []}

_UNPLACED = "the files do not say where these queues are: hawb places them as if newly declared"
_MIRRORS_UNKNOWN = "the files do not list mirrors: imported without mirrors"
_SYNCHRONISED_UNKNOWN = "the files do not say which mirrors are synchronised: imported as unsynchronised"
_ONLINE_UNKNOWN = "the files do not say which members are online: imported as online if their node runs"
_UNACKNOWLEDGED_UNKNOWN = "the files do not say how many messages are unacknowledged: all are imported as ready"
_OUT_OF_USE = {"down", "crashed", "stopped", "minority", "noproc", "terminated"}
"""The states of queues that no client can use."""

UNLISTED = "in no listing: imported as empty, and placed as if newly declared"
UNCOUNTED = "the files do not say the depth: imported as empty"
"""The oddities (`UNLISTED`, `UNCOUNTED`) of queues whose number of messages no file has."""


class QueueEntries:
    """The queues of a scenario, by virtual host and name, as far as a release knows them."""

    def __init__(self, defined: Definitions, listed: Listings, profile: Profile) -> None:
        self.defined, self.listed, self.profile = defined, listed, profile
        self.left_out: dict[str, list[str]] = defaultdict(list)
        self.met: dict[str, list[str]] = defaultdict(list)
        self.odd_states: set[str] = set()
        entries = map(self._entry, sorted(defined.queues.keys() | listed.queues.keys()))
        self.entries: list[dict[str, Any]] = [entry for entry in entries if entry]

    def named_nodes(self) -> list[str]:
        """Return the nodes that entries name, each once."""
        nodes: dict[str, None] = {}
        for entry in self.entries:
            single = [entry[key] for key in ("master", "leader") if key in entry]
            several = [node for key in ("mirrors", "recoverable_mirrors", "members") for node in entry.get(key, ())]
            nodes |= dict.fromkeys([*single, *several])
        return list(nodes)

    def depths_unknown(self) -> frozenset[str]:
        """Return the queues whose number of messages no file has."""
        return frozenset(name for oddity in (UNLISTED, UNCOUNTED) for name in self.met.get(oddity, ()))

    def listed_down(self) -> dict[str, str]:
        """Return the queues that a listing has as unusable, each with its state."""
        states = ((join_queue(*key), facts.state) for key, facts in self.listed.queues.items())
        carried = {entry["queue"] for entry in self.entries}
        return {name: state for name, state in states if state in _OUT_OF_USE and name in carried}

    def unlisted(self) -> tuple[str, ...]:
        """Return the queues with an unknown placement, unknown running replicas or an unknown depth.

        These facts decide the outcome. Queues that are unusable already are left out.
        """
        needed = (UNLISTED, UNCOUNTED, _UNPLACED, _SYNCHRONISED_UNKNOWN, _ONLINE_UNKNOWN, *self.odd_states)
        names = {name for oddity in needed for name in self.met.get(oddity, ())}
        if any("ha-mode" in policy["definition"] for policy in self.defined.policies.values()):
            names |= {*self.met.get(_MIRRORS_UNKNOWN, ())}
        return tuple(sorted(names - self.listed_down().keys()))

    def complete(self) -> bool:
        """Return False if listings are known to lack queues: there are more pages, or the cluster counts more."""
        known = len(self.defined.queues.keys() | self.listed.queues.keys())
        return self.listed.pages_read >= self.listed.pages and (self.listed.queue_total or 0) <= known

    def notes(self) -> Iterator[str]:
        """Yield the oddities, one line each."""
        for reason, names in self.left_out.items():
            yield f"queues left out, {reason}: {named(names)}"
        for oddity, names in self.met.items():
            everyone = f"all {len(names)}" if len(names) == len(self.entries) > 1 else named(names, _MOST_NAMES)
            yield f"queues {everyone}: {oddity}"
        for (fact, file), names in self.listed.overruled.items():
            yield f"queues {named(names, _MOST_NAMES)}: {file} overrules an earlier listing on {fact}"
        counted, known = self.listed.queue_total, len(self.defined.queues.keys() | self.listed.queues.keys())
        if counted not in (None, known):
            yield f"the cluster reports {counted} queues, but the files name {known}"

    def _entry(self, key: Key) -> dict[str, Any] | None:
        queue, facts, name = self.defined.queues.get(key), self.listed.queues.get(key), join_queue(*key)
        entry = {"queue": name, **self._declared(name, queue, facts)}
        if reason := _not_carried(key, name, entry["type"], facts, self.profile):
            self.left_out[reason].append("::".join(key))
            return None
        if facts is None:
            self.met[UNLISTED].append(name)
            entry["messages"] = 0
        else:
            self._compare(key, name, queue, facts)
            entry |= self._depth(name, facts)
            classic = entry["type"] == "classic"
            entry |= self._mirrors(name, facts, entry) if classic else self._members(name, facts)
        if entry["type"] == STREAM:
            # Messages that a consumer has not acknowledged stay in a stream like all others.
            entry["unacknowledged"] = 0
        return {part: value for part, value in entry.items() if part not in _DEFAULTS or value != _DEFAULTS[part]}

    def _declared(self, name: str, queue: DefinedQueue | None, facts: QueueFacts | None) -> dict[str, Any]:
        declared = {}
        for part, default in _DECLARED.items():
            defined, listed = getattr(queue, part, None), getattr(facts, part, None)
            if defined is None and listed is None:
                self.met[f"the files do not say {part}: imported as {default!r}"].append(name)
            elif defined is not None and listed not in (None, defined):
                self.met[f"{part} differs between listing and definitions: the listing is used"].append(name)
            known = defined if listed is None else listed
            declared[part] = default if known is None else known
        return declared

    def _compare(self, key: Key, name: str, queue: DefinedQueue | None, facts: QueueFacts) -> None:
        """Note what a scenario cannot hold about a queue's state and the policies in force."""
        if queue is None:
            self.met["not in the definitions: imported from a listing"].append(name)
        if facts.state not in _USUAL_STATES:
            oddity = f"in state {worded(facts.state)}: not imported"
            self.met[oddity].append(name)
            self.odd_states.add(oddity)
        for kind, policy, table in (
            ("policy", facts.policy, self.defined.policies),
            ("operator policy", facts.operator_policy, self.defined.operator_policies),
        ):
            if policy and (key[0], policy) not in table:
                self.met[f"under {kind} {quoted(policy)}, which the definitions do not contain"].append(name)

    def _depth(self, name: str, facts: QueueFacts) -> dict[str, int]:
        total, ready, unacknowledged = facts.messages, facts.ready, facts.unacknowledged
        if ready is not None and unacknowledged is not None:
            total = ready + unacknowledged
        elif total is None:
            total = ready
        if total is None:
            self.met[UNCOUNTED].append(name)
            return {"messages": 0}
        if unacknowledged is None:
            unacknowledged = 0
            if total:
                self.met[_UNACKNOWLEDGED_UNKNOWN].append(name)
        if unacknowledged > total or total > _MOST_MESSAGES or facts.messages not in (None, total):
            self.met["the counts of messages contradict each other: the ready and unacknowledged counts are"
                     " used"].append(name)
            total = min(max(total, unacknowledged), _MOST_MESSAGES)
        depth = {"messages": total, "unacknowledged": unacknowledged}
        size = round(facts.message_bytes / total) if total and facts.message_bytes is not None else None
        if size is not None and size <= _MOST_BYTES:
            depth["size"] = size
        elif total:
            self.met["the files do not say the message size: the default is used"].append(name)
        return depth

    def _mirrors(self, name: str, facts: QueueFacts, entry: dict[str, Any]) -> dict[str, Any]:
        if facts.node is None:
            self.met[_UNPLACED].append(name)
            return {}
        if facts.mirrors is None and self.profile.mirroring:
            self.met[_MIRRORS_UNKNOWN].append(name)
        listed = facts.mirrors or []
        mirrors = [node for node in listed if node != facts.node]
        synchronised = [node for node in facts.synchronised or () if node in mirrors]
        if len(mirrors) < len(listed) or len(synchronised) < len(facts.synchronised or ()):
            self.met["the files contradict each other about mirrors: only the mirrors that all of them list are"
                     " imported"].append(name)
        if mirrors and facts.synchronised is None:
            self.met[_SYNCHRONISED_UNKNOWN].append(name)
        place = {"master": facts.node, "mirrors": mirrors, "synchronised_mirrors": synchronised}
        if facts.recoverable:
            place["recoverable_mirrors"] = facts.recoverable
        elif facts.recoverable is None and mirrors and entry["durable"]:
            self.met["the files do not list recoverable mirrors: they follow from the rules"].append(name)
        return place

    def _members(self, name: str, facts: QueueFacts) -> dict[str, Any]:
        if not facts.members:
            self.met[_UNPLACED].append(name)
            return {}
        place: dict[str, Any] = {"members": facts.members}
        if facts.online is None:
            self.met[_ONLINE_UNKNOWN].append(name)
        if stopped := facts.stopped(self.listed.nodes):
            place["stopped_members"] = stopped
        leader = facts.leader or facts.node
        if leader in facts.members and leader not in stopped:
            place["leader"] = leader
        else:
            self.met["the files do not name a leader: imported without one"].append(name)
        for node in facts.offline():
            if not self.listed.nodes:
                self.met[f"the member on {quoted(node)} is not online: not imported"].append(name)
        return place


def _not_carried(key: Key, name: str, kind: str, facts: QueueFacts | None, profile: Profile) -> str | None:
    """Return the reason why a scenario cannot hold a queue; None if it can."""
    if not is_known_type(kind, profile):
        known = kind in TYPES
        return f"of type {worded(kind)}" + (f", which RabbitMQ {profile.release} does not have" if known else "")
    if facts is not None and facts.exclusive:
        return "exclusive to a connection"
    return None if split_queue(name) == key else "their virtual host has :: in its name"
