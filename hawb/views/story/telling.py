"""The story of an outcome in whole sentences, newest last.

`sentences` has the sentence of each event of `hawb.engine.core.trace.EVENTS`; `drafts` decides which events share one.
"""

from __future__ import annotations

from msgspec import Struct

from hawb.languages import N_, Plural, _, ngettext
from hawb.views.formatting import commas, counted, joined, listing, messages, one_line, paragraph, seconds, shown, size
from hawb.views.formatting import sentence as begun
from hawb.views.story.chronicle import Chronicle, causes_first
from hawb.views.story.drafts import POLICY_APPLIED, Draft, Drafts
from hawb.views.story.log_lines import log_lines
from hawb.views.story.sentences import SENTENCES, VARIED_BY

WORDS = {
    "memory": N_("memory"),
    "disk": N_("disk"),
    "policy setting": N_("policy setting {key}"),
    "argument": N_("argument {key}"),
}
"""Words in the details of events that are not names."""


class Sentence(Struct, frozen=True):
    """A sentence about events at `t` seconds, with the queues that they happened to.

    `index` is the place of its first event in the outcome's `events`, `tone` is one of `sentences.TONES`, and
    `log_line` has the lines that the broker logs; None if it logs nothing.
    """

    index: int
    t: float
    step: int | None
    text: str
    tone: str
    log_line: str | None
    queues: tuple[str, ...]


def sentences(outcome: dict, latest: int | None = None, drafts: Drafts | None = None) -> list[Sentence]:
    """Return the story of an outcome, causes before effects, or only its last `latest` sentences.

    Callers with several stories that begin alike keep their `drafts`.
    """
    drafts = Drafts() if drafts is None else drafts
    key = causes_first(outcome["events"])
    chronicle = Chronicle(outcome)
    listed = [_sentence(chronicle, draft) for draft in drafts.of(outcome["events"], latest)]
    return sorted(listed, key=lambda one: key(one.index))


def _sentence(chronicle: Chronicle, draft: Draft) -> Sentence:
    events = [chronicle.events[index] for index in draft]
    first, *others = events
    queues = tuple(dict.fromkeys(event["queue"] for event in events if event["queue"] is not None))
    lines = dict.fromkeys(line for line in log_lines(chronicle.outcome, draft, chronicle) if line is not None)
    return Sentence(
        index=draft[0],
        t=first["t"],
        step=first["step"],
        text=paragraph([sentence(first, list(queues)), _follows(others)]),
        tone=SENTENCES[first["event"]][0],
        log_line="\n".join(lines) or None,
        queues=queues,
    )


def _follows(others: list[dict]) -> str:
    """Return the sentence that says when the messages were confirmed; "" if no confirm shares the draft."""
    confirms = [event for event in others if event["event"] == "messages_confirmed"]
    if not confirms:
        return ""
    count, t = size(confirms[-1]["detail"]["ids"]), seconds(confirms[-1]["t"])
    return ngettext("It was confirmed at {t} s.", "They were confirmed at {t} s.", count, t=t)


def sentence(event: dict, queues: list[str] | None = None) -> str:
    """Return the sentence for an event that happened to `queues`, by default to its own queue."""
    template = SENTENCES[event["event"]][1]
    if queues is None:
        queues = [event["queue"]] if event["queue"] else []
    words = _words(event["detail"]) | {"queues": listing(queues), "node": shown(event["node"])}
    if isinstance(template, dict):
        template = template[_variant(event)]
    words |= _more_words(event, words)
    if isinstance(template, Plural):
        return ngettext(*template, size(event["detail"]["ids"]), **words)
    return _(template, **words)


def at(event: dict) -> str:
    """Return the sentence for an event with its time in front."""
    return _("{t} s: {sentence}", t=seconds(event["t"]), sentence=sentence(event))


