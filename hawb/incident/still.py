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
    last = _Last(incident)
    away = {one for one in found if one.kind in NODES and one.node and not last.runs_after(one.node, one.at_us)}
    nodes = {one.node for one in away}
    for one in found:
        parted = one.kind in PARTITIONS and one.until_us is None and not last.is_met(one)
        apart = parted and nodes.isdisjoint(node for pair in one.pairs for node in pair)
        if one in away or apart or (one.kind == "alarm_set" and not last.is_cleared(one)):
            yield one
    for run in incident.node_runs:
        if is_booting(run) and (waits := last.waiting.get(run.node)) and waits.at_us >= run.from_us:
            yield waits


class _Last:
    """The times at which each node last booted, and at which alarms, partitions and node runs last ended."""

    def __init__(self, incident: Incident) -> None:
        self._began_us = {run.node: run.from_us for run in incident.node_runs if run.ended_by != "failed"}
        self._ended_us: dict[str | None, int] = {}
        self._cleared_us: dict[tuple[str | None, str | None], int] = {}
        self._healed_us: dict[tuple[tuple[str, str], ...], int] = {}
        self.waiting: dict[str | None, ClusterEvent] = {}
        for one in incident.cluster_events:  # in order of time
            if one.kind in (*NODES, "node_stopped"):
                self._ended_us[one.node] = one.at_us
            elif one.kind == "alarm_cleared":
                self._cleared_us[one.node, one.name] = one.at_us
            elif one.kind == "partition_healed":
                self._healed_us[one.pairs] = one.at_us
            elif one.kind == "node_waiting":
                self.waiting[one.node] = one

    def runs_after(self, node: str, at_us: int) -> bool:
        """Return True if a node booted after a time."""
        return self._began_us.get(node, at_us) > at_us

    def is_met(self, parted: ClusterEvent) -> bool:
        """Return True if one of the parted nodes booted later, or saw the other one again."""
        nodes = {node for pair in parted.pairs for node in pair}
        met = self._healed_us.get(parted.pairs, parted.at_us - 1) >= parted.at_us
        return met or any(self.runs_after(node, parted.at_us) for node in nodes)

    def is_cleared(self, alarm: ClusterEvent) -> bool:
        """Return True if an alarm was cleared, or its node ended, which clears it."""
        ends_us = (self._ended_us.get(alarm.node), self._cleared_us.get((alarm.node, alarm.name)))
        return any(at_us is not None and at_us >= alarm.at_us for at_us in ends_us)
