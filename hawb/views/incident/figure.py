"""An incident as a picture: a lane for each node, time to the right, and the way of a queue through the nodes.

A lane shows the state of the node's broker: it runs (a bar), boots (outlined), is paused (hatched), is down (dots).
Between the lanes of partitioned nodes the background is coloured, with a jagged line. The line of a queue lies on the
node of its master, and leads to the next node when another takes over. If each partition has a master there are two
lines, and that of the discarded one is dashed. Marks have shapes, the numbers of their sentences, and words where there
is room. The picture can be read without colours.

Its colours are those of its page; outside a page it is light and has its own background.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from textwrap import wrap

from msgspec import Struct

from hawb.views import style
from hawb.views.display import mimebundle
from hawb.views.formatting import html, shortened, shown
from hawb.views.incident.axis import Axis, axis
from hawb.views.incident.times import day, lasted, time_of_day

WIDTH, LEFT, RIGHT, TOP, FOOT, KEY = 1140, 124, 84, 10, 40, 26
"""Pixels: the picture's width, its margins, the axis, and the key below it."""
SLIM_LEFT, SLIM_RIGHT = 78, 30
"""Pixels: the margins of a picture as wide as a phone."""
BAND, ROW, GAP = 18, 15, 28
"""Pixels: height of a node's bar, of a row of words above it, and of the gap between two lanes."""
MOST_ROWS, TORN = 4, 16
LETTER, NAME_LETTERS, WORDS_LETTERS = 6.7, 15, 34
ASIDE, BADGE = 5, 15
TITLE_LETTERS = 104
WAY, WAY_SHIFTS = 4.5, (0, 5, -5)
"""Pixels: width of a queue's line, and the distances of several lines from the middle of the bar."""
TICK = 62
"""Pixels that a time label on the axis needs."""


class Span(Struct, frozen=True):
    """A span in which a node's broker was in a state (a key of STATES)."""

    node: str
    state: str
    from_us: int
    until_us: int


class Tear(Struct, frozen=True):
    """A network partition: its sides, and its begin and end."""

    sides: tuple[tuple[str, ...], ...]
    from_us: int
    until_us: int


class Leg(Struct, frozen=True):
    """A span in which a queue's master or leader was on a node; `lost` is True if its messages were discarded."""

    node: str
    from_us: int
    until_us: int
    lost: bool = False


class Way(Struct, frozen=True):
    """The nodes that had a queue's master or leader; `words` name the queue, or several queues with the same way."""

    words: str
    legs: tuple[Leg, ...]


class Mark(Struct, frozen=True):
    """A mark for an event on a node.

    It has its look (a key of SHAPES), the number of its sentence, a few words, and the whole sentence.
    """

    at_us: int
    node: str
    look: str
    number: int
    words: str
    label: str = ""


class Picture(Struct, frozen=True):
    """The content of the picture, and its title. Nodes are in order from top to bottom."""

    title: str
    nodes: tuple[str, ...]
    spans: tuple[Span, ...]
    tears: tuple[Tear, ...] = ()
    ways: tuple[Way, ...] = ()
    marks: tuple[Mark, ...] = ()

    def _repr_svg_(self) -> str:
        return svg(self, titled=True)

    def _mime_(self) -> tuple[str, str]:  # for marimo; JupyterLab would prefer HTML to a PNG
        return "text/html", svg(self, titled=True)

    def __repr__(self) -> str:
        return self.title

    _repr_mimebundle_ = mimebundle


def ink(name: str) -> str:
    """Return a colour of the page, with the light one as default for a picture outside a page."""
    return f"var(--hawb-{name},{style.LIGHT[name]})"


HATCH = "hatched"
STATES: Mapping[str, tuple[str, str]] = {
    "running": ("runs", f'fill="{ink("held-ground")}" stroke="{ink("held")}" stroke-width="1.2"'),
    "booting": ("boots", f'fill="none" stroke="{ink("held")}" stroke-width="1.2" stroke-dasharray="4 3"'),
    "stopping": ("stops", f'fill="none" stroke="{ink("down")}" stroke-width="1.2" stroke-dasharray="1 3"'),
    "doubted": ("perhaps runs", f'fill="none" stroke="{ink("down")}" stroke-width="1" stroke-dasharray="6 5"'),
    "paused": ("is paused", f'fill="url(#{HATCH})" stroke="{ink("lacking")}" stroke-width="1.2"'),
}
"""The words for a state, and the look of its bar; other states (down, not known) have no bar."""

