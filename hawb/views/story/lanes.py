"""Lanes: a picture with one row for each node and time to the right, with events and, for one queue, the node's role.

The time axis is not linear. The gap between two moments with events is drawn in proportion to its length, but never
narrower than MOMENT and never wider than GAP; two strokes on the axis mark a gap that was cut. So a failover of half a
millisecond is visible beside a boot of five seconds and an idle night. If the axis is then narrower than WIDTH, it is
stretched as a whole; a wider axis stays as it is.

Bands differ in height and filling before they differ in colour: a master is tall and filled, a synchronised mirror low
and filled, an unsynchronised mirror low and outlined. A running node is a bar, a stopped node a thin line.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from html import escape
from itertools import accumulate, pairwise

from msgspec import Struct
from msgspec.structs import replace

from hawb.languages import N_, _
from hawb.views import style
from hawb.views.formatting import html, listing, paragraph, seconds, shortened, shown
from hawb.views.story.marks import Mark, marks
from hawb.views.story.roles import node_states, outages, partings, roles
from hawb.views.story.telling import Sentence

LEFT, RIGHT, TOP, AXIS = 110, 30, 8, 26
LANE, LANES, LOWEST_LANE, TALLEST_BAND = 30, 100, 12, 14
"""Pixels: height of a lane, of all lanes if they do not fit, minimum height of a lane, height of a master's band."""

WIDTH = 900
MOMENT, GAP, SCALE = 16, 110, 20
"""Pixels: minimum and maximum width of a gap, and the width of a second between these limits."""

LABEL = 46
"""Pixels that a time label on the axis needs."""

NAME_LENGTH, SLIM_LEFT, LETTER = 15, 80, 7

BANDS: dict[str, tuple[str, int, bool]] = {
    "master": ("master", TALLEST_BAND, True),
    "synchronised": ("synchronised", 8, True),
    "unsynchronised": ("unsynchronised", 8, False),
    "leader": ("leader", TALLEST_BAND, True),
    "leader_alone": ("leader_alone", TALLEST_BAND, False),
    "follower": ("follower", 8, True),
    "running": ("running", 4, True),
    "booting": ("waiting", 4, False),
    "waiting": ("waiting", 4, False),
    "paused": ("paused", 4, False),
    "down": ("down", 1, True),
}
"""The band of a role or state: its look, its height in pixels, and whether it is filled."""

WORDS = {
    "master": N_("master"),
    "synchronised": N_("synchronised"),
    "unsynchronised": N_("unsynchronised"),
    "leader": N_("leader"),
    "leader_alone": style.LOOKS["leader_alone"].word,
    "follower": N_("follower"),
    "running": N_("running"),
    "booting": N_("booting"),
    "waiting": N_("waiting"),
    "paused": N_("paused"),
    "down": N_("down"),
}
"""The word for each band."""


class Axis(Struct, frozen=True):
    """The time axis in pixels: x of each moment and of each cut gap, width, height of a lane, and left edge."""

    places: dict[float, float]
    cuts: list[float]
    width: float
    lane: int = LANE
    left: int = LEFT

    def middle(self, lane: int) -> int:
        """Return the y of the middle of a lane."""
        return TOP + lane * self.lane + self.lane // 2

    def at(self, t: float) -> float:
        """Return the x of any time in seconds, interpolated between moments."""
        times = list(self.places)
        left = min(max(bisect_right(times, t) - 1, 0), len(times) - 1)
        since, then = times[left], times[min(left + 1, len(times) - 1)]
        share = 0.0 if then == since else min(max(t - since, 0.0) / (then - since), 1.0)
        return self.places[since] + share * (self.places[then] - self.places[since])


def axis(moments: list[float], *, slim: bool = False) -> Axis:
    """Return the axis for moments (seconds, ascending, each once).

    A `slim` axis is as wide as a phone, however many moments there are.
    """
    width, begin, least = (style.SLIM, SLIM_LEFT, 0.0) if slim else (WIDTH, LEFT, 1.0)
    wanted = [(then - moment) * SCALE for moment, then in pairwise(moments)]
    steps = [min(max(step, MOMENT), GAP) for step in wanted]
    stretch = max((width - begin - RIGHT) / sum(steps), least) if steps else 1.0
    ends = [begin + stretch * x for x in accumulate(steps, initial=0)]
    cuts = [(left + right) / 2 for step, (left, right) in zip(wanted, pairwise(ends), strict=True) if step > GAP]
    return Axis(dict(zip(moments, ends, strict=True)), cuts, ends[-1] + RIGHT, left=begin)


