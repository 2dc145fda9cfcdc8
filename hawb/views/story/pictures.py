"""Pictures of moments of a cluster side by side, and of the logs of a Raft group, for pages and files.

The moments may be before and after a step, or the same story under two policies. Each node is a column, and a replica
is a stack of messages on its side: it spans the first to the last number that any replica holds, and is filled where
this replica holds them. All panels have the same scale, and changes since the previous panel are marked. The picture
has its own background, because notebooks with stored pictures are shown on pages of any colour.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise

from msgspec import Struct

from hawb.engine.core.runs import Runs
from hawb.engine.core.state import State
from hawb.languages import N_, _
from hawb.views import style
from hawb.views.cluster import matrix, raft_entries, scene
from hawb.views.cluster.matrix import Row
from hawb.views.cluster.raft import members, titled
from hawb.views.cluster.replicas import DOWN, NONE, Replica
from hawb.views.formatting import brief, counted, shortened, shown, size, whole
from hawb.views.style import LOOKS, PAPER, PRINTED, PRINTED_FAINT

NAMES, NODE, HEAD, ROW, FOOT, PAD = 112, 108, 62, 40, 26, 12
"""Pixels: width of queue names, width of a node, height of a panel's head, of a row, of the verdict, and the margin."""

CAPTION = 24
"""Pixels by which a panel without a caption is lower."""

WIDEST = 940
"""Pixels: panels that are wider together stand below each other."""

BAR, TALL = NODE - 22, 11
"""Pixels: width and height of a stack."""

SMALL, LETTER = 11, 6.3
"""Pixels: the size of a small letter, and about its width."""


IN_STATE, UNUSABLE = N_("{queue} is {state}"), {"minority": N_("{queue} is without a majority")}
"""The clause about a queue that cannot be used, and the states that have a clause of their own."""


class Panel(Struct, frozen=True):
    """A moment with its caption: the outcome, and the message numbers that each node holds, by queue."""

    caption: str
    outcome: dict
    held: Mapping[str, Mapping[str, Runs]] = {}


def panel(caption: str, outcome: dict, state: State, names: Sequence[str]) -> Panel:
    """Return a moment's outcome with the messages that its nodes hold; `names` are the nodes' names."""
    return Panel(caption, outcome, scene.held(state, names))


# As text


def text(panels: Sequence[Panel]) -> str:
    """Return the content of the panels as text."""
    return "\n".join(_text(panel) for panel in panels)


def _text(panel: Panel) -> str:
    lines = [*matrix.text(panel.outcome).splitlines(), *(line for _look, line in verdicts(panel.outcome))]
    return "\n".join([shown(panel.caption), *(f"  {line}" for line in lines)])


def verdicts(outcome: dict) -> list[tuple[str, str]]:
    """Return the lines below a panel, each with its look.

    They say what each queue lost, or that nothing is lost, and which queues cannot be used.
    """
    lost = [("lost", _lost(name, size(account["lost"]), account["lost_confirmed"]))
            for name, account in outcome["ledger"].items() if account["lost"]]  # fmt: skip
    unusable = [("waiting", _unusable(name, queue["state"]))
                for name, queue in outcome["queues"].items() if queue["state"] != "running"]  # fmt: skip
    return [*(lost or [("running", _("nothing is lost"))]), *unusable]


def _lost(queue: str, lost: int, confirmed: int) -> str:
    words = {"messages": counted(lost), "queue": shown(queue)}
    if not confirmed:
        return _("{messages} of {queue} lost, none of them confirmed", **words)
    if confirmed == lost:
        return _("{messages} of {queue} lost, all confirmed", **words)
    return _("{messages} of {queue} lost, {number} confirmed", number=whole(confirmed), **words)


def _unusable(queue: str, state: str) -> str:
    word = matrix.STATES[state]
    return _(UNUSABLE.get(state, IN_STATE), queue=shown(queue), state=_(word))


# As a picture