def _variant(event: dict) -> object:
    """Return the value that selects one of an event's sentences."""
    detail = event["detail"]
    match event["event"]:
        case "messages_delivered":
            return bool(detail["redelivered"])
        case "messages_published":
            return "term" in detail
        case "node_waiting":
            return "majority" in detail
        case "not_simulated":
            return event["queue"] is not None
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
    """Return the fields of an event's detail in words."""
    return {key: _word(key, value) for key, value in detail.items()}


def _word(key: str, value: object) -> str:
    if isinstance(value, dict):
        return commas(f"{shown(name)} {_word(name, given)}" for name, given in value.items())
    if key in ("ids", "meant", "redelivered"):
        return messages(value)
    if key in ("messages", "missing"):
        return counted(value)
    if key == "links":
        return listing("–".join(map(shown, link)) for link in value)
    if key == "sides":
        return " | ".join(map(listing, value))
    if key in ("resource", "resources"):
        return listing(map(_word_for, [value] if isinstance(value, str) else value))
    if key == "what":
        return listing(
            _word_for(kind, key=shown(name)) for kind, _space, name in (one.rpartition(" ") for one in value)
        )
    if isinstance(value, list):
        return listing(value)
    return seconds(value) if key.endswith("_s") else shown(value)


def _more_words(event: dict, words: dict[str, str]) -> dict[str, str]:
    """Return the words that sentences need besides the fields of the detail."""
    detail = event["detail"]
    consumer = client(event)
    more = {"policy": _policy(detail), "mirrors": words.get("mirrors", ""), "seen_by": words.get("seen_by", "")}
    seen = "seen_by" in words
    code = f"{detail['code']} " if detail.get("code") else ""
    return {
        "Ids": begun(words.get("ids", "")),
        "consumer": consumer,
        "Consumer": begun(consumer),
        "Publisher": _("Publisher {name}", name=words["publisher"]) if "publisher" in words else "",
        "notified": _("notified") if detail.get("notified") else _("not notified"),
        "placed": _(PLACED[bool(detail.get("mirrors"))], **more),
        "in_force": more["policy"],
        "as_seen": _("As seen by {seen_by}, ", **more) if seen else "",
        "Metadata": _("As seen by {seen_by}, metadata", **more) if seen else _("Metadata"),
        "exchange_name": _exchange(detail, words),
        "to_targets": _to_targets(detail, words),
        "refusal": f"{code}{shown(one_line(detail.get('text', '')).removesuffix('.'))}",
    }


PLACED = {True: N_("mirrored on {mirrors} ({policy})"), False: N_("without mirrors ({policy})")}
"""The clause about a declared classic queue, by whether it has mirrors."""


def client(event: dict) -> str:
    """Return the consumer of an event in words, or "a client" if the event names none."""
    name = event["detail"].get("consumer")
    return _("consumer {name}", name=shown(name)) if name else _("a client")


def _exchange(detail: dict, words: dict[str, str]) -> str:
    return _("exchange {name}", name=words["exchange"]) if detail.get("exchange") else _("the default exchange")


def _to_targets(detail: dict, words: dict[str, str]) -> str:
    """Return the clause about the queues that dead letters went to from their exchange."""
    return _(TO_TARGETS[bool(detail.get("targets")), bool(detail.get("cycles"))], **words)


TO_TARGETS = {
    (True, False): N_("and went to {targets}"),
    (False, False): N_("and went to no queue"),
    (True, True): N_("and went to {targets}, but not to {cycles}, which had dead-lettered them before"),
    (False, True): N_("and went to no queue, because {cycles} had dead-lettered them before"),
}
"""The fate of dead letters: by whether any queue got them, and whether a queue had dead-lettered them before."""


def _policy(detail: dict) -> str:
    policy, operators = detail.get("policy"), detail.get("operator_policy")
    parts = [_("policy {name}", name=shown(policy))] if policy is not None else []
    parts += [_("operator policy {name}", name=shown(operators))] if operators is not None else []
    return joined(parts) or _("no policy")


def _word_for(word: str, **words: str) -> str:
    return _(WORDS[word], **words) if word in WORDS else shown(word)
