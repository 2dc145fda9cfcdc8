"""The metadata store of 4.3: a sentence about its leader and the nodes that can write, and its members as replicas."""

from __future__ import annotations

from collections.abc import Collection
from html import escape

from hawb.languages import _
from hawb.views import style
from hawb.views.cluster.replicas import Replica
from hawb.views.formatting import listing, shown


def text(outcome: dict) -> str:
    """Return the sentence; "" for a cluster with Mnesia."""
    store = outcome.get("metadata_store")
    if store is None:
        return ""
    if not store["writable_from"]:
        return _("Metadata can be read but not changed: the store has no leader with a majority.")
    words = {"leader": shown(store["leader"]), "nodes": listing(store["writable_from"]), "term": store["term"]}
    return _("Metadata can be changed from {nodes}: {leader} leads the store, in term {term}.", **words)


def html(outcome: dict) -> str:
    """Return the sentence as HTML; "" for a cluster with Mnesia."""
    sentence = text(outcome)
    return sentence and f'<div style="font:12px {style.FONT};color:{style.INK};margin:4px 0">{escape(sentence)}</div>'


def seen_by(outcome: dict, side: Collection[str]) -> tuple[str, dict[str, Replica]]:
    """Return the store's state as the nodes of a partition see it, and its members by node.

    An empty `side` stands for all nodes.
    """
    store = outcome["metadata_store"]
    writable = [node for node in store["writable_from"] if not side or node in side]
    members = {node: Replica("down" if is_away(outcome, node) else "follower") for node in store["members"]}
    if store["leader"] is not None and (not side or store["leader"] in side):
        members[store["leader"]] = Replica("leader" if writable else "leader_alone", term=store["term"])
    return "running" if writable else "minority", members


def is_away(outcome: dict, node: str) -> bool:
    """Return True if a node's member does not run; members run on nodes that still boot."""
    return outcome["nodes"][node] not in ("running", "waiting")


def online(outcome: dict, side: Collection[str]) -> str:
    """Return the number of members that run in a partition, of how many, as in 2/3."""
    members = outcome["metadata_store"]["members"]
    return f"{sum((not side or node in side) and not is_away(outcome, node) for node in members)}/{len(members)}"
