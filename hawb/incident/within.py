"""What of a story is of the span that somebody asks about (`hawb.incident.asked`).

The story begins with the first thing that went wrong in the span. It begins earlier where a partition was there
already, since what becomes of its sides depends on how it came; alarms that were set and nodes that were in maintenance
mode it begins with. It ends with the span, or with the logs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hawb.incident.asked import Asked
from hawb.incident.happening import Happening
from hawb.incident.replicas import WENT
from hawb.incident.steps import Told

LASTING = {"alarm_set": "alarm_cleared", "node_drained": "node_revived"}
"""What lasts, and what ends it; so does the end of its node."""


def seen(found: Sequence[Happening], asked: Asked) -> list[Happening]:
    """What had happened when the span ends."""
    return [one for one in found if not asked.is_over(one.at_us)]


def begun(told: Sequence[Told], asked: Asked) -> list[Told]:
    """The steps of a span, by when they were seen, and what parted nodes that were still apart as it began."""
    return [step for step in told if asked.since_us is None or _lasts_until(step, asked.since_us)]


def _lasts_until(step: Told, since_us: int) -> bool:
    parted = any(one.kind == "partition_begun" and (one.until_us is None or one.until_us > since_us)
                 for one in step.source)  # fmt: skip
    return parted or seen_us(step) >= since_us


def seen_us(step: Told) -> int:
    """When what a step was read from was seen. That may be later than it happened, or sooner: a boot is put so that it
    ends when it did, and whoever has begun one runs for all that a story's beginning knows."""
    return max((one.at_us for one in step.source), default=step.at_us)


def lasting(told: Sequence[Told], found: Sequence[Happening], begins_us: int) -> Iterator[Told]:
    """The alarms and the nodes in maintenance mode that a story begins with."""
    for step in told:
        one = step.source[0] if step.source else None
        if one is not None and one.kind in LASTING and one.at_us < begins_us:
            later = (other for other in found if one.at_us < other.at_us < begins_us and other.node == one.node)
            ended = any(
                other.kind in WENT or (other.kind, other.name) == (LASTING[one.kind], one.name) for other in later
            )
            if not ended:
                yield step._replace(at_us=begins_us)
