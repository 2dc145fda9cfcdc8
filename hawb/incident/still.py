"""Find what is still wrong when the logs end: nodes that have not come back or not booted, partitions, and alarms."""

from __future__ import annotations

from collections.abc import Iterator

from hawb.incident.cluster_event import ClusterEvent
from hawb.incident.node_runs import is_booting
from hawb.incident.understanding import Incident

NODES = ("node_killed", "node_paused", "node_gone")
PARTITIONS = ("partition_begun", "partition_found")


def still(incident: Incident) -> Iterator[ClusterEvent]:
    """Yield the events whose consequences last until the logs end; none if the user's span ends earlier.

    They are nodes that ended without a shutdown, paused, or that others lost, partitions, alarms, and, as
    `node_waiting`, nodes that have not finished booting.
    """
    found = incident.cluster_events
    if any(incident.asked.is_over(one.at_us) for one in found):
        return
    away = [one for one in found if one.kind in NODES and one.node and not _runs_after(incident, one.node, one.at_us)]
    nodes = {one.node for one in away}
    for one in found:
        parted = one.kind in PARTITIONS and one.until_us is None and not _is_met(incident, one)
        apart = parted and nodes.isdisjoint(node for pair in one.pairs for node in pair)
        if one in away or apart or (one.kind == "alarm_set" and not _is_cleared(incident, one)):
            yield one
    for run in incident.node_runs:
        if is_booting(run):
            waits = [one for one in found if (one.kind, one.node) == ("node_waiting", run.node)
                     and one.at_us >= run.from_us]  # fmt: skip
            if waits:
                yield waits[-1]


def _runs_after(incident: Incident, node: str, at_us: int) -> bool:
    """Return True if a node began to run after it had ended at a time."""
    return any(run.node == node and run.from_us > at_us and run.ended_by != "failed" for run in incident.node_runs)


def _is_met(incident: Incident, parted: ClusterEvent) -> bool:
    """Return True if one of the parted nodes ran anew, or was met, later."""
    nodes = {node for pair in parted.pairs for node in pair}
    met = any(one.kind == "partition_healed" and one.pairs == parted.pairs and one.at_us >= parted.at_us
              for one in incident.cluster_events)  # fmt: skip
    return met or any(_runs_after(incident, node, parted.at_us) for node in nodes)


def _is_cleared(incident: Incident, alarm: ClusterEvent) -> bool:
    """Return True if an alarm was cleared, or its node ended, which clears it."""
    return any(one.node == alarm.node and one.at_us >= alarm.at_us
               and (one.kind in (*NODES, "node_stopped") or (one.kind, one.name) == ("alarm_cleared", alarm.name))
               for one in incident.cluster_events)  # fmt: skip
