"""The answer to `hawb safe`: what a controlled stop and a kill of each node would do to each queue, as text and HTML.

Each node has a word with a glyph, never a colour alone. `gauges` are for alerts and dashboards: by node and never by
queue, because a cluster may have a hundred thousand queues.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from hawb.engine.core.trace import CAUSES
from hawb.languages import N_, _
from hawb.planning.safe_to_stop import WAYS, Effect, Forecast, Outlook
from hawb.views import style, tables
from hawb.views.display import mimebundle
from hawb.views.formatting import counted, html, listing, seconds, shown
from hawb.views.prometheus import Gauge
from hawb.views.story.losses import NO_SUCCESSOR
from hawb.views.tables import WIDTH
from hawb.views.terminal import columns, wrapped
from hawb.views.verdicts import safe

MARKS = {"safe": (N_("safe"), "running"), "outage": (N_("outage"), "waiting"), "loss": (N_("loss"), "lost")}
"""The verdicts on a node's stop or kill: the word, and the look shown next to it."""

CHECKS = {
    "quorum_critical": "check_if_node_is_quorum_critical",
    "mirror_sync_critical": "check_if_node_is_mirror_sync_critical",
}
"""RabbitMQ's own checks, by the field of the forecast that lists the queues for which they fail."""

REASONS = CAUSES | NO_SUCCESSOR | {"no_majority": N_("Too few of its members are left for a majority.")}
FATES = {
    "waits": N_("cannot be used until the node is back"),
    "deleted": N_("is deleted"),
    "stuck": N_("cannot be used any more, only deleted"),
}
"""What becomes of a queue that is down."""
NOTHING = N_("nothing is lost, and every queue stays in use")
NOTHING_MORE = N_("nothing is lost, and every queue in use stays in use")
EITHER = N_("either way")
MOST_QUEUES = 100
COLUMNS = (N_("node"), N_("way"), N_("queue"), N_("what happens"), N_("why"))
TEXT_CELL = "padding:1px 8px;text-align:left;vertical-align:top"
NODE_CELL = f"{tables.NAME_CELL};vertical-align:top"
CELLS = (f"{TEXT_CELL};max-width:24em;overflow-wrap:anywhere", TEXT_CELL, TEXT_CELL)


class Table:
    """The forecasts as a table for notebooks and terminals; `forecasts` has them as values."""

    def __init__(self, found: Outlook | Sequence[Forecast]):
        self.found = Outlook.of(found)
        self.forecasts = self.found.forecasts

    def __repr__(self) -> str:
        return text(self.found)

    def _repr_html_(self) -> str:
        return table_html(self.found)

    _repr_mimebundle_ = mimebundle


def verdict(forecast: Forecast, way: str) -> str:
    """Return the word for a way to stop a node: a key of MARKS."""
    hurt = forecast.hurt(way)
    return "loss" if any(effect.lost for effect in hurt) else "outage" if hurt else "safe"


def mark(forecast: Forecast, way: str) -> str:
    """Return that word with its glyph."""
    word, look = MARKS[verdict(forecast, way)]
    return f"{style.LOOKS[look].glyph} {_(word)}"


def summary(forecast: Forecast, way: str) -> str:
    """Return a sentence about what a way to stop a node does."""
    hurt = forecast.hurt(way)
    parts = [_("{queue} {happens}", queue=shown(effect.queue), happens=happens(effect)) for effect in hurt[:4]]
    more = [_("and {queues}", queues=counted(len(hurt) - 4, "more queue"))] if len(hurt) > 4 else []
    calm = _(NOTHING_MORE) if forecast.out_of_use else _(NOTHING)
    return f"{way}: {'; '.join([*parts, *more]) or calm}"


def happens(effect: Effect) -> str:
    """Return what happens to a queue, in words."""
    parts = []
    if effect.lost:
        words = {"messages": counted(effect.lost), "confirmed": f"{effect.lost_confirmed:,}"}
        some = N_("loses {messages}, {confirmed} of them confirmed")
        parts.append(_(some, **words) if effect.lost_confirmed else _("loses {messages}", **words))
    if effect.down:
        fate = FATES[effect.fate]
        parts.append(_(fate))
    if not effect.hurts:
        parts.append(_("cannot be used for {t} s", t=seconds(effect.unavailable_s)))
    return parts[0] if len(parts) == 1 else _("{harm} and {more}", harm=parts[0], more=parts[1])


def why(effect: Effect) -> str:
    """Return the reason for the harm to a queue; for a queue without harm, that another replica takes over."""
    reason = REASONS.get(effect.reason, "") if effect.hurts else N_("Another replica takes over.")
    return _(reason)


def checks(forecast: Forecast) -> Iterator[str]:
    """Yield a sentence on the result of each of RabbitMQ's own checks for a node."""
    for field, command in CHECKS.items():
        queues = getattr(forecast, field)
        fails, passes = N_("{command}: fails for {queues}"), N_("{command}: passes")
        yield _(fails if queues else passes, command=command, queues=listing(queues))


def text(found: Outlook | Sequence[Forecast]) -> str:
    """Return the answer in a sentence, the table, and below it RabbitMQ's own checks."""
    forecasts = Outlook.of(found).forecasts
    rows = [row for forecast in forecasts for _word, row in effect_rows(forecast)]
    lines = [f"{shown(forecast.node)}: {'; '.join(checks(forecast))}" for forecast in forecasts]
    verdict = safe.verdict(found)
    answer = wrapped(verdict.sentence, WIDTH, f"{style.ANSWERS[verdict.answer].glyph} ")
    return "\n".join([*answer, "", columns(rows, [_(name) for name in COLUMNS]), "", *lines])


