"""Findings of the linter and the audit, as data.

A finding holds a code, the object that it is about, and the facts. Its meaning, source and remedy belong to the code
(`hawb.planning.advice`), so that a million findings of one kind hold a million facts and one advice.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hawb.exports.untrusted import named
from hawb.planning.advice import ADVICE, Advice, Severity
from hawb.scenario.refused import cut

Kind = Literal["policy", "operator policy", "queue", "node"]

MOST_NAMED = 4
"""Number of names that a finding's text lists."""
LONGEST_TEXT = 260
"""RabbitMQ's names have at most 255 bytes; a pattern, or a text about a value, may have any length."""


class Finding(Struct, frozen=True, gc=False):
    """A finding of a kind (`code` in `ADVICE`) about a policy or a queue (both as VHOST::NAME) or a node."""

    code: str
    kind: Kind
    name: str
    detail: dict[str, object] = {}

    @property
    def advice(self) -> Advice:
        """Return the advice for this finding's code."""
        return ADVICE[self.code]

    @property
    def severity(self) -> Severity:
        """Return the severity of this finding's code."""
        return self.advice.severity

    @property
    def where(self) -> str:
        """Return the kind and name of the object that the finding is about."""
        return f"{self.kind} {self.name}"

    @property
    def what(self) -> str:
        """Return the sentence that says what was found."""
        return self.advice.what.format(**{key: _in_words(value) for key, value in self.detail.items()})

    def plain(self) -> dict[str, object]:
        """Return the finding and its advice as a JSON object."""
        return {
            "code": self.code,
            "severity": self.severity,
            "kind": self.kind,
            "name": self.name,
            "what": self.what,
            "why": self.advice.why,
            "source": self.advice.source,
            "remedy": self.advice.remedy,
            "detail": {key: _brief(value) for key, value in self.detail.items()},
        }


def _in_words(value: object) -> object:
    return named(value, MOST_NAMED) if isinstance(value, list) else _brief(value)


def _brief(value: object) -> object:
    """Return a value of a finding, a text cut where it is longer than any name of RabbitMQ's."""
    return cut(value, LONGEST_TEXT) if isinstance(value, str) else value
