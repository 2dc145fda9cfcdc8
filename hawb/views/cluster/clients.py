"""The consumers and publishers of an outcome as HTML tables, with what changed marked, was → now."""

from __future__ import annotations

from collections.abc import Callable

from hawb.views.formatting import seconds, size
from hawb.views.tables import CELL, NAME_CELL, cell, name_cell, table

CONSUMERS: dict[str, Callable[[dict], str]] = {
    "queue": lambda consumer: consumer["queue"],
    "state": lambda consumer: consumer["state"],
    "at its queue": lambda consumer: consumer.get("activity_status") or "",
    "received": lambda consumer: f"{size(consumer['received']):,}",
    "unacknowledged": lambda consumer: f"{size(consumer['unacknowledged']):,}",
    "cancel notified": lambda consumer: "yes" if consumer["cancel_notified"] else "",
}
"""The columns of a consumer, or of a named holder of fetched messages, beside its name."""

PUBLISHERS: dict[str, Callable[[dict], str]] = {
    "state": lambda publisher: publisher["state"],
    "published": lambda publisher: f"{publisher['published']:,}",
    "confirmed": lambda publisher: f"{publisher['confirmed']:,}",
    "blocked (s)": lambda publisher: seconds(publisher["blocked_s"]),
}
"""The columns of a steady publisher beside its name."""


def html(outcome: dict, was: dict | None = None) -> str:
    """The tables of the outcome's clients; none where it has none."""
    tables = [
        _clients(kind, columns, outcome[kind], (outcome if was is None else was)[kind])
        for kind, columns in (("consumers", CONSUMERS), ("publishers", PUBLISHERS))
        if outcome[kind]
    ]
    return "".join(tables) or "<p>No consumer, and no steady publisher.</p>"


def _clients(kind: str, columns: dict[str, Callable[[dict], str]], clients: dict, before: dict) -> str:
    body = "".join(
        f"<tr>{name_cell(name)}{''.join(_entry(told, client, before.get(name)) for told in columns.values())}</tr>"
        for name, client in sorted(clients.items())
    )
    return table(kind.capitalize(), {kind[:-1]: NAME_CELL} | dict.fromkeys(columns, CELL), body)


def _entry(told: Callable[[dict], str], client: dict, was: dict | None) -> str:
    return cell(told(client), None if was is None else told(was))
