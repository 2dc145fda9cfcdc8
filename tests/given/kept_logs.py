"""The logs of real clusters in data/logs, and what the driver did meanwhile."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from conftest import LONG

from hawb.incident.reading import Reading, read_logs
from hawb.scenario import verbs
from hawb.scenario.document import Scenario
from hawb.scenario.load import load

DATA = Path(__file__).parents[2] / "data"
ALL = sorted(file.parent for file in (DATA / "logs").rglob("story.json"))
"""The folder of each story: the nodes' logs, and `story.json`."""
LONG_ENOUGH = 1.5
"""For how many net_ticktimes a link has to be silent to be missed for certain."""
ONE_IN = 10
DRAWN = [folder for folder in ALL if folder.name.startswith("random-")]
STORIES = [folder for folder in ALL if folder not in DRAWN or LONG or DRAWN.index(folder) % ONE_IN == 0]
"""The stories to be tested: of those that were drawn at random one in ten, and all by `make test-long`."""


def title(folder: Path) -> str:
    """Return a story's release and scenario."""
    return "/".join(folder.relative_to(DATA / "logs").parts)


@cache
def reading_of(folder: Path) -> Reading:
    """Return what the logs of a story say, read once per process. Read-only: all tests share it."""
    return read_logs([folder])


@cache
def story_of(folder: Path) -> dict[str, Any]:
    """Return what is known of a story: its scenario, when each step began, in seconds since 1970, the names of the
    nodes, and the queues at the end; for most stories also the whole outcome, as data/logs/README.md says. Read-only:
    all tests share it."""
    return json.loads((folder / "story.json").read_text(encoding="utf-8"))


@cache
def scenario_of(folder: Path) -> Scenario:
    """Return the scenario that was driven. The first stories were kept without it: theirs is in data/scenarios."""
    kept = folder / "scenario.yaml"
    return load(kept if kept.exists() else DATA / "scenarios" / f"{story_of(folder)['scenario']}.yaml")


def exports(folder: Path, moment: str) -> list[Path]:
    """What an operator would have exported "before" the trouble began, or "after" the last step: the definitions, if a
    node ran, and listings of queues and nodes. Empty for the first stories, which were kept without."""
    definitions = folder / ("definitions.json" if moment == "before" else "definitions-after.json")
    files = [definitions, folder / f"queues-{moment}.json", folder / f"nodes-{moment}.json"]
    return [file for file in files if file.exists()]


@cache
def seen(folder: Path) -> list[dict[str, Any]]:
    """Return what the nodes knew of each other and of queues, one entry per change; an empty list for a story that was
    kept without it. Read-only: all tests share it."""
    file = folder / "seen.json.gz"
    return json.loads(text(file)) if file.exists() else []


def logs(folder: Path) -> list[Path]:
    """Return the log files of a story."""
    return sorted(folder.glob("*.log.gz"))


def text(file: Path) -> str:
    """Return the text of a log file."""
    return gzip.decompress(file.read_bytes()).decode()


def short_cuts(folder: Path) -> set[int]:
    """Return the places of steps that cut links only briefly: which nodes notice is chance."""
    facts, scenario = story_of(folder), scenario_of(folder)
    begun = {place: at_s for at_s, place in facts["begun"] if place is not None}
    heals = [begun[place] for place, step in enumerate(scenario.steps) if isinstance(step.verb, verbs.Heal)]
    cuts = [place for place, step in enumerate(scenario.steps) if isinstance(step.verb, verbs.Partition | verbs.Cut)]
    return {place for place in cuts if any(0 <= heal_s - begun[place] <= LONG_ENOUGH * scenario.cluster.net_ticktime
                                           for heal_s in heals)}  # fmt: skip