_EDGE = f'stroke="{ink("ground")}" stroke-width="1.5" paint-order="stroke"'
_HALO = f'stroke="{ink("ground")}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"'
"""The ground around the letters of a text, so that no line runs through them."""
SHAPES: Mapping[str, tuple[str, str]] = {
    "killed": ("killed", f'<path d="M-5.5-5.5 5.5 5.5M5.5-5.5-5.5 5.5" stroke="{ink("lost")}" stroke-width="3"/>'),
    "stopped": ("stopped", f'<rect x="-5" y="-5" width="10" height="10" fill="{ink("down")}" {_EDGE}/>'),
    "started": ("started", f'<path d="M-4-6 6 0-4 6Z" fill="{ink("held")}" {_EDGE}/>'),
    "paused": ("paused", f'<path d="M-5-6V6M5-6V6" stroke="{ink("lacking")}" stroke-width="4"/>'),
    "promoted": ("takes over", f'<path d="M0-7 7 6H-7Z" fill="{ink("master")}" {_EDGE}/>'),
    "elected": ("is elected", f'<path d="M-4-7H4L8 0 4 7H-4L-8 0Z" fill="{ink("master")}" {_EDGE}/>'),
    "missed": ("no longer seen", f'<path d="M-6-3H6M-6 3H6M-4 7 4-7" stroke="{ink("lost")}" stroke-width="2.2"/>'),
    "met": ("seen again", f'<path d="M-6-3H6M-6 3H6" stroke="{ink("held")}" stroke-width="2.2"/>'),
    "lost": ("lost", f'<path d="M0 7 7-6H-7Z" fill="{ink("lost")}" {_EDGE}/>'),
    "endangered": ("perhaps lost", f'<path d="M0 7 7-6H-7Z" fill="{ink("ground")}" stroke="{ink("lost")}"'
                                   ' stroke-width="2"/>'),
    "synced": ("synchronised", f'<circle r="6" fill="{ink("held")}" {_EDGE}/>'),
    "unsynced": ("synchronisation ended early",
                 f'<circle r="5.2" fill="{ink("ground")}" stroke="{ink("lacking")}" stroke-width="2.2"/>'),
    "added": ("mirror added", f'<path d="M-6 0H6M0-6V6" stroke="{ink("held")}" stroke-width="2.6"/>'),
    "dropped": ("mirror gone", f'<path d="M-6 0H6" stroke="{ink("lost")}" stroke-width="3"/>'),
    "alarm": ("alarm", f'<path d="M0-8 8 0 0 8-8 0Z" fill="{ink("lacking")}" {_EDGE}/>'),
    "crashed": ("crashed",
                f'<path d="M0-8 2-3 7-5 4 0 8 4 2 3 0 8-2 3-7 5-4 0-8-4-2-3Z" fill="{ink("lost")}" {_EDGE}/>'),
    "halted": ("queue down", f'<circle r="6" fill="{ink("ground")}" stroke="{ink("lost")}" stroke-width="2.2"/>'
                             f'<path d="M-4 4 4-4" stroke="{ink("lost")}" stroke-width="2.2"/>'),
    "noted": ("", f'<circle r="3.4" fill="{ink("faint")}" {_EDGE}/>'),
}  # fmt: skip
"""The words for a mark in the key, and its shape."""


class _Lane(Struct):
    """The layout of a lane: the middle of its bar, and the words above it, as (row, x, mark, words)."""

    middle: float
    words: list[tuple[int, float, Mark, str]]


