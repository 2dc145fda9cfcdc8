"""Gauges about whether nodes may be stopped, for alerts and dashboards.

They are by node and never by queue, because a cluster may have a hundred thousand queues.
"""

from __future__ import annotations

from collections.abc import Callable

from hawb.planning.safe_to_stop import WAYS, Effect, Outlook
from hawb.views.planning.forecast import CHECKS
from hawb.views.prometheus import Gauge

OF_EFFECTS: dict[str, tuple[str, Callable[[list[Effect]], int]]] = {
    "hawb_node_end_lost_messages": (
        "Messages that would be lost if the node ended this way.",
        lambda effects: sum(one.lost for one in effects),
    ),
    "hawb_node_end_lost_confirmed_messages": (
        "Messages among them that had been confirmed.",
        lambda effects: sum(one.lost_confirmed for one in effects),
    ),
    "hawb_node_end_queues_down": (
        "Queues that could not be used while the node was down.",
        lambda effects: sum(one.down for one in effects),
    ),
}  # fmt: skip


def gauges(outlook: Outlook) -> list[Gauge]:
    """Return gauges by node: if it is safe to stop, the effects of its stop and kill, and failing checks of RabbitMQ.

    No node is safe to stop while a queue is out of use, or while the files do not say enough.
    """
    forecasts = outlook.forecasts
    calm = not outlook.out_of_use and outlook.live.known
    safe = [({"node": one.node}, int(calm and not one.hurt("stop"))) for one in forecasts]
    found = [Gauge("hawb_node_safe_to_stop", "1 if a controlled stop of the node harms no queue.", safe)]
    for name, (help, count) in OF_EFFECTS.items():
        samples = [({"node": one.node, "way": way}, count(one.hurt(way))) for one in forecasts for way in WAYS]
        found.append(Gauge(name, help, samples))
    failing = [
        ({"node": one.node, "check": check}, len(getattr(one, field)))
        for one in forecasts
        for field, check in CHECKS.items()
    ]
    return [*found, Gauge("hawb_node_check_failing_queues", "Queues for which RabbitMQ's own check fails.", failing)]
