"""The types of a scenario's fields, with bounds, and the forms of a verb's argument.

A field's type has all that the loader needs: the bounds, a description of what is accepted (`Meta.description`), and
whether the text names a node (`NODE` in `Meta.extra`) or the value is a partial outcome (`OUTCOME`).

A verb's form is the class that it derives from: `Verb`, `Bare`, `OnNodes` and so on.

Seconds end at 10**9: up to there a float still distinguishes microseconds, and the engine's integer microseconds fit 64
bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from msgspec import Meta, Struct

from hawb.scenario.refused import render

NODE = {"names": "node"}
OUTCOME = {"holds": "outcome"}

Text = Annotated[str, Meta(min_length=1, description="text, not empty")]
LONGEST_NAME = 255
"""AMQP's names have at most 255 bytes (short strings); Erlang's node names as many characters."""
Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, description="text of 1 to 255 characters")]
Node = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, description="the name of a node", extra=NODE)]
Queue = Annotated[
    str, Meta(min_length=1, max_length=2 * LONGEST_NAME + 2, description="the name of a queue, or VHOST::NAME")
]
Nodes = Annotated[tuple[Node, ...], Meta(min_length=1, description="a list of nodes, not empty")]
Count = Annotated[int, Meta(ge=0, le=10**12, description="a whole number from 0 to 10**12")]
AtLeastOne = Annotated[int, Meta(ge=1, le=10**12, description="a whole number from 1 to 10**12")]
Bytes = Annotated[int, Meta(ge=0, le=2**40, description="bytes, a whole number from 0 to 2**40")]
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1, description="a whole number from 0 to 2**63 - 1")]
Priority = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1, description="a whole number of 32 bits")]
MessagePriority = Annotated[int, Meta(ge=0, le=255, description="a whole number from 0 to 255")]
Prefetch = Annotated[int, Meta(ge=0, le=65535, description="a whole number from 0 (no limit) to 65535")]
LONGEST_S = 1e9
Seconds = Annotated[float, Meta(ge=0, le=LONGEST_S, description="seconds, a number from 0 to 10**9")]
Period = Annotated[float, Meta(ge=1e-6, le=LONGEST_S, description="seconds, a number from 0.000001 to 10**9")]
Rate = Annotated[float, Meta(ge=1e-6, le=1e9, description="a number a second, from 0.000001 to 10**9")]
Arguments = Annotated[dict[str, Any], Meta(description="a map")]
PartialOutcome = Annotated[dict[str, Any], Meta(description="a partial outcome", extra=OUTCOME)]


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the file, written as a map of its fields."""


class PolicyEntry(Part, frozen=True):
    """A policy as `rabbitmqctl set_policy` takes it."""

    name: Name
    pattern: str
    definition: Arguments
    priority: Priority = 0
    apply_to: str = "queues"
    vhost: Name = "/"


def refuse_twice(name: str, texts: Iterable[str]) -> None:
    """Raise ValueError if a text occurs twice in the list of that name."""
    seen: set[str] = set()
    for text in texts:
        if text in seen:
            raise ValueError(f"{name}: {render(text)} appears twice")
        seen.add(text)


class Verb(Part, frozen=True):
    """The action of a step; written as a map of its fields."""


class Bare(Verb, frozen=True):
    """A verb written as the value of its one field."""


class OnNodes(Bare, frozen=True):
    """A verb written as one node, or a list of nodes to which it applies at once."""

    nodes: Annotated[tuple[Node, ...], Meta(min_length=1, description="NODE or [NODES]")]

    def __post_init__(self) -> None:
        refuse_twice("nodes", self.nodes)


class OnNode(Bare, frozen=True):
    """A verb written as the node to which it applies."""

    node: Node


class OnQueue(Bare, frozen=True):
    """A verb written as the queue to which it applies."""

    queue: Queue


class NameOrMap(Verb, frozen=True):
    """A verb written as a name in the virtual host `/`, or as a map of its fields."""

    name: Name
    vhost: Name = "/"


class Flag(Verb, frozen=True):
    """A verb without an argument, written `true`."""