def svg(picture: Picture, titled: bool = False, *, slim: bool = False) -> str:
    """Return the picture as an SVG element.

    `titled` writes its title above it; a `slim` picture is as wide as a phone.
    """
    width, left, margin = (style.SLIM, SLIM_LEFT, SLIM_RIGHT) if slim else (WIDTH, LEFT, RIGHT)
    scale = axis(_moments(picture), left, width - margin, width)
    top = TOP + (30 * len(_lines(picture.title)) if titled else 0)
    lanes, bottom = _laid_out(picture, scale, top)
    key, height = _key(picture, bottom + FOOT, 8 if slim else left, width)
    tears = [_tear(tear, lanes, scale) for tear in picture.tears]
    drawn = "".join((
        *(ground for ground, _ in tears),
        *(_lane(node, lane, picture, scale) for node, lane in lanes.items()),
        *(_way(way, number, lanes, scale) for number, way in enumerate(picture.ways)),
        *(words for _, words in tears),
        _names_of_ways(picture.ways, lanes, scale),
        *(_words(lane, scale) for lane in lanes.values()),
        *(_mark(mark, lanes, scale) for mark in picture.marks if mark.node in lanes),
        _axis(scale, bottom), key,
    ))  # fmt: skip
    title = "".join(f'<text x="16" y="{24 + 20 * at}" font-size="16" font-weight="700">{escape(line)}</text>'
                    for at, line in enumerate(_lines(picture.title))) if titled else ""  # fmt: skip
    hatch = (f'<defs><pattern id="{HATCH}" width="6" height="6" patternUnits="userSpaceOnUse"'
             f' patternTransform="rotate(45)"><path d="M0 0V6" stroke="{ink("lacking")}" stroke-width="2.4"/>'
             "</pattern></defs>")  # fmt: skip
    label = escape(" ".join(dict.fromkeys(mark.label for mark in picture.marks if mark.label)))
    drawn_svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="wide" role="img" width="{width}" height="{height:g}"'
        f' viewBox="0 0 {width} {height:g}" font-family="{style.FONT}" font-size="12" fill="{ink("ink")}"'
        f' style="max-width:100%;height:auto"><title>{html(picture.title)}</title><desc>{label}</desc>{hatch}'
        f'<rect width="{width}" height="{height:g}" fill="{ink("ground")}"/>{title}{drawn}</svg>'
    )
    return drawn_svg.replace(HATCH, f"{HATCH}_slim") if slim else drawn_svg


def _lines(title: str) -> list[str]:
    return wrap(shown(title), TITLE_LETTERS, break_on_hyphens=False)


def _moments(picture: Picture) -> list[int]:
    ends = [moment for one in (*picture.spans, *picture.tears) for moment in (one.from_us, one.until_us)]
    ends += [moment for way in picture.ways for leg in way.legs for moment in (leg.from_us, leg.until_us)]
    return [*ends, *(mark.at_us for mark in picture.marks)]


# Layout


def _laid_out(picture: Picture, scale: Axis, top: float) -> tuple[dict[str, _Lane], float]:
    """Return the layout of each node's lane, and the y at which the last lane ends."""
    lanes = {}
    for node in picture.nodes:
        words = _placed([mark for mark in picture.marks if mark.node == node], scale)
        rows = max((row + 1 for row, *_ in words), default=0)
        lanes[node] = _Lane(top + ROW * rows + BAND / 2 + 4, words)
        top = lanes[node].middle + BAND / 2 + GAP
    return lanes, top


def _placed(marks: Sequence[Mark], scale: Axis) -> list[tuple[int, float, Mark, str]]:
    """Return the words of a lane's marks in rows above it, placed from the last mark to the first.

    Words that do not fit in a row beside later words go into the row above, so that no line from words to their mark
    crosses other words. With too many rows, only the number is written, and then nothing.
    """
    begins, placed = [scale.width + 4.0] * MOST_ROWS, []
    for mark in sorted(marks, key=lambda mark: mark.at_us, reverse=True):
        x = scale.at(mark.at_us)
        for words in dict.fromkeys((shortened(shown(mark.words), WORDS_LETTERS), "")):
            wide = BADGE + 4 + LETTER * (len(str(mark.number)) - 1 + len(words))
            start = min(x + ASIDE, scale.width - 4 - wide)
            row = next((row for row, begin in enumerate(begins) if start + wide + 6 < begin), None)
            if row is not None:
                begins[row] = min(x, start) - 2
                placed.append((row, start, mark, words))
                break
    return placed


# Drawing


def _lane(node: str, lane: _Lane, picture: Picture, scale: Axis) -> str:
    """Draw a node's name and its bars."""
    y = lane.middle
    name = f"{html(shortened(shown(node), min(NAME_LETTERS, int(scale.left / LETTER) - 2)))}<title>{html(node)}</title>"
    drawn = (
        f'<text x="{scale.left - 14}" y="{y + 4:g}" text-anchor="end" font-weight="600">{name}</text>'
        f'<path d="M{scale.left} {y:g}H{scale.right}" stroke="{ink("line")}" stroke-width="1.5"'
        ' stroke-dasharray="1 5"/>'
    )
    for span in (span for span in picture.spans if span.node == node and span.state in STATES):
        x, end = scale.at(span.from_us), scale.at(span.until_us)
        times = f"from {time_of_day(span.from_us)} to {time_of_day(span.until_us)}"
        label = f"{shown(node)} {STATES[span.state][0]} {times}"
        drawn += (f'<rect x="{x:.1f}" y="{y - BAND / 2:g}" width="{max(end - x, 2):.1f}" height="{BAND}" rx="2"'
                  f' {STATES[span.state][1]}><title>{escape(label)}</title></rect>')  # fmt: skip
    return drawn


