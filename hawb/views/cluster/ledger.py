"""The ledger of an outcome as rows and as HTML: the fate of all messages, and what changed.

Names are untrusted input: they are escaped, and each is isolated with <bdi>.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from hawb.languages import N_, _
from hawb.views import style
from hawb.views.formatting import size, whole
from hawb.views.tables import CELL, CHANGED, NAME_CELL, name_cell, table

COLUMNS: dict[str, Callable[[dict, dict], int]] = {
    N_("published"): lambda account, queue: account["published"],
    N_("confirmed"): lambda account, queue: size(account["confirmed"]),
    N_("nacked"): lambda account, queue: size(account["nacked"]),
    N_("in queue"): lambda account, queue: queue["messages"],
    N_("uncommitted"): lambda account, queue: size(queue.get("uncommitted", [])),
    N_("acknowledged"): lambda account, queue: size(account["removed"]["acknowledged"]),
    N_("otherwise removed"): lambda account, queue: sum(
        size(ids) for reason, ids in account["removed"].items() if reason != "acknowledged"
    ),
    N_("refused"): lambda account, queue: size(account["refused"]),
    N_("lost"): lambda account, queue: size(account["lost"]),
    N_("lost after confirm"): lambda account, queue: account["lost_confirmed"],
    N_("would be redelivered"): lambda account, queue: size(queue["redelivered"]),
    N_("delivered twice"): lambda account, queue: size(account["delivered_twice"]),
}
"""The figures, from a queue's ledger account and its entry in `queues`.

"would be redelivered" counts messages in the queue whose next delivery has the redelivered flag: those delivered before
a failover, and those that a consumer has not acknowledged yet.
"""

ROLES = {
    "lost": "lost",
    "lost after confirm": "lost",
    "would be redelivered": "redelivered",
    "delivered twice": "redelivered",
}
"""The figures that have a colour and glyph of `style.LOOKS`, unless they are 0."""

NO_ACCOUNT = {"published": 0, "confirmed": [], "nacked": [], "refused": [], "lost": [], "lost_confirmed": 0,
              "delivered_twice": [], "removed": {"acknowledged": []}}  # fmt: skip
NO_QUEUE = {"messages": 0, "redelivered": []}


class Figure(Struct, frozen=True):
    """A number before and now."""

    was: int
    now: int

    @property
    def change(self) -> int:
        """Return the increase of the number."""
        return self.now - self.was


class Row(Struct, frozen=True):
    """The figures of one queue name, by the names of COLUMNS."""

    queue: str
    figures: dict[str, Figure]


def rows(outcome: dict, was: dict | None = None) -> list[Row]:
    """Return the ledger's rows, sorted by queue, with the changes since the outcome `was`.

    Without `was`, nothing counts as changed.
    """
    before = outcome if was is None else was
    return [Row(queue, _figures(outcome, before, queue)) for queue in sorted(outcome["ledger"])]


def _figures(outcome: dict, before: dict, queue: str) -> dict[str, Figure]:
    was, now = _numbers(before, queue), _numbers(outcome, queue)
    return {column: Figure(was[column], now[column]) for column in COLUMNS}


def _numbers(outcome: dict, name: str) -> dict[str, int]:
    account, elsewhere = outcome["ledger"].get(name, NO_ACCOUNT), outcome.get("queues_elsewhere", {})
    queue = outcome["queues"].get(name) or elsewhere.get(name, NO_QUEUE)
    return {column: figure(account, queue) for column, figure in COLUMNS.items()}


def html(outcome: dict, was: dict | None = None) -> str:
    """Return the ledger as an HTML table, without columns that have only zeros."""
    entries = rows(outcome, was)
    always = ("published", "confirmed", "in queue", "lost", "lost after confirm")
    used = [c for c in COLUMNS if c in always or any(row.figures[c].was or row.figures[c].now for row in entries)]
    body = "".join(
        f"<tr>{name_cell(row.queue)}{''.join(_figure(column, row.figures[column]) for column in used)}</tr>"
        for row in entries
    )
    heads = {_("queue"): NAME_CELL} | {_(column): CELL for column in used}
    return table(_("What happened to the messages"), heads, body)


def _figure(column: str, figure: Figure) -> str:
    mark, ink = "", ""
    if column in ROLES and figure.now:
        look = style.LOOKS[ROLES[column]]
        mark = f' <span aria-hidden="true" style="color:{look.colour}">{look.glyph}</span>'
        ink = ";font-weight:600"
    text = whole(figure.now) if figure.change == 0 else f"{whole(figure.was)} → {whole(figure.now)}"
    changed = "" if figure.change == 0 else f";{CHANGED}"
    return f'<td style="{CELL}{ink}{changed}">{text}{mark}</td>'
