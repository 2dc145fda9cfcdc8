"""The replica matrix: a column for each node, a row for each queue, and in each cell the node's replica of the queue.

A queue that the partitions see differently has a row for each of them. The matrix stays legible at 8 nodes × 40 queues,
where a drawing of a network does not. Shapes carry the meaning and colours repeat it; every cell has a title in words,
and `text` has the same content without a picture.

All markup is built as strings, without a document tree, because the lab draws the matrix after every action.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from html import escape

from msgspec import Struct

from hawb.languages import N_, _, ngettext
from hawb.views import style
from hawb.views.cluster import metadata
from hawb.views.cluster.replicas import BEYOND, DOWN, NONE, Replica, replicas, seen_by
from hawb.views.formatting import brief, commas, counted, html, listing, shortened, shown, size
from hawb.views.style import LOOKS

NAME_WIDTH, HEADER_HEIGHT, ROW_HEIGHT, MARGIN = 220, 42, 21, 8
CELL_WIDTHS = (88, 640, 150)
"""Pixels: minimum width of a node's column, width that all columns share if there is room, and maximum width."""

METADATA = N_("metadata")
"""The name of Khepri's row."""

FEW = 3
"""The number of nodes side by side in a slim matrix."""

CHARACTER_WIDTH, SMALL_WIDTH, SEEN_LENGTH = 7, 6, 21
ARROW = '<path d="M-3-3 1 0-3 3" fill="none" stroke="currentColor" stroke-width="1.4"/>'


class Row(Struct, frozen=True):
    """A queue as the nodes in `side` see it (all nodes if empty): its state and its replicas by node, now and before.

    The state is None if there is no queue. For a quorum queue, `online` is the number of online members, as in 2/3, and
    `uncommitted` the number of messages that wait to be committed.
    """

    queue: str
    side: tuple[str, ...]
    state: str | None
    now: dict[str, Replica]
    was_state: str | None
    was: dict[str, Replica]
    online: str = ""
    uncommitted: int = 0


def rows(outcome: dict, was: dict | None = None) -> list[Row]:
    """Return the rows of the matrix: those of the metadata store, if it is a Raft group, and those of queues, sorted.

    Without `was`, nothing counts as changed.
    """
    was = outcome if was is None else was
    before, after = _queues(was), _queues(outcome)
    return metadata_rows(outcome, was) + [
        Row(name, side, *_state(after, name, side), *_state(before, name, side), *_members(after, name, side))
        for name in sorted(after.keys() | before.keys())  # a deleted queue keeps its row until the next outcome
        for side in _sides(after.get(name, {}))
    ]


def metadata_rows(outcome: dict, was: dict) -> list[Row]:
    """Return the metadata store as each partition sees it, in the form of a quorum queue; no rows with Mnesia."""
    if "metadata_store" not in outcome:
        return []
    return [
        Row(
            METADATA, tuple(side), *metadata.seen_by(outcome, side), *metadata.seen_by(was, side),
            online=metadata.online(outcome, side),
        )
        for side in outcome["partitions"] or [()]
    ]  # fmt: skip


def _queues(outcome: dict) -> dict[str, dict]:
    """Return the queues of all partitions."""
    return outcome["queues"] | outcome.get("queues_elsewhere", {})


def _sides(queue: dict) -> list[tuple[str, ...]]:
    return [tuple(view["nodes"]) for view in queue.get("views", ())] or [()]


def _state(queues: dict, name: str, side: tuple[str, ...]) -> tuple[str | None, dict[str, Replica]]:
    if name not in queues:
        return None, {}
    queue = seen_by(queues[name], side)
    return queue["state"], replicas(queue)


def _members(queues: dict, name: str, side: tuple[str, ...]) -> tuple[str, int]:
    if name not in queues or queues[name]["type"] == "classic":
        return "", 0
    queue = seen_by(queues[name], side)
    return f"{len(queue['online'])}/{len(queue['members'])}", size(queue.get("uncommitted", []))


# As text


def text(outcome: dict) -> str:
    """Return the matrix for terminals and screen readers: a line with the nodes, then a line for each row."""
    nodes = commas(f"{shown(name)} {_said(outcome, name)}" for name in outcome["nodes"])
    return "\n".join([_("nodes: {nodes}", nodes=nodes), *(line(row, outcome["nodes"]) for row in rows(outcome))])


def states(outcome: dict, node: str) -> list[str]:
    """Return a node's state, followed by its resource alarms and maintenance mode, if any."""
    resources = [alarm["resource"] for alarm in outcome.get("alarms", ()) if alarm["node"] == node]
    alarms = [_(alarm) for alarm in map(ALARMS.__getitem__, resources)]
    return [outcome["nodes"][node], *alarms, *([_("maintenance")] if node in outcome.get("maintenance", ()) else [])]


