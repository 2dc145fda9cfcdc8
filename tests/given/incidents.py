"""Incidents of real clusters, with losses made up where a test is about how they are told."""

from __future__ import annotations

from functools import cache

from kept_logs import DATA
from msgspec.structs import replace

from hawb.incident.losses import Certain, Possible, QueueLosses
from hawb.incident.understanding import Incident, understand

LOGS = DATA / "logs"
AUTOHEAL = "3.10/partition-autoheal"
HOUR_US = 3600 * 1_000_000


@cache
def incident(story: str) -> Incident:
    """What is understood of the logs of a story, such as 3.10/partition-autoheal."""
    return understand([LOGS / story])


def with_losses(*losses: QueueLosses, story: str = AUTOHEAL) -> Incident:
    """The incident with these losses in place of its own."""
    return replace(incident(story), untold="", losses=losses)


def certain(queue: str = "orders", count: int = 7, cause: str = "side_given_up") -> QueueLosses:
    """So many messages of a queue are certainly lost."""
    return QueueLosses(queue, (Certain(count, cause, 9 * HOUR_US, 0),), (), 15)


def possible(queue: str = "orders", node: str = "n2@10.77.0.2", from_s: int = 0, most: int | None = None) -> QueueLosses:
    """What a node took of a queue for nine seconds is possibly lost."""
    from_us = 8 * HOUR_US + from_s * 1_000_000
    loss = Possible("side_given_up", from_us, from_us + 9_000_000, node, 9 * HOUR_US, most)
    return QueueLosses(queue, (), (loss,), None)


def kept(queue: str = "bills") -> QueueLosses:
    """A queue that lost nothing."""
    return QueueLosses(queue, (), (), 3)
