"""Explain what became of a message in one paragraph, put together from the events that led there.

Each clause comes from an event of the outcome, or from a policy setting that an event shows. Facts that an outcome
lacks are left out, such as the definition of a policy that was not set during the scenario.
"""

from __future__ import annotations

from hawb.languages import N_, Plural, _, ngettext
from hawb.views.formatting import commas, common, holds, listing, messages, paragraph, seconds, shown, size, whole
from hawb.views.story import losses
from hawb.views.story.chronicle import Chronicle
from hawb.views.story.copies import copies, published
from hawb.views.story.telling import client, sentence


def why(outcome: dict, queue: str, number: int) -> str:
    """Return what became of a message and why.

    Raise ValueError, naming the known ones, for an unknown queue or message number.
    """
    account, chronicle = _account(outcome, queue, number), Chronicle(outcome)
    loss = next((one for one in outcome["losses"] if one["queue"] == queue and holds(one["ids"], number)), None)
    if loss is not None:
        part = next(one for one in losses.parts(chronicle, loss) if holds(one.ids, number))
        ids, text = part.ids, part.text
    else:
        ids, text = [[number, number]], _fate(chronicle, queue, number, account)
    return paragraph([text, *_deliveries(chronicle, queue, number), *_answers(chronicle, queue, ids)])


def whys(outcome: dict) -> list[str]:
    """Return a paragraph for each group of messages lost together for the same reason, in the order of the losses.

    Add a paragraph for each queue that did not take confirmed messages.
    """
    chronicle = Chronicle(outcome)
    lost = [paragraph for loss in outcome["losses"] for paragraph in why_lost(chronicle, loss)]
    return lost + [
        ngettext(
            "No queue took {messages} of {queue}, but the broker confirmed it.",
            "No queue took {messages} of {queue}, but the broker confirmed all of them.",
            size(ids), messages=messages(ids), queue=shown(queue),
        )
        for queue, account in outcome["ledger"].items()
        if (ids := common(account["refused"], account["confirmed"]))
    ]  # fmt: skip


def why_lost(chronicle: Chronicle, loss: dict) -> list[str]:
    """Return a paragraph for each part of a loss that has its own reason."""
    parts = losses.parts(chronicle, loss)
    return [paragraph([part.text, *_answers(chronicle, loss["queue"], part.ids)]) for part in parts]


def _account(outcome: dict, queue: str, number: int) -> dict:
    ledger = outcome["ledger"]
    if queue not in ledger:
        raise ValueError(f"there is no queue {queue!r}; this outcome has {', '.join(map(repr, ledger))}")
    count = ledger[queue]["published"]
    if not 1 <= number <= count:
        there = f"messages 1 to {count}" if count else "no messages"
        raise ValueError(f"there is no message {number} of {queue!r}: it has {there}")
    return ledger[queue]


def _fate(chronicle: Chronicle, queue: str, number: int, account: dict) -> str:
    if holds(account["refused"], number):
        return _refused(chronicle, queue, number)
    for reason, ids in account["removed"].items():
        if holds(ids, number):
            return _removed(chronicle, queue, number, reason)
    return _there(chronicle, queue, number)


# Messages in the queue


def _there(chronicle: Chronicle, queue: str, number: int) -> str:
    """Return the paragraph about a message that is in the queue: its state and its nodes."""
    entry = chronicle.outcome["queues"][queue]
    words = {"number": whole(number), "queue": shown(queue)}
    flag = _("If it is delivered, it will be marked as redelivered.") if holds(entry["redelivered"], number) else ""
    if entry["state"] == "down":
        down = N_("Message {number} of {queue} is on the disk of {node}: the queue is down until that node is back.")
        return paragraph([_(down, node=shown(entry["master"]), **words), flag])
    if holds(entry.get("uncommitted", []), number):
        alone = N_("Message {number} of {queue} is not committed: no majority of the queue's members has it.")
        return paragraph([_(alone, **words), *_led(chronicle, queue)])
    held = [who for who, consumer in chronicle.outcome["consumers"].items() if _waits_for(consumer, queue, number)]
    words["nodes"] = listing(nodes_with(chronicle, queue, number)) or _("no running node")
    ready = N_("Message {number} of {queue} is in the queue, ready, on {nodes}.")
    sent = N_("Message {number} of {queue} is in the queue, delivered to {consumers} and not acknowledged, on {nodes}.")
    sentence = _(sent, consumers=listing(held), **words) if held else _(ready, **words)
    return paragraph([sentence, flag, *_committed(chronicle, queue, number)])