def _said(outcome: dict, node: str) -> str:
    state, *more = states(outcome, node)
    text = _(STATES[state])
    return f"{text} ({commas(more)})" if more else text


def line(row: Row, nodes: dict[str, str]) -> str:
    """Return a row in words: each node that has a replica, with its glyph."""
    seen = [node for node in nodes if node in row.now and node in (row.side or nodes)]
    cells = "; ".join(f"{shown(node)} {row.now[node].glyph} {row.now[node].description}" for node in seen)
    return f"{label(row)} ({_about(row)}): {cells or NONE.description}"


def label(row: Row) -> str:
    """Return the name of a row."""
    return _(METADATA) if row.queue == METADATA else shown(row.queue)


def _about(row: Row) -> str:
    """Return a row's state, its online members, its uncommitted messages, and the nodes whose view it is."""
    state = STATES[row.state or "gone"]
    parts = [_(state), *_members_and_waiting(row)]
    parts += [as_seen(row.side)] if row.side else []
    return commas(parts)


def _members_and_waiting(row: Row) -> list[str]:
    online, _slash, all_of_them = row.online.partition("/")
    parts = [_("{online} of {all} members online", online=online, all=all_of_them)] if row.online else []
    return parts + ([_("{messages} uncommitted", messages=counted(row.uncommitted))] if row.uncommitted else [])


def as_seen(side: Sequence[str]) -> str:
    """Return a phrase that names the nodes whose view something is."""
    return ngettext("as {nodes} sees it", "as {nodes} see it", len(side), nodes=listing(side))


STATES = {
    "running": N_("running"),
    "down": N_("down"),
    "waiting": N_("waiting"),
    "paused": N_("paused"),
    "minority": N_("minority"),
    "syncing": N_("syncing"),
    "gone": N_("gone"),
}
"""The states of nodes and queues, in words."""

ALARMS = {"memory": N_("memory alarm"), "disk": N_("disk alarm")}


def summary(outcome: dict) -> str:
    """Return a sentence about what does not run, as a text alternative to the picture."""
    nodes, queues = outcome["nodes"], _queues(outcome)
    said = {name: _said(outcome, name) for name in nodes}
    faults = [_("{node} is {state}", node=shown(name), state=words) for name, words in said.items()
              if states(outcome, name) != ["running"]]  # fmt: skip
    for state in ("down", "minority", "syncing"):
        names = [name for name in queues if queues[name]["state"] == state]
        word = STATES[state]
        faults += [_("{state}: {queues}", state=_(word), queues=listing(names))] if names else []
    disputed = [name for name in queues if "views" in queues[name]]
    faults += [_("not the same in all partitions: {queues}", queues=listing(disputed))] if disputed else []
    size = {"nodes": counted(len(nodes), "node"), "queues": counted(len(queues), "queue")}
    everything = "; ".join(faults) or _("everything runs")
    return _("Replica matrix of {nodes} and {queues}; {everything}.", **size, everything=everything)


# As a picture


def svg(outcome: dict, was: dict | None = None, *, slim: bool = False) -> str:
    """Return the matrix as an SVG element; changes since the outcome `was` are marked, old → new.

    A `slim` matrix has names above their rows, and one matrix for every FEW nodes, below each other.
    """
    nodes = [*outcome["nodes"]]
    table = rows(outcome, was)
    few = [nodes[first : first + FEW] for first in range(0, len(nodes), FEW)] if slim else [nodes]
    left, name_width, row_height = (0, style.SLIM, 2 * ROW_HEIGHT) if slim else (NAME_WIDTH, NAME_WIDTH, ROW_HEIGHT)
    cell_width = style.SLIM // min(len(nodes), FEW) if slim else cell_width_for(len(nodes))
    width = style.SLIM if slim else width_for(len(nodes))
    was_nodes = outcome["nodes"] if was is None else was["nodes"]
    cut, body, top = len(common_prefix(nodes)), "", 0
    for these in few:
        heads = (
            _node(name, cut, states(outcome, name), was_nodes.get(name), left + at * cell_width, cell_width)
            for at, name in enumerate(these)
        )
        body += f'<g transform="translate(0 {top})">{"".join(heads)}</g>' if top else "".join(heads)
        top += HEADER_HEIGHT
        for row in table:
            rule = f"M0 {top}.5H{left + cell_width * len(these)}"
            body += f'<path d="{rule}" stroke="currentColor" stroke-opacity=".15"/>{_name(row, cut, top, name_width)}'
            below = top + row_height - ROW_HEIGHT
            body += "".join(_at(row, node, left + at * cell_width, below, cell_width) for at, node in enumerate(these))
            top += row_height
        top += MARGIN
    label = escape(summary(outcome))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}"'
        f' width="{width}" height="{top}" viewBox="0 0 {width} {top}" font-family="{style.FONT}" font-size="12"'
        f' style="color:{style.INK};max-width:100%;height:auto" fill="currentColor">'
        f"<title>{label}</title><desc>{escape(text(outcome))}</desc>{body}</svg>"
    )


