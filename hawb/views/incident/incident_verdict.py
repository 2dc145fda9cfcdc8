"""What an incident cost, in a sentence: messages that are certainly lost, that may be, or that nothing was.

What is certain follows from the story by the rules, whatever clients did; what is possible depends on what they sent
meanwhile, which no log tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from hawb.engine import runs
from hawb.incident.losses import APART, Possible, QueueLosses
from hawb.incident.understanding import Incident
from hawb.views.formatting import counted, listing, sentence, shown
from hawb.views.incident.lost_messages import WHAT, because, begins, dangers, fate, perhaps
from hawb.views.incident.names import Names
from hawb.views.incident.sentences import told_apart
from hawb.views.report import MOST_TO_DO, ToDo, Verdict
from hawb.views.story.story_verdict import REMEDIES

MOST_CHANGES = 3
WITHOUT_EXPORTS = frozenset({"no_listing", "no_definitions"})
"""Doubts that exports beside the logs would settle."""


def verdict(incident: Incident, names: Names) -> Verdict:
    """No where messages are lost for certain, or some that a listing had unless clients had taken them; yes with a but
    where there may have been some, or where nobody can say; else yes."""
    if incident.untold:
        return Verdict("but", f"what became of messages cannot be told: {shown(incident.untold)}")
    lost = [one for one in incident.losses if one.certain]
    endangered = _endangered(incident)
    if lost:
        also = f". Possibly lost are {_perhaps(endangered, incident, names)}" if endangered else ""
        return Verdict("no", f"{certainly(lost)}{also}")
    if endangered:
        listed = endangered[0][0].listed
        told = f"{_perhaps(endangered, incident, names)} {fate(endangered[0][0], 'are')}"
        return Verdict("no" if listed else "but", told)
    if incident.outcome and incident.outcome["partitions"]:
        return Verdict("but", "the cluster is still partitioned in the end, and sides that restart will lose what they"
                       " alone have")  # fmt: skip
    if not incident.losses:
        return Verdict("yes", "the logs tell of no queue that could have lost any")
    return Verdict("yes", "nothing that the logs tell of has lost a message")


def todo(incident: Incident, names: Names) -> tuple[ToDo, ...]:
    """What to do: what would have kept what is lost, whom to ask about what may be, what to give beside the logs."""
    asked = [*_rejoining(incident, names), *_keeping(incident)]
    spans = dict.fromkeys((loss.from_us, loss.until_us) for one in incident.losses for loss in one.possible
                          if not loss.only)  # fmt: skip
    if spans:
        from_us, until_us = max(spans, key=lambda span: span[1] - span[0])
        when = f"by {names.time(until_us)}"
        if from_us > begins(incident):
            when = f"from {names.time(from_us)} to {names.time(until_us)}"
        asked.append(ToDo(f"Ask those who publish what was confirmed to them {when}: that is in no log of RabbitMQ's."))
    if incident.retold is None:
        return (ToDo("Give the logs of all nodes, from before anything went wrong on: this could not be played."),)
    if WITHOUT_EXPORTS & {doubt.kind for doubt in incident.retold.doubts}:
        asked.append(ToDo("Give a definitions export and a listing of queues beside the logs: what policies say and how"
                          " many messages there were is in no log.",
                          ("hawb incident LOGS definitions.json queues.json",)))  # fmt: skip
    asked.append(ToDo("Change the story, and play it again.",
                      ("hawb incident LOGS --scenario story.yaml", "hawb lab story.yaml")))  # fmt: skip
    return tuple(asked[:MOST_TO_DO])


def _rejoining(incident: Incident, names: Names) -> Iterator[ToDo]:
    """A cluster that is still partitioned has to be made one again, and the sides that restart lose what they alone
    have. Nodes that do not run are on no side."""
    if incident.outcome and (sides := incident.outcome["partitions"]):
        yield ToDo(f"Decide which side is to stay, of {told_apart(sides, names)}: they still go on without each other."
                   " Take the messages that only the others have out of them, and restart their nodes.")  # fmt: skip


def _keeping(incident: Incident) -> Iterator[ToDo]:
    """The changes that keep all that a queue lost, the best first; those of several queues once."""
    best: dict[tuple[str, ...], list[str]] = {}
    for one in incident.keepers:
        keep = tuple(shown(other.change.what) for other in one.changed
                     if other.result is not None and other.kept == runs.size(one.harm.lost))  # fmt: skip
        if keep:
            best.setdefault(keep[:MOST_CHANGES], []).append(one.harm.queue)
    what = "is" if incident.outcome and incident.outcome["losses"] else "may be"
    for keep, queues in best.items():
        lost = f"would have kept what {what} lost of {listing(queues)}"
        yield ToDo(f"Any of these {lost}: {'; '.join(keep)}." if len(keep) > 1 else f"{sentence(keep[0])} {lost}.")
    kept = {queue for queues in best.values() for queue in queues}
    causes = dict.fromkeys(loss.cause for one in incident.losses for loss in one.certain if one.queue not in kept)
    yield from (ToDo(REMEDIES[cause]) for cause in causes if cause in REMEDIES)


def certainly(lost: Sequence[QueueLosses]) -> str:
    """How many messages of which queues are lost for certain, and why: all that follows a No."""
    count = sum(one.certainly_lost for one in lost)
    causes = {loss.cause for one in lost for loss in one.certain}
    why = f": {because(causes.pop(), count)}" if len(causes) == 1 else ""
    return f"{counted(count)} of {listing(one.queue for one in lost)} {'is' if count == 1 else 'are'} lost{why}"


def _endangered(incident: Incident) -> list[tuple[Possible, list[str]]]:
    """What may be lost, the weightiest kind alone, and of which queues; what a listing had first, then what was in
    danger longest."""
    spans: dict[Possible, list[tuple[str, int]]] = {}
    found = [(one.queue, loss) for one in incident.losses for loss in dangers(one)]
    weightiest = min((loss.only for _, loss in found), key=[*WHAT].index, default="")
    for queue, loss in found:
        if loss.only == weightiest:
            spans.setdefault(replace(loss, listed=None, at_us=0), []).append((queue, loss.listed or 0))
    told = [(replace(loss, listed=sum(count for _, count in of) or None), [queue for queue, _ in of])
            for loss, of in spans.items()]  # fmt: skip
    return sorted(told, key=lambda one: (not one[0].listed, one[0].cause == APART,
                                         one[0].from_us - one[0].until_us, one[0].from_us))  # fmt: skip


def _perhaps(endangered: Sequence[tuple[Possible, list[str]]], incident: Incident, names: Names) -> str:
    """What may be lost, in words: the first, and in how many others."""
    (loss, queues), *others = endangered
    more = f", or in {counted(len(others), 'other span')} of time" if others else ""
    return perhaps(loss, names, listing(queues), begins(incident)) + more
