"""The headline of an outcome with its tone, and the reasons: causes of losses, of unusable queues and of promotions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from hawb.languages import _
from hawb.views.formatting import listing, sentence, shown
from hawb.views.story import chain
from hawb.views.story.chronicle import Chronicle, noticed
from hawb.views.story.headline import headline
from hawb.views.story.losses import parts
from hawb.views.story.telling import at
from hawb.views.story.troubles import why_in_trouble
from hawb.views.story.why import why_lost

LOST, HARMED, WELL = "lost", "harmed", "well"
"""The tones of a headline.

LOST: messages are lost. HARMED: no queue took some messages, something is unusable, or a decisive failure is not
detected yet. WELL: neither.
"""

MOST_REASONS = 4

NOTABLE = (
    "queue_down", "queue_unavailable", "metadata_unavailable", "promoted", "leader_elected", "node_waiting",
    "node_paused", "cluster_partitioned", "links_cut", "sync_started", "mirror_removed", "alarm_set", "node_killed",
    "node_lost_power", "node_stopped", "messages_refused", "messages_nacked", "channel_timed_out",
)  # fmt: skip
"""The events that need a reason, the most important first."""


def toned_headline(outcome: dict) -> dict:
    """Return the headline of an outcome as a sentence, `text`, and its `tone`."""
    head = headline(outcome)
    harmed = head.untaken.count or head.trouble or head.disputed or head.unnoticed
    tone = LOST if head.lost.count else HARMED if harmed else WELL
    return {"tone": tone, "text": _("{words}.", words=_begun(head.text(), outcome))}


def _begun(text: str, outcome: dict) -> str:
    """Return text with a capital first letter, unless it begins with a name."""
    names = {shown(name) for name in (*outcome["queues"], *outcome["ledger"], *outcome["consumers"])}
    return text if text.partition(" ")[0].rstrip(",:;") in names else sentence(text)


def reasons(outcome: dict) -> list[str]:
    """Return the reasons for the headline, each cause before its effects.

    First come paragraphs for the last losses, newest first, then the events that made queues unusable. If nothing is
    lost or unusable, return the causes of the most important event of the last step.
    """
    chronicle, events = Chronicle(outcome), outcome["events"]
    lost = (cause for loss in reversed(outcome["losses"]) for cause in why_lost(chronicle, loss))
    listed = [*islice(lost, MOST_REASONS), *why_in_trouble(chronicle)]
    place = None if listed else _decisive(events)
    return listed if place is None else causes(events, events[place])


def chains(outcome: dict) -> list[list[chain.Link]]:
    """Return the chains of causes that belong to the first of the `reasons`, in their order.

    Each paragraph on a loss has its own; where nothing is lost, one chain belongs to all reasons. A chain may be empty.
    """
    chronicle, events = Chronicle(outcome), outcome["events"]
    lost = ((loss, part) for loss in reversed(outcome["losses"]) for part in parts(chronicle, loss))
    if found := [chain.of_loss(chronicle, loss, part) for loss, part in islice(lost, MOST_REASONS)]:
        return found
    place = _decisive(events)
    is_well = place is not None and not why_in_trouble(chronicle)
    links = chain.of_event(chronicle, place) if is_well else chain.of_trouble(chronicle)
    return [links] if links else []


def _decisive(events: list[dict]) -> int | None:
    """Return the place of the most important event of the last step; None if it has no event that needs a reason."""
    last = next((event["step"] for event in reversed(events)), None)
    found = [place for place, event in enumerate(events) if event["event"] in NOTABLE and event["step"] == last]
    if last is None or not found:
        return None
    return min(found, key=lambda place: NOTABLE.index(events[place]["event"]))


def causes(events: list[dict], event: dict) -> list[str]:
    """Return the sentences of an event and its causes, first cause first, each with its time."""
    events_listed = [event, *noticed(events, event)]
    return [at(one) for one in reversed(events_listed)]


def done(step: object) -> str:
    """Return a step from a scenario file's map in a few words, such as "kill a" or "publish 10 q".

    An `expect` step names what it checks, such as "check orders (state and leader)".
    """
    if not isinstance(step, dict):
        return ""
    (verb, argument), *_ = [pair for pair in step.items() if pair[0] != "at"] or [("", "")]
    if verb == "expect" and isinstance(argument, dict):
        return f"check {listing(_checked(argument))}"
    words = verb.replace("_", " ")
    if isinstance(argument, str | int | float) and argument is not True:
        return f"{words} {shown(argument)}"
    if isinstance(argument, list) and all(isinstance(one, str) for one in argument):
        return f"{words} {listing(argument)}"
    if isinstance(argument, dict):
        about = [argument[key] for key in ("count", "queue", "name", "consumer", "node") if key in argument]
        return " ".join([words, *map(shown, about[:2])])
    return words


def _checked(expected: dict) -> Iterator[str]:
    """Yield what a part of an outcome checks: each queue, node or client with its keys, or the name of a list."""
    for part, items in expected.items():
        if not isinstance(items, dict):
            yield part
            continue
        for name, value in items.items():
            keys = listing(key.replace("_", " ") for key in value) if isinstance(value, dict) else value
            yield f"{name} ({'gone' if keys is None else keys})"