def _waits_for(consumer: dict, queue: str, number: int) -> bool:
    return consumer["queue"] == queue and holds(consumer["unacknowledged"], number)


def _committed(chronicle: Chronicle, queue: str, number: int) -> list[str]:
    """Return when a majority of a quorum queue's members committed a message, and the changes of leadership since."""
    index = published(chronicle, queue, number)
    event = None if index is None else chronicle.events[index]
    if event is None or "term" not in event["detail"]:
        return []
    term, nodes = event["detail"]["term"], listing(event["detail"]["replicas"])
    sentence = _(
        "A majority ({nodes}) committed it at {t} s, in term {term}.", nodes=nodes, t=seconds(event["t"]), term=term
    )
    return [sentence, *leadership(chronicle, queue, index)]


def _led(chronicle: Chronicle, queue: str, until: int | None = None) -> list[str]:
    """Return the sentences about a quorum queue's leader, up to an event, since the queue was last unavailable."""
    lost = chronicle.places(("queue_unavailable",), queue, until=until)
    return leadership(chronicle, queue, lost[-1] - 1, until) if lost else []


def leadership(chronicle: Chronicle, queue: str, after: int, until: int | None = None) -> list[str]:
    """Return the sentences about a quorum queue's leader between the places of two events.

    An elected leader that can commit at once needs no sentence about that.
    """
    sentences, elected = [], None
    for event in chronicle.events_of(LEADERSHIP, queue, after + 1, until):
        if event["event"] != "queue_available" or (event["t"], event["node"]) != elected:
            sentences.append(_at(event, queue))
        elected = (event["t"], event["node"]) if event["event"] == "leader_elected" else elected
    return sentences


def _at(event: dict, queue: str) -> str:
    """Return the sentence for an event, with its time, for use within a paragraph."""
    return _("At {t} s: {sentence}", t=seconds(event["t"]), sentence=sentence(event, [queue]))


LEADERSHIP = ("queue_unavailable", "leader_elected", "queue_available")


def nodes_with(chronicle: Chronicle, queue: str, number: int) -> list[str]:
    """Return the nodes with a running replica of a queue that has a message."""
    entry = chronicle.outcome["queues"][queue]
    first = published(chronicle, queue, number)
    if entry["type"] != "classic":
        return _members_with(chronicle, queue, first)
    had = copies(chronicle, queue, first, len(chronicle.events) - 1) if first is not None else {}
    partly = [node for node in entry["mirrors"] if node not in entry["synchronised_mirrors"]]
    has_too = [node for node in partly if node in had and had[node] is None]
    return [entry["master"], *entry["synchronised_mirrors"], *has_too]


def _members_with(chronicle: Chronicle, queue: str, first: int | None) -> list[str]:
    """Return the online members that have the messages of the publish event `first`.

    These are the members that had them then and still have their log, and the members that have caught up since.
    """
    entry, had = chronicle.outcome["queues"][queue], set()
    for event in chronicle.events[first:] if first is not None else []:
        if event["event"] == "messages_published" and event["queue"] == queue and not had:
            had = set(event["detail"]["replicas"])
        elif event["event"] in FORGETS and event["queue"] in (queue, None):
            had.discard(event["node"])
    caught_up = [node for node, one in entry.get("replicas", {}).items() if one.get("behind", 0) == 0]
    return [node for node in entry["online"] if node in had or node in caught_up or "replicas" not in entry]


