"""Lanes: one for each node, time to the right, with what happened to it and, for one queue, its role.

Time is stretched where much happens and cut where nothing does. Each gap between two moments at which something
happens is drawn in proportion to its length, but never narrower than MOMENT and never wider than GAP; where a gap was
cut for that, two strokes stand on the axis. So a failover of half a millisecond can be seen beside a boot of five
seconds and a night of idling. What is then narrower than WIDTH is stretched as a whole; what is wider stays so.

Bands differ in height and filling before they differ in colour: a master is high and full, a synchronised mirror low
and full, an unsynchronised one low and hollow; a node that runs is a bar, one that is down a thin line.
"""

from __future__ import annotations

from html import escape
from itertools import accumulate, pairwise

from msgspec import Struct
from msgspec.structs import replace

from hawb.views import style
from hawb.views.roles import node_states, roles
from hawb.views.story import Sentence, sentences
from hawb.views.words import html, seconds, shortened, shown

LEFT, RIGHT, TOP, AXIS = 110, 30, 8, 26
LANE, LANES, LOWEST_LANE, TALLEST_BAND = 30, 100, 12, 14
"""Pixels: a lane, all lanes together if they are more than fit, what a lane has at least, and a master's band."""

WIDTH = 900
MOMENT, GAP, SCALE = 16, 110, 20
"""Pixels: least and most for a gap, and for a second between these."""

LABEL = 46
"""Room that a time on the axis needs."""

NAME_LENGTH = 15

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
"""How a role or state is drawn as a band: its look, its height, and whether it is filled."""

WORDS = {"leader_alone": style.LOOKS["leader_alone"].word}
"""What a band is called, where that is not its role or state."""

MARKED = {
    "node_killed": "fault",
    "node_lost_power": "fault",
    "node_stopping": "fault",
    "node_pausing": "fault",
    "node_drained": "fault",
    "alarm_set": "fault",
    "links_cut": "cut",
    "links_timed_out": "cut",
    "links_healed": "healed",
    "node_gave_up": "fault",
    "queue_down": "fault",
    "nodes_suspected": "cut",
    "promoted": "promoted",
    "leader_elected": "promoted",
    "messages_lost": "lost",
}
"""The events that have a mark, and the look of the mark."""


class Axis(Struct, frozen=True):
    """Where moments lie: x by time, the gaps that were cut, and the width of it all; and the height of a lane."""

    places: dict[float, float]
    cuts: list[float]
    width: float
    lane: int = LANE

    def middle(self, lane: int) -> int:
        """The y of the middle of a lane, by its number."""
        return TOP + lane * self.lane + self.lane // 2


def axis(moments: list[float]) -> Axis:
    """The axis for moments in order of time, each of them once."""
    wanted = [(then - moment) * SCALE for moment, then in pairwise(moments)]
    steps = [min(max(step, MOMENT), GAP) for step in wanted]
    stretch = max((WIDTH - LEFT - RIGHT) / sum(steps), 1.0) if steps else 1.0
    ends = [LEFT + stretch * x for x in accumulate(steps, initial=0)]
    cuts = [(left + right) / 2 for step, (left, right) in zip(wanted, pairwise(ends), strict=True) if step > GAP]
    return Axis(dict(zip(moments, ends, strict=True)), cuts, ends[-1] + RIGHT)


