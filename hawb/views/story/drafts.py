"""Drafts of sentences: group the events of a story that share one sentence.

An event that always follows from another (a confirm, the immediate synchronisation of a mirror of an empty queue)
shares the sentence of that event. Events that happen to several queues at the same time for the same reason share one
sentence about all these queues.

Earlier events alone decide whether an event gets its own sentence. So the drafts of a story, truncated at any event,
equal the drafts of the story that ends there, and a reader can move through a story without new drafts.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import itemgetter

Draft = list[int]
"""The places of the events that share a sentence; the first event is its subject."""

FIRST_TERM = 1
"""The term of the election that is part of a quorum queue's declaration."""

NOTICED_AT_ONCE_S = 1.0
"""A failure detection within this time of a node's end needs no sentence of its own."""

POLICY_APPLIED = ("policy_applied", "operator_policy_applied")
SHARED = (
    *("mirror_added", "mirror_removed", "mirror_synchronised", "master_down", *POLICY_APPLIED),
    *("leader_elected", "queue_unavailable", "queue_available", "member_added", "member_removed"),
)
"""Events that share one sentence about all queues to which they happen at the same time with the same details."""


class Drafts:
    """The drafts of the last story; the next story reuses the drafts of the events that both begin with."""

    def __init__(self) -> None:
        self._events: list[dict] = []
        self._drafts: list[Draft] = []
        self._open: dict[tuple, Draft] = {}
        self._joined: list[tuple[Draft, dict[tuple, Draft | None]]] = []
        """For each event: the draft that it joined, and the previous value of each key of `_open` that it set."""

    def of(self, events: list[dict], latest: int | None = None) -> list[Draft]:
        """Return the drafts of a story's events, or only the last `latest` drafts."""
        self._follow(events)
        until = bisect_left(self._drafts, len(events), key=itemgetter(0))
        since = 0 if latest is None else max(until - latest, 0)
        return [draft[: bisect_left(draft, len(events))] for draft in self._drafts[since:until]]

    def _follow(self, events: list[dict]) -> None:
        common = _alike(events, self._events)
        if common == len(events):
            return
        while len(self._joined) > common:
            self._take_back()
        for index in range(common, len(events)):
            self._add(events, index)
        self._events = events

    def _add(self, events: list[dict], index: int) -> None:
        event = events[index]
        draft = self._open.get(_follows_from(event)) or self._open.get(_shared(event, index))
        opened = _brings(event)
        if draft is None or not _joins(event, events[draft[0]]):
            draft = []
            self._drafts.append(draft)
            opened.append(_shared(event, index))
        draft.append(index)
        self._joined.append((draft, {key: self._open.get(key) for key in opened}))
        self._open |= dict.fromkeys(opened, draft)

    def _take_back(self) -> None:
        draft, before = self._joined.pop()
        self._open |= before
        draft.pop()
        if not draft:
            self._drafts.pop()


def _alike(events: list[dict], others: list[dict]) -> int:
    """Return the number of leading events that two stories share."""
    shortest = min(len(events), len(others))
    if events[:shortest] == others[:shortest]:
        return shortest
    return next(index for index in range(shortest) if events[index] != others[index])


def _shared(event: dict, index: int) -> tuple:
    """Return a key that is equal for events that share one sentence about several queues.

    An event with its own content gets a unique key.
    """
    if event["event"] in SHARED:
        return (event["event"], event["node"], event["t"], event["step"], *map(str, event["detail"].values()))
    return (index,)


def _brings(event: dict) -> list[tuple]:
    """Return the keys of the events that always follow from this one."""
    detail, queue, node = event["detail"], event["queue"], event["node"]
    match event["event"]:
        case "messages_published":
            return [("confirmed", queue, str(detail["ids"]))]
        case "node_killed" | "node_stopping" | "node_lost_power" | "node_pausing":
            return [("gone", node)]
        case "queue_declared":
            led = [("led", queue, node, FIRST_TERM)] if "members" in detail else []
            return [*led, *(("synchronised", queue, mirror, "joined") for mirror in detail["mirrors"])]
        case "leader_elected":
            return [("available", queue, node, event["t"])]
        case "mirror_added":
            return [("synchronised", queue, node, "joined")]
        case "sync_finished":
            return [("synchronised", queue, mirror, "synchronisation") for mirror in detail["mirrors"]]
    return []


def _follows_from(event: dict) -> tuple | None:
    """Return the key of the event from which this event always follows; None if there is no such event."""
    detail, queue, node = event["detail"], event["queue"], event["node"]
    match event["event"]:
        case "messages_confirmed":
            return ("confirmed", queue, str(detail["ids"]))
        case "node_stopped" | "node_down_noticed":
            return ("gone", node)
        case "mirror_synchronised":
            return ("synchronised", queue, node, detail["how"])
        case "leader_elected":
            return ("led", queue, node, detail["term"])
        case "queue_available":
            return ("available", queue, node, event["t"])
    return None


def _joins(event: dict, first: dict) -> bool:
    """Return True if an event needs no sentence of its own in a draft that begins with `first`."""
    if event["event"] != "node_down_noticed":
        return True
    return not event["detail"]["by"] or event["t"] - first["t"] <= NOTICED_AT_ONCE_S


