"""List the clusters that the lab can open: its own, scenario files, exports of real clusters, uploads.

Scenario files are found in a checkout (`hawb.scenario.checkout`). The lab's own cluster is part of the package, so the
lab works without a checkout.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from hawb.languages import N_
from hawb.scenario.catalogue import catalogue
from hawb.scenario.checkout import data_folder
from hawb.scenario.load import ScenarioRefused, load

START = Path(__file__).with_name("start.yaml")
UNFIT, LONGEST_NAME = re.compile(r"[^\w.+-]"), 50
"""The characters that are removed from an upload's name, and the maximum length of the result."""

DEFINITIONS, LISTINGS = "definitions.json", ("api-queues.json", "api-nodes.json")


class Export(NamedTuple):
    """A definitions export and listings of the same cluster."""

    definitions: Path
    listings: tuple[Path, ...] = ()


Upload = tuple[str, bytes]
"""An uploaded file: its name, which may be any text, and its content."""

Choice = tuple[str, Path | Export | None]
"""A label, and the scenario file or export to open; None for the heading of a group."""

GROUPS = (
    N_("Incidents"),
    N_("Which mirror takes over"),
    N_("When no mirror takes over"),
    N_("Processes that crash"),
    N_("Cluster membership"),
    N_("Policies and placement"),
    N_("Synchronisation"),
    N_("Publishing and consuming"),
    N_("Limits, TTL and dead letters"),
    N_("Alarms and maintenance mode"),
    N_("Partitions and hosts that lose power"),
    N_("The metadata store: Khepri"),
    N_("Quorum queues: declaration and placement"),
    N_("Quorum queues: majorities"),
    N_("Quorum queues: when the leader fails"),
    N_("Mirrored and quorum queues side by side"),
    N_("Quorum queues: members"),
    N_("Quorum queues: consumers"),
    N_("Quorum queues: limits, policies and deletion"),
    N_("Streams"),
    N_("Others"),
)
"""The groups of hawb's own scenarios, as in their README, in the order of the lab's list."""

TITLE, REAL = N_("A mirrored queue whose mirrors lack messages, and a quorum queue"), N_("The real cluster (data/real)")
"""The titles of the lab's own cluster and of the exported one."""

FIRST_COMMENT = re.compile(r"(?:#.*\n)*")


def choices(folder: Path | None = None) -> list[Choice]:
    """Return what can be opened: the lab's own cluster, the exported one, then the scenarios in their groups.

    The data are searched from `folder`, by default the kernel's folder.
    """
    found: list[Choice] = [(TITLE, START)]
    data = data_folder(folder)
    if data is None:
        return found
    if (data / "real" / DEFINITIONS).is_file():
        found.append((REAL, Export(data / "real" / DEFINITIONS, tuple(data / "real" / name for name in LISTINGS))))
    groups: dict[str, list[Choice]] = {group: [] for group in GROUPS}
    for entry in catalogue(data / "scenarios"):
        groups.setdefault(entry.group, []).append((entry.title or title(entry.file), entry.file))
    return found + [choice for name, group in groups.items() if group for choice in ((name, None), *group)]


def said_first(file: Path) -> tuple[str, ...]:
    """Return the comment at the top of a scenario file: the source of its rule, or whose incident it is."""
    try:
        comment = FIRST_COMMENT.match(file.read_text(encoding="utf-8"))[0]
    except (OSError, ValueError):  # opening the file reports why
        return ()
    text = " ".join(line.removeprefix("#").strip() for line in comment.splitlines())
    return (text,) if text.strip() else ()


def title(file: Path) -> str:
    """Return a scenario's title, or the file's name if it cannot be read; opening it reports why."""
    try:
        return load(file).scenario
    except ScenarioRefused:
        return file.name


def keep(folder: Path, files: Iterable[Upload]) -> tuple[Path, ...]:
    """Write uploaded files into a folder, under the safe part of their names, and return their paths."""
    kept = []
    for number, (name, content) in enumerate(files):
        place = folder / str(number)
        place.mkdir()
        file = place / (UNFIT.sub("_", re.split(r"[/\\]", name)[-1])[-LONGEST_NAME:].lstrip(".") or "upload")
        file.write_bytes(content)
        kept.append(file)
    return tuple(kept)
