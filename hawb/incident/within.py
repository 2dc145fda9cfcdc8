"""Restrict a scenario to the span that a user asks about (`hawb.incident.asked`).

The scenario begins with the first fault or change in the span. It begins earlier if there already was a partition,
since the consequences depend on how it began; alarms that were set and nodes that were in maintenance mode become its
first steps. It ends with the span, or with the logs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hawb.incident.asked import Asked
from hawb.incident.cluster_event import ClusterEvent
from hawb.incident.replicas import WENT
from hawb.incident.steps import TimedStep

LASTING = {"alarm_set": "alarm_cleared", "node_drained": "node_revived"}
"""Lasting states, and what ends them; the end of the node ends them too."""


def seen(found: Sequence[ClusterEvent], asked: Asked) -> list[ClusterEvent]:
    """Return what had happened when the span ends."""
    return [one for one in found if not asked.is_over(one.at_us)]


def begun(steps: Sequence[TimedStep], asked: Asked) -> list[TimedStep]:
    """Return the steps seen in a span, and those that caused a partition which still lasted as it began."""
    return [step for step in steps if asked.since_us is None or _lasts_until(step, asked.since_us)]


def _lasts_until(step: TimedStep, since_us: int) -> bool:
    parted = any(one.kind == "partition_begun" and (one.until_us is None or one.until_us > since_us)
                 for one in step.source)  # fmt: skip
    return parted or seen_us(step) >= since_us


def seen_us(step: TimedStep) -> int:
    """Return when the log message was written from which a step was made.

    The step's own time may differ: a boot is placed so that it ends when it did, and a node that has begun to boot
    counts as running when the scenario begins.
    """
    return max((one.at_us for one in step.source), default=step.at_us)


def lasting(steps: Sequence[TimedStep], found: Sequence[ClusterEvent], begins_us: int) -> Iterator[TimedStep]:
    """Yield the alarms and maintenance modes with which a scenario begins."""
    for step in steps:
        one = step.source[0] if step.source else None
        if one is not None and one.kind in LASTING and one.at_us < begins_us:
            later = (other for other in found if one.at_us < other.at_us < begins_us and other.node == one.node)
            ended = any(
                other.kind in WENT or (other.kind, other.name) == (LASTING[one.kind], one.name) for other in later
            )
            if not ended:
                yield step._replace(at_us=begins_us)
