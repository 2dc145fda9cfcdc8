"""An incident as a report.

It says what the incident cost, what happened, where the logs differ from RabbitMQ's rules, what would have kept the
messages, and what was assumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.core import runs
from hawb.incident.asked import WHOLE
from hawb.incident.clocks import settled_us
from hawb.incident.compared import Comparison, Pair
from hawb.incident.doubts import Doubt
from hawb.incident.faults import BROKEN
from hawb.incident.losses import QueueLosses
from hawb.incident.not_logs import not_logs, what
from hawb.incident.reconstruction import EARLIER_US
from hawb.incident.understanding import Incident
from hawb.planning.alternatives import Alternatives
from hawb.views.formatting import counted, listing, shown
from hawb.views.incident import strips
from hawb.views.incident.figure import Picture
from hawb.views.incident.headline import headline
from hawb.views.incident.lost_messages import WHAT, because, begins, dangers, perhaps, with_losses
from hawb.views.incident.names import Names, names
from hawb.views.incident.picture import picture
from hawb.views.incident.sentences import Sentence, sentences
from hawb.views.incident.times import date_and_time, day, time_of_day
from hawb.views.report import Part, Report
from hawb.views.story.telling import sentence as expected_sentence
from hawb.views.tables import Table
from hawb.views.verdicts.incident import todo, verdict

QUESTION = "Does the cluster still have all messages, and does everything work?"
MOST_STORY = 3_000
"""Maximum number of sentences that are printed."""
STORY, LOST, KEEPERS, COMPARED = (
    "What happened", "What happened to messages", "What would have kept the messages",
    "Where the logs differ from RabbitMQ's rules",
)  # fmt: skip
UNREAD, STRANGE = "Error messages that hawb does not know", "Files that are not RabbitMQ logs"
TRIED = ("Counted with test messages, one published at each node at each event: no file says how many real messages"
         " there were.")  # fmt: skip
NOTHING_KEEPS = "none of the single changes that were tried"
BY_RULES = "by the rules"
MOST_LINES, MOST_PARTINGS, MOST_CHANGES, MOST_UNREAD = 3, 20, 6, 10
STANDING_ASSUMPTIONS = (
    "Times are in UTC, by the clock of one node. The clocks of the other nodes were adjusted by events that several"
    " nodes logged.",
    "A loss is certain if it follows from the story by RabbitMQ's rules, whatever clients did. A possible loss depends"
    " on what clients sent, which is not in the logs.",
)


class Account(Struct, frozen=True):
    """An incident with the short names of its nodes, its sentences and its picture."""

    incident: Incident
    names: Names
    story: list[Sentence]
    picture: Picture


def account(incident: Incident) -> Account:
    """Return an incident with its story in sentences and its picture."""
    nodes = {node for event in incident.reading.events for node in (event.node, event.peer, *event.nodes) if node}
    moments, span = [one.at_us for one in incident.covered], incident.span
    called = names(sorted(nodes), [file.file for file in incident.reading.files], len({*map(day, moments)}) > 1)
    before = [one for one in incident.cluster_events if not span.has_begun_by(one.at_us)]
    story = with_losses(sentences(incident.covered, called, before), incident, called)
    drawn = picture("", incident.node_runs, incident.cluster_events, story, called, incident.losses, span)
    title = headline(story, drawn, called, incident.reading.severe)
    first = min((span.from_us for span in drawn.spans), default=0)
    if incident.node_runs and first > max(min(run.from_us for run in incident.node_runs), span.since_us or 0):
        title = f"{title} The picture begins at {called.time(first)}."
    return Account(incident, called, story, replace(drawn, title=title))


def report_of(of: Account) -> Report:
    """Return the report on an incident."""
    incident = of.incident
    parts = [Part(STORY, _story(of), (strips.key(of.picture), *_more(of)))] if of.story else []
    parts += _not_read(of)
    if incident.losses:
        parts.append(Part(LOST, _losses(of)))
    tried = not (incident.outcome and incident.outcome["losses"])
    parts += [Part(f"{KEEPERS} of {shown(one.harm.queue)}", _keepers(one, tried), (TRIED,) * tried)
              for one in incident.keepers]  # fmt: skip
    if incident.comparison is not None:
        parts.append(_compared(of, incident.comparison))
    doubts = incident.reconstructed.doubts if incident.reconstructed is not None else ()
    assumed = (*STANDING_ASSUMPTIONS, *(of.names.text(text) for text in doubted(doubts)))
    return Report(QUESTION, about(of), verdict(incident, of.names), todo(incident, of.names), tuple(parts), assumed)


def _not_read(of: Account) -> Iterator[Part]:
    """Yield parts about error messages and files that were not understood, without text that may be secret."""
    reading = of.incident.reading
    if rows := [(of.names.line(one), one.level, shown(one.text)) for one in reading.unread[:MOST_UNREAD]]:
        more = f"{counted(reading.severe, 'message')} in all. " if reading.severe > len(rows) else ""
        yield Part(UNREAD, Table(UNREAD, ("line", "level", "how it begins"), rows),
                   (f"{more}Quoted text, names and addresses are left out here.",))  # fmt: skip
    if strange := [*not_logs(reading)]:
        yield Part(STRANGE, None, tuple(f"{shown(file.file)}: {what(file)}." for file in strange))


def doubted(doubts: Sequence[Doubt]) -> Iterator[str]:
    """Yield doubts in sentences; doubts of one kind about several queues share a sentence."""
    alike: dict[Doubt, list[str]] = {}
    for doubt in doubts:
        same = replace(doubt, queue=None, from_us=None, until_us=None)
        alike.setdefault(same, []).extend([] if doubt.queue is None else [doubt.queue])
    for doubt, queues in alike.items():
        yield replace(doubt, queue=listing(dict.fromkeys(queues))).text


def about(of: Account) -> str:
    """Return which nodes' logs were read, and from when to when."""
    reading = of.incident.reading
    wrote = {event.node for event in reading.events}
    living = dict.fromkeys(run.node for run in of.incident.node_runs)
    nodes = ", ".join(map(shown, [node for node in living if node in wrote] or sorted(wrote)))
    if not of.incident.covered:
        return f"{counted(len(reading.files), 'file')}, from {nodes or 'no node'}.{_asked(of.incident)}"
    first, last = of.incident.covered[0].at_us, max(one.until_us or one.at_us for one in of.incident.covered)
    until = time_of_day(last) if day(first) == day(last) else f"{day(last)} {time_of_day(last)}"
    files = counted(sum(file.is_log for file in reading.files), "log file")
    period = f"{day(first)}, {time_of_day(first)} to {until} UTC; {files}, from {nodes}."
    return f"{period}{_asked(of.incident)}{_explained(of.incident)}"


