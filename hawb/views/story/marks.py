"""The marks of a timeline: faults, promotions, losses, redeliveries and links, at their times and nodes.

Each mark has its sentences and those of its chain of causes back to the first cause.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from msgspec import Struct

from hawb.languages import _
from hawb.views.formatting import paragraph, seconds
from hawb.views.story.chronicle import Chronicle, noticed
from hawb.views.story.roles import LEADS, Spans, roles
from hawb.views.story.telling import Sentence, sentence, sentences
from hawb.views.story.why import why_lost

MARKED = {
    "node_killed": "fault",
    "node_lost_power": "fault",
    "node_stopping": "fault",
    "node_pausing": "fault",
    "node_drained": "fault",
    "follower_stopped": "fault",
    "alarm_set": "fault",
    "links_cut": "cut",
    "links_timed_out": "cut",
    "links_healed": "healed",
    "node_gave_up": "fault",
    "queue_down": "fault",
    "nodes_suspected": "cut",
    "promoted": "promoted",
    "leader_elected": "promoted",
    "messages_lost": "lost",
    "messages_requeued": "redelivered",
    "messages_delivered": "redelivered",
}
"""The events that have a mark, and the look of the mark. A delivery has a mark only if it is a redelivery."""


class Mark(Struct, frozen=True):
    """The sentences of all events with one look at one time on one node; `node` is None if it is unknown."""

    t: float
    node: str | None
    look: str
    sentences: tuple[Sentence, ...]

    @property
    def text(self) -> str:
        """Return the time and all sentences in one line."""
        return _("{t} s: {sentence}", t=seconds(self.t), sentence=paragraph(one.text for one in self.sentences))


def marks(outcome: dict, queue: str | None = None, all_sentences: Sequence[Sentence] | None = None) -> list[Mark]:
    """Return the marks of an outcome in order; with a `queue`, leave out marks that are only about other queues.

    Callers that have the outcome's sentences pass them as `all_sentences`.
    """
    places: dict[tuple[float, str | None, str], list[Sentence]] = {}
    roles_of = cache(lambda name: roles(outcome, name) if name in outcome["ledger"] else {})
    for one in sentences(outcome) if all_sentences is None else all_sentences:
        if _is_marked(outcome["events"][one.index]) and (queue is None or not one.queues or queue in one.queues):
            look = MARKED[outcome["events"][one.index]["event"]]
            for node in _nodes_of(outcome, outcome["events"][one.index], roles_of):
                places.setdefault((one.t, node, look), []).append(one)
    return [Mark(*place, tuple(each)) for place, each in places.items()]


def explained(chronicle: Chronicle, mark: Mark) -> list[tuple[float, str]]:
    """Return the explanation of a mark as times and sentences.

    The chain of causes comes first, oldest first, then the mark's own sentences, and for a loss the paragraph that says
    why.
    """
    outcome, lines = chronicle.outcome, dict[tuple[float, str], None]()
    for one in mark.sentences:
        lines |= dict.fromkeys([*because(outcome, one.index), (one.t, one.text)])
        losses = [loss for loss in outcome["losses"] if loss.get("event") == one.index]
        lines |= dict.fromkeys((one.t, why) for loss in losses for why in why_lost(chronicle, loss))
    return list(lines)


def because(outcome: dict, index: int) -> list[tuple[float, str]]:
    """Return the chain of causes of an event, oldest first, as times and sentences."""
    events = outcome["events"]
    chain = [*noticed(events, events[index])]
    return [(one["t"], sentence(one)) for one in reversed(chain)]


def _is_marked(event: dict) -> bool:
    return event["event"] in MARKED and bool(event["detail"].get("redelivered", True))


def _nodes_of(outcome: dict, event: dict, roles_of: Callable[[str | None], Spans]) -> list[str | None]:
    """Return the nodes on whose lanes an event is marked.

    These are the ends of links, the event's own node, the node of its cause, or that of its queue's leader.
    """
    if MARKED[event["event"]] in ("cut", "healed"):
        return sorted({node for link in event["detail"].get("links", [outcome["nodes"]]) for node in link})
    because = event.get("because")
    before = {} if because is None else outcome["events"][because]
    return [event["node"] or before.get("node") or _leading(roles_of(event["queue"]), event["t"])]


def _leading(spans: Spans, t: float) -> str | None:
    """Return the node that led a queue at a time, or the first leader after it; None if the queue had no leader."""
    led = [(since, node) for node, roles in spans.items() for since, role in roles if role in LEADS]
    before = [one for one in led if one[0] <= t]
    return max(before)[1] if before else min(led)[1] if led else None
