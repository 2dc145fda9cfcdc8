"""Turn logs and exports into an incident: what happened, as a scenario that can be played, and its consequences.

    from hawb.incident.understanding import understand
    incident = understand([Path("logs/")], [Path("definitions.json"), Path("queues.json")])
    incident.cluster_events, incident.reconstructed.scenario, incident.comparison, incident.losses

The reconstruction and its assumptions are data; `hawb.views` writes the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hawb.exports.definitions import holds_export
from hawb.exports.imported import import_cluster
from hawb.incident import connected, within
from hawb.incident.asked import WHOLE, Asked, When, asked
from hawb.incident.before import Exports, Given
from hawb.incident.clocks import settled_us
from hawb.incident.cluster_event import ClusterEvent, is_healing
from hawb.incident.cluster_events import cluster_events
from hawb.incident.compared import Comparison, about, trimmed
from hawb.incident.doubts import OF_CLIENTS, OF_PLACES, OF_THE_BEGINNING
from hawb.incident.faults import BROKEN
from hawb.incident.files import Limits
from hawb.incident.following import closest
from hawb.incident.losses import QueueLosses, losses, tried
from hawb.incident.node_runs import NodeRun, node_runs
from hawb.incident.reading import Reading, read_logs
from hawb.incident.reconstruction import Reconstruction, reconstruct
from hawb.incident.steps import STEPS
from hawb.planning.alternatives import Alternatives, what_would_have_kept
from hawb.planning.harm import harms
from hawb.planning.story import Change
from hawb.scenario import verbs
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.document import Step
from hawb.scenario.inputs import is_stream
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.run import Run

MOST_KEEPERS = 3
"""For how many losses, the first ones, it is looked for what would have kept the messages."""
NOTHING = "no log shows a fault or a change"
MOST_CHANGES = 3_000
"""Maximum number of events that may be steps of one scenario."""
TOO_MUCH = (
    "the logs show {changes:,} faults and changes, and hawb plays at most {most:,} as one scenario: give only the logs"
    " around the incident"
)
NOT_PLAYED = "no log shows a node that stopped, started or lost a link: there is nothing to play"
CAME_OF_IT = frozenset({
    "partition_found", "mirrors_stopped", "messages_dropped", "member_anew", "queue_stale", "mirror_failed",
    "vhost_failed", "autoheal", "autoheal_refused", "node_waiting",
})  # fmt: skip
"""Events that others must have gone before, which cannot be played by themselves."""
TRIED_MOMENTS = 9
"""At how many moments messages are tried, where none is known to have been there, for what would have kept them."""


class Incident(Struct, frozen=True):
    """Everything found in a cluster's logs.

    `node_runs` are the periods in which nodes ran, and `cluster_events` everything that happened. The rest covers the
    span `asked`. `reconstructed` is the scenario, None if there is nothing to play, for the reason `no_scenario`. `run`
    and `outcome` are its simulation, `comparison` matches it with the logs, `losses` lists the messages lost, and
    `keepers` the changes that would have kept them (`hawb.planning.alternatives`). `paths` are the logs as they were
    given, for commands that read them again; by default the names of the files read.
    """

    reading: Reading
    node_runs: list[NodeRun]
    cluster_events: list[ClusterEvent]
    reconstructed: Reconstruction | None = None
    no_scenario: str = ""
    run: Run | None = None
    outcome: dict[str, Any] | None = None
    comparison: Comparison | None = None
    losses: tuple[QueueLosses, ...] = ()
    keepers: tuple[Alternatives, ...] = ()
    asked: Asked = WHOLE
    paths: tuple[str, ...] = ()

    @property
    def span(self) -> Asked:
        """Return the span covered: the one asked for, or from earlier on if the scenario begins earlier."""
        since_us = self.asked.since_us
        if self.reconstructed is not None and since_us is not None:
            since_us = min(since_us, self.reconstructed.begins_us)
        return replace(self.asked, since_us=since_us)

    @property
    def is_quiet(self) -> bool:
        """Return True if there is nothing to play because the logs show no fault and no change."""
        return self.no_scenario.startswith(NOTHING)

    @property
    def covered(self) -> list[ClusterEvent]:
        """Return the events in the span that the logs cover."""
        return [one for one in self.cluster_events if one.at_us in self.span]

    def unsure(self, queue: str) -> frozenset[str]:
        """Return what is uncertain about a queue's final state in the scenario.

        `messages`, if clients may have done something; `place` (master or leader, mirrors or members), if the rules
        differ from what was seen of it or of nodes. In a partitioned cluster both depend on the node asked.
        """
        if self.reconstructed is None or self.comparison is None or self.outcome is None or self.outcome["partitions"]:
            return frozenset({"messages", "place"})
        doubts = [doubt for doubt in self.reconstructed.doubts if doubt.queue in (None, queue)]
        no_scenario = any(doubt.kind in OF_THE_BEGINNING | OF_CLIENTS for doubt in doubts)
        # That a listing was made after the incident may have been concluded wrongly, unless there is an earlier one.
        known = "listed_after" not in {doubt.kind for doubt in doubts} \
            and self.outcome["queues"].get(queue, {}).get("messages") == self.reconstructed.depths.get(queue, -1)
        unsure = {"messages"} if no_scenario and not known else set()
        apart = [about(pair) for pair in self.comparison.apart]
        placed = any(doubt.kind in OF_PLACES for doubt in doubts)
        if queue not in self.outcome["queues"] or placed or any(other in (None, queue) for other in apart):
            unsure.add("place")
        return frozenset(unsure)


def understand(
    paths: Iterable[Path], exports: Sequence[Path] = (), zone: tzinfo = UTC, listed_after: bool | None = None,
    later: Sequence[Path] = (), keepers: bool = True, since: When | None = None, until: When | None = None,
    limits: Limits | None = None,
) -> Incident:  # fmt: skip
    """Return the incident that the logs in `paths` (files and folders) show. Unpack compressed files up to `limits`.

    `exports` are definitions and listings of the same cluster (`hawb.exports.imported`). `listed_after` is True if they
    were made after the incident, and None if hawb must find this out. If there are listings from before and after the
    incident, put those from after into `later`. Without `keepers`, do not search for changes that prevent the loss.
    With `since` and `until`, the scenario covers only that period. Times without a zone are in `zone`. Raise OSError
    for a path that does not exist, ImportRefused for an export that cannot be read, and SpanRefused for a period
    outside the logs.
    """
    reading = read_logs(paths, zone, limits=limits)
    made_us = listed_us(exports, reading)
    span = asked(since, until, zone, reading)
    incident = of_reading(
        reading, read_exports(exports), listed_after, made_us, read_exports(later) if later else None, span
    )
    if not keepers or incident.reconstructed is None or incident.run is None or incident.outcome is None:
        return incident
    keepers_found = _keepers(incident.cluster_events, incident.reconstructed, incident.run, incident.outcome)
    return replace(incident, keepers=keepers_found)


def of_reading(
    reading: Reading, exports: Exports, after: bool | None = None, made_us: int | None = None,
    later: Exports | None = None, span: Asked = WHOLE,
) -> Incident:  # fmt: skip
    """Return the incident in logs that have been read, without alternatives that would have kept messages.

    `after` says whether the exports were made after it, `made_us` when their listing was made, and `later` are later
    exports if the others were made before it. The scenario covers `span`.
    """
    runs = node_runs(reading.events, reading.clocks)
    found = cluster_events(reading.events, reading.clocks)
    incident = Incident(reading, runs, found, asked=span)
    if (changes := sum(one.kind in STEPS for one in found)) > MOST_CHANGES:
        return replace(incident, no_scenario=TOO_MUCH.format(changes=changes, most=MOST_CHANGES))
    before = within.seen(found, span)
    given = Given(exports, later if span.until_us is None else None, after, made_us)
    try:
        ways = (False, True) if any(is_healing(one) for one in found) else (False,)
        candidates = [reconstruct(reading, found, runs, given, span, healed) for healed in ways]
        played = closest([candidate for candidate in candidates if candidate], before)
        if played is None:
            return replace(incident, no_scenario=_no_scenario(reading, found, span))
        reconstructed, run, seen, comparison = played
    except ScenarioRefused as refused:
        return replace(incident, no_scenario=refused.problem)
    comparison = trimmed(comparison, reconstructed, found, span)
    clients, logged = connected.changes(reading), connected.is_logged(reading)
    ended = [node_run for node_run in runs if (node_run.until_us or 0) <= reconstructed.ends_us]
    return replace(
        incident, reconstructed=reconstructed, run=run, outcome=seen, comparison=comparison,
        losses=losses(reconstructed, seen, clients, ended, logged, made_us),
    )  # fmt: skip


def _no_scenario(reading: Reading, found: Sequence[ClusterEvent], span: Asked) -> str:
    """Return the reason why no scenario can be made."""
    if reading.events and any(one.kind in CAME_OF_IT for one in found if one.at_us in span):
        return "the logs show the consequences of a fault, but not the fault itself"
    if any(one.kind in BROKEN for one in found if one.at_us in span):
        return NOT_PLAYED
    if any(event.kind == "partition_seen" for event in reading.events):
        return "the logs show the consequences of a fault, but not the fault itself"
    if reading.events:
        return NOTHING if span == WHOLE else f"{NOTHING} in the given period"
    if any(file.timeless for file in reading.files):
        return "no message in these files has both a date and a time"
    return "hawb recognises no line of these files as a message of RabbitMQ"


def listed_us(files: Sequence[Path], reading: Reading) -> int | None:
    """Return when listings were made, by the earliest file time, if that is within the time of the logs.

    Else return None: the time of a copy means nothing.
    """
    times = [round(file.stat().st_mtime * MICROSECONDS) for file in files
             if not is_stream(file) and not holds_export(file)]  # fmt: skip
    if not times or not reading.events:
        return None
    first, last = (settled_us(reading.events[place], reading.clocks) for place in (0, -1))
    return min(times) if first <= min(times) <= last else None


def read_exports(files: Sequence[Path]) -> Exports:
    """Return the contents of a cluster's definitions and listings, given in any order.

    Raise ImportRefused if unreadable.
    """
    defined = next((file for file in files if holds_export(file)), None)
    listings = [file for file in files if file != defined]
    imported = import_cluster(defined, listings)
    return Exports(imported.scenario, defined is not None, imported.depths_unknown)


def _keepers(
    found: Sequence[ClusterEvent], reconstructed: Reconstruction, run: Run, seen: dict[str, Any]
) -> tuple[Alternatives, ...]:
    """Return what would have kept the messages that are lost, or will be once the partition ends.

    If no messages are known to have been there, those that were tried take their place.
    """
    lost = [harm for harm in harms(run) if harm.lost]
    if not lost and (again := tried(reconstructed, seen, most=TRIED_MOMENTS)):
        for step in _restarts(found, seen["partitions"]):
            again.apply(step)
        run, lost = again, [harm for harm in harms(again) if harm.lost][:1]
    kept = (what_would_have_kept(run, harm) for harm in lost[:MOST_KEEPERS])
    if not any(doubt.kind == "healed" for doubt in reconstructed.doubts):
        return tuple(kept)
    return tuple(replace(one, changed=[other for other in one.changed if not _heals(other.change)]) for one in kept)


def _heals(change: Change) -> bool:
    """Return True if a change turns on autoheal, which the cluster had already if its restarts are steps."""
    return (change.document or {}).get("cluster", {}).get("cluster_partition_handling") == "autoheal"


def _restarts(found: Sequence[ClusterEvent], sides: Sequence[Sequence[str]]) -> Iterator[Step]:
    """Yield the steps that end a partition by restarts.

    The partition that autoheal chose last keeps running, or if there is none, the largest one.
    """
    chosen = [one.node for one in found if one.kind == "autoheal"][-1:]
    stays = max(sides, key=lambda side: (bool({*chosen} & {*side}), len(side)), default=())
    nodes = tuple(node for side in sides if side is not stays for node in side)
    if nodes:
        yield from (Step(verbs.Stop(nodes)), Step(verbs.Start(nodes)))
