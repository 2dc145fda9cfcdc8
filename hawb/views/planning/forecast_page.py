"""Is it safe to stop a node: queue by queue, where RabbitMQ's checks say otherwise, and all of it as one page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from hawb.planning.safe_to_stop import WAYS, Effect, Forecast
from hawb.views import style
from hawb.views.formatting import html, seconds
from hawb.views.page import LIMITS, document, notes_html, section
from hawb.views.planning.forecast import EITHER, MARKS, happens, many, table_html, why
from hawb.views.tables import Table

QUEUES = "What the end of each node does to each queue"
MISSED = "A controlled stop hurts them, and neither of RabbitMQ's checks fails for them"
BRIEFLY = {"waits": "down", "deleted": "deleted", "stuck": "down for good"}
"""The fates of a queue that cannot be used, in a word."""
NOTHING_MISSED = "Nothing: for each queue that a controlled stop hurts one of them fails."


def by_queue(forecasts: Sequence[Forecast]) -> Table:
    """A column for each node: what its stop and its kill do to queues, the worst first. Queues with the same cells are
    one row; queues that feel no node's end are left out."""
    felt: dict[str, dict[str, dict[str, Effect]]] = defaultdict(lambda: defaultdict(dict))
    for forecast in forecasts:
        for way in WAYS:
            for effect in forecast.effects[way]:
                felt[effect.queue][forecast.node][way] = effect
    rows: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for queue in sorted(felt, key=lambda name: (_harm(felt[name]), name)):
        rows[tuple(_cell(felt[queue][forecast.node]) for forecast in forecasts)].append(queue)
    nodes = (f"{forecast.node} ends" for forecast in forecasts)
    return Table(QUEUES, ("queues", *nodes), [(many(names), *cells) for cells, names in rows.items()])


def _harm(by_node: dict[str, dict[str, Effect]]) -> tuple:
    effects = [effect for ways in by_node.values() for effect in ways.values()]
    most = max(effects, key=lambda one: one.unavailable_s).unavailable_s
    return -max(one.lost for one in effects), -sum(one.down for one in effects), -most


def _cell(ways: dict[str, Effect]) -> str:
    """What each way does, both at once where they do the same."""
    told = {way: brief(effect) for way, effect in ways.items()}
    if len(told) == len(WAYS) and len(set(told.values())) == 1:
        return f"{EITHER}: {told[WAYS[0]]}"
    return "; ".join(f"{way}: {words}" for way, words in told.items())


def brief(effect: Effect) -> str:
    """What becomes of a queue, with the glyph that stands for it."""
    if effect.lost:
        down = f" and is {BRIEFLY[effect.fate]}" if effect.down else ""
        return f"{style.LOOKS[MARKS['loss'][1]].glyph} loses {effect.lost:,}{down}"
    if effect.down:
        return f"{style.LOOKS[MARKS['outage'][1]].glyph} {BRIEFLY[effect.fate]}"
    return f"{seconds(effect.unavailable_s)} s"


def missed(forecasts: Sequence[Forecast]) -> Table:
    """The queues that a controlled stop hurts and of which RabbitMQ's checks say nothing."""
    rows = [
        (forecast.node, effect.queue, happens(effect), why(effect))
        for forecast in forecasts
        for effect in forecast.missed("stop")
    ]
    return Table(MISSED, ("node", "queue", "what happens", "why"), rows)


def page(title: str, forecasts: Sequence[Forecast], notes: Sequence[str] = ()) -> str:
    """One page, which fetches and runs nothing; `notes` are what the cluster's files do not tell."""
    what = "Is it safe to stop a node now?"
    unseen = missed(forecasts)
    return document(what, [
        f"<h1>{what}</h1><p>{html(title)}</p>",
        section("Node by node", table_html(forecasts)),
        section("Queue by queue", by_queue(forecasts)._repr_html_()),
        section("What RabbitMQ's checks miss", unseen._repr_html_() if unseen.rows else f"<p>{NOTHING_MISSED}</p>"),
        notes_html(notes),
        f"<footer>{LIMITS}</footer>",
    ])  # fmt: skip