def cell_width_for(nodes: int) -> int:
    """Return the width of a node's column, in pixels, for this number of nodes."""
    least, shared, widest = CELL_WIDTHS
    return min(max(least, shared // max(nodes, 1)), widest)


def width_for(nodes: int) -> int:
    """Return the width of the matrix, in pixels, for this number of nodes."""
    return NAME_WIDTH + cell_width_for(nodes) * nodes + MARGIN


def common_prefix(nodes: Iterable[str]) -> str:
    """Return the prefix of all nodes' names up to the "@", usually `rabbit@`; "" if they differ.

    The header omits it, because there is no room.
    """
    prefixes = {name[: name.find("@") + 1] for name in nodes}
    return prefixes.pop() if len(prefixes) == 1 else ""


def _node(name: str, cut: int, said: list[str], was: str | None, left: int, width: int) -> str:
    state, *more = said
    look = LOOKS[state]
    label = shortened(shown(name[cut:]), width // CHARACTER_WIDTH - 2)
    words = shortened(commas([look.label, *more]), width // SMALL_WIDTH - 4)
    change = change_of_state(was, state)
    mark = "" if was == state else _mark(left, 2, width, HEADER_HEIGHT - 6)
    return (
        f"<g>{mark}<title>{html(name)}: {escape(change)}</title>"
        f'<text x="{left + 10}" y="17" font-weight="600">{escape(label)}</text>'
        f'<g transform="translate({left + 15} 28)">{_state_shape(state)}</g>'
        f'<text x="{left + 24}" y="32" font-size="11" style="fill:{style.FAINT}">{words}</text></g>'
    )


def change_of_state(was: str | None, state: str | None) -> str:
    """Return a state in words, after the previous state if that was different."""
    now = STATES[state or "gone"]
    before = STATES[was] if was else NOT_THERE
    return _(now) if was == state else f"{_(before)} → {_(now)}"


NOT_THERE = N_("not there")


def _at(row: Row, node: str, left: int, top: int, width: int) -> str:
    """Draw the cell of a row at a node."""
    beyond = bool(row.side) and node not in row.side
    now, was = (BEYOND, BEYOND) if beyond else (row.now.get(node, NONE), row.was.get(node, NONE))
    return _cell(node, now, was, left, top, width)


def _name(row: Row, cut: int, top: int, width: int) -> str:
    state = row.state or "gone"
    changed = row.state != row.was_state
    change = change_of_state(row.was_state, row.state)
    mark = _mark(0, top, width, ROW_HEIGHT) if changed else ""
    room = width // CHARACTER_WIDTH
    name, beside = shortened(label(row), room), ""
    about = _beside(row, state) if state != "running" or changed or row.online else []
    if row.side:
        about.insert(0, _("by {nodes}", nodes="+".join(shown(node[cut:]) for node in row.side)))
    if about:
        left = max(SEEN_LENGTH, room - len(name) - 1)
        if len(", ".join(about)) > left and row.uncommitted:
            about.remove(row.online)  # the members' colours show the same
        words = shortened(", ".join(about), left)
        name = shortened(name, room - len(words) - 1)
        beside = (
            f'<text x="{width - 8}" y="{top + 15}" font-size="11" font-weight="600" text-anchor="end">'
            f"{escape(words)}</text>"
        )
    seen = [_("as seen by {nodes}", nodes=", ".join(map(shown, row.side)))] if row.side else []
    about_it = commas([change, *_members_and_waiting(row), *seen])
    return (
        f"<g>{mark}<title>{html(label(row))}: {escape(about_it)}</title>"
        f'<text x="4" y="{top + 15}">{escape(name)}</text>{beside}</g>'
    )


def _beside(row: Row, state: str) -> list[str]:
    """Return the words next to a queue's name.

    If messages are uncommitted, there is no room for the state, which the number of online members implies.
    """
    if row.uncommitted:
        return [row.online, _("{count} uncommitted", count=brief(row.uncommitted))]
    word = STATES[state]
    words = [] if state == row.was_state == "running" else [_(word)]
    return words if len(set(row.online.split("/"))) == 1 else [*words, row.online]


def _cell(node: str, now: Replica, was: Replica, left: int, top: int, width: int) -> str:
    middle = top + ROW_HEIGHT // 2
    changed = now != was
    label = f"{was.description} → {now.description}" if changed else now.description
    parts = [_mark(left, top, width, ROW_HEIGHT)] if changed else []
    x = left + 15
    if changed and (now.role, now.glyph) != (was.role, was.glyph):
        parts.append(f'<g transform="translate({x} {middle})scale(.7)" opacity=".75">{_shape(was)}</g>')
        parts.append(f'<g transform="translate({x + 13} {middle})">{ARROW}</g>')
        x += 26
    parts.append(f'<g transform="translate({x} {middle})">{_shape(now)}</g>')
    if (count := _count(now, was, (left + width - x - 12) // CHARACTER_WIDTH)) is not None:
        parts.append(f'<text x="{x + 9}" y="{middle + 4}" font-size="11">{count}</text>')
    return f"<g><title>{html(node)}: {escape(label)}</title>{''.join(parts)}</g>"


def _count(now: Replica, was: Replica, room: int) -> str | None:
    """Return the number of messages, old→new if there is room.

    A leader's term comes before it, and the number of entries that a log lacks after it.
    """
    if now.messages is None:
        return None if now.term is None else f"t{now.term}"
    least = count = brief(now.messages)
    both = f"{brief(was.messages or 0)}→{count}" if was.messages not in (None, now.messages) else count
    term = "" if now.term is None else f"t{now.term} "
    behind = _(", {count} behind", count=brief(now.behind)) if now.behind else ""
    short = f" -{brief(now.behind)}" if now.behind else ""
    forms = (f"{term}{both}{behind}", f"{term}{both}{short}", f"{term}{count}{behind}", f"{term}{count}{short}", least)
    return next((form for form in forms if len(form) <= room), least)


def _mark(left: int, top: int, width: int, height: int) -> str:
    """Draw the background of something that changed, with a border for readers who cannot see the background."""
    return (
        f'<rect x="{left + 1.5}" y="{top + 1.5}" width="{width - 3}" height="{height - 2}" rx="3"'
        f' fill="{style.CHANGED}" fill-opacity=".28" stroke="currentColor" stroke-opacity=".55"'
        ' stroke-dasharray="3 2"/>'
    )


# Shapes around (0, 0), 12 units wide


SQUARE = '<rect x="-6" y="-6" width="12" height="12" {}/>'
CIRCLE = '<circle r="6" {}/>'
HEXAGON = '<path d="M-6.5 0-3.3-6H3.3L6.5 0 3.3 6H-3.3Z" {}/>'
CROSS = '<path d="M-5-5 5 5M5-5-5 5" stroke="{}" stroke-width="2.2"/>'
QUARTERS = {
    "○": "",
    "◔": '<path d="M0 0V-5A5 5 0 0 1 5 0Z" fill="{0}"/>',
    "◑": '<path d="M0-5A5 5 0 0 1 0 5Z" fill="{0}"/>',
    "◕": '<path d="M0 0V-5A5 5 0 1 1-5 0Z" fill="{0}"/>',
}
FILLED = {"master": SQUARE, "synchronised": CIRCLE, "leader": HEXAGON, "follower": CIRCLE}


def _shape(replica: Replica) -> str:
    held = replica.messages is not None and replica.messages > 0
    return _shape_of(replica.role, replica.glyph, replica.beneath if held else "none", replica.syncing)


@cache
def _shape_of(role: str, glyph: str, beneath: str, syncing: bool) -> str:
    colour = LOOKS[role].colour
    if role in FILLED:
        return FILLED[role].format(f'fill="{colour}"')
    if role == "leader_alone":
        return HEXAGON.format(f'fill="none" stroke="{colour}" stroke-width="2"')
    if role == "unsynchronised":
        dashes = ' stroke-dasharray="3 2"' if syncing else ""
        return CIRCLE.format(f'fill="none" stroke="{colour}" stroke-width="1.8"{dashes}') + QUARTERS[glyph].format(
            colour
        )
    if role == "mirror":
        return CIRCLE.format(f'fill="{colour}" fill-opacity=".45" stroke="{colour}"')
    if role == "beyond":
        return ""
    if role in DOWN:
        outline = FILLED.get(beneath, CIRCLE).format(f'fill="{colour}" fill-opacity=".25" stroke="{colour}"')
        return outline + CROSS.format("currentColor")
    return f'<circle r="1.5" fill="{colour}"/>'


def _state_shape(state: str) -> str:
    colour = LOOKS[state].colour
    return {
        "running": f'<circle r="5" fill="{colour}"/>',
        "down": CROSS.format("currentColor"),
        "waiting": f'<circle r="4.5" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="2 2"/>',
        "paused": f'<path d="M-3-5V5M3-5V5" stroke="{colour}" stroke-width="3"/>',
    }[state]
