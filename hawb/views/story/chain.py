"""Show the causes of a loss as a chain of a few short texts, each with the nodes, the queue and the time it is about.

The chain of a loss has the publish, the ends of other copies, why the promoted mirror did not have the messages, and
the events that led to the loss. The chain of something unusable has the events that made it so. The paragraphs of
`losses` and `troubles` say the same in sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from hawb.languages import N_, _
from hawb.views.formatting import counted, shown, size
from hawb.views.story import losses
from hawb.views.story.chronicle import Chronicle, causes_first
from hawb.views.story.copies import NODE_ENDS, copies
from hawb.views.story.losses import Part
from hawb.views.story.sentences import SENTENCES
from hawb.views.story.telling import at, sentence
from hawb.views.story.troubles import places_of_causes, troubles
from hawb.views.style import LOOKS

LEAST, MOST, FIRST_KEPT = 2, 7, 2
"""The least and the maximum number of links, and how many at the beginning are kept where the middle is left out."""

LABELS = {
    "messages_published": N_("{messages} published"),
    "messages_refused": N_("{messages} refused"),
    "messages_lost": N_("{messages} lost"),
    "node_killed": N_("{node} was killed"),
    "node_lost_power": N_("{node} lost power"),
    "node_stopping": N_("{node} was stopped"),
    "node_paused": N_("{node} pauses"),
    "node_booting": N_("{node} boots"),
    "node_running": N_("{node} is up"),
    "node_drained": N_("{node} was drained"),
    "node_forgotten": N_("{node} was forgotten"),
    "node_reset": N_("{node} was reset"),
    "disk_lost": N_("{node} lost its disk"),
    "records_taken_over": N_("{node} discards its metadata"),
    "mirror_added": N_("{node} joined empty"),
    "mirror_removed": N_("the mirror on {node} was removed"),
    "mirrors_stopped": N_("the mirrors were stopped"),
    "sync_started": N_("a synchronisation blocks {queue}"),
    "sync_ended": N_("the synchronisation ended before it was done"),
    "master_down": N_("the master on {node} ended"),
    "process_crashed": N_("the process on {node} crashed"),
    "leadership_transferred": N_("the master moves to {node}"),
    "heir_chosen": N_("{queue} waits for {node}"),
    "queue_down": N_("{queue} is down"),
    "queue_unavailable": N_("{queue} commits nothing"),
    "leader_elected": N_("{node} was elected"),
    "shrunk_by_force": N_("forced shrink to {node}"),
    "links_cut": N_("links were cut"),
    "links_healed": N_("the links work again"),
    "autoheal_started": N_("autoheal restarts nodes"),
    "links_timed_out": N_("the nodes noticed the cut"),
    "cluster_partitioned": N_("the partitions run separately"),
    "alarm_set": N_("alarm on {node}"),
    "promotion_refused": N_("{node} deleted its copy"),
    "policy_set": N_("policy {name} was set"),
    "policy_applied": N_("the policy of {queue} changed"),
    "queue_declared": N_("{queue} was declared"),
    "metadata_unavailable": N_("metadata cannot be changed"),
    "channel_timed_out": N_("the channel of {consumer} was closed"),
}
"""The short text of an event; the sentence of any other event is its text."""

PROMOTED = {True: N_("{node} took over without {messages}"), False: N_("{node} took over")}
"""The text of a promotion, by whether the promoted mirror lacked messages."""

UNSYNCHRONISED = N_("not synchronised: {setting}")

MARKS = {
    "fault": LOOKS["fault"],
    "recovery": LOOKS["running"],
    "promotion": LOOKS["promoted"],
    "loss": LOOKS["lost"],
    "refusal": LOOKS["fault"],
}
"""The mark before a link or a sentence, by its tone."""

IMPLIED = {"node_stopped": ("node_stopping",), "node_running": ("node_booting",), "node_down_noticed": NODE_ENDS}
"""Events that add nothing where one of these events of the same node is in the chain, too."""


class Link(Struct, frozen=True):
    """One link of a chain: a short `text`, the whole sentence `told`, and what they are about.

    `t` is the time in seconds, and `step` the step that led to it, None if it was there from the start. `tone` is one
    of `sentences.TONES`, `nodes` are the nodes, and `queue` is the queue, None if it is about whole nodes.
    """

    text: str
    told: str
    t: float
    step: int | None
    tone: str
    nodes: tuple[str, ...]
    queue: str | None


def glyph(tone: str) -> str:
    """Return the mark before a link or a sentence of this tone; "" if it has none."""
    return MARKS[tone].glyph if tone in MARKS else ""


def of_loss(chronicle: Chronicle, loss: dict, part: Part) -> list[Link]:
    """Return the chain of a part of a loss; empty if the outcome, recorded from a broker, has no event of the loss."""
    index = loss.get("event")
    if index is None:
        return []
    queue, first = loss["queue"], part.first
    promotion = losses.promotion(chronicle, loss)
    ends = [] if first is None else _ends(chronicle, queue, first, index)
    places = {*places_of_causes(chronicle.events, index), *ends, *([] if first is None else [first])}
    lacking = None if promotion is None else _lacking(chronicle, queue, first, promotion)
    places |= set() if lacking is None else {lacking}
    if loss["cause"] == "side_given_up":
        places |= {*chronicle.places(("links_cut",), None, until=index)[-1:]}
    found: list[Link] = []
    for place in _in_order(chronicle, places):
        found.append(_link(chronicle.events[place], part.ids))
        if promotion is not None and place == lacking:
            found += _not_synchronised(chronicle, queue, part.first, promotion, lacking)
    return _few(found)


def _not_synchronised(
    chronicle: Chronicle, queue: str, first: int | None, promotion: int, joined: int
) -> Iterator[Link]:
    """Yield the link with the setting that left a mirror unsynchronised after it had joined, if that is the reason."""
    event, fault = chronicle.events[joined], losses.master_down(chronicle, queue, promotion)
    setting = losses.unsynchronised_by(chronicle, queue, promotion)
    if event["event"] == "mirror_added" and setting and (fault is None or event["t"] <= fault["t"]):
        told = losses.newcomer(chronicle, queue, first, promotion, fault)
        text = _(UNSYNCHRONISED, setting=setting)
        yield Link(text, told, event["t"], event["step"], "plain", (event["node"],), queue)


def of_trouble(chronicle: Chronicle) -> list[Link]:
    """Return the chain of the first thing that is unusable and has events; empty if there is none."""
    places = next((found for _queue, found in troubles(chronicle) if found), [])
    return of_places(chronicle, {one for place in places for one in places_of_causes(chronicle.events, place)})


def of_event(chronicle: Chronicle, place: int) -> list[Link]:
    """Return the chain of an event and its causes."""
    return of_places(chronicle, {*places_of_causes(chronicle.events, place)})


def of_places(chronicle: Chronicle, places: Iterable[int]) -> list[Link]:
    """Return the chain of the events at these places, each cause before its effects."""
    return _few([_link(chronicle.events[place]) for place in _in_order(chronicle, places)])


def _ends(chronicle: Chronicle, queue: str, first: int, index: int) -> list[int]:
    """Return the places of the events that ended copies of the messages of a publish event."""
    return [end.place for end in copies(chronicle, queue, first, index).values() if end is not None]


def _lacking(chronicle: Chronicle, queue: str, first: int | None, promotion: int) -> int | None:
    """Return the place of the event that made the promoted mirror lack the messages; None if the outcome has none."""
    node = chronicle.events[promotion]["node"]
    emptied = losses.emptied(chronicle, queue, node, promotion)
    if emptied is not None:
        return emptied
    added = chronicle.places(("mirror_added",), queue, first or 0, promotion)
    return next((place for place in reversed(added) if chronicle.events[place]["node"] == node), None)


def _in_order(chronicle: Chronicle, places: Iterable[int]) -> list[int]:
    """Return places, causes before effects, without events that others imply."""
    events, ordered = chronicle.events, sorted(places, key=causes_first(chronicle.events))
    there = {(events[place]["event"], events[place]["node"]) for place in ordered}
    nodes_ended = {node for name, node in there if name in NODE_ENDS}
    promotes = any(name == "promoted" for name, _node in there)
    moves = any(name in ("leadership_transferred", "process_crashed") for name, _node in there)

    def is_implied(place: int) -> bool:
        name, node = events[place]["event"], events[place]["node"]
        if name == "master_down":
            return moves or node in nodes_ended
        if name == "messages_lost":
            return promotes
        return any((other, node) in there for other in IMPLIED.get(name, ()))

    return [place for place in ordered if not is_implied(place)]


def _few(found: list[Link]) -> list[Link]:
    """Return a chain without the links in the middle for which there is no room; empty if it has a single link."""
    if len(found) < LEAST:
        return []
    return found if len(found) <= MOST else [*found[:FIRST_KEPT], *found[FIRST_KEPT - MOST :]]


def _link(event: dict, lost: list[list[int]] | None = None) -> Link:
    """Return the link of an event; `lost` are the messages that the chain is about."""
    detail = event["detail"]
    both_ends = dict.fromkeys(node for link in detail.get("links", ()) for node in link)
    nodes = detail.get("replicas") or both_ends or ([] if event["node"] is None else [event["node"]])
    return Link(
        text=_text(event, lost), told=at(event), t=event["t"], step=event["step"], tone=SENTENCES[event["event"]][0],
        nodes=tuple(nodes), queue=event["queue"],
    )  # fmt: skip


def _text(event: dict, lost: list[list[int]] | None) -> str:
    name, detail = event["event"], event["detail"]
    if name != "promoted" and name not in LABELS:
        return sentence(event).removesuffix(".")
    count = detail["missing"] if name == "promoted" and not lost else size(lost or detail.get("ids", []))
    label = PROMOTED[bool(count)] if name == "promoted" else LABELS[name]
    names = {key: shown(detail.get(key)) for key in ("name", "consumer")}
    return _(label, node=shown(event["node"]), queue=shown(event["queue"]), messages=counted(count), **names)

