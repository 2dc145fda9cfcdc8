"""Describe how the steps of an answer are written: for each verb an example, and its further fields.

Both are derived from the verb's struct in `hawb.scenario.verbs`.
"""

from __future__ import annotations

from hawb.languages import _
from hawb.scenario.fields import Bare, Flag, NameOrMap, OnNodes
from hawb.scenario.kinds import fields_of
from hawb.scenario.verbs import VERBS

EXAMPLES: dict[str, object] = {
    "name": "mine",
    "pattern": "^mine",
    "definition": {"ha-mode": "all"},
    "queue": "orders",
    "exchange": "shop",
    "routing_key": "eu",
    "count": 10,
    "rate": 10,
    "consumer": "mine",
    "node": "a",
    "resource": "disk",
    "groups": [["a"], ["b", "c"]],
    "links": [["a", "b"]],
    "seconds": 10,
    "outcome": {"queues": {"orders": {"state": "running"}}},
}
"""A value for each field that an example needs, by its key."""

ONE_OF_TWO = {"queue": ("queues",)}
"""Fields that may be left out only if another one is given."""


def example(verb: str) -> dict[str, object]:
    """Return a step of this verb with its required fields, as in a file. Raise KeyError for an unknown verb."""
    struct = VERBS[verb]
    if issubclass(struct, Flag):
        return {verb: True}
    if issubclass(struct, OnNodes):
        return {verb: EXAMPLES["node"]}
    given = {key: EXAMPLES[key] for key in fields_of(struct) if _needed(struct, key)}
    return {verb: next(iter(given.values())) if issubclass(struct, Bare | NameOrMap) else given}


def more(verb: str) -> str:
    """Return the further fields of this verb, in words; "" if it has none. Raise KeyError for an unknown verb."""
    struct = VERBS[verb]
    if issubclass(struct, OnNodes):
        return _("or several at once: {nodes}", nodes="['a', 'b']")
    if issubclass(struct, Bare | Flag | NameOrMap):
        return ""
    others = [key for key in fields_of(struct) if not _needed(struct, key)]
    return _("besides: {keys}", keys=", ".join(others)) if others else ""


def _needed(struct: type, key: str) -> bool:
    return fields_of(struct)[key].required or any(other in fields_of(struct) for other in ONE_OF_TWO.get(key, ()))