def _words(lane: _Lane, scale: Axis) -> str:
    """Draw the numbers and words of a lane's marks, each with a line to its mark."""
    y, drawn = lane.middle, ""
    for row, start, mark, words in lane.words:
        x, base = scale.at(mark.at_us), y - BAND / 2 - 5 - ROW * row
        drawn += f'<path d="M{x:.1f} {y - BAND / 2:g}V{base + 3:g}" stroke="{ink("line")}"/>'
        wide = BADGE + LETTER * (len(str(mark.number)) - 1)
        drawn += (f'<rect x="{start:.1f}" y="{base - 10.5:g}" width="{wide:.1f}" height="13" rx="6.5"'
                  f' fill="{ink("accent")}"/><text x="{start + wide / 2:.1f}" y="{base:g}" font-size="10.5"'
                  f' font-weight="700" text-anchor="middle" fill="{ink("ground")}">{mark.number}</text>'
                  f'<text x="{start + wide + 4:.1f}" y="{base:g}" font-size="11.5" {_HALO}>'
                  f"{escape(words)}</text>")  # fmt: skip
    return drawn


def _mark(mark: Mark, lanes: Mapping[str, _Lane], scale: Axis) -> str:
    label, ground = escape(mark.label or mark.words), f'<circle r="8.5" fill="{ink("ground")}"/>'
    return (f'<g transform="translate({scale.at(mark.at_us):.1f} {lanes[mark.node].middle:g})"><title>{label}</title>'
            f"{ground}{SHAPES[mark.look][1]}</g>")  # fmt: skip


def _tear(tear: Tear, lanes: Mapping[str, _Lane], scale: Axis) -> tuple[str, str]:
    """Draw a partition: a coloured background with a jagged line between lanes of different sides, and its words."""
    x, end = scale.at(tear.from_us), scale.at(tear.until_us)
    of = {node: at for at, side in enumerate(tear.sides) for node in side}
    long = lasted(tear.until_us - tear.from_us)
    label = f"{' | '.join(', '.join(map(shown, side)) for side in tear.sides)}: {long}"
    drawn, text, words = "", "", f"apart for {long}"
    for (one, lane), (other, below) in pairwise(lanes.items()):
        if one in of and other in of and of[one] != of[other]:
            y, height = lane.middle + BAND / 2, below.middle - lane.middle - BAND
            drawn += (f'<g><title>{escape(label)}</title><rect x="{x:.1f}" y="{y:g}" width="{end - x:.1f}"'
                      f' height="{height:g}" fill="{ink("lost-ground")}"/><path d="{_zigzag(x, end, y + TORN)}"'
                      f' fill="none" stroke="{ink("lost")}" stroke-width="2.2"/></g>')  # fmt: skip
            if not text and end - x > LETTER * len(words):
                text = (f'<text x="{end - 4:.1f}" y="{y + TORN + 18:g}" font-size="11" text-anchor="end"'
                        f' fill="{ink("lost")}" {_HALO}>{words}</text>')  # fmt: skip
    return drawn, text


def _zigzag(x: float, end: float, y: float) -> str:
    steps = max(int((end - x) / 7), 2)
    points = ((x + (end - x) * step / steps, y + (4 if step % 2 else -4)) for step in range(1, steps + 1))
    return f"M{x:.1f} {y:g}" + "".join(f"L{at:.1f} {height:g}" for at, height in points)


def _way(way: Way, number: int, lanes: Mapping[str, _Lane], scale: Axis) -> str:
    """Draw the line of a queue along the lanes of its masters, and from one to the next."""
    shift = WAY_SHIFTS[number % len(WAY_SHIFTS)]
    drawn, before = "", None
    for leg in sorted((leg for leg in way.legs if leg.node in lanes), key=lambda leg: leg.from_us):
        x, end, y = scale.at(leg.from_us), scale.at(leg.until_us), lanes[leg.node].middle + shift
        look = f'fill="none" stroke="{ink("master")}" stroke-width="{WAY}"'
        dash = ' stroke-dasharray="7 4"' if leg.lost else ""
        if before is not None and before.node != leg.node:
            since = min(scale.at(before.until_us), x)
            drawn += f'<path d="M{since:.1f} {lanes[before.node].middle + shift:g}L{x:.1f} {y:g}" {look}/>'
        label = f"{shown(way.words)} on {shown(leg.node)} from {time_of_day(leg.from_us)}"
        drawn += f'<path d="M{x:.1f} {y:g}H{end:.1f}" {look}{dash}><title>{escape(label)}</title></path>'
        before = leg
    return drawn


