"""The scenarios of a folder as its README has them: in groups, each with where its rule comes from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

LINE = re.compile(r"^## (?P<group>.+)$|^\| \[[^]]+\]\((?P<file>[^)]+\.yaml)\) \| .+? \| (?P<source>.+) \|$", re.M)
ELSEWHERE = "Others"
"""The group of files that a README does not name."""


class Entry(NamedTuple):
    """A scenario file, the group in which it stands, and the source of what it shows."""

    file: Path
    group: str
    source: str

    @property
    def name(self) -> str:
        """The name of its page."""
        return self.file.stem


def catalogue(folder: Path) -> list[Entry]:
    """The scenarios of a folder in the order of its README; what that does not name comes last."""
    readme = folder / "README.md"
    told = list(_entries(folder, readme.read_text(encoding="utf-8"))) if readme.is_file() else []
    known = {entry.file for entry in told}
    return told + [Entry(file, ELSEWHERE, "") for file in sorted(folder.glob("*.yaml")) if file not in known]


def _entries(folder: Path, readme: str):
    group = ELSEWHERE
    for found in LINE.finditer(readme):
        if found["group"]:
            group = found["group"]
        elif (file := folder / found["file"]).is_file():
            yield Entry(file, group, found["source"].replace("`", ""))
