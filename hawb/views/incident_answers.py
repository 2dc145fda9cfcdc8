"""The types of the JSON answers of `hawb incident` (`hawb.views.answers` has those of the other commands)."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from hawb.incident.clocks import Clock
from hawb.incident.events import Event
from hawb.incident.node_runs import EndedBy


class LogEvent(Event, frozen=True, kw_only=True):
    """An event in a log. `settled_us` is its time by the reference clock, in microseconds since 1970."""

    settled_us: int


class LogFile(TypedDict):
    """The lines of a log file, its messages, the lines outside of messages, and the messages without a time.

    `refused` is why the file could not be read to its end; `is_log` is false if it is not a RabbitMQ log.
    """

    file: str
    lines: int
    messages: int
    cut: int
    timeless: int
    refused: str | None
    is_log: bool


class UnreadMessage(TypedDict):
    """A message of level error or worse that no rule knows: its place and its beginning.

    Quoted text, names and addresses are left out.
    """

    file: str
    line: int
    level: str
    text: str


class UnknownMessage(TypedDict):
    """A message that no rule knows, without names and numbers, and how often the logs have it."""

    level: str
    template: str
    count: int


class LogEvents(TypedDict):
    """The events in a cluster's logs, in order of time, and the clocks of its nodes (`hawb incident --events`).

    `unread` are the first error messages of each file that no rule knows, `severe` is how many there are in all, and
    `repeated` is how many events the logs have more than once.
    """

    events: list[LogEvent]
    clocks: dict[str, Clock]
    files: list[LogFile]
    unknown: list[UnknownMessage]
    unread: list[UnreadMessage]
    severe: int
    repeated: int


class Told(TypedDict):
    """The verdict on an incident: yes, nothing is lost or broken; no, something is; unknown, the logs do not say."""

    answer: Literal["yes", "no", "unknown"]
    sentence: str


class LogLine(TypedDict):
    """The place of a message."""

    file: str
    line: int


class StorySentence(TypedDict):
    """A sentence of the story, with its nodes, queues, and the log lines that support it.

    Times are microseconds since 1970 by the reference clock.
    """

    number: int
    kind: str
    at_us: int
    until_us: int
    text: str
    nodes: list[str]
    queues: list[str]
    lines: list[LogLine]


class BrokerLife(TypedDict):
    """The period in which a node ran, from its boot to its end, and how it ended.

    It begins at the first sign of it if the logs lack the boot, and is null where no log says. `seen_us` is the last
    time at which the node is known to run.
    """

    node: str
    from_us: int
    until_us: int | None
    started_us: int | None
    seen_us: int
    ended_by: EndedBy | None
    reason: str | None


class CertainLoss(TypedDict):
    """Messages that are lost whatever clients did; the cause and the time."""

    count: int
    cause: str
    at_us: int


class PossibleLoss(TypedDict):
    """Messages that are lost at `at_us`, if there were any.

    They arrived between `from_us` and `until_us`, on one of `nodes` if the node matters. `listed` is how many of them
    the listing had, null without one. `only` limits them to messages that were not persistent, or that were delivered
    with automatic acknowledgement.
    """

    cause: str
    from_us: int
    until_us: int
    at_us: int
    nodes: list[str]
    listed: int | None
    only: Literal["", "transient", "auto_ack"]


class LossesOfQueue(TypedDict):
    """The losses of a queue. `kept` is how many messages it holds at the end, null if unknown."""

    queue: str
    certain: list[CertainLoss]
    possible: list[PossibleLoss]
    kept: int | None


class Parting(TypedDict):
    """A difference between the logs and the rules: the lines of what was seen, and what the rules expect.

    Either is null if there is nothing.
    """

    at_us: int
    step: int | None
    kind: str
    seen: list[LogLine] | None
    expected: str | None


class Compared(TypedDict):
    """The comparison of the story by the rules with the logs: how many events agree, and the differences."""

    equal: int
    parted: list[Parting]


class KeepingChange(TypedDict):
    """A change of the story: how many of the lost messages it keeps, and how many are lost with it.

    `state` is the queue's state at the end.
    """

    what: str
    where: str
    kept: int
    lost: int
    state: str


class Keepers(TypedDict):
    """The changes that would have kept a queue's lost messages, best first."""

    queue: str
    lost: int
    changes: list[KeepingChange]


class NotTold(TypedDict):
    """An assumption about something that no file says."""

    kind: str
    text: str


class SpanOfTime(TypedDict):
    """The period of --since and --until, and the period that was played, in microseconds since 1970.

    It is null if no period was asked for, or nothing could be played.
    """

    since_us: int | None
    until_us: int | None
    begins_us: int | None
    ends_us: int | None


class Incident(LogEvents):
    """An incident: verdict, story, losses, comparison with the rules, and assumptions.

    `keepers` are the changes that would have kept the messages. `lives` and `events` are those of the period. `untold`
    is why there is no scenario, if there is none.
    """

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