class Lanes(Struct, frozen=True):
    """The lanes of an outcome: the axis, the nodes from top to bottom, the marks, and the picture as SVG."""

    scale: Axis
    nodes: list[str]
    marks: list[Mark]
    svg: str

    @property
    def height(self) -> int:
        """Return the height of the lanes in pixels, without the axis."""
        return TOP + self.scale.lane * len(self.nodes)

    def place(self, mark: Mark) -> tuple[float, int]:
        """Return the position (x, y) of a mark."""
        return _place(mark, self.nodes, self.scale)


def svg(
    outcome: dict, queue: str | None = None, all_sentences: Sequence[Sentence] | None = None, *, slim: bool = False
) -> str:  # fmt: skip
    """Return the lanes of an outcome as an SVG element; with a queue, the bands show its roles.

    Callers that have the outcome's sentences pass them as `all_sentences`. Raise ValueError if the outcome does not
    have the queue.
    """
    return lanes(outcome, queue, all_sentences, slim=slim).svg


def lanes(
    outcome: dict, queue: str | None = None, all_sentences: Sequence[Sentence] | None = None, *, slim: bool = False
) -> Lanes:  # fmt: skip
    """Return the lanes of an outcome, as `svg` draws them.

    Raise ValueError if the outcome does not have the queue.
    """
    end = outcome["time_s"]
    spans = node_states(outcome) if queue is None else roles(outcome, queue)
    marked = marks(outcome, queue, all_sentences)
    parted, idle = partings(outcome), [] if queue is None else outages(outcome, queue)
    times = {0.0, end, *(mark.t for mark in marked), *(t for spans_of in spans.values() for t, _what in spans_of)}
    times |= {t for spans_of in (*parted.values(), idle) for span in spans_of for t in span[:2]}
    scale = replace(axis(sorted(times), slim=slim), lane=max(min(LANE, LANES // len(spans)), LOWEST_LANE))
    nodes, bottom = list(spans), TOP + scale.lane * len(spans)
    width, height = round(scale.width), bottom + AXIS
    drawn = "".join(
        _lane(node, spans_of, end, scale, scale.middle(index)) + _partings(node, parted.get(node, []), scale, index)
        for index, (node, spans_of) in enumerate(spans.items())
    )
    drawn += "".join(_mark(mark, nodes, scale) for mark in marked)
    drawn += _axis(scale, bottom) + _outages(queue, idle, scale, bottom)
    about = N_("The state of each node over {t} s.") if queue is None else N_(
        "The role of each node for {queue} over {t} s."
    )  # fmt: skip
    summary = escape(_(about, queue=shown(queue), t=seconds(end)))
    described = escape(paragraph(dict.fromkeys(_("At {what}", what=mark.text) for mark in marked)))
    picture = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{summary}" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" font-family="{style.FONT}" font-size="12" style="color:{style.INK}"'
        f' fill="currentColor"><title>{summary}</title><desc>{described}</desc>{drawn}</svg>'
    )
    return Lanes(scale, nodes, marked, picture)


def _partings(node: str, spans: list[tuple[float, float, set[str]]], scale: Axis, lane: int) -> str:
    """Draw a dashed line at the bottom of a node's lane while links of the node are cut."""
    y = scale.middle(lane) + scale.lane // 2 - 3
    return "".join(
        f'<path d="M{scale.places[since]:.1f} {y}H{scale.places[then]:.1f}" stroke="{style.LOOKS["cut"].colour}"'
        f' stroke-width="2" stroke-dasharray="2 3"><title>{escape(_parted(node, since, then, others))}</title></path>'
        for since, then, others in spans
    )


def _parted(node: str, since: float, then: float, others: set[str]) -> str:
    words = {"node": shown(node), "others": listing(sorted(others)), "since": seconds(since), "until": seconds(then)}
    return _("{node}: no link to {others} from {since} to {until} s", **words)


def _outages(queue: str | None, spans: list[tuple[float, float]], scale: Axis, bottom: int) -> str:
    """Draw a thick line on the axis while the queue has no leader."""
    drawn = ""
    for since, then in spans:
        words = {"queue": shown(queue), "since": seconds(since), "until": seconds(then)}
        label = escape(_("{queue}: no leader from {since} to {until} s", **words))
        line = f"M{scale.places[since]:.1f} {bottom + 4}H{max(scale.places[then], scale.places[since] + 2):.1f}"
        look = f'stroke="{style.LOOKS["fault"].colour}" stroke-width="4"'
        drawn += f'<path d="{line}" {look}><title>{label}</title></path>'
    return drawn


def _lane(node: str, spans: list[tuple[float, str]], end: float, scale: Axis, middle: int) -> str:
    name = escape(shortened(shown(node), min(NAME_LENGTH, scale.left // LETTER - 1)))
    parts = [f'<text x="4" y="{middle + 4}" font-weight="600">{name}<title>{html(node)}</title></text>']
    until = [t for t, _what in spans[1:]] + [end]
    for (since, what), then in zip(spans, until, strict=True):
        if what in BANDS and (since < then or then == end):
            parts.append(_band(node, what, since, then, scale, middle))
    return "".join(parts)


def _band(node: str, what: str, since: float, then: float, scale: Axis, middle: int) -> str:
    role, height, filled = BANDS[what]
    left, right = scale.places[since], scale.places[then]
    height *= min(1, (scale.lane - 2) / TALLEST_BAND)
    colour = style.LOOKS[role].colour
    fill = f'fill="{colour}"' if filled else f'fill="none" stroke="{colour}" stroke-width="1.5" stroke-dasharray="5 2"'
    word = WORDS[what]
    words = {"node": shown(node), "what": _(word), "since": seconds(since), "until": seconds(then)}
    label = _("{node}: {what} from {since} to {until} s", **words)
    return (
        f'<rect x="{left:.1f}" y="{middle - height / 2:g}" width="{max(right - left, 2):.1f}"'
        f' height="{height:g}" {fill}>'
        f"<title>{escape(label)}</title></rect>"
    )


def _mark(mark: Mark, nodes: list[str], scale: Axis) -> str:
    """Draw a mark on its node's lane; a mark without a known node goes on the first lane."""
    shape = SHAPES[mark.look][0]
    x, y = _place(mark, nodes, scale)
    return f'<g transform="translate({x:.1f} {y})"><title>{escape(mark.text)}</title>{shape}</g>'


def _place(mark: Mark, nodes: list[str], scale: Axis) -> tuple[float, int]:
    lane = nodes.index(mark.node) if mark.node in nodes else 0
    return scale.places[mark.t], scale.middle(lane) + SHAPES[mark.look][1] * scale.lane // LANE


EDGE = 'stroke="var(--jp-layout-color1,Canvas)" stroke-width="1"'
GROUND = '<circle r="7.5" fill="var(--jp-layout-color1,Canvas)"/>'
SHAPES = {
    "fault": (f'<path d="M-5-5 5 5M5-5-5 5" stroke="{style.LOOKS["fault"].colour}" stroke-width="2.5"/>', 0),
    "promoted": (f'<path d="M0-6 6 5H-6Z" fill="{style.LOOKS["promoted"].colour}" {EDGE}/>', 0),
    "cut": (GROUND + f'<path d="M-6-3H6M-6 3H6M-4 6 4-6" stroke="{style.LOOKS["cut"].colour}" stroke-width="2"/>', 0),
    "healed": (GROUND + f'<path d="M-6-3H6M-6 3H6" stroke="{style.LOOKS["healed"].colour}" stroke-width="2"/>', 0),
    "lost": (f'<path d="M0 6 6-5H-6Z" fill="{style.LOOKS["lost"].colour}" {EDGE}/>', 10),
    "redelivered": (
        f'<path d="M3.5-3.5A5 5 0 1 0 5 0M4.5-7V-3H.5" fill="none" stroke="{style.LOOKS["redelivered"].colour}"'
        ' stroke-width="2"/>',
        -10,
    ),
}
"""The shape of each mark, and its distance below the middle of the lane.

The distance keeps a loss from hiding the promotion that caused it.
"""


def _axis(scale: Axis, top: int) -> str:
    line = f'<path d="M{scale.left} {top + 4}.5H{scale.width - RIGHT:.0f}" stroke="currentColor" stroke-opacity=".5"/>'
    left_out = _("time left out")
    cuts = "".join(
        f'<path d="M{x - 4:.0f} {top + 9}l4-9m2 9l4-9" stroke="currentColor"><title>{left_out}</title></path>'
        for x in scale.cuts
    )
    labels, free = [], 0.0
    for t, x in scale.places.items():
        if x >= free:
            labels.append(f'<text x="{x:.1f}" y="{top + 20}" font-size="11" text-anchor="middle">{seconds(t)}</text>')
            free = x + LABEL
    return line + cuts + "".join(labels)
