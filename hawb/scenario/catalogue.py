"""The scenarios of a folder as its README lists them: in groups, each with its title and the source of its rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LINE = re.compile(
    r"^## (?P<group>.+)$|^\| \[[^]]+\]\((?P<file>[^)]+\.yaml)\) \| (?P<title>.+?) \| (?P<source>.+) \|$", re.M
)
ELSEWHERE = "Others"
"""The group of files that a README does not name."""


class Entry(NamedTuple):
    """A scenario file, its group, the source of what it shows, and its title.

    "" for a file that the README does not name.
    """

    file: Path
    group: str
    source: str
    title: str = ""

    @property
    def name(self) -> str:
        """Return the name of its page."""
        return self.file.stem


def catalogue(folder: Path) -> list[Entry]:
    """Return the scenarios of a folder in the order of its README, then those that it does not name.

    No scenario file is read.
    """
    readme = folder / "README.md"
    listed = list(_entries(folder, readme.read_text(encoding="utf-8"))) if readme.is_file() else []
    known = {entry.file for entry in listed}
    return listed + [Entry(file, ELSEWHERE, "", "") for file in sorted(folder.glob("*.yaml")) if file not in known]


def _entries(folder: Path, readme: str) -> Iterator[Entry]:
    group = ELSEWHERE
    for found in LINE.finditer(readme):
        if found["group"]:
            group = found["group"]
        elif (file := folder / found["file"]).is_file():
            yield Entry(file, group, found["source"].replace("`", ""), found["title"])
