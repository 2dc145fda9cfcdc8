"""The cluster as a scene of plain values, for a page to draw, each with the same in words.

Nodes are in the order in which they are drawn, grouped by partition. A row is a queue (or the metadata store) with each
node's replica, old → new, from the replica matrix. Two things come from the engine's state (`beyond`), because outcomes
do not contain them: the message numbers in a replica, and the nodes that clients are connected to.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby

from hawb.engine.core import runs
from hawb.engine.core.runs import Runs
from hawb.engine.core.state import State
from hawb.engine.raft_groups.group import STORE
from hawb.languages import N_, _
from hawb.views.cluster import matrix, metadata
from hawb.views.cluster.clients import client_state
from hawb.views.cluster.matrix import Row
from hawb.views.cluster.replicas import LEADERS, NONE, Replica
from hawb.views.formatting import brief, counted, listing, paragraph, shown, size

DETAILED = 12
"""The maximum number of rows for which the scene has each replica's message numbers."""

MOST_RUNS = 24
"""The maximum number of runs in a stack; with more, the runs with the narrowest gaps are merged."""

LEADS = ("master", *LEADERS)
Link = tuple[str, str]


def held(state: State, names: Sequence[str]) -> dict[str, dict[str, Runs]]:
    """Return the numbers of the messages that nodes hold, by queue and node."""
    found: dict[str, dict[str, Runs]] = {}
    for side in state.sides:
        for name, queue in side.queues.items():
            mine = found.setdefault(name, {})
            for node, content in enumerate(queue.contents):
                if content is not None and (state.nodes[node].side == side.number or queue.has_group):
                    mine.setdefault(names[node], content)
    return found


def beyond(state: State, names: Sequence[str]) -> dict:
    """Return what outcomes do not contain.

    `held` has the message numbers that nodes hold of each queue, `clients` the node of each publisher and consumer, and
    `cut` the links that drop everything.
    """
    clients = [*state.publishers.values(), *state.consumers.values()]
    return {
        "held": held(state, names),
        "clients": {one.name: names[one.node] for one in clients if one.node >= 0},
        "cut": [(names[first], names[second]) for (first, second), _ in state.cuts],
    }


def scene(outcome: dict, was: dict | None = None, before: Mapping | None = None) -> dict:
    """Return the scene of an outcome.

    Changes since the outcome `was` are marked; `before` is the result of `beyond` for the outcome's state.
    """
    before = before or {"held": {}, "clients": {}, "cut": []}
    rows = matrix.rows(outcome, was)
    stores = len(matrix.metadata_rows(outcome, was or outcome))
    sides, noticed = parts(outcome, before["cut"])
    order = [node for side in sides for node in side] or list(outcome["nodes"])
    order += [node for node in outcome["nodes"] if node not in order]
    cut = len(matrix.common_prefix(outcome["nodes"]))
    detailed = len({row.queue for row in rows}) <= DETAILED
    held = before["held"] if detailed else {}
    return {
        "nodes": [_node(outcome, was, node, cut, sides, before["clients"]) for node in order],
        "sides": [[shown(node[cut:]) for node in side] for side in sides],
        "noticed": noticed,
        "cut": [list(link) for link in before["cut"]],
        "rows": [
            *([_row(outcome, rows[:stores], {}, cut, is_store=True)] if stores else []),
            *(_row(outcome, [*seen], held.get(name, {}), cut) for name, seen in groupby(rows[stores:], _queue)),
        ],
        "summary": matrix.summary(outcome),
        "detailed": detailed,
    }


def parts(outcome: dict, cut: Collection[Link]) -> tuple[list[list[str]], bool]:
    """Return the parts of a cluster that do not reach each other, and True if the nodes have noticed.

    These are the partitions, or before any node has noticed, the parts into which the cut links divide the cluster. If
    all nodes reach each other, there are no parts.
    """
    if outcome["partitions"]:
        seen: set[str] = set()
        sides = []
        for side in outcome["partitions"]:
            sides.append([node for node in side if node not in seen])
            seen |= set(side)
        return [side for side in sides if side], True
    down, left, found = {frozenset(link) for link in cut}, list(outcome["nodes"]), []
    while left:
        part = [left.pop(0)]
        for node in part:
            near = [other for other in left if frozenset((node, other)) not in down]
            left = [other for other in left if other not in near]
            part += near
        found.append(sorted(part, key=list(outcome["nodes"]).index))
    return (found, False) if len(found) > 1 else ([], False)


def _node(
    outcome: dict, was: dict | None, node: str, cut: int, sides: list[list[str]], homes: Mapping[str, str]
) -> dict:
    state, *trouble = matrix.states(outcome, node)
    before = state if was is None else was["nodes"].get(node)
    return {
        "name": node,
        "label": shown(node[cut:]),
        "state": state,
        "trouble": trouble,
        "was": None if before == state else before or matrix.NOT_THERE,
        "side": next((number for number, side in enumerate(sides) if node in side), None),
        "clients": [_client(outcome, kind, name) for kind in ("publishers", "consumers") for name in outcome[kind]
                    if homes.get(name) == node],
    }  # fmt: skip


