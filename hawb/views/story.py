"""The story of an outcome: what happened and what came of it, in whole sentences, newest last.

Each event of `hawb.engine.trace.EVENTS` has its sentence in `sentences`. Two things keep the story readable. What
follows as a matter of course (a confirm, a mirror of an empty queue that is synchronised at once) is folded into the
sentence that it follows from. And what happens to several queues at the same moment for the same reason is one
sentence about all of them.
"""

from __future__ import annotations

from msgspec import Struct

from hawb.views.log_lines import log_lines
from hawb.views.sentences import SENTENCES, VARIED_BY
from hawb.views.words import counted, listing, messages, seconds, shown, size

FIRST_TERM = 1
"""The term of the election that is part of a quorum queue's declaration."""

NOTICED_AT_ONCE_S = 1.0
"""A node whose end the others learn of within this time needs no second sentence."""


class Sentence(Struct, frozen=True):
    """What happened at `t` seconds to `queues`, if to any. `index` is the place of its (first) event in the outcome's
    `events`, `tone` one of `sentences.TONES`, and `log_line` what the broker logs, one or several lines."""

    index: int
    t: float
    step: int | None
    text: str
    tone: str
    log_line: str | None
    queues: tuple[str, ...]


POLICY_APPLIED = ("policy_applied", "operator_policy_applied")
SHARED = (
    *("mirror_added", "mirror_removed", "mirror_synchronised", "master_down", *POLICY_APPLIED),
    *("leader_elected", "queue_unavailable", "queue_available", "member_added", "member_removed"),
)
"""Events that are one sentence about all queues to which they happen alike at the same moment."""


class Draft(Struct):
    """A sentence in the making: the events it tells of, the queues they happened to, and what follows of course."""

    events: list[int]
    queues: list[str]
    follows: str = ""


def sentences(outcome: dict, latest: int | None = None) -> list[Sentence]:
    """The story of an outcome, or the `latest` so many sentences of it."""
    lines = log_lines(outcome)
    drafts: list[Draft] = []
    open_drafts: dict[tuple, Draft] = {}
    for index, event in enumerate(outcome["events"]):
        draft = open_drafts.get(_follows_from(event)) or open_drafts.get(_shared(event))
        if draft is None or not _joins(event, outcome["events"][draft.events[0]]):
            draft = Draft([], [])
            drafts.append(draft)
            open_drafts[_shared(event)] = draft
        open_drafts |= dict.fromkeys(_brings(event), draft)
        draft.events.append(index)
        if event["queue"] is not None and event["queue"] not in draft.queues:
            draft.queues.append(event["queue"])
        if event["event"] == "messages_confirmed" and len(draft.events) > 1:
            were = "It was" if size(event["detail"]["ids"]) == 1 else "They were"
            draft.follows = f" {were} confirmed at {seconds(event['t'])} s."
    return [_sentence(draft, outcome["events"], lines) for draft in drafts[-latest if latest else None :]]


def _shared(event: dict) -> tuple:
    """What two events have in common that are one sentence about several queues. Events with content of their own have
    nothing in common with others."""
    detail = event["detail"]
    if event["event"] in SHARED:
        return (event["event"], event["node"], event["t"], event["step"], *map(str, detail.values()))
    return (id(event),)


def _brings(event: dict) -> list[tuple]:
    """What an event brings about as a matter of course."""
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
    """Where an event was brought about as a matter of course."""
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
    """Whether an event needs no sentence of its own after the `first` one of a draft."""
    if event["event"] != "node_down_noticed":
        return True
    return not event["detail"]["by"] or event["t"] - first["t"] <= NOTICED_AT_ONCE_S


def _sentence(draft: Draft, events: list[dict], lines: list[str | None]) -> Sentence:
    index = draft.events[0]
    event = events[index]
    logged = dict.fromkeys(line for i in draft.events if (line := lines[i]) is not None)
    return Sentence(
        index=index,
        t=event["t"],
        step=event["step"],
        text=sentence(event, draft.queues) + draft.follows,
        tone=SENTENCES[event["event"]][0],
        log_line="\n".join(logged) or None,
        queues=tuple(draft.queues),
    )


def sentence(event: dict, queues: list[str]) -> str:
    """The sentence for an event that happened to `queues`."""
    template = SENTENCES[event["event"]][1]
    words = _words(event["detail"]) | {"queues": listing(queues), "node": shown(event["node"])}
    if not isinstance(template, str):
        template = template[_variant(event)]
    return template.format_map(words | _more_words(event, words))


def _variant(event: dict) -> object:
    """The value that decides between an event's sentences."""
    detail = event["detail"]
    match event["event"]:
        case "messages_delivered":
            return bool(detail["redelivered"])
        case "messages_published":
            return "term" in detail
        case "queue_unavailable":
            return event["node"] is not None
        case name if name in POLICY_APPLIED and detail["policy"] is None:
            return "none"
        case name if name in POLICY_APPLIED and detail["was"] is None:
            return "first"
        case name if name in POLICY_APPLIED:
            return "same" if detail["policy"] == detail["was"] else "other"
    return detail[VARIED_BY.get(event["event"], "reason")]


def _words(detail: dict) -> dict[str, str]:
    """The fields of a detail, each in words."""
    return {key: _word(key, value) for key, value in detail.items()}


def _word(key: str, value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{shown(name)} {_word(name, given)}" for name, given in value.items())
    if key in ("ids", "redelivered"):
        return messages(value)
    if key in ("messages", "missing"):
        return counted(value)
    if key == "links":
        return listing("–".join(map(shown, link)) for link in value)
    if key == "sides":
        return " | ".join(map(listing, value))
    if isinstance(value, list):
        return listing(value)
    return seconds(value) if key.endswith("_s") else shown(value)


def _more_words(event: dict, words: dict[str, str]) -> dict[str, str]:
    """What sentences say beyond the fields."""
    detail = event["detail"]
    consumer = f"consumer {words['consumer']}" if detail.get("consumer") else "a client"
    code = f"{detail['code']} " if detail.get("code") else ""
    mirrors = f"mirrored on {words['mirrors']}" if detail.get("mirrors") else "without mirrors"
    return {
        "Ids": words.get("ids", "").capitalize(),
        "were": "was" if size(detail.get("ids", [])) == 1 else "were",
        "consumer": consumer,
        "Consumer": consumer.capitalize() if consumer == "a client" else f"C{consumer[1:]}",
        "Publisher": f"Publisher {words['publisher']}" if "publisher" in words else "",
        "told": "told" if detail.get("notified") else "not told",
        "of_queues": f" of {words['queues']}" if event["queue"] is not None else "",
        "placed": f"{mirrors} ({_policy(detail)})",
        "in_force": _policy(detail),
        "as_seen": f"As seen by {words['seen_by']}, " if "seen_by" in words else "",
        "exchange_name": f"exchange {words['exchange']}" if detail.get("exchange") else "the default exchange",
        "to_targets": _to_targets(detail, words),
        "refusal": f"{code}{shown(' '.join(detail.get('text', '').split()))}",
    }


def _to_targets(detail: dict, words: dict[str, str]) -> str:
    """Where dead letters went from their exchange."""
    to = f"and went to {words['targets']}" if detail.get("targets") else "and went to no queue"
    return f"{to}, for {words['cycles']} had given them up before" if detail.get("cycles") else to


def _policy(detail: dict) -> str:
    given = {"policy": detail.get("policy"), "operator policy": detail.get("operator_policy")}
    return " and ".join(f"{kind} {shown(name)}" for kind, name in given.items() if name is not None) or "no policy"
