"""Explain each loss of an outcome, clause by clause, from events and policies.

Messages that are lost together need not have the same history: some may have had copies on other nodes that went down
earlier. So a loss is explained in parts; the messages of a part were published together and had the same fate.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from hawb.engine.core import runs
from hawb.engine.core.trace import CAUSES
from hawb.languages import N_, _, ngettext
from hawb.views.formatting import commas, counted, joined, listing, messages, paragraph, seconds, shown, size
from hawb.views.formatting import sentence as begun
from hawb.views.story.chronicle import Chronicle, noticed
from hawb.views.story.copies import NODE_ENDS, End, copies
from hawb.views.story.policies_in_force import PoliciesInForce
from hawb.views.story.telling import at

Explain = Callable[[Chronicle, dict, int | None], str]
"""A function that explains the messages of a loss that one event published (None: that were there from the start)."""

MASTER_ENDS = {
    "node_killed": N_("was killed"),
    "node_lost_power": N_("lost power with its host"),
    "node_stopped": N_("was shut down in a controlled way"),
    "out_of_reach": N_("could no longer be reached"),
    "crashed": N_("crashed"),
    "policy": N_("was dropped as the policy required"),
    "transfer": N_("was dropped so that another replica takes over"),
    "left_behind": N_("was left behind while it ran"),
    "metadata_timed_out": N_("ended, because metadata could not be changed"),
}
"""How a master ended, by the reason of `master_down`."""

DEFAULTS = {"ha-sync-mode": "manual", "ha-promote-on-shutdown": "when-synced", "ha-promote-on-failure": "always"}
"""The defaults of policy keys that a policy leaves out."""


class Part(Struct, frozen=True):
    """A part of a loss: its message numbers, and a paragraph that says why they were lost.

    `first` is the place of the first event that published any of them; None if some were there from the start.
    """

    ids: list[list[int]]
    text: str
    first: int | None


def parts(chronicle: Chronicle, loss: dict) -> list[Part]:
    """Return the parts of a loss."""
    explain = EXPLANATIONS.get(loss["cause"], _by_chain)
    found: dict[str, tuple[int | None, runs.Runs]] = {}
    for first, numbers in _published_together(chronicle, loss):
        reason = explain(chronicle, loss, first)
        earliest, before = found.get(reason, (first, runs.EMPTY))
        found[reason] = (earliest, runs.union(before, numbers))
    event = _event(chronicle, loss)
    return [
        Part(ids := runs.as_lists(numbers), paragraph([_lost(ids, loss["queue"], event), reason]), first)
        for reason, (first, numbers) in found.items()
    ]


def _lost(ids: list[list[int]], queue: str, event: dict | None) -> str:
    """Return the sentence that messages were lost, with the time if it is known."""
    words = {"Ids": begun(messages(ids)), "queue": shown(queue)}
    if event is None:
        return ngettext("{Ids} of {queue} was lost.", "{Ids} of {queue} were lost.", size(ids), **words)
    words["t"] = seconds(event["t"])
    return ngettext("{Ids} of {queue} was lost at {t} s.", "{Ids} of {queue} were lost at {t} s.", size(ids), **words)


def _event(chronicle: Chronicle, loss: dict) -> dict | None:
    """Return the event of a loss; None if the outcome, recorded from a broker, has no such event."""
    index = loss.get("event")
    return None if index is None else chronicle.events[index]


def _published_together(chronicle: Chronicle, loss: dict) -> list[tuple[int | None, runs.Runs]]:
    """Return the lost numbers by the place of their publish event; None for messages that were there from the start."""
    left = as_runs(loss["ids"])
    parts: list[tuple[int | None, runs.Runs]] = []
    for index in reversed(chronicle.places(("messages_published",), loss["queue"])):
        if not left:
            break
        numbers = runs.common(left, as_runs(chronicle.events[index]["detail"]["ids"]))
        left = runs.minus(left, numbers)
        parts += [(index, numbers)] if numbers else []
    return [*([(None, left)] if left else []), *reversed(parts)]


def as_runs(ids: list[list[int]]) -> runs.Runs:
    """Return an outcome's lists of runs as the engine's tuples of runs."""
    return tuple((first, last) for first, last in ids)


def master_down(chronicle: Chronicle, queue: str, index: int) -> dict | None:
    """Return the last event before `index` with which the queue lost its master; None if there is none."""
    return next(chronicle.latest(("master_down",), queue, until=index), None)


def master_end(fault: dict) -> str:
    """Return the sentence about a master's end."""
    return _("The master on {node} {how} at {t} s.", node=shown(fault["node"]), **_end(fault))


