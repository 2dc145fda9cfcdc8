"""How the steps of an answer are written: for each verb an example, and what else it takes.

Both follow from the verb's struct in `hawb.scenario.verbs`, so that a verb is shown as it is read.
"""

from __future__ import annotations

from hawb.languages import _
from hawb.scenario.forms import Bare, Flag, NameOrMap, OnNodes
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
"""A value for each field that an example has to give, by its key."""

ONE_OF_TWO = {"queue": ("queues",)}
"""Fields that may be left out only where another is given."""


def example(verb: str) -> dict[str, object]:
    """A step of this verb with what it must have, as a scenario file would hold it. Raises KeyError for no verb."""
    struct = VERBS[verb]
    if issubclass(struct, Flag):
        return {verb: True}
    if issubclass(struct, OnNodes):
        return {verb: EXAMPLES["node"]}
    given = {key: EXAMPLES[key] for key in fields_of(struct) if _needed(struct, key)}
    return {verb: next(iter(given.values())) if issubclass(struct, Bare | NameOrMap) else given}


def more(verb: str) -> str:
    """What a step of this verb may say that its example does not, in words; empty if nothing. Raises KeyError for no
    verb."""
    struct = VERBS[verb]
    if issubclass(struct, OnNodes):
        return _("or several at once: {nodes}", nodes="['a', 'b']")
    if issubclass(struct, Bare | Flag | NameOrMap):
        return ""
    others = [key for key in fields_of(struct) if not _needed(struct, key)]
    return _("besides: {keys}", keys=", ".join(others)) if others else ""


def _needed(struct: type, key: str) -> bool:
    return fields_of(struct)[key].required or any(other in fields_of(struct) for other in ONE_OF_TWO.get(key, ()))