def _asked(incident: Incident) -> str:
    """Return a sentence about the span that the user asked for and the span of the logs.

    It says why the story begins earlier, if it does. Return "" if the user asked for everything.
    """
    asked, reading = incident.asked, incident.reading
    if asked == WHOLE or not reading.events:
        return ""
    first, last = (date_and_time(settled_us(reading.events[place], reading.clocks)) for place in (0, -1))
    since = "the first line" if asked.since_us is None else date_and_time(asked.since_us)
    until = "the last line" if asked.until_us is None else date_and_time(asked.until_us)
    earlier = ""
    if asked.since_us is not None and (begins_us := incident.span.since_us or 0) < asked.since_us - EARLIER_US:
        earlier = f"; the story begins at {date_and_time(begins_us)}, because an event that began then was not over"
    return f" Requested period: {since} to {until}{earlier}. The logs cover {first} to {last}."


def _explained(incident: Incident) -> str:
    """Return a sentence with the share of events that RabbitMQ's rules explain; "" after spontaneous failures."""
    if incident.comparison is None or not incident.comparison.pairs or _broke(incident):
        return ""
    seen = sum(pair.seen is not None for pair in incident.comparison.pairs)
    return f" RabbitMQ's rules explain {incident.comparison.equal:,} of {counted(seen, 'event')}." if seen else ""


def _broke(incident: Incident) -> bool:
    """Return True if there are spontaneous failures or unread error messages besides the simulated story."""
    return bool(incident.reading.severe) or any(one.kind in BROKEN for one in incident.covered)


def lines(one: Sentence, called: Names, most: int = MOST_LINES) -> str:
    """Return the places of a sentence's log messages: the first `most`, and the number of the others."""
    cited = [called.line(event) for event in one.events] or [BY_RULES]
    more = f" and {len(cited) - most} more" if len(cited) > most else ""
    return f"{', '.join(cited[:most])}{more}"


def _story(of: Account) -> Table:
    """Return the story as a table; each sentence has the states of the nodes just after it."""
    states = strips.Strips(of.picture)
    rows = [(one.number, of.names.time(one.at_us), states.at(one.last_us),
             f"{one.text.removesuffix('.')} ({lines(one, of.names)}).") for one in of.story[:MOST_STORY]]  # fmt: skip
    return Table(STORY, ("", "time, UTC", strips.head(of.picture), "what happened"), rows)


