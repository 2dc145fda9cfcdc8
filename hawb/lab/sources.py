"""Where the lab's clusters come from: the one that it opens with, scenario files, exports of real clusters, uploads.

Scenario files are a checkout's (`hawb.scenario.checkout`). The cluster to begin with is part of the package, so the lab
works without any of them.
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
"""The characters that an upload's name loses, and how many it keeps at most."""

DEFINITIONS, LISTINGS = "definitions.json", ("api-queues.json", "api-nodes.json")


class Export(NamedTuple):
    """A definitions export and listings of the same cluster."""

    definitions: Path
    listings: tuple[Path, ...] = ()


Upload = tuple[str, bytes]
"""An uploaded file: its name, which may be anything, and its content."""

Choice = tuple[str, Path | Export | None]
"""What a person reads, and the scenario file or export that it stands for; None for the heading of a group."""

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
"""The groups of hawb's own scenarios, as their README names them, in the order in which the lab has them."""

TITLE, REAL = N_("A mirrored queue whose mirrors lack messages, and a quorum queue"), N_("The real cluster (data/real)")
"""The titles of the lab's own cluster and of the exported one."""

FIRST_COMMENT = re.compile(r"(?:#.*\n)*")


def choices(folder: Path | None = None) -> list[Choice]:
    """What can be opened: the lab's own start, the exported cluster, then scenarios in their groups; `folder` is
    searched in place of the kernel's."""
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
    """The comment at the top of a scenario file: where its rule comes from, or whose incident it is."""
    try:
        comment = FIRST_COMMENT.match(file.read_text(encoding="utf-8"))[0]
    except (OSError, ValueError):  # opening it will say why
        return ()
    told = " ".join(line.removeprefix("#").strip() for line in comment.splitlines())
    return (told,) if told.strip() else ()


def title(file: Path) -> str:
    """A scenario's title, or its file's name where it cannot be read: opening it will say why."""
    try:
        return load(file).scenario
    except ScenarioRefused:
        return file.name


def keep(folder: Path, files: Iterable[Upload]) -> tuple[Path, ...]:
    """Writes uploaded files into a folder, under the harmless part of their names."""
    kept = []
    for number, (name, content) in enumerate(files):
        place = folder / str(number)
        place.mkdir()
        file = place / (UNFIT.sub("_", re.split(r"[/\\]", name)[-1])[-LONGEST_NAME:].lstrip(".") or "upload")
        file.write_bytes(content)
        kept.append(file)
    return tuple(kept)
