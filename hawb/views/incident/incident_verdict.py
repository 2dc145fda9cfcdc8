"""What an incident cost, in a sentence: messages that are certainly lost, that may be, or that nothing was.

What is certain follows from the story by the rules, whatever clients did; what is possible depends on what they sent
meanwhile, which no log tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from hawb.engine import runs
from hawb.incident.losses import Possible, QueueLosses
from hawb.incident.understanding import Incident
from hawb.views.formatting import counted, listing, shown
from hawb.views.incident.lost_messages import WHAT, because, begins, perhaps
from hawb.views.incident.names import Names
from hawb.views.report import MOST_TO_DO, ToDo, Verdict
from hawb.views.story.story_verdict import REMEDIES

MOST_CHANGES = 3
WITHOUT_EXPORTS = frozenset({"no_listing", "no_definitions"})
"""Doubts that exports beside the logs would settle."""


def verdict(incident: Incident, names: Names) -> Verdict:
    """No where messages are certainly lost; yes with a but where some may be, or where nobody can say; else yes."""
    if incident.untold:
        return Verdict("but", f"what became of messages cannot be told: {shown(incident.untold)}")
    lost = [one for one in incident.losses if one.certain]
    endangered = _endangered(incident, names)
    if lost:
        return Verdict("no", f"{certainly(lost)}{f'. Possibly lost are {endangered}' if endangered else ''}")
    if endangered:
        return Verdict("but", f"{endangered} are lost, if there were any")
    if not incident.losses:
        return Verdict("yes", "the logs tell of no queue that could have lost any")
    return Verdict("yes", "nothing that the logs tell of has lost a message")


def todo(incident: Incident, names: Names) -> tuple[ToDo, ...]:
    """What to do: what would have kept what is lost, whom to ask about what may be, what to give beside the logs."""
    asked = [*_keeping(incident)]
    spans = dict.fromkeys((loss.from_us, loss.until_us) for one in incident.losses for loss in one.possible
                          if not loss.only)  # fmt: skip
    if spans:
        from_us, until_us = max(spans, key=lambda span: span[1] - span[0])
        when = f"by {names.time(until_us)}"
        if from_us > begins(incident):
            when = f"from {names.time(from_us)} to {names.time(until_us)}"
        asked.append(ToDo(f"Ask those who publish what was confirmed to them {when}: that is in no log of RabbitMQ's."))
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
    """The changes that keep all that a queue lost, the best first; those of several queues once."""
    best: dict[tuple[str, ...], list[str]] = {}
    for one in incident.keepers:
        keep = tuple(shown(other.change.what) for other in one.changed
                     if other.result is not None and other.kept == runs.size(one.harm.lost))  # fmt: skip
        if keep:
            best.setdefault(keep[:MOST_CHANGES], []).append(one.harm.queue)
    what = "is" if incident.outcome and incident.outcome["losses"] else "may be"
    for keep, queues in best.items():
        either = f"Any of these would have kept what {what} lost of {listing(queues)}: {'; '.join(keep)}."
        yield ToDo(either if len(keep) > 1 else f"{keep[0]} would have kept what {what} lost of {listing(queues)}.")
    kept = {queue for queues in best.values() for queue in queues}
    causes = dict.fromkeys(loss.cause for one in incident.losses for loss in one.certain if one.queue not in kept)
    yield from (ToDo(REMEDIES[cause]) for cause in causes if cause in REMEDIES)


def certainly(lost: Sequence[QueueLosses]) -> str:
    """How many messages of which queues are lost for certain, and why: all that follows a No."""
    count = sum(one.certainly_lost for one in lost)
    causes = {loss.cause for one in lost for loss in one.certain}
    why = f": {because(causes.pop(), count)}" if len(causes) == 1 else ""
    return f"{counted(count)} of {listing(one.queue for one in lost)} {'is' if count == 1 else 'are'} lost{why}"


def _endangered(incident: Incident, names: Names) -> str:
    """What may be lost, the weightiest: of one kind, in the longest span; and in how many others."""
    spans: dict[Possible, list[tuple[str, int]]] = {}
    for only in WHAT:
        for one in incident.losses:
            for loss in one.possible if not spans or next(iter(spans)).only == only else ():
                if loss.only == only:
                    spans.setdefault(replace(loss, listed=None, at_us=0), []).append((one.queue, loss.listed or 0))
    if not spans:
        return ""
    longest = max(spans, key=lambda loss: (loss.until_us - loss.from_us, -loss.from_us))
    listed = sum(count for _, count in spans[longest])
    queues = listing(dict.fromkeys(queue for queue, _ in spans[longest]))
    more = f", or in {counted(len(spans) - 1, 'other span')} of time" if len(spans) > 1 else ""
    return perhaps(replace(longest, listed=listed or None), names, queues, begins(incident)) + more
