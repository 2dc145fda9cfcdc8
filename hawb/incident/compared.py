"""A retold story, played by the rules, beside what the logs have seen: event by event, and where they part."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from hawb.incident.happenings import Happening

Verdict = Literal["equal", "by chance", "only seen", "only expected"]


class Pair(Struct, frozen=True):
    """What was seen beside what the rules expect. `seen` has the lines of the logs; `expected` is an event of the
    outcome, at `place` in its list of events. `by chance`: the same happened to another node, where luck decides. Where
    they part, `step` is the step of the scenario that both belong to."""

    verdict: Verdict
    kind: str
    at_us: int
    step: int | None
    seen: Happening | None = None
    expected: dict[str, Any] | None = None
    place: int | None = None


class Comparison(Struct, frozen=True):
    """All pairs in the order of time. `unread` are events of the outcome that no log tells of."""

    pairs: tuple[Pair, ...]
    unread: int

    @property
    def equal(self) -> int:
        """How many were as expected, whoever it was by chance."""
        return sum(pair.verdict in ("equal", "by chance") for pair in self.pairs)

    @property
    def parting(self) -> Pair | None:
        """The first pair in which they part."""
        return next((pair for pair in self.pairs if pair.verdict in ("only seen", "only expected")), None)
