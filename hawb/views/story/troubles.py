"""Explain why something cannot be used at the end of an outcome, line by line, each cause before its effects.

The headline names what cannot be used: queues that are down, without a majority, blocked or disputed, messages that no
queue took, metadata that cannot be changed, and alarms. Each has its event; the causes of that event come with it, and
for a group without a majority the event with which each missing member went down.
"""

from __future__ import annotations

from collections.abc import Iterator

from hawb.languages import N_, _
from hawb.scenario.outcome import late_consumers
from hawb.views.formatting import LISTED, paragraph, shown
from hawb.views.story.chronicle import Chronicle, causes_first
from hawb.views.story.headline import commits_nothing, is_closed
from hawb.views.story.losses import NO_SUCCESSOR, setting
from hawb.views.story.telling import at

OUT_OF_USE = {
    "down": ("queue_down", "master_down"),
    "minority": ("queue_unavailable",),
    "syncing": ("sync_started",),
}
"""The events that make a queue unusable, by its state."""

NODE_GONE = (
    "node_killed", "node_lost_power", "node_stopping", "node_paused", "node_gave_up", "node_boot_refused", "disk_lost",
    "node_reset",
)  # fmt: skip
"""The events after which a node does not run."""

DRAINED = ("node_drained",)
"""The events after which a node that runs has no members of quorum queues."""

NONE_TOOK_OVER = {
    "promotion_refused": (
        "ha-promote-on-failure", N_("No mirror was synchronised, and {setting}, so none took over."),
    ),
    "mirrors_stopped": (
        "ha-promote-on-shutdown", N_("No mirror was synchronised, and {setting}, so the master stopped all mirrors."),
    ),
}  # fmt: skip
"""The setting that prevented a promotion, by the reason of `queue_down`."""

FROM_THE_START = N_("{queue} has been out of use since the start of the story. The story does not say why.")


def why_in_trouble(chronicle: Chronicle) -> list[str]:
    """Return a line for each event that led to something unusable, in order; an empty list if all is usable."""
    places: set[int] = set()
    unexplained = []
    for queue, found in troubles(chronicle):
        if found:
            places |= {one for place in found for one in places_of_causes(chronicle.events, place)}
        elif queue:
            unexplained.append(_(FROM_THE_START, queue=shown(queue)))
    return unexplained + [_line(chronicle, place) for place in sorted(places, key=causes_first(chronicle.events))]


def troubles(chronicle: Chronicle) -> Iterator[tuple[str, list[int]]]:
    """Yield each unusable thing (a queue's name, or "") with the places of the events that made it unusable."""
    outcome, troubles = chronicle.outcome, dict.fromkeys(OUT_OF_USE, 0)
    queues = outcome["queues"] | outcome.get("queues_elsewhere", {})
    for name, queue in queues.items():
        state = "minority" if commits_nothing(queue) else queue["state"]
        if state in troubles and troubles[state] < LISTED:  # the headline names no more
            troubles[state] += 1
            members = queue.get("members", ())
            missing = [node for node in members if node not in queue.get("online", members)]
            yield name, _last(chronicle, OUT_OF_USE[state], name) + _gone(chronicle, missing)
    store = outcome.get("metadata_store")
    if store and not store["writable_from"]:
        yield "", _last(chronicle, ("metadata_unavailable",), None) + _gone(chronicle, [
            node for node in store["members"] if outcome["nodes"].get(node) != "running"
        ])
    if any("views" in queue for queue in queues.values()):
        yield "", _last(chronicle, ("cluster_partitioned", "links_timed_out"), None)
    for alarm in outcome.get("alarms", ()):
        places = chronicle.places(("alarm_set",), None)
        set_ = [place for place in places if _is_alarm(chronicle.events[place], alarm)]
        yield "", set_[-1:]
    timeouts = [place for place, event in enumerate(chronicle.events) if event["event"] == "channel_timed_out"]
    for name in late_consumers(outcome):
        if is_closed(outcome, name):
            yield "", [place for place in timeouts if chronicle.events[place]["detail"]["consumer"] == name][-1:]
    for name, account in outcome["ledger"].items():
        if account["refused"]:
            yield "", _last(chronicle, ("messages_refused",), name)


def _is_alarm(event: dict, alarm: dict) -> bool:
    return (event["node"], event["detail"]["resource"]) == (alarm["node"], alarm["resource"])


def _last(chronicle: Chronicle, names: tuple[str, ...], queue: str | None) -> list[int]:
    """Return the place of the last event with one of these names about a queue, or about no queue, as a list."""
    return chronicle.places(names, queue)[-1:]


def _gone(chronicle: Chronicle, nodes: list[str]) -> list[int]:
    """Return the places of the events with which nodes went down, or were drained if they still run."""
    found = []
    for node in nodes:
        names = DRAINED if chronicle.outcome["nodes"].get(node) == "running" else NODE_GONE
        places = chronicle.places(names, None)
        found += [place for place in places if chronicle.events[place]["node"] == node][-1:]
    return found


def places_of_causes(events: list[dict], place: int | None) -> Iterator[int]:
    """Yield the place of an event and of its causes.

    Leave out failure detections that reached no node, and mirrors that the master stopped, which the line of
    `queue_down` mentions.
    """
    while place is not None:
        event = events[place]
        if event["detail"].get("by") != [] and event["event"] != "mirrors_stopped":
            yield place
        place = event.get("because")


def _line(chronicle: Chronicle, place: int) -> str:
    """Return an event's sentence with its time and, if no mirror was promoted, with the setting that decided this."""
    event = chronicle.events[place]
    reason = event["detail"].get("reason") if event["event"] == "queue_down" else None
    if reason not in NONE_TOOK_OVER:
        return at(event)
    key, words = NONE_TOOK_OVER[reason]
    said = setting(chronicle, event["queue"], place, key)
    return paragraph([at(event), _(NO_SUCCESSOR[reason]) if said is None else _(words, setting=said)])
