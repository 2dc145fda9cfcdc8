"""The types of the JSON answers of `hawb incident` (`hawb.views.answers` has those of the other commands)."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from hawb.incident.clocks import Clock
from hawb.incident.events import Event
from hawb.incident.lives import EndedBy


class LogEvent(Event, frozen=True, kw_only=True):
    """An event that a log tells of, and when it happened by the clock of the reference, in microseconds since 1970."""

    settled_us: int


class LogFile(TypedDict):
    """What of a file could be read: lines, messages, lines of no message, messages without a time; `refused` is why it
    could not be read to its end, and `is_log` is false for what is not a RabbitMQ log."""

    file: str
    lines: int
    messages: int
    cut: int
    timeless: int
    refused: str | None
    is_log: bool


class UnreadMessage(TypedDict):
    """A message of level error or worse that no rule knows: where it is, and its beginning without quoted text, names
    and addresses."""

    file: str
    line: int
    level: str
    text: str


class UnknownMessage(TypedDict):
    """A message that no rule knows, without names and numbers, and how often it stands in the logs."""

    level: str
    template: str
    count: int


class LogEvents(TypedDict):
    """What a cluster's logs tell, in the order of time; its nodes' clocks; `unread` are the first messages of errors of
    each file that no rule knows, `severe` how many there are in all, and `repeated` the events that the logs tell of
    more than once (`hawb incident --events`)."""

    events: list[LogEvent]
    clocks: dict[str, Clock]
    files: list[LogFile]
    unknown: list[UnknownMessage]
    unread: list[UnreadMessage]
    severe: int
    repeated: int


class Told(TypedDict):
    """The verdict on an incident: yes, nothing is lost or broken; unknown, where that cannot be told; no."""

    answer: Literal["yes", "no", "unknown"]
    sentence: str


class LogLine(TypedDict):
    """Where a message is."""

    file: str
    line: int


class StorySentence(TypedDict):
    """A sentence of the story: what happened, from when to when by the clock of the reference (microseconds since
    1970), on which nodes, to which queues, and the lines that say so."""

    number: int
    kind: str
    at_us: int
    until_us: int
    text: str
    nodes: list[str]
    queues: list[str]
    lines: list[LogLine]


class BrokerLife(TypedDict):
    """When a broker ran: from its boot, or the first that is known of it, to its end and how it ended; null where no
    log tells. `seen_us` is the last moment at which it is known to run."""

    node: str
    from_us: int
    until_us: int | None
    started_us: int | None
    seen_us: int
    ended_by: EndedBy | None
    reason: str | None


class CertainLoss(TypedDict):
    """Messages that are lost whatever clients did, why and when."""

    count: int
    cause: str
    at_us: int


class PossibleLoss(TypedDict):
    """Messages that are lost, at `at_us`, if there were any: those that came in between two moments, at one of the
    nodes where that matters; `listed` is how many of them the listing had, if it had any; `only` those that were not
    persistent, or were sent with automatic acknowledgement."""

    cause: str
    from_us: int
    until_us: int
    at_us: int
    nodes: list[str]
    listed: int | None
    only: Literal["", "transient", "auto_ack"]


class LossesOfQueue(TypedDict):
    """What became of a queue's messages; `kept` is how many it holds at the end, null where that is not known."""

    queue: str
    certain: list[CertainLoss]
    possible: list[PossibleLoss]
    kept: int | None


class Parting(TypedDict):
    """Where what was seen and what the rules expect part: the lines that say what was seen, and what was expected; null
    where there is nothing."""

    at_us: int
    step: int | None
    kind: str
    seen: list[LogLine] | None
    expected: str | None


class Compared(TypedDict):
    """The story as the rules have it beside what was seen: how many events are equal, and where they part."""

    equal: int
    parted: list[Parting]


class KeepingChange(TypedDict):
    """A change of the story: how many of the lost messages it keeps, how many are lost with it, and the queue's state
    at the end."""

    what: str
    where: str
    kept: int
    lost: int
    state: str


class Keepers(TypedDict):
    """What would have kept a queue's lost messages, the best first."""

    queue: str
    lost: int
    changes: list[KeepingChange]


class NotTold(TypedDict):
    """What no file tells and was assumed."""

    kind: str
    text: str


class SpanOfTime(TypedDict):
    """The span that was asked for, and from when to when the story was played, in microseconds since 1970; null where
    nothing was asked for, or nothing could be played."""

    since_us: int | None
    until_us: int | None
    begins_us: int | None
    ends_us: int | None


class Incident(LogEvents):
    """An incident: the verdict, the story, what it cost, where the rules would have gone another way, what would have
    kept the messages, what was assumed; and the lives and events of the span that is told. `untold` is why there is no
    scenario, if there is none."""

    verdict: Told
    headline: str
    span: SpanOfTime
    story: list[StorySentence]
    lives: list[BrokerLife]
    losses: list[LossesOfQueue]
    comparison: Compared | None
    keepers: list[Keepers]
    doubts: list[NotTold]
    scenario: dict[str, Any] | None
    untold: str