FORGETS = ("disk_lost", "node_reset", "member_removed")
"""The events after which a member's log is gone."""


# Messages that left the queue


REMOVED = {
    "acknowledged": ("messages_acknowledged", N_("Message {number} of {queue} was acknowledged at {t} s.")),
    "rejected": ("messages_rejected", N_("Message {number} of {queue} was rejected for good at {t} s.")),
    "purged": ("queue_purged", N_("Message {number} of {queue} was purged at {t} s.")),
    "deleted": ("queue_deleted", N_("Message {number} of {queue} was deleted with its queue at {t} s.")),
    "expired": ("messages_expired", N_("Message {number} of {queue} expired at {t} s.")),
    "dropped": ("messages_dropped", ""),
    "dead_lettered": ("messages_dead_lettered", ""),
}
"""The ledger's ways out of a queue: the event, and a sentence where it differs from the event's own."""

BY_CONSUMER = {
    "acknowledged": N_("Message {number} of {queue} was acknowledged by {consumer} at {t} s."),
    "rejected": N_("Message {number} of {queue} was rejected for good by {consumer} at {t} s."),
}
"""The same, for an event that names the consumer."""

TAKEN = {
    True: N_("Message {number} of {queue} was taken with automatic acknowledgement by {consumer} at {t} s."),
    False: N_("Message {number} of {queue} was taken with automatic acknowledgement at {t} s."),
}
"""The sentence for a message with automatic acknowledgement, by whether a consumer got it."""

WITHOUT_EVENT = {
    "acknowledged": N_("Message {number} of {queue} was acknowledged."),
    "rejected": N_("Message {number} of {queue} was rejected for good."),
    "purged": N_("Message {number} of {queue} was purged."),
    "deleted": N_("Message {number} of {queue} was deleted with its queue."),
    "expired": N_("Message {number} of {queue} expired."),
    "dropped": N_("Message {number} of {queue} was dropped."),
    "dead_lettered": N_("Message {number} of {queue} was dead-lettered."),
}
"""The same, for an outcome without an event about it."""


def _removed(chronicle: Chronicle, queue: str, number: int, reason: str) -> str:
    event_name, template = REMOVED[reason]
    event = _last(chronicle, queue, event_name, number)
    if event is None and reason == "acknowledged":
        event = _last(chronicle, queue, "messages_delivered", number)
        template = "" if event is None else TAKEN[bool(event["detail"].get("consumer"))]
    elif event is not None and event["detail"].get("consumer"):
        template = BY_CONSUMER.get(reason, template)
    words = {"number": whole(number), "queue": shown(queue)}
    if event is None:
        return _(WITHOUT_EVENT[reason], **words)
    if not template:
        return _at(event | {"detail": event["detail"] | {"ids": [[number, number]]}}, queue)
    return _(template, t=seconds(event["t"]), consumer=shown(event["detail"].get("consumer")), **words)


def _last(chronicle: Chronicle, queue: str, name: str, number: int) -> dict | None:
    """Return the last event of this name about a message; an event without message numbers is about all messages."""
    latest = chronicle.latest((name,), queue)
    return next((e for e in latest if "ids" not in e["detail"] or holds(e["detail"]["ids"], number)), None)


def _refused(chronicle: Chronicle, queue: str, number: int) -> str:
    event = _last(chronicle, queue, "messages_refused", number)
    if event is None:
        return _("No queue took message {number} of {queue}.", number=whole(number), queue=shown(queue))
    alone = event | {"detail": event["detail"] | {"ids": [[number, number]]}}
    index, reason = chronicle.events.index(event), event["detail"]["reason"]
    fault = losses.master_down(chronicle, queue, index) if reason in NO_MASTER else None
    sentences = [_at(alone, queue), losses.master_end(fault) if fault else ""]
    return paragraph([*sentences, *(_led(chronicle, queue, index) if reason in NO_LEADER else [])])


