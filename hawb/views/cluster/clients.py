"""The consumers and publishers of an outcome as HTML tables; changed cells show both values: old → new."""

from __future__ import annotations

from collections.abc import Callable

from hawb.languages import N_, _
from hawb.views.formatting import seconds, size, whole
from hawb.views.tables import CELL, NAME_CELL, cell, name_cell, table

STATES = {
    "active": N_("active"),
    "cancelled": N_("cancelled"),
    "closed": N_("closed"),
    "running": N_("running"),
    "blocked": N_("blocked"),
}
"""The states of consumers and publishers, in words."""

CONSUMERS: dict[str, Callable[[dict], str]] = {
    N_("queue"): lambda consumer: consumer["queue"],
    N_("state"): lambda consumer: client_state(consumer),
    N_("at its queue"): lambda consumer: consumer.get("activity_status") or "",
    N_("received"): lambda consumer: whole(size(consumer['received'])),
    N_("unacknowledged"): lambda consumer: whole(size(consumer['unacknowledged'])),
    N_("cancel notified"): lambda consumer: _("yes") if consumer["cancel_notified"] else "",
}
"""The columns for a consumer, or for a named client that fetched messages, after its name."""

PUBLISHERS: dict[str, Callable[[dict], str]] = {
    N_("state"): lambda publisher: client_state(publisher),
    N_("published"): lambda publisher: whole(publisher['published']),
    N_("confirmed"): lambda publisher: whole(publisher['confirmed']),
    N_("blocked (s)"): lambda publisher: seconds(publisher["blocked_s"]),
}
"""The columns for a steady publisher, after its name."""


HEADS = {"consumers": (N_("Consumers"), N_("consumer")), "publishers": (N_("Publishers"), N_("publisher"))}
"""The caption of each table, and the head of its first column."""


def client_state(client: dict) -> str:
    """Return the state of a client in words."""
    state = STATES[client["state"]]
    return _(state)


def html(outcome: dict, was: dict | None = None) -> str:
    """Return the tables of the outcome's consumers and publishers; a sentence if it has neither."""
    tables = [
        _clients(kind, columns, outcome[kind], (outcome if was is None else was)[kind])
        for kind, columns in (("consumers", CONSUMERS), ("publishers", PUBLISHERS))
        if outcome[kind]
    ]
    no_clients = _("No consumer, and no steady publisher.")
    return "".join(tables) or f"<p>{no_clients}</p>"


def _clients(kind: str, columns: dict[str, Callable[[dict], str]], clients: dict, before: dict) -> str:
    body = "".join(
        f"<tr>{name_cell(name)}{''.join(_entry(text, client, before.get(name)) for text in columns.values())}</tr>"
        for name, client in sorted(clients.items())
    )
    caption, head = HEADS[kind]
    return table(_(caption), {_(head): NAME_CELL} | {_(column): CELL for column in columns}, body)


def _entry(text_of: Callable[[dict], str], client: dict, was: dict | None) -> str:
    return cell(text_of(client), None if was is None else text_of(was))