def _names_of_ways(ways: Sequence[Way], lanes: Mapping[str, _Lane], scale: Axis) -> str:
    """Draw the names of the ways below their beginnings, next to names that are there already."""
    drawn, taken = "", dict.fromkeys(lanes, 0.0)
    begins = [min(way.legs, key=lambda leg: leg.from_us) for way in ways]
    for way, leg in sorted(zip(ways, begins, strict=True), key=lambda one: one[1].from_us):
        x, words = max(scale.at(leg.from_us) + 2, taken[leg.node]), shortened(shown(way.words), WORDS_LETTERS)
        taken[leg.node] = x + LETTER * (len(words) + 2)
        drawn += (f'<text x="{x:.1f}" y="{lanes[leg.node].middle + BAND / 2 + 12:g}" font-size="11.5"'
                  f' font-weight="600" fill="{ink("master")}" {_HALO}>{escape(words)}</text>')  # fmt: skip
    return drawn


def _axis(scale: Axis, top: float) -> str:
    """Draw the axis with times and cut gaps."""
    y = top + 6
    drawn = f'<path d="M{scale.left} {y:g}H{scale.right}" stroke="{ink("faint")}"/>'
    days = sorted({day(moment) for moment in (scale.moments[0], scale.moments[-1])})
    taken = []
    for cut in scale.cuts:
        words = f"{lasted(cut.lasted_us)} left out"
        drawn += (f'<path d="M{cut.x - 5:.1f} {y + 6:g}l4-12m3 12l4-12" stroke="{ink("ink")}" stroke-width="1.5"/>'
                  f'<text x="{cut.x:.1f}" y="{y + 20:g}" font-size="11" font-style="italic" text-anchor="middle"'
                  f' fill="{ink("faint")}">{words}</text>')  # fmt: skip
        taken.append((cut.x - LETTER * len(words) / 2, cut.x + LETTER * len(words) / 2))
    for moment, x in zip(scale.moments, scale.places, strict=True):
        if all(x + TICK / 2 < since or x - TICK / 2 > until for since, until in taken):
            label = f'x="{x:.1f}" y="{y + 20:g}" font-size="11" text-anchor="middle" fill="{ink("faint")}"'
            drawn += f'<path d="M{x:.1f} {y:g}v5" stroke="{ink("faint")}"/><text {label}>{_tick(moment, days)}</text>'
            taken.append((x - TICK / 2, x + TICK / 2))
    return drawn + (f'<text x="{scale.left - 14}" y="{y + 4:g}" font-size="11" text-anchor="end" fill="{ink("faint")}">'
                    f"{days[0] if len(days) == 1 else days[0][:4]}</text>")  # fmt: skip


def _tick(moment: int, days: Sequence[str]) -> str:
    """Return a time for the axis; if there are several days, to the minute and with its day."""
    return time_of_day(moment) if len(days) == 1 else f"{day(moment)[5:]} {time_of_day(moment)[:5]}"


def _key(picture: Picture, top: float, left: float, width: float) -> tuple[str, float]:
    """Draw the key of the shapes in the picture, and return it with the y at which it ends."""
    x, y, drawn = float(left), top + KEY / 2, ""
    for shape, words in _explained(picture):
        if x + 22 + LETTER * len(words) > width - 8:
            x, y = float(left), y + KEY
        drawn += f'<g transform="translate({x + 8:.1f} {y:g})">{shape}</g>'
        drawn += f'<text x="{x + 22:.1f}" y="{y + 4:g}" font-size="11" fill="{ink("faint")}">{escape(words)}</text>'
        x += 22 + LETTER * len(words) + 12
    return drawn, y + KEY / 2


def _explained(picture: Picture) -> Iterator[tuple[str, str]]:
    states = {span.state for span in picture.spans}
    for state, (words, look) in STATES.items():
        if state in states:
            yield f'<rect x="-9" y="-5" width="18" height="10" rx="2" {look}/>', words
    if picture.ways:
        yield f'<path d="M-9 0H9" stroke="{ink("master")}" stroke-width="{WAY}"/>', "master or leader"
    if any(leg.lost for way in picture.ways for leg in way.legs):
        yield f'<path d="M-9 0H9" stroke="{ink("master")}" stroke-width="{WAY}" stroke-dasharray="7 4"/>', "thrown away"
    if picture.tears:
        yield f'<path d="{_zigzag(-10, 10, 0)}" fill="none" stroke="{ink("lost")}" stroke-width="2"/>', "partition"
    looks = {mark.look for mark in picture.marks}
    for look, (words, shape) in SHAPES.items():
        if look in looks and words:
            yield shape, words