NO_MASTER = ("crashed", "home_node_down", "master_died", "master_stopped", "no_master")
"""The reasons of refusals that the end of a master explains."""

NO_LEADER = ("no_majority", "client_node_gone", "not_sent_again")
"""The reasons of refusals that the lack of a leader that can commit may explain."""


# Deliveries and confirms of a message


def _deliveries(chronicle: Chronicle, queue: str, number: int) -> list[str]:
    """Return a sentence about the deliveries of a message, if it had several, and the events between them."""
    about = [(index, event) for index, event in enumerate(chronicle.events) if _is_about(event, queue, number)]
    delivered = [index for index, event in about if event["event"] == "messages_delivered"]
    if len(delivered) < 2:
        return []
    sentences = []
    for index, event in about:
        words = {"node": shown(event["node"]), "t": seconds(event["t"])}
        if event["event"] == "messages_delivered":
            sentences.append(_("to {client} at {t} s", client=client(event), **words))
        elif delivered[0] < index < delivered[-1]:
            again = AGAIN[event["event"]]
            sentences.append(_(again, **words))
    return [_("It was delivered {count} times: {told}.", count=len(delivered), told=commas(sentences))]


def _is_about(event: dict, queue: str, number: int) -> bool:
    detail = event["detail"]
    delivered = event["event"] in AGAIN or event["event"] == "messages_delivered"
    return delivered and event["queue"] == queue and ("ids" not in detail or holds(detail["ids"], number))


AGAIN = {
    "messages_requeued": N_("back in its place at {t} s"),
    "acknowledgement_ignored": N_("acknowledged or rejected at {t} s, when the master that had delivered it was gone"),
    "promoted": N_("then {node} took over at {t} s and did not know what the earlier master had delivered"),
    "queue_recovered": N_("then {node} came back at {t} s and knew nothing of what had been delivered"),
}
"""The events that make a queue deliver a message again, and their clauses."""


def _answers(chronicle: Chronicle, queue: str, ids: list[list[int]]) -> list[str]:
    """Return the sentences about the confirms and nacks that the publisher got."""
    account = chronicle.outcome["ledger"][queue]
    sentences, count = [], size(ids)
    for answer, every, some in ANSWERS:
        if both := common(account[answer], ids):
            sentences.append(ngettext(*every, count) if both == ids else _(some, messages=messages(both)))
    if not sentences and (failed := _last(chronicle, queue, "transaction_failed", ids[0][0])) is not None:
        closed = N_("The publisher's channel was closed at {t} s instead of committing the transaction.")
        return [_(closed, t=seconds(failed["t"]))]
    if not sentences and holds(chronicle.outcome["queues"].get(queue, {}).get("uncommitted", []), ids[0][0]):
        return [_("The broker has neither confirmed nor nacked it so far.")]
    if not sentences and not holds(account["refused"], ids[0][0]) and published(chronicle, queue, ids[0][0]) is None:
        return [ngettext(*FROM_THE_START, count)]
    return sentences or [ngettext(*NEVER_CONFIRMED, count)]


ANSWERS = (
    (
        "confirmed",
        Plural("The broker confirmed it.", "The broker confirmed all of them."),
        N_("The broker confirmed {messages}."),
    ),
    ("nacked", Plural("The broker nacked it.", "The broker nacked all of them."), N_("The broker nacked {messages}.")),
)
"""The broker's answers to a publisher, with sentences for all and for some of the messages in question."""

FROM_THE_START = Plural(
    "It is not known whether its publisher got a confirm: the message was there from the start.",
    "It is not known whether their publishers got confirms: the messages were there from the start.",
)
NEVER_CONFIRMED = Plural(
    "The publisher never got a confirm for it.", "The publisher never got a confirm for them."
)
