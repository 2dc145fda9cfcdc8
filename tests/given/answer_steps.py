"""What answers to exercises are made of: policies' definitions, and steps."""

from __future__ import annotations

TWO = {"ha-mode": "exactly", "ha-params": 2, "ha-sync-mode": "automatic"}
AUTOMATIC = {"ha-mode": "all", "ha-sync-mode": "automatic"}
CALLS = {"ha-mode": "all", "ha-promote-on-shutdown": "always"}
FULL = {"max-length": 1000, "overflow": "reject-publish"}
SYNC = {"sync_queue": "orders"}
QUORUM = {"x-queue-type": "quorum"}


def policy(pattern: str, definition: dict, **fields: object) -> dict:
    """Return an answer that is a policy."""
    return {"pattern": pattern, "definition": definition} | fields


def stories(*lists: str) -> list[dict]:
    """Return steps of one word each: "stop b" is {"stop": "b"}."""
    return [{verb: float(word) if verb == "wait" else word} for verb, word in map(str.split, lists)]


def in_rooms(definition: dict) -> dict:
    """Return the step that sets a policy for orders."""
    return {"set_policy": {"name": "ha", "pattern": "^orders", "definition": definition}}


def forgotten(node: str) -> dict:
    """Return the step in which a running node forgets another."""
    return {"forget_cluster_node": {"node": node}}


def member(verb: str, node: str) -> dict:
    """Return the step that adds or deletes a member of orders."""
    return {f"{verb}_member": {"queue": "orders", "node": node}}


def declaration(queue: str, arguments: dict | None = None, **fields: object) -> dict:
    """Return the step that declares a queue."""
    return {"declare": {"queue": queue, "arguments": arguments or {}} | fields}
