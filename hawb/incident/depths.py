"""Find how many messages queues held, from their synchronisations and a listing made after the incident.

With each synchronisation a master logs how many messages are ready (`rabbit_mirror_queue_master:sync_mirrors`,
`BQ:len`), even without a mirror to send them to. If the steps lead to another number, clients have published or
consumed the difference. The logs do not say which clients, or when between two such times; the scenario does it just
then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from hawb.engine.core import runs
from hawb.engine.core.moment import Moment
from hawb.engine.core.state import Queue
from hawb.incident.cluster_event import ClusterEvent
from hawb.incident.doubts import Doubt
from hawb.incident.reconstruction import Reconstruction
from hawb.scenario import verbs
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.document import Step
from hawb.scenario.run import Run

JUST_AFTER_S = 0.001
"""Delay of a look after a step at the same time, so that the step's immediate effects have happened."""


class Look(NamedTuple):
    """The number of messages in a queue at a time of the scenario, or of ready ones if `of_ready`.

    `node` is where its master was, None if that does not matter.
    """

    at_s: float
    queue: str
    held: int
    of_ready: bool
    node: str | None
    source: tuple[ClusterEvent, ...]


def deepened(reconstructed: Reconstruction, found: Sequence[ClusterEvent]) -> Reconstruction:
    """Return the scenario with the publishes and deliveries that synchronisations and a later listing show.

    Raise ScenarioRefused if the scenario cannot be played.
    """
    reconstructed = _acknowledged(reconstructed)
    looks = [*_seen(reconstructed, found), *_listed(reconstructed)]
    if not looks:
        return reconstructed
    run, doubts = Run(reconstructed.scenario), []
    rows: list[tuple[Step, tuple[ClusterEvent, ...]]] = []
    for step, source in zip(reconstructed.scenario.steps, reconstructed.sources, strict=True):
        while looks and looks[0].at_s < (step.at or 0):
            look = looks.pop(0)
            for taken in _taken(run, max(look.at_s, run.reached_s), look):
                run.apply(taken)
                rows.append((taken, look.source))
                at_us = reconstructed.begins_us + round(look.at_s * MICROSECONDS)
                kind = "depth_seen" if look.source else "depth_listed"
                doubts.append(Doubt(kind=kind, queue=look.queue, count=look.held, from_us=at_us))
        run.apply(step)
        rows.append((step, source))
    scenario = replace(reconstructed.scenario, steps=tuple(step for step, _ in rows))
    return replace(reconstructed, scenario=scenario, sources=tuple(source for _, source in rows),
                   doubts=(*reconstructed.doubts, *doubts))  # fmt: skip


def _acknowledged(reconstructed: Reconstruction) -> Reconstruction:
    """Return the scenario without initial unacknowledged messages that clients must have acknowledged.

    The queue holds fewer messages in the end. No step can be derived from it, so these messages are taken to be ready.
    """
    depths = reconstructed.depths
    queues = tuple(
        replace(entry, unacknowledged=min(entry.unacknowledged, depths.get(entry.queue, entry.unacknowledged)))
        for entry in reconstructed.scenario.queues
    )
    return replace(reconstructed, scenario=replace(reconstructed.scenario, queues=queues))


def _seen(reconstructed: Reconstruction, found: Sequence[ClusterEvent]) -> Iterator[Look]:
    """Yield the numbers that synchronisations log."""
    for one in found:
        if one.kind == "synchronisation" and one.count is not None and one.at_us >= reconstructed.begins_us:
            at_s = round((one.at_us - reconstructed.begins_us) / MICROSECONDS, 3) + JUST_AFTER_S
            yield Look(at_s, one.queue or "", one.count, True, one.node or "", (one,))


def _listed(reconstructed: Reconstruction) -> Iterator[Look]:
    """Yield the numbers of a later listing, just before the scenario ends."""
    at_s = (reconstructed.scenario.steps[-1].at or 0) - JUST_AFTER_S
    for queue, count in reconstructed.depths.items():
        yield Look(at_s, queue, count, False, None, ())


def _taken(run: Run, at_s: float, look: Look) -> Iterator[Step]:
    """Yield the steps that bring the queue to the number seen, in the partition of its master."""
    queue = _queue(run, run.moment_at(at_s), look)
    if queue is None:
        return
    counted = runs.minus(queue.content, queue.unacknowledged) if look.of_ready else queue.content
    missing = look.held - runs.size(counted)
    if missing > 0:
        node = look.node or run.settings.names[queue.master]
        yield Step(verbs.Publish(queue=look.queue, count=missing, node=node), round(at_s, 3))
    elif missing < 0:
        yield Step(verbs.Get(look.queue, -missing), round(at_s, 3))


def _queue(run: Run, moment: Moment, look: Look) -> Queue | None:
    """Return the queue's record on the side of the partition where its master runs on the node that a listing names."""
    known = (side.queues[look.queue] for side in moment.state.sides if look.queue in side.queues)
    return next((queue for queue in known if queue.up and look.node in (None, run.settings.names[queue.master])), None)