def _end(fault: dict) -> dict[str, str]:
    """Return the words for how a master ended, and the time."""
    how = MASTER_ENDS[fault["detail"]["reason"]]
    return {"how": _(how), "t": seconds(fault["t"])}


# Losses by promotion of a mirror that did not have the messages


def promotion(chronicle: Chronicle, loss: dict) -> int | None:
    """Return the place of the promotion that lost messages; None if another cause lost them."""
    by_promotion = loss["cause"] == "unsynchronised_promotion"
    return _last_event(chronicle, loss["queue"], "promoted", loss) if by_promotion else None


def _unsynchronised_promotion(chronicle: Chronicle, loss: dict, first: int | None) -> str:
    queue, index = loss["queue"], promotion(chronicle, loss)
    if index is None:
        return _by_chain(chronicle, loss, first)
    fault = master_down(chronicle, queue, index)
    had = {} if first is None else copies(chronicle, queue, first, index)
    clauses = [
        _holders(chronicle, had, index, fault),
        newcomer(chronicle, queue, first, index, fault),
        _permission(chronicle, queue, index, fault),
        _left_behind(chronicle, had, index, fault),
    ]
    return paragraph(clauses)


def _last_event(chronicle: Chronicle, queue: str, name: str, loss: dict) -> int | None:
    """Return the place of the last event of this name for a queue up to a loss; None if there is none."""
    until = -1 if loss.get("event") is None else loss["event"]
    return next(reversed(chronicle.places((name,), queue, until=until + 1)), None)


def _holders(chronicle: Chronicle, had: dict[str, End | None], index: int, fault: dict | None) -> str:
    """Return the clause about the nodes that had the messages and the end of their copies.

    If `had` is empty, the messages were there from the start. No remaining mirror can have them: the promoted mirror is
    the oldest, and no mirror holds messages that an older mirror lacks.
    """
    promotion = chronicle.events[index]
    was = promotion["detail"]["was"]
    words = {"was": shown(was)} | (_end(fault) if fault else {})
    if not had:
        sentence = (
            N_("The master on {was}, which had them, {how} at {t} s.")
            if fault
            else N_("The master on {was}, which had them, was gone.")
        )
        return _(sentence, **words)
    sentence = (
        N_("The last running replica that had them was the master on {was}, which {how} at {t} s.")
        if fault
        else N_("The last running replica that had them was the master on {was}, which was gone.")
    )
    others = {node: how for node, how in had.items() if node != was}
    ended = [_("{node} {how} at {t} s", node=shown(node), how=_(how.how), t=seconds(how.t))
             for node, how in others.items() if how is not None]  # fmt: skip
    before = _("Other replicas had held them: {ended}.", ended=commas(ended)) if ended else ""
    return paragraph([_(sentence, **words), before])


def newcomer(chronicle: Chronicle, queue: str, first: int | None, index: int, fault: dict | None) -> str:
    """Return the clause that says why the promoted mirror did not have the messages."""
    node = chronicle.events[index]["node"]
    name = shown(node)
    early = emptied(chronicle, queue, node, index)
    if early is not None:
        return _(
            "{node}, the oldest remaining mirror, had been emptied by a synchronisation that ended early at {t} s.",
            node=name, t=seconds(chronicle.events[early]["t"]),
        )  # fmt: skip
    added = chronicle.events_of(("mirror_added",), queue, first or 0, index)
    joins = [event for event in added if event["node"] == node]
    if not joins:
        return _("{node}, the oldest remaining mirror, was not synchronised.", node=name)
    words = {"node": name, "t": seconds(joins[-1]["t"])}
    if fault is not None and joins[-1]["t"] > fault["t"]:
        return _("{node} joined at {t} s, when no replica that had them was left.", **words)
    return _no_synchronisation(chronicle, queue, index, words)


