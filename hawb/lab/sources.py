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

INCIDENT = "incident-"
"""The beginning of the names of files about real incidents."""

INCIDENTS, SCENARIOS = N_("── What has happened to others ──"), N_("── One thing each ──")
FIRST_COMMENT = re.compile(r"(?:#.*\n)*")


def choices(folder: Path | None = None) -> list[Choice]:
    """What can be opened: the lab's own start, then incidents, then other scenarios; `folder` is searched in place of
    the kernel's."""
    found: list[Choice] = [(title(START), START)]
    data = data_folder(folder)
    if data is None:
        return found
    if (data / "real" / DEFINITIONS).is_file():
        real = Export(data / "real" / DEFINITIONS, tuple(data / "real" / name for name in LISTINGS))
        found.append((N_("The real cluster (data/real)"), real))
    groups: dict[str, list[Choice]] = {INCIDENTS: [], SCENARIOS: []}
    for file in sorted((data / "scenarios").glob("*.yaml")):
        groups[INCIDENTS if file.name.startswith(INCIDENT) else SCENARIOS].append((title(file), file))
    return [*found, *(one for heading, group in groups.items() if group for one in [(heading, None), *group])]


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
