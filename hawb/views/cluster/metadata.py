"""The metadata store of 4.3 in one sentence: who leads it, and from where metadata can be changed."""

from __future__ import annotations

from html import escape

from hawb.views import style
from hawb.views.formatting import listing, shown


def text(outcome: dict) -> str:
    """The sentence; "" for a cluster with Mnesia."""
    store = outcome.get("metadata_store")
    if store is None:
        return ""
    if not store["writable_from"]:
        return "Metadata can be read and not changed: the store has no leader with a majority."
    leader, nodes = shown(store["leader"]), listing(store["writable_from"])
    return f"Metadata can be changed from {nodes}: {leader} leads the store, in term {store['term']}."


def html(outcome: dict) -> str:
    """The sentence as HTML; "" for a cluster with Mnesia."""
    told = text(outcome)
    return told and f'<div style="font:12px {style.FONT};color:{style.INK};margin:4px 0">{escape(told)}</div>'