def emptied(chronicle: Chronicle, queue: str, node: str, index: int) -> int | None:
    """Return the place of the event that ended a synchronisation of a mirror early, leaving it empty, or None.

    A later complete synchronisation, or a later start of the mirror, cancels the earlier one.
    """
    invited: list[str] = []
    ended = None
    names = ("sync_started", "sync_ended", "sync_finished", "mirror_added")
    for place in chronicle.places(names, queue, until=index):
        event = chronicle.events[place]
        if event["event"] == "sync_started":
            invited = event["detail"]["mirrors"]
        elif event["event"] == "sync_ended":
            ended = place if node in invited else ended
        elif event["node"] in (node, None):
            ended = None
    return ended


def _no_synchronisation(chronicle: Chronicle, queue: str, index: int, words: dict[str, str]) -> str:
    """Return the clause about when the mirror joined, and why it was not synchronised afterwards."""
    definition = PoliciesInForce(chronicle).definition(queue, index)
    if definition is None:
        return _(
            "{node}, the oldest remaining mirror, had joined at {t} s, after they were published, and was not"
            " synchronised.",
            **words,
        )
    if _setting(definition, "ha-sync-mode") == "automatic":
        return _(
            "{node}, the oldest remaining mirror, had joined at {t} s, after they were published, and was not"
            " synchronised: ha-sync-mode is automatic, but the synchronisation had not begun.",
            **words,
        )
    return _(
        "{node}, the oldest remaining mirror, had joined at {t} s, after they were published, and was not"
        " synchronised: {setting}, and no synchronisation was requested.",
        setting=_said(chronicle, queue, index, "ha-sync-mode"),
        **words,
    )


def unsynchronised_by(chronicle: Chronicle, queue: str, index: int) -> str | None:
    """Return the setting by which a mirror that had joined stayed unsynchronised until event `index`.

    Return None if ha-sync-mode is automatic, or if the outcome does not have the definitions.
    """
    definition = PoliciesInForce(chronicle).definition(queue, index)
    if definition is None or _setting(definition, "ha-sync-mode") == "automatic":
        return None
    return _said(chronicle, queue, index, "ha-sync-mode")


def setting(chronicle: Chronicle, queue: str, index: int, key: str) -> str | None:
    """Return the value of a policy key in force for a queue at event `index`, and the operator policy that set it.

    Return None if the outcome does not have the definitions, or if no policy asks for mirrors.
    """
    definition = PoliciesInForce(chronicle).definition(queue, index)
    return _said(chronicle, queue, index, key) if definition is not None and "ha-mode" in definition else None


def _setting(definition: dict, key: str) -> str:
    return definition.get(key, DEFAULTS[key])


def _said(chronicle: Chronicle, queue: str, index: int, key: str) -> str:
    """Return the value of a policy key in force, with the operator policy that set it, if one did."""
    in_force = PoliciesInForce(chronicle)
    definition, operators = in_force.definition(queue, index), in_force.decided_by_operator(queue, index, key)
    words = {"key": key, "value": _setting(definition, key)}
    if key not in definition:
        return _("{key} is {value} (its default)", **words)
    if operators is None:
        return _("{key} is {value}", **words)
    return _("{key} is {value} (set by operator policy {operators})", operators=shown(operators), **words)


