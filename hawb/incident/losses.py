"""Find what an incident cost in messages: certainly lost, possibly lost between two times, and kept.

What the rules say about the messages that the listing counted is certain if no client was connected between the listing
and the step that lost them: a connected client may have consumed them. Other messages are tried: the scenario is played
again with a message published at each node after each event, first persistent and then transient ones. Those that are
lost show when a message was in danger, where, and why; a message sent with automatic acknowledgement may have been lost
whenever a node with client connections went down. If the cluster is still partitioned in the end, messages of only one
master are lost as soon as its partition restarts (`APART`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import groupby, pairwise
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.core import runs
from hawb.engine.core.runs import Runs
from hawb.incident.connected import Change, connected
from hawb.incident.doubts import OF_THE_BEGINNING
from hawb.incident.node_runs import NodeRun
from hawb.incident.reconstruction import EARLIER_US, Reconstruction
from hawb.scenario import verbs
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.document import Step
from hawb.scenario.outcome import outcome
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.run import Run

Only = Literal["", "transient", "auto_ack"]
CLOSE_S, SHORT_S, LONG_S = 0.001, 0.02, 5.0
"""Time between an event and a tried message; gaps between two events that are too short for one message, and long
enough for three."""
MOST_MOMENTS = 36
"""At how many moments messages are tried."""
MOST_TRIED = 30_000
"""Maximum number of test messages in one play; more queues or nodes leave fewer moments at which they are published."""
CONNECTION = "tried"
APART = "side_apart"
"""Why messages are in danger that one of several masters has, each on its side of a partition."""


class Certain(Struct, frozen=True):
    """Messages that are certainly lost: no replica holds them.

    It has the number of messages (`numbers` are theirs in the scenario), the cause (`hawb.engine.core.trace.CAUSES`),
    the time, and the index of the event in the outcome.
    """

    count: int
    cause: str
    at_us: int
    event: int
    numbers: tuple[tuple[int, int], ...] = ()


class Possible(Struct, frozen=True):
    """Messages that are lost if any were published then.

    These are messages published between `from_us` and `until_us`, at one of `nodes` if that matters. They were lost at
    `at_us` for a cause, or may still be lost (`APART`). `listed` is how many of them the listing had; None without a
    listing. `only` restricts them to transient messages, or to those sent with automatic acknowledgement.
    """

    cause: str
    from_us: int
    until_us: int
    at_us: int
    nodes: tuple[str, ...] = ()
    listed: int | None = None
    only: Only = ""


class QueueLosses(Struct, frozen=True):
    """What happened to a queue's messages.

    `kept` is how many of those in the listing it holds in the end by the rules; None if there was no listing.
    """

    queue: str
    certain: tuple[Certain, ...]
    possible: tuple[Possible, ...]
    kept: int | None

    @property
    def certainly_lost(self) -> int:
        """Return how many messages are certainly lost."""
        return sum(loss.count for loss in self.certain)


class Tried(Struct, frozen=True):
    """A message that was added to the scenario to see if it is lost: when and where published, when and why lost.

    `lost_us` is None if it was not lost.
    """

    queue: str
    at_us: int
    node: str
    lost_us: int | None = None
    cause: str = ""


def losses(
    reconstructed: Reconstruction, played: dict[str, Any], clients: Sequence[Change], node_runs: Sequence[NodeRun],
    logged: bool, listed_us: int | None = None,
) -> tuple[QueueLosses, ...]:
    """Return the losses by queue.

    `played` is the outcome of the scenario, `logged` says whether the logs record connections, and `listed_us` is when
    the listing was made; None stands for any time before.
    """
    listed = not any(doubt.kind in OF_THE_BEGINNING for doubt in reconstructed.doubts)
    certain: dict[str, list[Certain]] = {}
    possible: dict[str, list[Possible]] = {}
    for loss in played["losses"]:
        at_us = _moment(reconstructed, played, loss["event"])
        root_us = _moment(reconstructed, played, _root(played, loss["event"]))
        count = sum(last - first + 1 for first, last in loss["ids"])
        if listed and logged and not connected(clients, listed_us or 0, root_us):
            numbers = tuple((first, last) for first, last in loss["ids"])
            certain.setdefault(loss["queue"], []).append(Certain(count, loss["cause"], at_us, loss["event"], numbers))
        else:
            span = Possible(loss["cause"], reconstructed.begins_us, root_us, at_us, listed=count)
            possible.setdefault(loss["queue"], []).append(span)
    if not listed or not logged or connected(clients, listed_us or 0, reconstructed.ends_us):
        dangers = [*_endangered(reconstructed, played, False), *_endangered(reconstructed, played, True)]
        for queue, danger in [*dangers, *(_worst(reconstructed) if not listed else ())]:
            possible.setdefault(queue, []).append(danger)
        in_flight = [*_in_flight(reconstructed, clients, node_runs)]
        for queue in _queues(played):
            possible.setdefault(queue, []).extend(in_flight)
    return tuple(
        QueueLosses(queue, tuple(certain.get(queue, ())), tuple(possible.get(queue, ())),
                    played["queues"].get(queue, {}).get("messages", 0) if listed else None)
        for queue in _queues(played)
    )  # fmt: skip


def _queues(played: dict[str, Any]) -> list[str]:
    """Return the names of all queues of the scenario, also of deleted ones."""
    return sorted({*played["queues"], *played["queues_elsewhere"], *played["deleted"], *played["ledger"]})


def _moment(reconstructed: Reconstruction, played: dict[str, Any], place: int) -> int:
    """Return the time of an event of the outcome by the reference clock."""
    return reconstructed.begins_us + round(played["events"][place]["t"] * MICROSECONDS)


def _root(played: dict[str, Any], place: int) -> int:
    """Return the first of the events that led to one."""
    while (because := played["events"][place]["because"]) is not None:
        place = because
    return place


# Messages that are tried


def _endangered(
    reconstructed: Reconstruction, played: dict[str, Any], transient: bool
) -> Iterator[tuple[str, Possible]]:
    """Yield (queue, danger) for messages that clients may have published.

    A danger lasts from the last time at which a message was safe to the next one, for each cause and time of a loss. It
    includes the messages of the listing if it includes the first one tried.
    """
    messages = _tried(reconstructed, tried(reconstructed, played, transient))
    ordered = sorted(messages, key=lambda one: (one.queue, one.at_us))
    for queue, group in groupby(ordered, key=lambda one: one.queue):
        of_queue = list(group)
        lost = [one for one in of_queue if one.lost_us is not None]
        for (lost_us, cause), some in _grouped(lost):
            nodes, only = {one.node for one in some}, "transient" if transient else ""
            first, last = min(one.at_us for one in some), max(one.at_us for one in some)
            before = max((one.at_us for one in of_queue if one.at_us < first), default=reconstructed.begins_us)
            after = min((one.at_us for one in of_queue if one.at_us > last), default=lost_us)
            everywhere = nodes >= {one.node for one in of_queue if first <= one.at_us <= last}
            where = () if everywhere else tuple(sorted(nodes))
            yield queue, Possible(cause, before, min(after, lost_us), lost_us, where, only=only)


def _grouped(lost: Iterable[Tried]) -> Iterator[tuple[tuple[int, str], list[Tried]]]:
    ordered = sorted(lost, key=lambda one: (one.lost_us or 0, one.cause))
    return ((key, list(some)) for key, some in groupby(ordered, key=lambda one: (one.lost_us or 0, one.cause)))


def tried(
    reconstructed: Reconstruction, played: dict[str, Any], transient: bool = False, most: int = MOST_MOMENTS
) -> Run | None:
    """Play the scenario again with a message of each queue published at each node after each event.

    `most` limits the number of times. Return None if it cannot be played so. Transient messages are published to
    classic queues only.
    """
    queues_everywhere = played["queues"] | played["queues_elsewhere"]
    grouped = {name for name, queue in queues_everywhere.items() if "members" in queue}
    nodes = list(played["nodes"])
    queues = tuple(name for name in _queues(played) if not (transient and name in grouped))
    verb = verbs.Publish(queues=queues, count=1, persistent=not transient, connection=CONNECTION) if queues else None
    most = min(most, max(1, MOST_TRIED // max(1, len(queues) * len(nodes))))
    moments = _moments(reconstructed, played, most) if verb else []
    publishes = [Step(replace(verb, node=node), at_s) for at_s in moments for node in nodes]
    steps = sorted([*reconstructed.scenario.steps, *publishes], key=lambda step: step.at or 0)
    try:
        return Run.of(replace(reconstructed.scenario, steps=tuple(steps), seed=played["seed"]))
    except ScenarioRefused:
        return None


def _tried(reconstructed: Reconstruction, run: Run | None) -> Iterator[Tried]:
    """Yield what happened to each message that was added to the scenario."""
    if run is None:
        return
    again, where = outcome(run), {}
    for index, step in enumerate(run.steps):
        if isinstance(step.verb, verbs.Publish) and step.verb.connection == CONNECTION:
            where[index] = step.verb.node or ""
    lost: dict[str, list[tuple[Runs, int, str]]] = {}
    for loss in again["losses"]:
        numbers = runs.normal((first, last) for first, last in loss["ids"])
        lost_us = _moment(reconstructed, again, loss["event"])
        lost.setdefault(loss["queue"], []).append((numbers, lost_us, loss["cause"]))
    for queue, numbers in apart(again):
        lost.setdefault(queue, []).append((numbers, reconstructed.ends_us, APART))
    for event in again["events"]:
        if event["event"] != "messages_published" or event["step"] not in where:
            continue
        at_us = reconstructed.begins_us + round(event["t"] * MICROSECONDS)
        for number in (number for first, last in event["detail"]["ids"] for number in range(first, last + 1)):
            gone = next(((lost_us, cause) for numbers, lost_us, cause in lost.get(event["queue"], ())
                         if runs.contains(numbers, number)), (None, ""))  # fmt: skip
            yield Tried(event["queue"], at_us, where[event["step"]], *gone)


def apart(played: dict[str, Any]) -> Iterator[tuple[str, Runs]]:
    """Yield (queue, numbers) of messages that some of a queue's masters lack.

    A queue has several masters if partitions have one each in the end.
    """
    for name, queue in played["queues"].items():
        views = [view for view in queue.get("views", ()) if view["state"] == "running" and view.get("master")]
        if len({view["master"] for view in views}) > 1:
            held = [runs.normal((first, last) for first, last in view["ids"]) for view in views]
            yield name, runs.minus(reduce(runs.union, held), reduce(runs.common, held))


def _worst(reconstructed: Reconstruction) -> Iterator[tuple[str, Possible]]:
    """Yield (queue, danger) for messages that queues may have held at the beginning, with no mirror synchronised.

    This is the worst case where nothing shows the initial state.
    """
    queues = tuple(replace(entry, messages=max(1, entry.messages), synchronised_mirrors=())
                   for entry in reconstructed.scenario.queues)  # fmt: skip
    played = outcome(Run.of(replace(reconstructed.scenario, queues=queues)))
    for loss in played["losses"]:
        root_us = _moment(reconstructed, played, _root(played, loss["event"]))
        lost_us = _moment(reconstructed, played, loss["event"])
        yield loss["queue"], Possible(loss["cause"], reconstructed.begins_us, root_us, lost_us)


def _moments(reconstructed: Reconstruction, played: dict[str, Any], most: int) -> list[float]:
    """Return the times of tried messages, in seconds: between any two events, and at both ends of long gaps."""
    step_times = (step.at or 0.0 for step in reconstructed.scenario.steps)
    happens = sorted({0.0, *step_times, *(one["t"] for one in played["events"])})
    gaps = [(begin, end) for begin, end in pairwise(happens) if end - begin >= SHORT_S]
    found = [(end - begin, at_s) for begin, end in gaps for at_s in _within(begin, end)]
    longest = sorted(found, reverse=True)[:most]
    return sorted(at_s for _, at_s in longest)


def _within(begin: float, end: float) -> tuple[float, ...]:
    middle = (begin + end) / 2
    return (middle,) if end - begin < LONG_S else (begin + SHORT_S, middle, end - CLOSE_S)


def _in_flight(
    reconstructed: Reconstruction, clients: Sequence[Change], node_runs: Sequence[NodeRun]
) -> Iterator[Possible]:
    """Yield messages in delivery with automatic acknowledgement when a node with client connections went down."""
    by_node: dict[str, list[Change]] = defaultdict(list)
    for one in clients:
        by_node[one.node].append(one)
    for run in node_runs:
        until_us = run.until_us or 0
        if until_us >= reconstructed.begins_us and connected(by_node[run.node], until_us - EARLIER_US, until_us):
            yield Possible("auto_ack_in_flight", until_us - EARLIER_US, until_us, until_us, (run.node,),
                           only="auto_ack")  # fmt: skip
