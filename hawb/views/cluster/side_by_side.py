"""Two outcomes of the same steps side by side, queue by queue: replicas, fates of messages and costs.

Cells that differ are marked. Names are untrusted input and are escaped. Seconds, bytes and messages are the model's.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from hawb.languages import N_, _
from hawb.views import tables
from hawb.views.cluster.matrix import STATES, Row, common_prefix, rows
from hawb.views.cluster.replicas import NONE, Replica
from hawb.views.formatting import brief, counted, html, paragraph, seconds, shown, size, whole
from hawb.views.terminal import columns

GONE, NO_ACCOUNT = "gone", {"lost": [], "lost_confirmed": 0, "refused": []}
NO_TIMES = {"publish_down_s": 0.0, "sync_blocked_s": 0.0, "bytes_replicated": 0}

FIGURES: dict[str, Callable[[dict, dict, dict], str]] = {
    N_("messages"): lambda queue, account, times: whole(queue.get('messages', 0)),
    N_("lost (confirmed)"): lambda queue, account, times: (
        f"{whole(size(account['lost']))} ({whole(account['lost_confirmed'])})"
    ),
    N_("refused"): lambda queue, account, times: whole(size(account['refused'])),
    N_("unavailable s"): lambda queue, account, times: (
        _("to the end") if queue.get("state") in ("down", "minority") else seconds(times["publish_down_s"])
    ),
    N_("sync s"): lambda queue, account, times: seconds(times["sync_blocked_s"]),
    N_("sent"): lambda queue, account, times: f"{brief(times['bytes_replicated'])}B",
}
"""The figures of a queue, from its entries in `queues`, the ledger and `availability`.

