"""What a person is to know first of an outcome, in one sentence, and then why: what is lost, what cannot be used, who
took over.
"""

from __future__ import annotations

from itertools import islice

from hawb.languages import N_, Plural, _, ngettext
from hawb.views.formatting import counted, joined, listing, shown, size
from hawb.views.story.causes import noticed
from hawb.views.story.chronicle import Chronicle
from hawb.views.story.telling import at
from hawb.views.story.why import why_lost

LOST, HARMED, WELL = "lost", "harmed", "well"
"""The tones of a verdict: messages are lost; something cannot be used; neither."""

MOST_REASONS = 4

TROUBLE = {
    "down": Plural("{queues} is down", "{queues} are down"),
    "minority": Plural("{queues} is without a majority", "{queues} are without a majority"),
    "syncing": Plural("{queues} is blocked by a synchronisation", "{queues} are blocked by a synchronisation"),
}
"""The states of a queue in which it cannot be used, in words."""

COMMITS_NOTHING = Plural("{queues} commits nothing", "{queues} commit nothing")

BLOCKED = {
    "memory": N_("publishers are blocked by a memory alarm"),
    "disk": N_("publishers are blocked by a disk alarm"),
}
"""What alarms do, by what a node is short of."""

LOST_SENTENCES = {
    "none": Plural("{messages} of {queues} is lost.", "{messages} of {queues} are lost."),
    "all": Plural(
        "{messages} of {queues} is lost, it was confirmed.", "{messages} of {queues} are lost, all of them confirmed."
    ),
    "some": Plural(
        "{messages} of {queues} is lost, {confirmed} of them confirmed.",
        "{messages} of {queues} are lost, {confirmed} of them confirmed.",
    ),
}
"""What is lost, by how much of it had been confirmed."""

NOTABLE = (
    "queue_down", "queue_unavailable", "metadata_unavailable", "promoted", "leader_elected", "node_waiting",
    "node_paused", "cluster_partitioned", "links_cut", "sync_started", "mirror_removed", "alarm_set", "node_killed",
    "node_lost_power", "node_stopped", "messages_refused", "messages_nacked",
)  # fmt: skip
"""The events that ask for a reason, the weightiest first."""


def verdict(outcome: dict) -> dict:
    """The verdict: its `tone` and its `text`."""
    lost = {name: size(account["lost"]) for name, account in outcome["ledger"].items() if account["lost"]}
    if lost:
        return {"tone": LOST, "text": _lost(outcome, lost)}
    trouble = _trouble(outcome)
    if trouble:
        return {"tone": HARMED, "text": _("Nothing is lost, but {trouble}.", trouble=trouble)}
    if not outcome["queues"]:
        return {"tone": WELL, "text": _("Nothing is lost: there is no queue.")}
    return {"tone": WELL, "text": _("Nothing is lost, and every queue can be used.")}


def _lost(outcome: dict, lost: dict[str, int]) -> str:
    count = sum(lost.values())
    confirmed = sum(outcome["ledger"][name]["lost_confirmed"] for name in lost)
    known = "none" if not confirmed else "all" if confirmed == count else "some"
    names = listing(sorted(lost, key=lambda name: -lost[name]))
    words = {"messages": counted(count), "queues": names, "confirmed": f"{confirmed:,}"}
    return ngettext(*LOST_SENTENCES[known], count, **words)


def _trouble(outcome: dict) -> str:
    told = []
    for state, words in TROUBLE.items():
        names = [name for name, queue in outcome["queues"].items() if queue["state"] == state]
        told += [ngettext(*words, len(names), queues=listing(names))] if names else []
    alone = [name for name, queue in outcome["queues"].items() if _commits_nothing(queue)]
    told += [ngettext(*COMMITS_NOTHING, len(alone), queues=listing(alone))] if alone else []
    if "metadata_store" in outcome and not outcome["metadata_store"]["writable_from"]:
        told.append(_("metadata cannot be changed"))
    disputed = [name for name, queue in outcome["queues"].items() if "views" in queue]
    if disputed:
        told.append(_("the sides of the partition do not agree about {queues}", queues=listing(disputed)))
    resources = sorted({alarm["resource"] for alarm in outcome.get("alarms", ())})
    return joined([*told, *(_(BLOCKED[resource]) for resource in resources)])


def _commits_nothing(queue: dict) -> bool:
    """Whether the leader of a queue reaches no majority, though enough members run."""
    roles = [replica["role"] for replica in queue.get("replicas", {}).values()]
    return queue["state"] == "running" and "leader_alone" in roles


def reasons(outcome: dict) -> list[str]:
    """Why it came to that: for losses a paragraph each, the last first; else how the weightiest event of the last step
    came about, from the first cause on. Where something cannot be used, it is the last step that has such an event."""
    chronicle, events, tone = Chronicle(outcome), outcome["events"], verdict(outcome)["tone"]
    if outcome["losses"] and tone == LOST:
        told = (cause for loss in reversed(outcome["losses"]) for cause in why_lost(chronicle, loss))
        return list(islice(told, MOST_REASONS))
    notable = [event for event in events if event["event"] in NOTABLE]
    last = next((event["step"] for event in reversed(notable if tone == HARMED else events)), None)
    found = [event for event in notable if event["step"] == last]
    if last is None or not found:
        return []
    return chain(events, min(found, key=lambda event: NOTABLE.index(event["event"])))


def chain(events: list[dict], event: dict) -> list[str]:
    """An event and what brought it about, the first cause first, each with its time."""
    told = [event, *noticed(events, event)]
    return [at(one) for one in reversed(told)]


def done(step: object) -> str:
    """A step in a few words, from a scenario file's map: kill a; publish 10 to q."""
    if not isinstance(step, dict):
        return ""
    (verb, argument), *_ = [pair for pair in step.items() if pair[0] != "at"] or [("", "")]
    words = verb.replace("_", " ")
    if isinstance(argument, str | int | float) and argument is not True:
        return f"{words} {shown(argument)}"
    if isinstance(argument, dict):
        about = [argument[key] for key in ("count", "queue", "name", "consumer", "node") if key in argument]
        return " ".join([words, *map(shown, about[:2])])
    return words
