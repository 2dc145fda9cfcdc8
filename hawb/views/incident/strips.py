"""The states of all nodes at a moment as a row of letters, for each line of an incident's story.

- `● ● ■`: all run, and the queue's master is on the third.
- `● ≠ ■ ●`: the first does not see the others.
- `✕ ■ ◌`: the first is down, the third boots.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from hawb.views.incident.figure import Leg, Picture, Span
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
WORDS = f"{GLYPHS['running']} runs, {GLYPHS['booting']} boots or stops, {GLYPHS['paused']} paused, {DOWN} down"


def strip(picture: Picture, at_us: int) -> str:
    """Return the states of the nodes just after a time: a letter each, and a sign between partitioned neighbours."""
    if not picture.nodes:
        return ""
    wide = _pitch(picture) - 1
    line = _of(picture, picture.nodes[0], at_us)
    for one, other in pairwise(picture.nodes):
        between = APART if _apart(picture, one, other, at_us) else ""
        line += f"{between:^{wide}}{_of(picture, other, at_us)}"
    return line


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


def _of(picture: Picture, node: str, at_us: int) -> str:
    spans = [span for span in picture.spans if span.node == node]
    legs = picture.ways[0].legs if picture.ways else ()
    ends_us = max((span.until_us for span in picture.spans), default=0)
    state = next((span.state for span in spans if _is_on(span, at_us, ends_us)), None)
    if state in LEADING and any(leg.node == node and _is_on(leg, at_us, ends_us) for leg in legs):
        return LEADS
    if state in GLYPHS:
        return GLYPHS[state]
    return DOWN if any(span.from_us <= at_us for span in spans) else BEFORE


def _is_on(one: Span | Leg, at_us: int, ends_us: int) -> bool:
    """Return True if a span includes a time; a span that lasts until the picture's end includes that end."""
    return one.from_us <= at_us and (at_us < one.until_us or one.until_us == ends_us)


def _apart(picture: Picture, one: str, other: str, at_us: int) -> bool:
    return any(
        tear.from_us <= at_us < tear.until_us and not any(one in side and other in side for side in tear.sides)
        and all(any(node in side for side in tear.sides) for node in (one, other))
        for tear in picture.tears
    )  # fmt: skip
