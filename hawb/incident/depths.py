"""How many messages queues held, as their synchronisations tell: with each its master logs how many are ready
(`rabbit_mirror_queue_master:sync_mirrors`, `BQ:len`), whether there is a mirror to be sent them or not.

Where that is not what the steps lead to, clients have published or taken as many as there are more or fewer. Who, and
when between two such moments, is not told: it is taken to have been just then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from hawb.engine import runs
from hawb.engine.moment import Moment
from hawb.incident.doubts import Doubt
from hawb.incident.happenings import Happening
from hawb.incident.retold import Retold
from hawb.planning.story import known
from hawb.scenario import verbs
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.document import Step
from hawb.scenario.run import Run

JUST_AFTER_S = 0.001
"""How much later than a step a look at the same moment comes: what the step brings about at once has happened."""


def deepened(retold: Retold, found: Sequence[Happening]) -> Retold:
    """The story with as many messages published or taken as synchronisations tell. Raises ScenarioRefused."""
    looks = [one for one in found if one.kind == "synchronisation" and one.count is not None
             and one.at_us >= retold.begins_us]  # fmt: skip
    if not looks:
        return retold
    run, steps, sources, doubts = Run(replace(retold.scenario, steps=())), [], [], []
    for step, source in zip(retold.scenario.steps, retold.sources, strict=True):
        while looks and _seconds(retold, looks[0]) < (step.at or 0):
            one = looks.pop(0)
            for taken in _taken(run, max(_seconds(retold, one), run.reached_s), one):
                run.apply(taken)
                steps.append(taken)
                sources.append((one,))
                doubts.append(Doubt(kind="depth_seen", queue=one.queue, count=one.count, from_us=one.at_us))
        run.apply(step)
        steps.append(step)
        sources.append(source)
    scenario = replace(retold.scenario, steps=tuple(steps))
    return replace(retold, scenario=scenario, sources=tuple(sources), doubts=(*retold.doubts, *doubts))


def _seconds(retold: Retold, one: Happening) -> float:
    return round((one.at_us - retold.begins_us) / MICROSECONDS, 3) + JUST_AFTER_S


def _taken(run: Run, at_s: float, one: Happening) -> Iterator[Step]:
    """What makes the queue as deep as it was seen."""
    ready = _ready(run.moment_at(at_s), one.queue or "")
    if ready is None or one.count is None or ready == one.count:
        return
    if ready < one.count:
        yield Step(verbs.Publish(queue=one.queue, count=one.count - ready, node=one.node), round(at_s, 3))
    else:
        yield Step(verbs.Get(one.queue or "", ready - one.count), round(at_s, 3))


def _ready(moment: Moment, name: str) -> int | None:
    """How many messages of a queue are ready; None if there is none."""
    queue = known(moment, name)
    return None if queue is None else runs.size(runs.minus(queue.content, queue.unacknowledged))
