"""How many messages queues held, as their synchronisations tell, and a listing of after the incident.

With each synchronisation a master logs how many messages are ready (`rabbit_mirror_queue_master:sync_mirrors`,
`BQ:len`), whether there is a mirror to be sent them or not. Where that is not what the steps lead to, clients have
published or taken as many as there are more or fewer. Who, and when between two such moments, is not told: it is taken
to have been just then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from hawb.engine.core import runs
from hawb.engine.core.moment import Moment
from hawb.engine.core.state import Queue
from hawb.incident.doubts import Doubt
from hawb.incident.happening import Happening
from hawb.incident.retold import Retold
from hawb.scenario import verbs
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.document import Step
from hawb.scenario.run import Run

JUST_AFTER_S = 0.001
"""How much later than a step a look at the same moment comes: what the step brings about at once has happened."""


class Look(NamedTuple):
    """How many messages a queue held at a moment of the story, or how many of them were ready where `of_ready`; `node`
    is where its master was, None where that does not matter."""

    at_s: float
    queue: str
    held: int
    of_ready: bool
    node: str | None
    source: tuple[Happening, ...]


def deepened(retold: Retold, found: Sequence[Happening]) -> Retold:
    """The story with as many messages published or taken as synchronisations tell, and as many in each queue in the end
    as a listing of after has. Raises ScenarioRefused."""
    retold = _acknowledged(retold)
    looks = [*_seen(retold, found), *_listed(retold)]
    if not looks:
        return retold
    run, doubts = Run(retold.scenario), []
    rows: list[tuple[Step, tuple[Happening, ...]]] = []
    for step, source in zip(retold.scenario.steps, retold.sources, strict=True):
        while looks and looks[0].at_s < (step.at or 0):
            look = looks.pop(0)
            for taken in _taken(run, max(look.at_s, run.reached_s), look):
                run.apply(taken)
                rows.append((taken, look.source))
                at_us = retold.begins_us + round(look.at_s * MICROSECONDS)
                kind = "depth_seen" if look.source else "depth_listed"
                doubts.append(Doubt(kind=kind, queue=look.queue, count=look.held, from_us=at_us))
        run.apply(step)
        rows.append((step, source))
    scenario = replace(retold.scenario, steps=tuple(step for step, _ in rows))
    return replace(retold, scenario=scenario, sources=tuple(source for _, source in rows),
                   doubts=(*retold.doubts, *doubts))  # fmt: skip


def _acknowledged(retold: Retold) -> Retold:
    """The story without what clients held in the beginning, and must have acknowledged, as the queue holds less in the
    end: no step can be told from it, so these messages are taken to be ready."""
    queues = tuple(
        replace(entry, unacknowledged=min(entry.unacknowledged, retold.depths.get(entry.queue, entry.unacknowledged)))
        for entry in retold.scenario.queues
    )
    return replace(retold, scenario=replace(retold.scenario, queues=queues))


def _seen(retold: Retold, found: Sequence[Happening]) -> Iterator[Look]:
    """What synchronisations tell."""
    for one in found:
        if one.kind == "synchronisation" and one.count is not None and one.at_us >= retold.begins_us:
            at_s = round((one.at_us - retold.begins_us) / MICROSECONDS, 3) + JUST_AFTER_S
            yield Look(at_s, one.queue or "", one.count, True, one.node or "", (one,))


def _listed(retold: Retold) -> Iterator[Look]:
    """What a listing of after tells, just before the story ends."""
    at_s = (retold.scenario.steps[-1].at or 0) - JUST_AFTER_S
    for queue, count in retold.depths.items():
        yield Look(at_s, queue, count, False, None, ())


def _taken(run: Run, at_s: float, look: Look) -> Iterator[Step]:
    """What makes the queue as deep as it was seen, on the side on which its master was."""
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
    """The queue as the side has it that has its master on the node where it was seen."""
    known = (side.queues[look.queue] for side in moment.state.sides if look.queue in side.queues)
    return next((queue for queue in known if queue.up and look.node in (None, run.settings.names[queue.master])), None)
