"""The logs of real clusters in data/logs, and what the driver did meanwhile."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from hawb.scenario.document import Scenario
from hawb.scenario.load import load

DATA = Path(__file__).parents[2] / "data"
STORIES = sorted(file.parent for file in (DATA / "logs").rglob("story.json"))
"""The folder of each story: the nodes' logs, and `story.json`."""


def title(folder: Path) -> str:
    """A story's release and scenario."""
    return "/".join(folder.relative_to(DATA / "logs").parts)


def story_of(folder: Path) -> dict[str, Any]:
    """What is known of a story: its scenario, when each step began, in seconds since 1970, the nodes' names, and the
    queues at its end."""
    return json.loads((folder / "story.json").read_text(encoding="utf-8"))


def scenario_of(folder: Path) -> Scenario:
    """The scenario that the driver played."""
    return load(DATA / "scenarios" / f"{story_of(folder)['scenario']}.yaml")


def logs(folder: Path) -> list[Path]:
    """The log files of a story."""
    return sorted(folder.glob("*.log.gz"))


def text(file: Path) -> str:
    """The text of a log file."""
    return gzip.decompress(file.read_bytes()).decode()
