"""The forms of a verb's argument in a file; a verb's form is the class that it derives from."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from hawb.scenario.fields import Name, Node, Part, Queue, refuse_twice


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
