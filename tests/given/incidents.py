"""Incidents of real clusters, with made-up losses where a test is about how losses are reported."""

from __future__ import annotations

from functools import cache

from kept_logs import DATA, STORIES
from msgspec.structs import replace

from hawb.incident.losses import Certain, Only, Possible, QueueLosses
from hawb.incident.understanding import Incident, understand

LOGS = DATA / "logs"
SOME = STORIES[:: -(-len(STORIES) // 16)]
"""Stories of all releases, at most sixteen."""
AUTOHEAL = "3.10/partition-autoheal"
NINE_US = 1_795_770_000_000_000
"""Nine o'clock of that day: five minutes after AUTOHEAL."""


@cache
def incident(story: str) -> Incident:
    """Return the incident that the logs of a story show, such as 3.10/partition-autoheal."""
    return understand([LOGS / story])


def with_losses(*losses: QueueLosses, story: str = AUTOHEAL) -> Incident:
    """Return the incident with these losses instead of its own, in a cluster without a partition at the end."""
    found = incident(story)
    return replace(found, no_scenario="", losses=losses, outcome=(found.outcome or {}) | {"partitions": []})


def certain(queue: str = "orders", count: int = 7, cause: str = "side_given_up") -> QueueLosses:
    """Return a certain loss of a number of a queue's messages."""
    return QueueLosses(queue, (Certain(count, cause, NINE_US, 0),), (), 15)


def possible(
    queue: str = "orders", only: Only = "", from_s: int = 0, listed: int | None = None, cause: str = "side_given_up"
) -> QueueLosses:
    """What two nodes took of a queue for nine seconds, from nine o'clock on or so much later, is possibly lost."""
    from_us = NINE_US + from_s * 1_000_000
    nodes = ("n2@10.77.0.2", "n3@10.77.0.3")
    loss = Possible(cause, from_us, from_us + 9_000_000, from_us + 20_000_000, nodes, listed, only)
    return QueueLosses(queue, (), (loss,), None)


def kept(queue: str = "bills") -> QueueLosses:
    """Return a queue that lost nothing."""
    return QueueLosses(queue, (), (), 3)