def _permission(chronicle: Chronicle, queue: str, index: int, fault: dict | None) -> str:
    """Return the clause about the setting or circumstance that permitted the promotion of an unsynchronised mirror."""
    promotion = chronicle.events[index]
    has = promotion["detail"]["messages"]
    with_them = N_("{node} took over with the {messages} that it had")
    took = _(with_them if has else N_("{node} took over empty"), node=shown(promotion["node"]), messages=counted(has))
    in_force = PoliciesInForce(chronicle)
    definition = in_force.definition(queue, index)
    if definition is None and (names := in_force.names(queue, index)):
        return ngettext(
            "The policy {names} allowed this: {took}.", "The policies {names} allowed this: {took}.", len(names),
            names=listing(names), took=took,
        )  # fmt: skip
    if definition is None or "ha-mode" not in definition:
        return _("No policy asked for mirrors any more, so no setting prevented this: {took}.", took=took)
    keys = ["ha-promote-on-failure"]
    if fault and fault["detail"]["reason"] == "node_stopped":
        keys.insert(0, "ha-promote-on-shutdown")
    settings = joined(_said(chronicle, queue, index, key) for key in keys)
    if any(_setting(definition, key) == "when-synced" for key in keys):
        return _(
            "{settings}. RabbitMQ only checks whether the queue's record lists any synchronised mirror. It listed"
            " one, so {took}.",
            settings=settings,
            took=took,
        )
    return _("{settings}, so {took}.", settings=settings, took=took)


def _left_behind(chronicle: Chronicle, had: dict[str, End | None], index: int, fault: dict | None) -> str:
    """Return the clause about copies on the disks of nodes that are still down; RabbitMQ deletes them at boot."""
    was = chronicle.events[index]["detail"]["was"]
    dropped = fault is not None and fault["detail"]["reason"] in ("policy", "transfer")
    nodes = [] if dropped else [was]
    nodes += [node for node, end in had.items() if node != was and end is not None and end.on_disk]
    waiting = [node for node in nodes if not _is_up(chronicle, node, index)]
    if not waiting:
        return ""
    return ngettext(
        "The copy on the disk of {nodes} is deleted when the node returns.",
        "The copies on the disks of {nodes} are deleted when the nodes return.",
        len(waiting),
        nodes=listing(waiting),
    )


def _is_up(chronicle: Chronicle, node: str, index: int) -> bool:
    """Return True if a node that had gone down was running again at event `index`."""
    events = (event["event"] for event in chronicle.latest(NODE_EVENTS, None, until=index) if event["node"] == node)
    return next(events, None) == "node_running"


NODE_EVENTS = (*NODE_ENDS, "node_running")


# Losses with a queue that went down and came back without them, or not at all


def _went_down(words: str) -> Explain:
    def explain(chronicle: Chronicle, loss: dict, first: int | None) -> str:
        index = _last_event(chronicle, loss["queue"], "queue_down", loss)
        if index is None:
            return _by_chain(chronicle, loss, first)
        event = chronicle.events[index]
        fault = master_down(chronicle, loss["queue"], index)
        no_successor = NO_SUCCESSOR[event["detail"]["reason"]]
        return paragraph([_(words), master_end(fault) if fault else "", _(no_successor)])

    return explain


NO_SUCCESSOR = {
    "no_mirror": N_("There was no mirror to take over."),
    "mirrors_stopped": N_(
        "No mirror was synchronised, and ha-promote-on-shutdown is not always, so the master stopped all mirrors."
    ),
    "promotion_refused": N_("No mirror was synchronised, and ha-promote-on-failure is when-synced, so none took over."),
}
"""The reasons why no mirror was promoted, by the reason of `queue_down`."""


def _by_chain(chronicle: Chronicle, loss: dict, first: int | None) -> str:
    """Return the cause in words, followed by the events that led to it."""
    event = _event(chronicle, loss)
    chain = [] if event is None else [*noticed(chronicle.events, event)]
    steps = (at(one) for one in reversed(chain))
    cause = CAUSES[loss["cause"]]
    return paragraph([_(cause), *steps])


EXPLANATIONS: dict[str, Explain] = {
    "unsynchronised_promotion": _unsynchronised_promotion,
    "transient_message": _went_down(
        N_("They were not persistent, so they were gone with the last process that had them.")
    ),
    "transient_queue": _went_down(N_("The queue was not durable, and its last replica ended.")),
    "dropped_replicas": _went_down(N_("Every replica except one mirror was dropped, and the dropped copies were"
                                      " deleted.")),
    "exclusive_queue": _went_down(N_("The queue was exclusive, and such a queue is never mirrored.")),
}
"""The explanation of each cause; `_by_chain` explains causes that are not listed."""
