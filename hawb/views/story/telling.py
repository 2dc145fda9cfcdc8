"""The story of an outcome: what happened and what came of it, in whole sentences, newest last.

Each event of `hawb.engine.trace.EVENTS` has its sentence in `sentences`; which events share one is in `drafts`.
"""

from __future__ import annotations

from msgspec import Struct

from hawb.views.formatting import counted, listing, messages, seconds, shown, size
from hawb.views.story.drafts import POLICY_APPLIED, Draft, Drafts
from hawb.views.story.log_lines import log_lines
from hawb.views.story.sentences import SENTENCES, VARIED_BY


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


def sentences(outcome: dict, latest: int | None = None, drafts: Drafts | None = None) -> list[Sentence]:
    """The story of an outcome, or only its `latest` so many sentences. Callers that tell stories with one beginning
    keep their `drafts`."""
    drafts = Drafts() if drafts is None else drafts
    return [_sentence(outcome, draft) for draft in drafts.of(outcome["events"], latest)]


def _sentence(outcome: dict, draft: Draft) -> Sentence:
    events = [outcome["events"][index] for index in draft]
    first, *others = events
    queues = tuple(dict.fromkeys(event["queue"] for event in events if event["queue"] is not None))
    lines = dict.fromkeys(line for line in log_lines(outcome, draft) if line is not None)
    return Sentence(
        index=draft[0],
        t=first["t"],
        step=first["step"],
        text=sentence(first, list(queues)) + _follows(others),
        tone=SENTENCES[first["event"]][0],
        log_line="\n".join(lines) or None,
        queues=queues,
    )


def _follows(others: list[dict]) -> str:
    """The consequences that a sentence also tells: when messages were confirmed."""
    confirms = [event for event in others if event["event"] == "messages_confirmed"]
    if not confirms:
        return ""
    were = "It was" if size(confirms[-1]["detail"]["ids"]) == 1 else "They were"
    return f" {were} confirmed at {seconds(confirms[-1]['t'])} s."


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
        case "node_waiting":
            return "majority" in detail
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
    if key in ("ids", "meant", "redelivered"):
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
    """Words of sentences that are no field of the detail."""
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
        "Metadata": f"As seen by {words['seen_by']}, metadata" if "seen_by" in words else "Metadata",
        "exchange_name": f"exchange {words['exchange']}" if detail.get("exchange") else "the default exchange",
        "to_targets": _to_targets(detail, words),
        "refusal": f"{code}{shown(' '.join(detail.get('text', '').split()).removesuffix('.'))}",
    }


def _to_targets(detail: dict, words: dict[str, str]) -> str:
    """Where dead letters went from their exchange."""
    to = f"and went to {words['targets']}" if detail.get("targets") else "and went to no queue"
    return f"{to}, for {words['cycles']} had given them up before" if detail.get("cycles") else to


def _policy(detail: dict) -> str:
    given = {"policy": detail.get("policy"), "operator policy": detail.get("operator_policy")}
    return " and ".join(f"{kind} {shown(name)}" for kind, name in given.items() if name is not None) or "no policy"