def svg(panels: Sequence[Panel], was: dict | None = None) -> str:
    """Return the panels as an SVG element.

    Changes since the previous panel are marked, in the first panel those since `was`.
    """
    widths = [_width(panel) for panel in panels]
    heights = [_height(panel) for panel in panels]
    beside = sum(widths) + PAD * (len(panels) - 1) <= WIDEST
    above = 0 if any(panel.caption for panel in panels) else CAPTION
    outcomes = [was, *(panel.outcome for panel in panels)]
    scales = _scales(panels)
    drawn, left, top = "", 0, -above
    for panel, before, width, height in zip(panels, outcomes, widths, heights, strict=False):
        drawn += f'<g transform="translate({left} {top})">{_panel(panel, before, scales)}</g>'
        left, top = (left + width + PAD, top) if beside else (left, top + height)
    wide = sum(widths) + PAD * (len(panels) - 1) if beside else max(widths)
    high = (max(heights) if beside else sum(heights)) - above
    title = "; ".join(shown(panel.caption) for panel in panels if panel.caption) or _("The cluster")
    return page(drawn, wide, high, title, text(panels))


def page(drawn: str, width: float, height: float, title: str, about: str) -> str:
    """Return a picture with background, title and text description."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:g}" height="{height:g}"'
        f' viewBox="0 0 {width:g} {height:g}" font-family="{style.FONT}" font-size="12" fill="{PRINTED}"'
        f' style="max-width:100%;height:auto"><title>{escape(title)}</title><desc>{escape(about)}</desc>'
        f'<rect width="{width:g}" height="{height:g}" rx="6" fill="{PAPER}"/>{drawn}</svg>'
    )


def _width(panel: Panel) -> int:
    return NAMES + NODE * len(panel.outcome["nodes"]) + 2 * PAD


def _height(panel: Panel) -> int:
    return _bottom(matrix.rows(panel.outcome)) + FOOT + 16 * (len(verdicts(panel.outcome)) - 1) + PAD


def _bottom(rows: Sequence[Row]) -> int:
    """Return the y at which the nodes end; a panel without queues has room for the nodes' states."""
    return HEAD + max(ROW * len(rows), PAD)


def _scales(panels: Sequence[Panel]) -> dict[str, tuple[int, int]]:
    """Return the first and the last message number of each queue over all panels."""
    found: dict[str, tuple[int, int]] = {}
    for panel in panels:
        for queue, nodes in panel.held.items():
            for content in filter(None, nodes.values()):
                first, last = found.get(queue, (content[0][0], content[-1][1]))
                found[queue] = (min(first, content[0][0]), max(last, content[-1][1]))
    return found


def _panel(panel: Panel, was: dict | None, scales: Mapping[str, tuple[int, int]]) -> str:
    outcome, rows = panel.outcome, matrix.rows(panel.outcome, was)
    order = _order(outcome)
    cut = len(matrix.common_prefix(order))
    bottom = _bottom(rows)
    letters = int((_width(panel) - 2 * PAD) / 7.2)
    drawn = _title(shortened(shown(panel.caption), letters), 22)
    for place, node in enumerate(order):
        changed = was is not None and was["nodes"].get(node) != outcome["nodes"][node]
        drawn += _node(outcome, node, cut, PAD + NAMES + NODE * place, bottom, changed=changed)
    drawn += "".join(_gap(PAD + NAMES + NODE * place, bottom) for place in _gaps(outcome, order))
    for place, row in enumerate(rows):
        drawn += _row(row, order, cut, HEAD + ROW * place, panel.held.get(row.queue, {}), scales.get(row.queue))
    return drawn + _verdicts(outcome, bottom + 18)


def _title(words: str, top: int) -> str:
    return f'<text x="{PAD}" y="{top}" font-size="13" font-weight="700">{escape(words)}</text>'


def _order(outcome: dict) -> list[str]:
    """Return the nodes, grouped by network partition."""
    return list(dict.fromkeys([node for side in outcome["partitions"] for node in side] + list(outcome["nodes"])))


def _gaps(outcome: dict, order: Sequence[str]) -> list[int]:
    """Return the columns at which another network partition begins."""
    side = {node: number for number, nodes in enumerate(outcome["partitions"]) for node in nodes}
    return [place + 1 for place, (one, other) in enumerate(pairwise(order)) if side.get(one) != side.get(other)]