def effect_rows(forecast: Forecast) -> list[tuple[str, tuple[str, ...]]]:
    """Return rows of COLUMNS about the effects of a node's stop, each with the key of MARKS for its queue."""
    rows = []
    for name, way in _ways(forecast):
        for word, (queue, effect, reason) in _effects_of(forecast, way):
            glyph = style.LOOKS[MARKS[word][1]].glyph
            cells = (*map(shown, (forecast.node, _(name), queue)), f"{glyph} {effect}", shown(reason))
            rows.append((word, cells))
    return rows


def table_html(found: Outlook | Sequence[Forecast]) -> str:
    """Return the answer in a sentence and the table as HTML; each node's last row has RabbitMQ's own checks."""
    forecasts, body = Outlook.of(found).forecasts, ""
    for forecast in forecasts:
        for name, way in _ways(forecast):
            word, look = MARKS[verdict(forecast, way)][0], style.LOOKS[MARKS[verdict(forecast, way)][1]]
            glyph = f'<span aria-hidden="true" style="color:{look.colour}">{look.glyph}</span>'
            word = f'<td style="{TEXT_CELL};white-space:nowrap">{_(name)}: {glyph}&nbsp;{_(word)}</td>'
            for _word, row in _effects_of(forecast, way):
                pairs = zip(row, CELLS, strict=True)
                cells = "".join(f'<td style="{css}"><bdi>{html(cell)}</bdi></td>' for cell, css in pairs)
                body += f"<tr>{_node(forecast)}{word}{cells}</tr>"
        row = "<br>".join(map(html, checks(forecast)))
        style_ = f'style="{TEXT_CELL};color:{style.FAINT}"'
        body += f'<tr>{_node(forecast)}<td {style_} colspan="{len(COLUMNS) - 1}">{row}</td></tr>'
    answer = html(safe.verdict(found).sentence)
    heads = dict.fromkeys((_(name) for name in COLUMNS), TEXT_CELL)
    return tables.table(_("Is it safe to stop a node now? {answer}", answer=answer), heads, body)


def _ways(forecast: Forecast) -> list[tuple[str, str]]:
    """Return the ways to stop a node with their names; if both have the same effects, return one entry for both."""
    same = len({frozenset(_effects_of(forecast, way)) for way in WAYS}) == 1
    return [(EITHER, WAYS[0])] if same else [(way, way) for way in WAYS]


def _effects_of(forecast: Forecast, way: str) -> list[tuple[str, tuple[str, str, str]]]:
    """Return rows about the queues of a way to stop a node, each with the verdict on its queue.

    Each harmed queue has a row, the worst first, up to MOST_QUEUES; one more row counts the rest. Queues that suffer no
    harm and have the same effects share a row. If no queue is affected, one row says so.
    """
    hurt, others = forecast.hurt(way), defaultdict(list)
    rows = [("loss" if effect.lost else "outage", (effect.queue, happens(effect), why(effect)))
            for effect in hurt[:MOST_QUEUES]]  # fmt: skip
    if len(hurt) > MOST_QUEUES:
        rows.append(("safe", ("", _("and {queues}", queues=counted(len(hurt) - MOST_QUEUES, "more queue")), "")))
    for effect in forecast.effects[way]:
        if not effect.hurts:
            others[happens(effect), why(effect)].append(effect.queue)
    return rows + [("safe", (many(names), *effects)) for effects, names in others.items()] or [
        ("safe", ("", _("nothing"), ""))
    ]


def many(names: Sequence[str]) -> str:
    """Return the name, or for several names their number and a list."""
    return names[0] if len(names) == 1 else f"{len(names):,}: {listing(names)}"


def _node(forecast: Forecast) -> str:
    return f'<th scope="row" style="{NODE_CELL};font-weight:400"><bdi>{html(forecast.node)}</bdi></th>'


OF_EFFECTS: dict[str, tuple[str, Callable[[list[Effect]], int]]] = {
    "hawb_node_end_lost_messages": (
        "Messages that would be lost if the node ended this way.",
        lambda effects: sum(one.lost for one in effects),
    ),
    "hawb_node_end_lost_confirmed_messages": (
        "Messages among them that had been confirmed.",
        lambda effects: sum(one.lost_confirmed for one in effects),
    ),
    "hawb_node_end_queues_down": (
        "Queues that could not be used while the node was down.",
        lambda effects: sum(one.down for one in effects),
    ),
}  # fmt: skip


def gauges(outlook: Outlook) -> list[Gauge]:
    """Return gauges by node: if it is safe to stop, the effects of its stop and kill, and failing checks of RabbitMQ.

    No node is safe to stop while a queue is out of use, or while the files do not say enough.
    """
    forecasts = outlook.forecasts
    calm = not outlook.out_of_use and outlook.live.known
    safe = [({"node": one.node}, int(calm and not one.hurt("stop"))) for one in forecasts]
    found = [Gauge("hawb_node_safe_to_stop", "1 if a controlled stop of the node harms no queue.", safe)]
    for name, (help, count) in OF_EFFECTS.items():
        samples = [({"node": one.node, "way": way}, count(one.hurt(way))) for one in forecasts for way in WAYS]
        found.append(Gauge(name, help, samples))
    failing = [
        ({"node": one.node, "check": check}, len(getattr(one, field)))
        for one in forecasts
        for field, check in CHECKS.items()
    ]
    return [*found, Gauge("hawb_node_check_failing_queues", "Queues for which RabbitMQ's own check fails.", failing)]
