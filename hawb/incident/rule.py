"""A message that is known, as a line of the tables `hawb.incident.rules` and `hawb.incident.fault_rules`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

ALL = "3.8-4.3"
"""All releases that have a profile."""


class Rule(NamedTuple):
    """A log message that hawb recognises."""

    kind: str
    releases: str
    source: str
    says: str
    fixed: Mapping[str, str]


def rule(kind: str, releases: str, source: str, says: str, **fixed: str) -> Rule:
    """Return a rule of the table."""
    return Rule(kind, releases, source, says, fixed)