`sync s` is the time for which synchronisation blocked the queue, `sent` the bytes sent to its replicas.
"""

CHANCE = N_("RabbitMQ makes some choices at random, such as the nodes of mirrors. Each story makes its own random"
            " choices.")

ALWAYS = ("messages", "lost (confirmed)")
"""The figures that are shown even if no queue differs in them."""


HEADS = (N_("queue"), N_("story"), N_("state"))
"""The heads of the columns before those of nodes and figures."""


def _word(state: str) -> str:
    word = STATES[state]
    return _(word)


class Line(Struct, frozen=True):
    """A queue in one of the two stories: its state, its replicas by node, and the texts of FIGURES."""

    state: str
    replicas: dict[str, Replica]
    figures: dict[str, str]


class Pair(Struct, frozen=True):
    """A queue in both stories."""

    queue: str
    as_played: Line
    varied: Line

    @property
    def differs(self) -> bool:
        """Return True if the stories differ in this queue."""
        return self.as_played != self.varied


def pairs(outcome: dict, other: dict, first: str = "") -> list[Pair]:
    """Return every queue of either story: the queue `first`, then those that differ, then the others."""
    lines, others = _lines(outcome), _lines(other)
    gone = Line(GONE, {}, _figures({}, "", {}))
    found = [Pair(name, lines.get(name, gone), others.get(name, gone)) for name in sorted({**lines, **others})]
    return sorted(found, key=lambda pair: (pair.queue != first, not pair.differs))


def _lines(outcome: dict) -> dict[str, Line]:
    """Return the line of each queue; if the partitions see it differently, as the first running node sees it."""
    seen: dict[str, Row] = {}
    for row in rows(outcome):
        seen.setdefault(row.queue, row)
    return {
        name: Line(
            state=seen[name].state if name in seen else GONE,
            replicas=seen[name].now if name in seen else {},
            figures=_figures(outcome["queues"].get(name, {}), name, outcome),
        )
        for name in outcome["ledger"]
    }


def _figures(queue: dict, name: str, outcome: dict) -> dict[str, str]:
    account = outcome.get("ledger", {}).get(name, NO_ACCOUNT)
    times = outcome.get("availability", {}).get(name, NO_TIMES)
    return {column: figure(queue, account, times) for column, figure in FIGURES.items()}


def figures_of(differing: list[Pair]) -> list[str]:
    """Return the figures to show: those in which a pair differs, and those that are always shown."""
    return [
        column
        for column in FIGURES
        if column in ALWAYS or any(pair.as_played.figures[column] != pair.varied.figures[column] for pair in differing)
    ]


def text(outcome: dict, other: dict, what: str) -> str:
    """Return both stories for a terminal: two lines for each queue that differs, and how many queues do not."""
    table, differing = [], [pair for pair in pairs(outcome, other) if pair.differs]
    figures = figures_of(differing)
    for pair in differing:
        for name, how, line in ((pair.queue, _("as it is"), pair.as_played), ("", what, pair.varied)):
            cells = (_replica_text(line.replicas.get(node, NONE)) for node in outcome["nodes"])
            table.append([shown(name), shown(how), _word(line.state), *cells, *map(line.figures.get, figures)])
    head = [*map(_, HEADS), *map(shown, outcome["nodes"]), *map(_, figures)]
    drawn = [columns(table, head, None)] if differing else []
    return "\n".join([*drawn, _alike(outcome, differing)])


def table_html(outcome: dict, other: dict, what: str, first: str = "") -> str:
    """Return both stories as an HTML table, with the queue `first` at the top."""
    differing = [pair for pair in pairs(outcome, other, first) if pair.differs]
    figures, nodes = figures_of(differing), list(outcome["nodes"])
    heads = [html(node[len(common_prefix(nodes)) :]) for node in nodes]
    names = dict.fromkeys([*map(_, HEADS), *heads], tables.NAME_CELL)
    body = "".join(_rows(pair, what, nodes, figures) for pair in differing)
    names |= dict.fromkeys(map(_, figures), tables.CELL)
    table = tables.table(_("Both stories"), names, body) if differing else ""
    times = {"first": seconds(outcome["time_s"]), "second": seconds(other["time_s"])}
    clocks = _("{first} s and {second} s have passed.", **times)
    return f"{table}<p>{paragraph([html(_alike(outcome, differing)), clocks, _(CHANCE)])}</p>"


def _alike(outcome: dict, differing: list[Pair]) -> str:
    queues = {*outcome["ledger"], *(pair.queue for pair in differing)}
    alike = whole(len(queues) - len(differing))
    return _("{count} of {queues} are the same in both.", count=alike, queues=counted(len(queues), "queue"))


def _rows(pair: Pair, what: str, nodes: list[str], figures: list[str]) -> str:
    head = tables.name_cell(pair.queue).replace("<th ", '<th rowspan="2" ', 1)
    as_it_is, as_played = _story(_("as it is")), _cells(pair.as_played, pair.varied, nodes, figures)
    varied = _cells(pair.varied, pair.as_played, nodes, figures)
    return f"<tr>{head}{as_it_is}{as_played}</tr><tr>{_story(what)}{varied}</tr>"


def _story(what: str) -> str:
    return f'<td style="{tables.NAME_CELL};max-width:14em" title="{html(what)}"><bdi>{html(what)}</bdi></td>'


def _cells(line: Line, other: Line, nodes: list[str], figures: list[str]) -> str:
    """Draw a line's cells; those that differ from the other line's are marked."""
    cells = [_cell(html(_word(line.state)), line.state != other.state, tables.NAME_CELL)]
    for node in nodes:
        replica = line.replicas.get(node, NONE)
        cells.append(_cell(_replica(replica), replica != other.replicas.get(node, NONE), tables.NAME_CELL))
    cells += [_cell(line.figures[one], line.figures[one] != other.figures[one], tables.CELL) for one in figures]
    return "".join(cells)


def _replica(replica: Replica) -> str:
    about = html(replica.description)
    count = "" if replica.messages is None else f" {brief(replica.messages)}"
    look = f'style="color:{replica.look.colour}"'
    return f'<span role="img" aria-label="{about}" title="{about}" {look}>{replica.glyph}</span>{count}'


def _cell(text: str, differs: bool, align: str) -> str:
    return f'<td style="{align}{f";{tables.CHANGED}" if differs else ""}">{text}</td>'


def _replica_text(replica: Replica) -> str:
    return replica.glyph if replica.messages is None else f"{replica.glyph} {brief(replica.messages)}"
