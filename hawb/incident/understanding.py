"""From logs and exports to an incident: what happened, as a story that can be played, and what follows.

    from hawb.incident.understanding import understand
    incident = understand([Path("logs/")], [Path("definitions.json"), Path("queues.json")])
    incident.happenings, incident.retold.scenario, incident.comparison, incident.losses
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

from msgspec import Struct

from hawb.incident.compared import Comparison
from hawb.incident.happenings import Happening, happenings
from hawb.incident.lives import Life, lives
from hawb.incident.losses import QueueLosses
from hawb.incident.reading import Reading, read_logs
from hawb.incident.retold import Retold
from hawb.planning.alternatives import Alternatives
from hawb.scenario.run import Run


class Incident(Struct, frozen=True):
    """What is understood of a cluster's logs. `lives` and `happenings` are what they tell. `retold` is the story as a
    scenario, None where there is nothing to be played, for the reason `untold`; `run` and `outcome` are that story
    played, `comparison` has it beside what was seen, `losses` what follows for messages, and `keepers` what would have
    kept those that are lost (`hawb.planning.alternatives`)."""

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


def understand(
    paths: Iterable[Path], exports: Sequence[Path] = (), zone: tzinfo = UTC, listed_after: bool | None = None
) -> Incident:
    """The incident that logs tell of: files, and folders of files. `exports` are definitions and listings of the same
    cluster (`hawb.broker.imported`); whether they are of before the incident or of after it is found out, unless it is
    said. Raises OSError for a path that is not there, and ImportRefused for an export that cannot be read."""
    reading = read_logs(paths, zone)
    found = happenings(reading.events, reading.clocks)
    return Incident(reading, lives(reading.events, reading.clocks), found, untold="not played yet")