def _gap(x: int, bottom: int) -> str:
    look, label = LOOKS["cut"], _("these nodes do not reach each other")
    return (
        f'<path d="M{x - 3} 34V{bottom - 2}" stroke="{look.colour}" stroke-width="2" stroke-dasharray="4 3">'
        f"<title>{escape(label)}</title></path>"
    )


def _node(outcome: dict, node: str, cut: int, left: int, bottom: int, *, changed: bool) -> str:
    state, *more = matrix.states(outcome, node)
    look, up = LOOKS[state], state == "running"
    ground, opacity = (style.CHANGED, 0.3) if changed else (style.GRID, 0.35)
    edge = f'stroke="{style.LINE}"' + ("" if up else ' stroke-dasharray="4 3"')
    said = shortened(", ".join([look.label, *more]), int((NODE - 26) / LETTER))
    name = shortened(shown(node[cut:]), int((NODE - 22) / 7.2))
    return (
        f'<rect x="{left}.5" y="33.5" width="{NODE - 6}" height="{bottom - 36}" rx="5" fill="{ground}"'
        f' fill-opacity="{opacity}" {edge}/>'
        f'<text x="{left + 8}" y="47" font-weight="600">{escape(name)}</text>'
        f'<text x="{left + 8}" y="59" font-size="{SMALL - 1}" fill="{PRINTED_FAINT}">'
        f'<tspan fill="{look.colour}">{look.glyph}</tspan> {escape(said)}</text>'
    )


def _row(
    row: Row, order: Sequence[str], cut: int, top: int, content: Mapping[str, Runs], scale: tuple[int, int] | None
) -> str:  # fmt: skip
    letters = int((NAMES - 6) / 7)
    state = matrix.STATES[row.state or "gone"]
    beside = [] if row.state == "running" else [_(state)]
    beside += [_("by {nodes}", nodes="+".join(shown(node[cut:]) for node in row.side))] if row.side else []
    drawn = f'<text x="{PAD}" y="{top + 17}" font-weight="600">{escape(shortened(shown(row.queue), letters))}</text>'
    if beside:
        words = escape(shortened(", ".join(beside), letters + 2))
        drawn += f'<text x="{PAD}" y="{top + 31}" font-size="{SMALL}" fill="{PRINTED_FAINT}">{words}</text>'
    for place, node in enumerate(order):
        now = row.now.get(node, NONE)
        if (not row.side or node in row.side) and now != NONE:
            left = PAD + NAMES + NODE * place
            drawn += _replica(now, row.was.get(node, NONE), left + 2, top, content.get(node), scale)
    return drawn


def _replica(
    now: Replica, was: Replica, left: int, top: int, content: Runs | None, scale: tuple[int, int] | None
) -> str:  # fmt: skip
    count = "" if now.messages is None else whole(now.messages) if now.messages < 10**7 else brief(now.messages)
    term = "" if now.term is None else f" t{now.term}"
    behind = f" −{brief(now.behind)}" if now.behind else ""
    mark = "" if now == was else (
        f'<rect x="{left + 1}" y="{top + 3}" width="{NODE - 10}" height="{ROW - 6}" rx="3" fill="{style.CHANGED}"'
        f' fill-opacity=".45" stroke="{PRINTED_FAINT}" stroke-dasharray="3 2"/>'
    )  # fmt: skip
    glyph = f'<text x="{left + 6}" y="{top + 17}" fill="{now.look.colour}" font-size="13">{now.glyph}</text>'
    number = f'<text x="{left + 21}" y="{top + 17}" font-size="{SMALL}">{escape(count + term + behind)}</text>'
    stack = "" if scale is None else _stack(now, left + 6, top + 22, content or (), *scale)
    return f"<g>{mark}<title>{escape(now.description)}</title>{glyph}{number}{stack}</g>"


def _stack(now: Replica, left: int, top: int, content: Runs, first: int, last: int) -> str:
    """Draw a replica's messages by number; those of a replica that is down are pale, with dashed edges."""
    each = BAR / (last - first + 1)
    frame = f'<rect x="{left}" y="{top}" width="{BAR}" height="{TALL}" fill="{PAPER}" stroke="{style.LINE}"/>'
    fill = f'fill="{now.look.colour}"'
    if now.role in DOWN:
        fill += f' fill-opacity=".35" stroke="{now.look.colour}" stroke-dasharray="2 2"'
    return frame + "".join(
        f'<rect x="{left + (start - first) * each:.1f}" y="{top}" width="{max((end - start + 1) * each, 1.5):.1f}"'
        f' height="{TALL}" {fill}/>'
        for start, end in content
    )