def svg(outcome: dict, queue: str | None = None) -> str:
    """The lanes of an outcome as an SVG element; with a queue, its roles are the bands. Raises ValueError for a queue
    that the outcome does not have."""
    told = [sentence for sentence in sentences(outcome) if _is_marked(outcome, sentence, queue)]
    spans = node_states(outcome) if queue is None else roles(outcome, queue)
    times = {0.0, outcome["time_s"], *(s.t for s in told), *(t for spans_of in spans.values() for t, _ in spans_of)}
    scale = replace(axis(sorted(times)), lane=max(min(LANE, LANES // len(spans)), LOWEST_LANE))
    bottom = TOP + scale.lane * len(spans)
    width, height = round(scale.width), bottom + AXIS
    lanes = "".join(
        _lane(node, spans_of, outcome["time_s"], scale, scale.middle(index))
        for index, (node, spans_of) in enumerate(spans.items())
    )
    about = "the nodes" if queue is None else f"the roles of the nodes for {shown(queue)}"
    marks, axis_drawn = _marks(outcome, told, list(spans), scale), _axis(scale, bottom)
    summary = escape(f"Lanes of {about} over {seconds(outcome['time_s'])} s.")
    marked = escape(" ".join(f"At {seconds(sentence.t)} s: {sentence.text}" for sentence in told))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{summary}" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" font-family="{style.FONT}" font-size="12" style="color:{style.INK}"'
        f' fill="currentColor"><title>{summary}</title><desc>{marked}</desc>{lanes}{marks}{axis_drawn}</svg>'
    )


def _is_marked(outcome: dict, sentence: Sentence, queue: str | None) -> bool:
    """Whether a sentence has a mark; of those about queues only what is about `queue`, if one was chosen."""
    about = queue is None or not sentence.queues or queue in sentence.queues
    return about and outcome["events"][sentence.index]["event"] in MARKED


def _lane(node: str, spans: list[tuple[float, str]], end: float, scale: Axis, middle: int) -> str:
    name = escape(shortened(shown(node), NAME_LENGTH))
    parts = [f'<text x="4" y="{middle + 4}" font-weight="600">{name}<title>{html(node)}</title></text>']
    until = [t for t, _ in spans[1:]] + [end]
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
    told = f"{shown(node)}: {WORDS.get(what, what)} from {seconds(since)} to {seconds(then)} s"
    return (
        f'<rect x="{left:.1f}" y="{middle - height / 2:g}" width="{max(right - left, 2):.1f}"'
        f' height="{height:g}" {fill}>'
        f"<title>{escape(told)}</title></rect>"
    )


def _marks(outcome: dict, told: list[Sentence], nodes: list[str], scale: Axis) -> str:
    """Marks for faults, promotions, losses and links, one for each place; several at one place share it and their
    titles."""
    places: dict[tuple[float, int, str], list[str]] = {}
    for sentence in told:
        look = MARKED[outcome["events"][sentence.index]["event"]]
        for node in _nodes_of(outcome, sentence):
            lane = nodes.index(node) if node in nodes else 0
            places.setdefault((sentence.t, lane, look), []).append(sentence.text)
    return "".join(_mark(*place, texts, scale) for place, texts in places.items())


def _mark(t: float, lane: int, look: str, texts: list[str], scale: Axis) -> str:
    shape, offset = SHAPES[look]
    x, y = scale.places[t], scale.middle(lane) + offset * scale.lane // LANE
    title = escape(f"{seconds(t)} s: {' '.join(texts)}")
    return f'<g transform="translate({x:.1f} {y})"><title>{title}</title>{shape}</g>'


def _nodes_of(outcome: dict, sentence: Sentence) -> list[str | None]:
    """The nodes whose lanes an event belongs to: the ends of links, its own, or that of the event which brought it
    about."""
    event = outcome["events"][sentence.index]
    if MARKED[event["event"]] in ("cut", "healed"):
        return sorted({node for link in event["detail"].get("links", [outcome["nodes"]]) for node in link})
    because = event.get("because")
    if event["node"] is None and because is not None:
        event = outcome["events"][because]
    return [event["node"]]


EDGE = 'stroke="var(--jp-layout-color1,Canvas)" stroke-width="1"'
GROUND = '<circle r="7.5" fill="var(--jp-layout-color1,Canvas)"/>'
SHAPES = {
    "fault": (f'<path d="M-5-5 5 5M5-5-5 5" stroke="{style.LOOKS["fault"].colour}" stroke-width="2.5"/>', 0),
    "promoted": (f'<path d="M0-6 6 5H-6Z" fill="{style.LOOKS["promoted"].colour}" {EDGE}/>', 0),
    "cut": (GROUND + f'<path d="M-6-3H6M-6 3H6M-4 6 4-6" stroke="{style.LOOKS["cut"].colour}" stroke-width="2"/>', 0),
    "healed": (GROUND + f'<path d="M-6-3H6M-6 3H6" stroke="{style.LOOKS["healed"].colour}" stroke-width="2"/>', 0),
    "lost": (f'<path d="M0 6 6-5H-6Z" fill="{style.LOOKS["lost"].colour}" {EDGE}/>', 10),
}
"""The marks, and how far below the middle of the lane they stand, so that a loss does not hide the promotion that
brought it about."""


def _axis(scale: Axis, top: int) -> str:
    line = f'<path d="M{LEFT} {top + 4}.5H{scale.width - RIGHT:.0f}" stroke="currentColor" stroke-opacity=".5"/>'
    cuts = "".join(
        f'<path d="M{x - 4:.0f} {top + 9}l4-9m2 9l4-9" stroke="currentColor"><title>time left out</title></path>'
        for x in scale.cuts
    )
    labels, free = [], 0.0
    for t, x in scale.places.items():
        if x >= free:
            labels.append(f'<text x="{x:.1f}" y="{top + 20}" font-size="11" text-anchor="middle">{seconds(t)}</text>')
            free = x + LABEL
    return line + cuts + "".join(labels)
