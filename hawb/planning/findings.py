"""What a linter or an audit has found: data, with the advice that belongs to its kind.

A finding holds a code, the thing it is about and the facts. What it means, where that stands and what to do about it
belong to the code (`hawb.planning.advice`), so that a million findings of one kind cost a million facts and one advice.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hawb.exports.untrusted import named
from hawb.planning.advice import ADVICE, Advice, Severity
from hawb.scenario.refused import cut

Kind = Literal["policy", "operator policy", "queue", "node"]

MOST_NAMED = 4
"""How many names a finding's text lists."""
LONGEST_TEXT = 260
"""A name of RabbitMQ's has at most 255 bytes; a pattern, or what is said of a value, may be as long as anything."""


class Finding(Struct, frozen=True, gc=False):
    """A kind of thing (its `code` in `ADVICE`) that holds of a policy, a queue (both by VHOST::NAME) or a node."""

    code: str
    kind: Kind
    name: str
    detail: dict[str, object] = {}

    @property
    def advice(self) -> Advice:
        """The advice for findings with this code."""
        return ADVICE[self.code]

    @property
    def severity(self) -> Severity:
        """How bad the finding is."""
        return self.advice.severity

    @property
    def where(self) -> str:
        """What the finding is about, in words."""
        return f"{self.kind} {self.name}"

    @property
    def what(self) -> str:
        """What was found, in words."""
        return self.advice.what.format(**{key: _in_words(value) for key, value in self.detail.items()})

    def plain(self) -> dict[str, object]:
        """The finding and its advice, as JSON has them."""
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
