"""What an incident cost, in a sentence: messages that are certainly lost, that may be, or that nothing was.

What is certain follows from the story by the rules, whatever clients did; what is possible depends on what they sent
meanwhile, which no log tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hawb.incident.losses import Possible, QueueLosses
from hawb.incident.understanding import Incident
from hawb.views.formatting import counted, listing, shown
from hawb.views.incident.names import Names
from hawb.views.incident.times import lasted, time_of_day
from hawb.views.report import MOST_TO_DO, ToDo, Verdict
from hawb.views.story.story_verdict import REMEDIES

PASSIVE: Mapping[str, str] = {
    "unsynchronised_promotion": "a mirror that lacked {them} took over",
    "transient_message": "{they} {were} not persistent, and the last process that had {them} ended",
    "transient_queue": "the queue was not durable, and its last replica ended",
    "exclusive_queue": "the queue was exclusive, and such a queue is never mirrored",
    "dropped_replicas": "every replica was dropped but a mirror, which refused to take over",
    "disk_lost": "the only disk that had {them} was lost",
    "shrunk_by_force": "only members had {them} that were given up by force",
    "node_forgotten": "only a node had {them} that was forgotten",
    "side_given_up": "the side of the partition that had {them} was given up",
    "node_reset": "only a node had {them} that was reset",
    "auto_ack_in_flight": "{they} {were} on the way to clients that need not acknowledge",
}
"""Why messages are lost, as the end of a sentence, by cause (`hawb.engine.trace.CAUSES`)."""


WITHOUT_EXPORTS = frozenset({"no_listing", "no_definitions"})
"""Doubts that exports beside the logs would settle."""


def verdict(incident: Incident, names: Names) -> Verdict:
    """No where messages are certainly lost; yes with a but where some may be, or where nobody can say; else yes."""
    if incident.untold:
        return Verdict("but", f"what became of messages cannot be told: {shown(incident.untold)}")
    lost = [one for one in incident.losses if one.certain]
    possible = [one for one in incident.losses if one.possible]
    if lost:
        return Verdict("no", f"{certainly(lost)}{_also(possible, names)}")
    if possible:
        return Verdict("but", f"{_only_perhaps(possible, names)}")
    if not incident.losses:
        return Verdict("yes", "the logs tell of no queue that could have lost any")
    return Verdict("yes", "nothing that the logs tell of has lost a message")


def todo(incident: Incident, names: Names) -> tuple[ToDo, ...]:
    """What to do: what would have kept what is lost, whom to ask about what may be, what to give beside the logs."""
    asked = [*_keeping(incident)]
    spans = dict.fromkeys((loss.node, loss.from_us, loss.until_us) for one in incident.losses for loss in one.possible)
    if spans:
        node, from_us, until_us = next(iter(spans))
        more = f", and in {counted(len(spans) - 1, 'other span')}" if len(spans) > 1 else ""
        asked.append(ToDo(f"Ask those who publish what was confirmed to them{f' by {names.node(node)}' if node else ''}"
                          f" from {time_of_day(from_us)} to {time_of_day(until_us)}{more}: that is in no log of"
                          " RabbitMQ's."))  # fmt: skip
    doubts = {doubt.kind for doubt in incident.retold.doubts} if incident.retold else {*WITHOUT_EXPORTS}
    if doubts & WITHOUT_EXPORTS:
        asked.append(ToDo("Give a definitions export and a listing of queues beside the logs: what policies say and how"
                          " many messages there were is in no log.",
                          ("hawb incident LOGS definitions.json queues.json",)))  # fmt: skip
    if incident.retold is not None:
        asked.append(ToDo("Change the story, and play it again.",
                          ("hawb incident LOGS --scenario story.yaml", "hawb lab story.yaml")))  # fmt: skip
    return tuple(asked[:MOST_TO_DO])


def _keeping(incident: Incident) -> Iterator[ToDo]:
    """The best change for each queue that lost something; what is the best of several once."""
    best: dict[tuple[str, str], list[str]] = {}
    for one in incident.keepers:
        keeps = next((other for other in one.changed if other.result is not None and other.kept), None)
        if keeps is not None:
            best.setdefault((keeps.change.what, keeps.change.where), []).append(one.harm.queue)
    for (what, where), queues in best.items():
        yield ToDo(f"{shown(what)} ({shown(where)}) would have kept what is lost of {listing(queues)}.")
    kept = {queue for queues in best.values() for queue in queues}
    causes = dict.fromkeys(loss.cause for one in incident.losses for loss in one.certain if one.queue not in kept)
    yield from (ToDo(REMEDIES[cause]) for cause in causes if cause in REMEDIES)


def certainly(lost: Sequence[QueueLosses]) -> str:
    """How many messages of which queues are lost for certain, and why: all that follows a No."""
    count = sum(one.certainly_lost for one in lost)
    causes = {loss.cause for one in lost for loss in one.certain}
    why = f": {because(causes.pop(), count)}" if len(causes) == 1 else ""
    return f"{counted(count)} of {listing(one.queue for one in lost)} {'is' if count == 1 else 'are'} lost{why}"


def because(cause: str, count: int = 2) -> str:
    """Why so many messages were lost, as the end of a sentence."""
    one = count == 1
    words = {"them": "it" if one else "them", "they": "it" if one else "they", "were": "was" if one else "were"}
    return PASSIVE.get(cause, shown(cause).replace("_", " ")).format_map(words)


def perhaps(loss: Possible, names: Names, queue: str | None = None) -> str:
    """What may be lost besides: what a node took between two moments, if it took any."""
    kind = "messages that were not persistent" if loss.transient else "what"
    of = f" of {shown(queue)}" if queue else ""
    most = f", at most {counted(loss.most)}" if loss.most is not None else ""
    who = names.node(loss.node) if loss.node else "the cluster"
    long = f"({lasted(loss.until_us - loss.from_us)}{most})"
    return f"{kind} {who} took{of} from {time_of_day(loss.from_us)} to {time_of_day(loss.until_us)} {long}"


def _also(possible: Sequence[QueueLosses], names: Names) -> str:
    spans = [(one, loss) for one in possible for loss in one.possible]
    if not spans:
        return ""
    (one, loss), *others = spans
    more = f", and in {counted(len(others), 'other span')}" if others else ""
    return f". Possibly lost is {perhaps(loss, names, one.queue)}{more}"


def _only_perhaps(possible: Sequence[QueueLosses], names: Names) -> str:
    queues = [one.queue for one in possible]
    same = {(loss.node, loss.from_us, loss.until_us) for one in possible for loss in one.possible}
    first = next(loss for one in possible for loss in one.possible)
    if len(same) == 1:
        return f"{perhaps(first, names, listing(queues))} is lost, if it took any"
    return f"what {listing(queues)} took in {counted(len(same), 'span')} of time may be lost, if clients sent any"