def _client(outcome: dict, kind: str, name: str) -> dict:
    entry = outcome[kind][name]
    has = size(entry.get("unacknowledged", []))
    does = N_("{name} publishes, {state}") if kind == "publishers" else N_("{name} consumes {queue}, {state}")
    about = _(does, name=shown(name), state=client_state(entry), queue=shown(entry.get("queue", "")))
    return {
        "name": name,
        "kind": kind.removesuffix("s"),
        "state": entry["state"],
        "told": _("{client}, holds {messages}", client=about, messages=counted(has)) if has else about,
    }


def _queue(row: Row) -> str:
    return row.queue


def _row(outcome: dict, views: list[Row], held: Mapping[str, Runs], cut: int, *, is_store: bool = False) -> dict:
    """Return a queue, or the metadata store, in one row.

    If the partitions see it differently, each node's cell is as its partition sees it, and `views` has the states if
    the partitions do not agree about them.
    """
    name = views[0].queue
    queue = None if is_store else (outcome["queues"] | outcome.get("queues_elsewhere", {})).get(name)
    lost = [] if is_store or name not in outcome["ledger"] else outcome["ledger"][name]["lost"]
    inside, cells = {}, {}
    for row in reversed(views):  # the first partition decides about a node that several claim
        nodes = [node for node in outcome["nodes"] if not row.side or node in row.side]
        mine = {node: held[node] for node in nodes if node in held and node in row.now}
        master = next((mine[node] for node in mine if row.now[node].role in LEADS), None)
        seen = [(node, row.now.get(node, NONE), row.was.get(node, NONE)) for node in nodes]
        there = [one for one in seen if one[1] != NONE or one[2] != NONE]
        cells |= {node: _cell(now, before, mine.get(node), master) for node, now, before in there}
        inside |= mine
    first, last = _axis(inside.values())
    about = metadata.text(outcome) if is_store else ""
    worst = next((row for row in views if row.state != "running"), views[0])
    return {
        "queue": STORE if is_store else name,
        "label": matrix.label(worst),
        "type": "metadata" if is_store else "gone" if queue is None else queue["type"],
        **_state(worst),
        "views": _views(views, cut),
        "policy": "" if queue is None else shown(queue.get("policy") or ""),
        "lost": size(lost),
        "gone": few(tuple((start, end) for start, end in lost)) if inside else [],
        "first": first,
        "last": last,
        "cells": cells,
        "told": paragraph([*(matrix.line(row, outcome["nodes"]) for row in views), about]),
    }


def _views(views: list[Row], cut: int) -> list[dict]:
    if all((row.state, row.online) == (views[0].state, views[0].online) for row in views):
        return []
    return [_state(row) | {"by": listing(node[cut:] for node in row.side)} for row in views]


def _state(row: Row) -> dict:
    return {
        "state": row.state or "gone",
        "was": None if row.state == row.was_state else row.was_state or matrix.NOT_THERE,
        "online": row.online,
        "uncommitted": row.uncommitted,
    }


def _axis(contents: Collection[Runs]) -> tuple[int, int]:
    """Return the first and the last message number that any of the replicas holds; (1, 0) if they hold none."""
    ends = [(content[0][0], content[-1][1]) for content in map(tuple, contents) if content]
    return (min(first for first, _ in ends), max(last for _, last in ends)) if ends else (1, 0)


def _cell(now: Replica, was: Replica, content: Runs | None, master: Runs | None) -> dict:
    """Return a replica as plain values and in words.

    It has its look and its messages, and if known, its message numbers and how many of the master's messages it lacks.
    """
    changed = now != was
    lacks = 0 if content is None or master is None else runs.size(runs.minus(master, content))
    return {
        "role": now.role,
        "glyph": now.glyph,
        "beneath": now.beneath,
        "syncing": now.syncing,
        "count": "" if now.messages is None else brief(now.messages),
        "term": now.term,
        "lacks": brief(lacks) if lacks else "",
        "runs": None if content is None else few(content),
        "told": f"{was.description} → {now.description}" if changed else now.description,
        "was": {"role": was.role, "glyph": was.glyph, "count": "" if was.messages is None else brief(was.messages)}
        if changed
        else None,
    }


def few(content: Runs) -> list[list[int]]:
    """Return runs as a stack is drawn: if there are too many, those with the narrowest gaps are merged."""
    ranges = runs.as_lists(content)
    while len(ranges) > MOST_RUNS:
        gaps = [ranges[place + 1][0] - ranges[place][1] for place in range(len(ranges) - 1)]
        place = gaps.index(min(gaps))
        ranges[place : place + 2] = [[ranges[place][0], ranges[place + 1][1]]]
    return ranges