def _verdicts(outcome: dict, top: int) -> str:
    lines = ""
    for place, (name, line) in enumerate(verdicts(outcome)):
        look, weight = LOOKS[name], ' font-weight="700"' if name == "lost" else ""
        lines += (
            f'<text x="{PAD}" y="{top + 16 * place}"{weight}><tspan fill="{look.colour}">{look.glyph}</tspan> '
            f"{escape(line)}</text>"
        )
    return lines


# Logs


ENTRY, LINE, LEFT, INDEX_LETTER = 30, 30, 190, 6.5
"""Pixels: width of a log entry, height of a member's line, width of its name and role, and of an index's letter."""

LATEST = 16
"""The number of indices that a picture shows."""


def logs_svg(states: Sequence[tuple[str, State]], names: Sequence[str], queue: str) -> str:
    """Return the logs of a Raft group at several moments, each with its caption, as an SVG element.

    Each box is an entry with its term: filled if the member knows that it is committed, else dashed. Raise ValueError
    if `queue` has no Raft group.
    """
    drawn, top, words = "", 0, []
    widest = 0
    for caption, state in states:
        members(state, queue)  # raises ValueError
        logs = raft_entries.logs(state, names, queue, LATEST)
        indices = range(logs["first"], logs["last"] + 1)
        wide = math.ceil(INDEX_LETTER * len(whole(logs['last'])) / ENTRY)
        title = f"{caption}: logs of {titled(queue)}" if caption else f"logs of {titled(queue)}"
        words.append(title)
        drawn += _title(title, top + 22)
        for place, index in list(enumerate(indices))[::wide]:
            x, look = LEFT + place * ENTRY + ENTRY / 2 - 1, f'text-anchor="middle" fill="{PRINTED_FAINT}"'
            drawn += f'<text x="{x:g}" y="{top + 42}" font-size="10" {look}>{whole(index)}</text>'
        for place, member in enumerate(logs["members"]):
            drawn += _log(member, top + 48 + place * LINE)
        top += 48 + LINE * len(logs["members"]) + PAD
        widest = max(widest, LEFT + ENTRY * len(indices) + PAD)
    key = "in a box: the term · filled: known to be committed · dashed: not known to be"
    drawn += f'<text x="{PAD}" y="{top + 8}" font-size="{SMALL}" fill="{PRINTED_FAINT}">{key}</text>'
    return page(drawn, max(widest, 520), top + 8 + PAD, ". ".join(words), key)


def _log(member: dict, top: int) -> str:
    """Draw a member's line of `raft_entries.logs`."""
    name, words = shortened(member["node"], 10), f"{member['role']}, term {member['term']}"
    drawn = (
        f'<text x="{PAD}" y="{top + 18}"><tspan fill="{LOOKS[member["look"]].colour}">{member["glyph"]}</tspan> '
        f'<tspan font-weight="600">{escape(name)}</tspan> '
        f'<tspan font-size="{SMALL}" fill="{PRINTED_FAINT}">{escape(words)}</tspan></text>'
    )
    for place, entry in enumerate(filter(None, member["entries"])):
        drawn += _box(entry, LEFT + place * ENTRY, top)
    return drawn


def _box(entry: dict, left: int, top: int) -> str:
    colour = LOOKS["follower" if entry["committed"] else "waiting"].colour
    ground = f'fill="{colour}" fill-opacity=".3" stroke="{colour}"' if entry["committed"] else (
        f'fill="{PAPER}" stroke="{colour}" stroke-width="1.6" stroke-dasharray="4 2"'
    )  # fmt: skip
    label = "…" if entry["text"] == "snapshot" else f"t{entry['term']}"
    return (
        f'<rect x="{left}" y="{top + 3}" width="{ENTRY - 3}" height="{LINE - 8}" rx="3" {ground}/>'
        f'<text x="{left + ENTRY / 2 - 1.5:g}" y="{top + 18}" font-size="{SMALL}" text-anchor="middle">{label}</text>'
    )
