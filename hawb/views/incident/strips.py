"""The states of all nodes at a moment as a row of letters, for each line of an incident's story.

- `● ● ■`: all run, and the queue's master is on the third.
- `● ≠ ■ ●`: the first does not see the others.
- `✕ ■ ◌`: the first is down, the third boots.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TypeVar

from hawb.scenario.document import MOST_NODES
from hawb.views.incident.figure import Leg, Picture, Span, Tear
from hawb.views.style import LOOKS

GLYPHS: Mapping[str, str] = {
    "running": LOOKS["running"].glyph,
    "booting": LOOKS["waiting"].glyph,
    "stopping": LOOKS["waiting"].glyph,
    "doubted": LOOKS["waiting"].glyph,
    "paused": LOOKS["paused"].glyph,
}
LEADING = ("running", "booting", "doubted")
"""The states of a broker that may have a queue's master."""
LEAST_PITCH, WIDEST = 4, 32
"""The minimum number of letters from a node to the next, and the maximum for all nodes."""
BEFORE, DOWN, LEADS, APART = LOOKS["none"].glyph, LOOKS["down"].glyph, LOOKS["master"].glyph, LOOKS["cut"].glyph
Timed = TypeVar("Timed", Span, Leg)
WORDS = f"{GLYPHS['running']} runs, {GLYPHS['booting']} boots or stops, {GLYPHS['paused']} paused, {DOWN} down"


class Strips:
    """The rows of letters of a picture, at any time."""

    def __init__(self, picture: Picture) -> None:
        self._picture, self._wide = picture, _pitch(picture) - 1
        self._spans = _by_node(picture.spans)
        self._legs = _by_node(picture.ways[0].legs if picture.ways else ())
        self._ends_us = max((span.until_us for span in picture.spans), default=0)

    def at(self, at_us: int) -> str:
        """Return the states of the nodes just after a time: a letter each, and a sign between partitioned neighbours.

        There are none for more nodes than a cluster of a scenario has.
        """
        nodes = self._picture.nodes
        if not nodes or len(nodes) > MOST_NODES:
            return ""
        tears = [tear for tear in self._picture.tears if tear.from_us <= at_us < tear.until_us]
        line = self._of(nodes[0], at_us)
        for one, other in pairwise(nodes):
            between = APART if _apart(tears, one, other) else ""
            line += f"{between:^{self._wide}}{self._of(other, at_us)}"
        return line

    def _of(self, node: str, at_us: int) -> str:
        spans = self._spans[node]
        count = bisect_right(spans, at_us, key=_from_us)
        state = next((span.state for span in spans[max(0, count - 1) : count] if self._is_on(span, at_us)), None)
        if state in LEADING:
            legs = self._legs[node]
            place = bisect_right(legs, at_us, key=_from_us)
            if any(self._is_on(leg, at_us) for leg in legs[max(0, place - 1) : place]):
                return LEADS
        if state in GLYPHS:
            return GLYPHS[state]
        return DOWN if count else BEFORE

    def _is_on(self, one: Span | Leg, at_us: int) -> bool:
        """Return True if a span that has begun goes on; one that lasts until the picture's end includes that end."""
        return at_us < one.until_us or one.until_us == self._ends_us


def _by_node(found: Iterable[Timed]) -> Mapping[str, list[Timed]]:
    by_node: dict[str, list[Timed]] = defaultdict(list)
    for one in sorted(found, key=_from_us):
        by_node[one.node].append(one)
    return by_node


def _from_us(one: Span | Leg) -> int:
    return one.from_us


def head(picture: Picture) -> str:
    """Return the names of the nodes, each above its letter; "nodes" if they are too long for that."""
    wide = _pitch(picture)
    fits = all(len(node) < wide for node in picture.nodes[:-1])
    return "".join(f"{node:<{wide}}" for node in picture.nodes).rstrip() if fits else "nodes"


def _pitch(picture: Picture) -> int:
    """Return the number of letters from a node to the next."""
    wide = max((len(node) + 1 for node in picture.nodes), default=LEAST_PITCH)
    return max(wide, LEAST_PITCH) if wide * len(picture.nodes) <= WIDEST else LEAST_PITCH


def key(picture: Picture) -> str:
    """Return a sentence that explains the letters."""
    names = ", ".join(picture.nodes)
    leads = f", {LEADS} master or leader of {picture.ways[0].words}" if picture.ways else ""
    apart = f", {APART} do not see each other" if picture.tears else ""
    return f"From left to right: {names}; {WORDS}{leads}{apart}."


def _apart(tears: Iterable[Tear], one: str, other: str) -> bool:
    return any(
        not any(one in side and other in side for side in tear.sides)
        and all(any(node in side for side in tear.sides) for node in (one, other))
        for tear in tears
    )
