"""What a linter or a check has found, as systems for continuous integration take it: rules, issues in places, and cases
that pass or fail. `hawb.views.sarif` and `hawb.views.junit` write it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

Level = Literal["error", "warning", "note"]
"""How bad an issue is; an error alone fails its case, as it alone makes the exit status 1."""


class Rule(Struct, frozen=True):
    """A kind of issue: what it is called, why it matters, what to do about it, where that is written."""

    code: str
    level: Level
    why: str
    remedy: str
    source: str = ""


class Issue(Struct, frozen=True):
    """Something that is wrong with a subject, such as `queue orders`, of a file; `line` from 1, where it is known."""

    rule: str
    level: Level
    subject: str
    text: str
    file: str | None = None
    line: int | None = None

    @property
    def place(self) -> str:
        """File and line, for a reader."""
        return ":".join(str(part) for part in (self.file, self.line) if part is not None)

    @property
    def sentence(self) -> str:
        """The subject and what is wrong with it."""
        return f"{self.subject}: {self.text}"


class Case(Struct, frozen=True):
    """Something that was looked at, and the issues that came of it; it passes without an error. `broken` says that it
    could not be looked at."""

    name: str
    issues: Sequence[Issue] = ()
    broken: bool = False


class Suite(Struct, frozen=True):
    """Cases of one cluster, or of one call."""

    name: str
    cases: Sequence[Case]
