"""What a person is to know first of an outcome, in one sentence, and then why: what is lost, what cannot be used, who
took over.
"""

from __future__ import annotations

from itertools import islice

from hawb.views.formatting import counted, listing, seconds, shown, size
from hawb.views.story.chronicle import Chronicle
from hawb.views.story.telling import sentence
from hawb.views.story.why import why_lost

LOST, HARMED, WELL = "lost", "harmed", "well"
"""The tones of a verdict: messages are lost; something cannot be used; neither."""

MOST_REASONS = 4

TROUBLE = {"down": "down", "minority": "without a majority", "syncing": "blocked by a synchronisation"}
"""The states of a queue in which it cannot be used, in words."""

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
        return {"tone": HARMED, "text": f"Nothing is lost, but {trouble}."}
    if not outcome["queues"]:
        return {"tone": WELL, "text": "Nothing is lost: there is no queue."}
    return {"tone": WELL, "text": "Nothing is lost, and every queue can be used."}


def _lost(outcome: dict, lost: dict[str, int]) -> str:
    count = sum(lost.values())
    confirmed = sum(outcome["ledger"][name]["lost_confirmed"] for name in lost)
    each = "it was" if count == 1 else "all of them" if confirmed == count else f"{confirmed:,} of them"
    was = f", {each} confirmed" if confirmed else ""
    names = listing(sorted(lost, key=lambda name: -lost[name]))
    return f"{counted(count)} of {names} {'is' if count == 1 else 'are'} lost{was}."


def _trouble(outcome: dict) -> str:
    told = []
    for state, words in TROUBLE.items():
        names = [name for name, queue in outcome["queues"].items() if queue["state"] == state]
        told += [f"{listing(names)} {'is' if len(names) == 1 else 'are'} {words}"] if names else []
    alone = [name for name, queue in outcome["queues"].items() if _commits_nothing(queue)]
    told += [f"{listing(alone)} {'commits' if len(alone) == 1 else 'commit'} nothing"] if alone else []
    if "metadata_store" in outcome and not outcome["metadata_store"]["writable_from"]:
        told.append("metadata cannot be changed")
    disputed = [name for name, queue in outcome["queues"].items() if "views" in queue]
    told += [f"the sides of the partition do not agree about {listing(disputed)}"] if disputed else []
    resources = sorted({alarm["resource"] for alarm in outcome.get("alarms", ())})
    told += [f"publishers are blocked by a {resource} alarm" for resource in resources]
    return " and ".join(filter(None, [", ".join(told[:-1]), *told[-1:]]))


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
    told: list[str] = []
    while event is not None:
        queues = [event["queue"]] if event["queue"] else []
        told.append(f"{seconds(event['t'])} s: {sentence(event, queues)}")
        cause = event.get("because")
        event = None if cause is None else events[cause]
    return told[::-1]


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
