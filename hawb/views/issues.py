"""The findings of a linter or a check as CI systems need them: rules, issues at places, and cases that pass or fail.

`hawb.views.sarif` and `hawb.views.junit` write them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

Level = Literal["error", "warning", "note"]
"""The severity of an issue; only an error fails its case, as only an error makes the exit status 1."""


class Rule(Struct, frozen=True):
    """A kind of issue: its name, why it matters, what to do about it, and the source."""

    code: str
    level: Level
    why: str
    remedy: str
    source: str = ""


class Issue(Struct, frozen=True):
    """A problem with a subject, such as `queue orders`, in a file; `line` counts from 1, None if unknown."""

    rule: str
    level: Level
    subject: str
    text: str
    file: str | None = None
    line: int | None = None

    @property
    def place(self) -> str:
        """Return file and line."""
        return ":".join(str(part) for part in (self.file, self.line) if part is not None)

    @property
    def sentence(self) -> str:
        """Return the subject with its problem."""
        return f"{self.subject}: {self.text}"


class Case(Struct, frozen=True):
    """A check with the issues that it found. It passes if none of them is an error.

    `broken` is True if the check could not be carried out.
    """

    name: str
    issues: Sequence[Issue] = ()
    broken: bool = False


class Suite(Struct, frozen=True):
    """The cases of one cluster, or of one call."""

    name: str
    cases: Sequence[Case]
