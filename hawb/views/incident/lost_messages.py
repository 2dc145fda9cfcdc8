"""Lost messages in words, and as sentences of the story: certain and possible losses by RabbitMQ's rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from hawb.incident.losses import APART, Only, Possible, QueueLosses
from hawb.incident.understanding import Incident
from hawb.views.formatting import counted, listing, sentence, shown
from hawb.views.incident.names import Names
from hawb.views.incident.sentences import ENDANGERED, LEADS, LOST, Sentence
from hawb.views.story.chronicle import causes

PASSIVE: Mapping[str, str] = {
    "unsynchronised_promotion": "a mirror that lacked {them} took over",
    "transient_message": "{they} {were} not persistent, and the last process that had {them} ended",
    "transient_queue": "the queue was not durable, and its last replica ended",
    "exclusive_queue": "the queue was exclusive, and such a queue is never mirrored",
    "dropped_replicas": "every replica was dropped except a mirror, which refused to take over",
    "disk_lost": "the only disk that had {them} was lost",
    "shrunk_by_force": "{they} {were} only on members that a forced shrink removed",
    "node_forgotten": "{they} {were} only on a node that was removed from the cluster",
    "side_given_up": "the partition that had {them} was discarded",
    "node_reset": "{they} {were} only on a node that was reset",
    "auto_ack_in_flight": "{they} {were} on the way to consumers with automatic acknowledgement",
    APART: "each partition has its own master, and only one of them has {them}",
}
"""The ends of sentences that say why messages are or may be lost, by cause (`hawb.engine.core.trace.CAUSES`)."""


WITHOUT_EXPORTS = frozenset({"no_listing", "no_definitions"})
"""Doubts that exports of the cluster, given with the logs, would settle."""


AFTER_US = 500_000
"""A loss comes after log events of the same half second in the story, because these are what caused it."""
WHAT: Mapping[Only, str] = {
    "": "messages{of} that came in {when}{where}",
    "transient": "messages{of} that were not persistent and came in {when}{where}",
    "auto_ack": "messages{of} that were on the way to consumers with automatic acknowledgement, {when}{where}",
}
"""The messages that may be lost, the worst first."""


def begins(incident: Incident) -> int:
    """Return the time at which the simulated story begins, in microseconds."""
    return incident.reconstructed.begins_us if incident.reconstructed is not None else 0


def because(cause: str, count: int = 2) -> str:
    """Return why messages were lost, as the end of a sentence about `count` messages."""
    one = count == 1
    words = {"them": "it" if one else "them", "they": "it" if one else "they", "were": "was" if one else "were"}
    return PASSIVE.get(cause, shown(cause).replace("_", " ")).format_map(words)


def perhaps(loss: Possible, names: Names, queues: str, begins_us: int) -> str:
    """Return which messages may be lost: those that came in between two times, and at which nodes.

    Messages that were in the queue when the story begins count as having come in at that time.
    """
    who = [names.node(node) for node in loss.nodes]
    where = f" at {' or '.join(filter(None, [', '.join(who[:-1]), *who[-1:]]))}" if who else ""
    when = f"from {names.time(loss.from_us)} to {names.time(loss.until_us)}"
    if loss.from_us <= begins_us and loss.only != "auto_ack":
        when = f"by {names.time(loss.until_us)}"
    of = f" of {queues}" if queues else ""
    if loss.listed:
        also = WHAT[loss.only].format(of="", when=when, where=where)
        return f"{counted(loss.listed)}{of} from the listing, and {also}"
    return WHAT[loss.only].format(of=of, when=when, where=where)


def fate(loss: Possible, are: str) -> str:
    """Return a clause about messages that may be lost, with its condition; `are` is "are" or "were"."""
    if loss.cause == APART:
        return "will be lost when their partition restarts, if there are any"
    return f"{are} lost, {'unless clients had taken them by then' if loss.listed else 'if there were any'}"


def dangers(of: QueueLosses) -> list[Possible]:
    """Return the possible losses of a queue, the worst first.

    Leave out those that are part of another loss at the same time for the same cause.
    """
    kept: list[Possible] = []
    for loss in sorted(of.possible, key=lambda loss: ([*WHAT].index(loss.only), loss.from_us, -loss.until_us)):
        place = next((at for at, other in enumerate(kept) if _is_part(loss, other)), None)
        if place is None:
            kept.append(loss)
        elif loss.listed:
            kept[place] = replace(kept[place], listed=loss.listed)
    return kept


def _is_part(loss: Possible, other: Possible) -> bool:
    """Return True if a possible loss is part of another one, give or take the time of a publish."""
    return (
        loss.cause == other.cause and abs(loss.at_us - other.at_us) <= AFTER_US and other.only in ("", loss.only)
        and other.from_us <= loss.from_us and loss.until_us <= other.until_us + AFTER_US
        and (not other.nodes or {*loss.nodes} <= {*other.nodes})
    )  # fmt: skip


def with_losses(story: Sequence[Sentence], incident: Incident, names: Names) -> list[Sentence]:
    """Return the story with sentences about lost messages at their times, numbered anew."""
    ordered = sorted((*story, *_lost(incident), *_endangered(incident, names)),
                     key=lambda one: one.at_us + (0 if one.events else AFTER_US))  # fmt: skip
    return [replace(one, number=number) for number, one in enumerate(ordered, 1)]


def _lost(incident: Incident) -> Iterator[Sentence]:
    """Yield a sentence for each time and cause of certain losses."""
    alike: dict[tuple[int, str], list[tuple[str, int, str | None]]] = {}
    for one in incident.losses:
        for loss in one.certain:
            node = _node(incident.outcome, loss.event)
            alike.setdefault((loss.at_us, loss.cause), []).append((one.queue, loss.count, node))
    for (at_us, cause), lost in alike.items():
        count = sum(number for _, number, _ in lost)
        queues = tuple(queue for queue, *_ in lost)
        were = "was" if count == 1 else "were"
        text = f"{counted(count)} of {listing(queues)} {were} lost: {because(cause, count)}."
        moments = {node: at_us for *_, node in lost if node}
        yield Sentence(0, LOST, at_us, at_us, at_us, text, f"{count:,} lost", moments, queues, ())


def _endangered(incident: Incident, names: Names) -> Iterator[Sentence]:
    """Yield a sentence for each possible loss of messages of any kind."""
    alike: dict[Possible, list[str]] = {}
    for one in incident.losses:
        for loss in dangers(one):
            if not loss.only:
                alike.setdefault(loss, []).append(one.queue)
    for loss, queues in alike.items():
        what = sentence(perhaps(loss, names, listing(queues), begins(incident)))
        text = f"{what} {fate(loss, 'were')}: {because(loss.cause)}."
        node, at_us = _led_from(queues[0], loss.at_us, incident)
        moments = dict.fromkeys(loss.nodes or filter(None, [node]), at_us)
        yield Sentence(0, ENDANGERED, at_us, at_us, at_us, text, "perhaps lost", moments, tuple(queues), ())


def _led_from(queue: str, at_us: int, incident: Incident) -> tuple[str | None, int]:
    """Return the node that led the queue when messages were lost, and the time for the sentence.

    If a promotion lost the messages, the sentence comes after it.
    """
    led = [one for one in incident.cluster_events
           if one.queue == queue and one.kind in LEADS and one.at_us <= at_us + 2 * AFTER_US]  # fmt: skip
    return (led[-1].node, max(at_us, led[-1].at_us + 1)) if led else (None, at_us)


def _node(outcome: dict[str, Any] | None, place: int | None) -> str | None:
    """Return the node of the event that lost messages, or of its nearest cause that names a node; None without one."""
    if outcome is None or place is None:
        return None
    event = outcome["events"][place]
    return next((one["node"] for one in (event, *causes(outcome["events"], event)) if one["node"]), None)