def _more(of: Account) -> Iterator[str]:
    """Yield how many sentences a long story lacks."""
    if len(of.story) > MOST_STORY:
        yield f"These are the first {MOST_STORY:,} of {len(of.story):,} sentences; --json and -o have all of them."


def _losses(of: Account) -> Table:
    """Return the table of losses, the worst first; queues with the same loss at the same time share a row."""
    alike: dict[tuple[int, str, str, str], list[QueueLosses]] = {}
    for one in of.incident.losses:
        for row in _of_queue(one, of):
            alike.setdefault(row, []).append(one)
    rows = [(listing(one.queue for one in ones), certain, possible, _kept(ones), why)
            for (_, certain, possible, why), ones in sorted(alike.items(), key=lambda row: row[0][0])]  # fmt: skip
    return Table(LOST, ("queue", "certainly lost", "possibly lost", "kept at the end", "why"), rows)


def _kept(ones: Sequence[QueueLosses]) -> str:
    """Return the number of messages that queues have at the end, in words."""
    known = [one.kept for one in ones if one.kept is not None]
    return "not known" if len(known) < len(ones) else f"{sum(known):,}{' in all' if len(ones) > 1 else ''}"


def _of_queue(one: QueueLosses, of: Account) -> Iterator[tuple[int, str, str, str]]:
    """Yield a row for each time and cause of a queue's certain or possible losses, with its rank (the worst first)."""
    ranked = dangers(one)
    for at_us, cause in dict.fromkeys((loss.at_us, loss.cause) for loss in (*one.certain, *ranked)):
        certain = sum(loss.count for loss in one.certain if (loss.at_us, loss.cause) == (at_us, cause))
        same = [loss for loss in ranked if (loss.at_us, loss.cause) == (at_us, cause)]
        possible = "; ".join(perhaps(loss, of.names, "", begins(of.incident)) for loss in same)
        weight = 0 if certain else 1 + [*WHAT].index(same[0].only)
        counts = f"▼ {certain:,}" if certain else "none", f"◌ {possible}" if possible else "none"
        yield weight, *counts, f"{because(cause)}, at {of.names.time(at_us)}"
    if not (one.certain or ranked):
        yield len(WHAT) + 1, "none", "none", ""


def _keepers(of: Alternatives, tried: bool) -> Table:
    """Return the table of changes that would have kept a queue's messages, the best first.

    For test messages (`tried`) it says only if all or some are kept.
    """
    lost = runs.size(of.harm.lost)
    rows = [(shown(one.change.what), shown(one.change.where),
             ("all" if one.kept == lost else "some") if tried else f"{one.kept:,} of {lost:,}", one.result.state)
            for one in of.changed if one.result is not None and one.kept][:MOST_CHANGES]  # fmt: skip
    return Table(KEEPERS, ("change", "where", "kept", "queue at the end"), rows or [(NOTHING_KEEPS, "", "none", "")])


def _compared(of: Account, comparison: Comparison) -> Part:
    parted = comparison.apart
    events = counted(comparison.equal, "event") if comparison.equal else "No event"
    agreed = f"{events} agree with RabbitMQ's rules."
    if not parted and _broke(of.incident):
        return Part(COMPARED, None, (f"{agreed} The simulation leaves out spontaneous failures, and lines that hawb"
                                     " does not recognise.",))
    if not parted:
        return Part(COMPARED, None, (f"Nowhere: all {agreed}",))
    rows = [_parting(pair, of) for pair in parted[:MOST_PARTINGS]]
    more = f" {counted(len(parted) - MOST_PARTINGS, 'other')} not shown." if len(parted) > MOST_PARTINGS else ""
    table = Table(COMPARED, ("time, UTC", "what the logs show", "line", "what the rules expect"), rows)
    return Part(
        COMPARED, table, (f"{agreed} From the first line above on, the simulated story differs from what"
                          f" happened.{more}",)
    )


def _parting(pair: Pair, of: Account) -> tuple[str, str, str, str]:
    seen, line = "nothing", ""
    if pair.seen is not None:
        one = next(iter(sentences([pair.seen], of.names)), None)
        seen = one.text if one else pair.seen.kind.replace("_", " ")
        line = of.names.line(pair.seen.events[0])
    return of.names.time(pair.at_us), seen, line, of.names.text(expected(pair))


def expected(pair: Pair) -> str:
    """Return what RabbitMQ's rules expect, in a sentence."""
    if pair.expected is None:
        return "nothing"
    return expected_sentence(pair.expected)
