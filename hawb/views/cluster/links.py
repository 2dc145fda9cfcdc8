"""The links between nodes while some are down: a graph above the replica matrix, its nodes above their columns.

A link that works is a solid arc, one that drops everything a dashed one with a cross.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from html import escape
from itertools import combinations

from hawb.views import style
from hawb.views.cluster.matrix import CROSS, NAME_WIDTH, cell_width_for, common_prefix, width_for
from hawb.views.formatting import counted, listing, shortened, shown
from hawb.views.style import LOOKS

HEIGHT, LINE, HIGHEST, LONGEST = 58, 52, 40, 36
"""Pixels: the picture, the line on which the nodes stand, and the arc between the first and the last of them; and the
characters that there is room for on its left."""

Link = tuple[str, str]


def text(outcome: dict, cut: Iterable[Link]) -> str:
    """The links that are down, and the sides that see each other gone."""
    down = listing(f"{shown(first)} – {shown(second)}" for first, second in cut)
    return f"Links down: {down}. {sides(outcome)}."


def sides(outcome: dict) -> str:
    """The sides that see each other gone."""
    cut = len(common_prefix(outcome["nodes"]))
    told = " | ".join(listing(node[cut:] for node in side) for side in outcome["partitions"])
    return f"Sides: {told}" if told else "No node has noticed"


def svg(outcome: dict, cut: Collection[Link]) -> str:
    """The graph as an SVG element."""
    nodes = list(outcome["nodes"])
    down = {frozenset(link) for link in cut}
    cell, width, told = cell_width_for(len(nodes)), width_for(len(nodes)), escape(text(outcome, cut))
    places = {node: NAME_WIDTH + cell * index + 15 for index, node in enumerate(nodes)}
    pairs = [(first, second, {first, second} in down) for first, second in combinations(nodes, 2)]
    highest = max(places.values(), default=0) - NAME_WIDTH - 15 or 1
    arcs = "".join(
        _arc(places[first], places[second], highest, is_down, f"{shown(first)} – {shown(second)}")
        for first, second, is_down in sorted(pairs, key=lambda pair: pair[2])
    )
    dots = "".join(f'<circle cx="{x}" cy="{LINE}" r="3.5"/>' for x in places.values())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{told}" width="{width}" height="{HEIGHT}"'
        f' viewBox="0 0 {width} {HEIGHT}" font-family="{style.FONT}" font-size="12"'
        f' style="color:{style.INK};max-width:100%;height:auto" fill="currentColor"><title>{told}</title>'
        f'<text x="4" y="22" font-weight="600">{counted(len(down), "link")} down</text>'
        f'<text x="4" y="40" font-size="11">{escape(shortened(sides(outcome), LONGEST))}</text>{arcs}{dots}</svg>'
    )


def _arc(left: int, right: int, widest: int, is_down: bool, name: str) -> str:
    middle, height = (left + right) / 2, HIGHEST * (right - left) / widest
    look = LOOKS["cut" if is_down else "running"]
    dashes = ' stroke-dasharray="4 3"' if is_down else ""
    curve = f"M{left} {LINE}Q{middle} {LINE - 2 * height:.0f} {right} {LINE}"
    cross = f'<g transform="translate({middle} {LINE - height:.0f})scale(.8)">{CROSS.format(look.colour)}</g>'
    told = "drops everything" if is_down else "works"
    return (
        f'<g><title>{escape(name)}: {told}</title><path d="{curve}" fill="none" stroke="{look.colour}"'
        f' stroke-width="1.6"{dashes}/>{cross if is_down else ""}</g>'
    )
