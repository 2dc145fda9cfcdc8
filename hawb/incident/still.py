"""Find what is still wrong when the logs end: nodes that have not come back or not booted, and alarms in force."""

from __future__ import annotations

from collections.abc import Iterator

from hawb.incident.cluster_event import ClusterEvent
from hawb.incident.node_runs import is_booting
from hawb.incident.replicas import WENT
from hawb.incident.understanding import Incident

ENDS = {"alarm_set": "alarm_cleared", "node_killed": "node_started", "node_gone": "node_started",
        "node_paused": "node_started", "partition_begun": "node_started",
        "partition_found": "node_started"}  # fmt: skip
"""What ends a trouble of a node. The end of the node ends its alarms."""


def still(incident: Incident) -> Iterator[ClusterEvent]:
    """Yield the events whose consequences last until the logs end; none if the user's span ends earlier.

    They are nodes that ended without a shutdown, paused, or that others lost, partitions, alarms, and, as
    `node_waiting`, nodes that have not finished booting.
    """
    found = incident.cluster_events
    if any(incident.asked.is_over(one.at_us) for one in found):
        return
    yield from (one for one in found if one.kind in ENDS and not _ended(one, found))
    for run in incident.node_runs:
        if is_booting(run):
            waits = [one for one in found if (one.kind, one.node) == ("node_waiting", run.node)
                     and one.at_us >= run.from_us]  # fmt: skip
            if waits:
                yield waits[-1]


def _ended(trouble: ClusterEvent, found: list[ClusterEvent]) -> bool:
    if trouble.kind == "partition_begun" and trouble.until_us is not None:
        return True
    nodes = {trouble.node, *trouble.nodes}
    later = [one for one in found if one.node in nodes and one.at_us > trouble.at_us]
    if trouble.kind == "alarm_set":
        return any(one.kind in WENT or (one.kind == "alarm_cleared" and one.name == trouble.name) for one in later)
    return any(one.kind == ENDS[trouble.kind] for one in later)
