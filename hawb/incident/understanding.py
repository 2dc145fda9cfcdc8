"""From logs and exports to an incident: what happened, as a story that can be played, and what follows.

    from hawb.incident.understanding import understand
    incident = understand([Path("logs/")], [Path("definitions.json"), Path("queues.json")])
    incident.happenings, incident.retold.scenario, incident.comparison, incident.losses
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
from hawb.incident.compared import Comparison, about, trimmed
from hawb.incident.doubts import OF_CLIENTS, OF_PLACES, OF_THE_BEGINNING
from hawb.incident.faults import BROKEN
from hawb.incident.files import Limits
from hawb.incident.following import closest
from hawb.incident.happening import Happening, is_healing
from hawb.incident.happenings import happenings
from hawb.incident.lives import Life, lives
from hawb.incident.losses import QueueLosses, losses, tried
from hawb.incident.reading import Reading, read_logs
from hawb.incident.retold import Retold, retell
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
NOT_PLAYED = "no log shows a node that stopped, started or lost a link: there is nothing to play"
CAME_OF_IT = frozenset({
    "partition_found", "mirrors_stopped", "messages_dropped", "member_anew", "queue_stale", "mirror_failed",
    "vhost_failed", "autoheal", "autoheal_refused", "node_waiting",
})  # fmt: skip
"""Happenings that others must have gone before, which cannot be played by themselves."""
TRIED_MOMENTS = 9
"""At how many moments messages are tried, where none is known to have been there, for what would have kept them."""


class Incident(Struct, frozen=True):
    """What is understood of a cluster's logs. `lives` and `happenings` are what they tell, and `asked` is the span that
    the rest is about. `retold` is the story as a scenario, None where there is nothing to be played, for the reason
    `untold`; `run` and `outcome` are that story played, `comparison` has it beside what was seen, `losses` what follows
    for messages, and `keepers` what would have kept those that are lost (`hawb.planning.alternatives`). `paths` are the
    logs as they were given, for commands that ask again; by default the names of the files that were read."""

    reading: Reading
    lives: list[Life]
    happenings: list[Happening]
    retold: Retold | None = None
    untold: str = ""
    run: Run | None = None
    outcome: dict[str, Any] | None = None
    comparison: Comparison | None = None
    losses: tuple[QueueLosses, ...] = ()
    keepers: tuple[Alternatives, ...] = ()
    asked: Asked = WHOLE
    paths: tuple[str, ...] = ()

    @property
    def span(self) -> Asked:
        """The span that is told: the one that was asked for, or from earlier on where the story had begun then."""
        since_us = self.asked.since_us
        if self.retold is not None and since_us is not None:
            since_us = min(since_us, self.retold.begins_us)
        return replace(self.asked, since_us=since_us)

    @property
    def is_quiet(self) -> bool:
        """Return True if there is nothing to be played since the logs tell of nothing that went wrong."""
        return self.untold.startswith(NOTHING)

    @property
    def told(self) -> list[Happening]:
        """What happened in the span that is told."""
        return [one for one in self.happenings if one.at_us in self.span]

    def unsure(self, queue: str) -> frozenset[str]:
        """What is not certain of how the story has a queue in the end: its `messages`, since clients may have done
        something, or its `place` (master or leader, mirrors or members), where the rules part from what was seen of it
        or of nodes. As long as the cluster is partitioned it depends on whom one asks."""
        if self.retold is None or self.comparison is None or self.outcome is None or self.outcome["partitions"]:
            return frozenset({"messages", "place"})
        doubts = [doubt for doubt in self.retold.doubts if doubt.queue in (None, queue)]
        untold = any(doubt.kind in OF_THE_BEGINNING | OF_CLIENTS for doubt in doubts)
        # That a listing is of after was found out, and may be wrong, unless there is one of before.
        known = "listed_after" not in {doubt.kind for doubt in doubts} \
            and self.outcome["queues"].get(queue, {}).get("messages") == self.retold.depths.get(queue, -1)
        unsure = {"messages"} if untold and not known else set()
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
    """The incident that logs tell of: files, and folders of files, unpacked up to `limits`. `exports` are
    definitions and listings of the same cluster (`hawb.exports.imported`); whether they are of before the incident
    or of after it is found out, unless it is said. Where there are listings of both, `later` are those of after.
    Without `keepers` it is not looked for what would have kept the messages. With `since` and `until` the story is
    that of the time from one to the other; those without a zone are in `zone`, too. Raises OSError for a path that
    is not there, ImportRefused for an export that cannot be read, and SpanRefused for a span that the logs do not
    tell of."""
    reading = read_logs(paths, zone, limits=limits)
    made_us = listed_us(exports, reading)
    span = asked(since, until, zone, reading)
    incident = of_reading(
        reading, read_exports(exports), listed_after, made_us, read_exports(later) if later else None, span
    )
    if not keepers or incident.retold is None or incident.run is None or incident.outcome is None:
        return incident
    return replace(incident, keepers=_keepers(incident.happenings, incident.retold, incident.run, incident.outcome))


def of_reading(
    reading: Reading, exports: Exports, after: bool | None = None, made_us: int | None = None,
    later: Exports | None = None, span: Asked = WHOLE,
) -> Incident:  # fmt: skip
    """The incident that logs tell of once they are read, but for what would have kept messages. `after` says whether
    the exports are of after it, `made_us` when their listing was made, and `later` are exports of after it where the
    others are of before. The story is that of a `span`."""
    told = lives(reading.events, reading.clocks)
    found = happenings(reading.events, reading.clocks)
    incident = Incident(reading, told, found, asked=span)
    before = within.seen(found, span)
    given = Given(exports, later if span.until_us is None else None, after, made_us)
    try:
        ways = (False, True) if any(is_healing(one) for one in found) else (False,)
        tellings = [retell(reading, found, told, given, span, healed) for healed in ways]
        played = closest([telling for telling in tellings if telling], before)
        if played is None:
            return replace(incident, untold=_untold(reading, found, span))
        retold, run, seen, comparison = played
    except ScenarioRefused as refused:
        return replace(incident, untold=refused.problem)
    comparison = trimmed(comparison, retold, found, span)
    clients, logged = connected.changes(reading), connected.is_logged(reading)
    ended = [life for life in told if (life.until_us or 0) <= retold.ends_us]
    return replace(
        incident, retold=retold, run=run, outcome=seen, comparison=comparison,
        losses=losses(retold, seen, clients, ended, logged, made_us),
    )  # fmt: skip


def _untold(reading: Reading, found: Sequence[Happening], span: Asked) -> str:
    """Why there is nothing to be played."""
    if reading.events and any(one.kind in CAME_OF_IT for one in found if one.at_us in span):
        return "the logs show consequences, but not the fault that caused them"
    if any(one.kind in BROKEN for one in found if one.at_us in span):
        return NOT_PLAYED
    if reading.events:
        return NOTHING if span == WHOLE else f"{NOTHING} in the span that was asked for"
    if any(file.timeless for file in reading.files):
        return "no message in these files has both a date and a time"
    return "hawb recognises no line of these files as a message of RabbitMQ"


def listed_us(files: Sequence[Path], reading: Reading) -> int | None:
    """When listings were made, by the first of the files' own times, if that is while the logs were written; None if it
    is not known: the time of a copy tells nothing."""
    times = [round(file.stat().st_mtime * MICROSECONDS) for file in files
             if not is_stream(file) and not holds_export(file)]  # fmt: skip
    if not times or not reading.events:
        return None
    first, last = (settled_us(reading.events[place], reading.clocks) for place in (0, -1))
    return min(times) if first <= min(times) <= last else None


def read_exports(files: Sequence[Path]) -> Exports:
    """What definitions and listings of a cluster tell, in whatever order they are given. Raises ImportRefused."""
    defined = next((file for file in files if holds_export(file)), None)
    listings = [file for file in files if file != defined]
    imported = import_cluster(defined, listings)
    return Exports(imported.scenario, defined is not None, imported.depths_untold)


def _keepers(found: Sequence[Happening], retold: Retold, run: Run, seen: dict[str, Any]) -> tuple[Alternatives, ...]:
    """What would have kept the messages that are lost, or will be once the cluster is one again; where none is known to
    have been there, those that were tried."""
    lost = [harm for harm in harms(run) if harm.lost]
    if not lost and (again := tried(retold, seen, most=TRIED_MOMENTS)):
        for step in _restarts(found, seen["partitions"]):
            again.apply(step)
        run, lost = again, [harm for harm in harms(again) if harm.lost][:1]
    kept = (what_would_have_kept(run, harm) for harm in lost[:MOST_KEEPERS])
    if not any(doubt.kind == "healed" for doubt in retold.doubts):
        return tuple(kept)
    return tuple(replace(one, changed=[other for other in one.changed if not _heals(other.change)]) for one in kept)


def _heals(change: Change) -> bool:
    """Whether a change is to have autoheal, which a cluster had already whose restarts are told as steps."""
    return (change.document or {}).get("cluster", {}).get("cluster_partition_handling") == "autoheal"


def _restarts(found: Sequence[Happening], sides: Sequence[Sequence[str]]) -> Iterator[Step]:
    """What makes a cluster one again: all sides restart but the one that autoheal chose last, or the largest."""
    chosen = [one.node for one in found if one.kind == "autoheal"][-1:]
    stays = max(sides, key=lambda side: (bool({*chosen} & {*side}), len(side)), default=())
    nodes = tuple(node for side in sides if side is not stays for node in side)
    if nodes:
        yield from (Step(verbs.Stop(nodes)), Step(verbs.Start(nodes)))
