"""A field's type as the loader reads it: what it accepts, in words, and the types inside."""

from __future__ import annotations

import functools
import types
import typing
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import fields

from hawb.scenario.fields import NODE, OUTCOME

WORDS = {"str": "text", "bool": "true or false", "int": "a whole number", "float": "a number", "null": "null"}
"""The types of scalars, by msgspec's names for them, as refusals name them."""


@dataclass(frozen=True)
class Kind:
    """A type hint taken apart.

    `struct`, `item` and `entry` are the types of a map, of a list's items and of the values of a map with free keys,
    `key` that of such keys; a union has what its members have. `number` and `text` are True if it accepts such scalars.
    """

    hint: Any
    accepted: str
    struct: type[Struct] | None = None
    item: Kind | None = None
    key: Kind | None = None
    entry: Kind | None = None
    text: bool = False
    number: bool = False
    names_node: bool = False
    holds_outcome: bool = False

    @property
    def holds_structs(self) -> bool:
        """Return True if there are structs inside of a list or of a map with free keys."""
        inner = self.item or self.entry
        return inner is not None and (inner.struct is not None or inner.holds_structs)


@dataclass(frozen=True)
class FieldKind:
    """A field of a struct: its name in Python and in files, whether it is required, and its type."""

    name: str
    key: str
    required: bool
    kind: Kind = field(repr=False)


@functools.cache
def fields_of(struct: type[Struct]) -> dict[str, FieldKind]:
    """Return the fields of a struct by their keys in files, in the order of the file."""
    return {f.encode_name: FieldKind(f.name, f.encode_name, f.required, kind_of(f.type)) for f in fields(struct)}


def kind_of(hint: Any) -> Kind:
    """Take a type hint apart."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return _annotated(hint, *inner)
    if origin in (typing.Union, types.UnionType):
        return _union(hint, [kind_of(member) for member in inner])
    if origin is Literal:
        return Kind(hint, ", ".join(inner), text=True)
    if origin is tuple:
        item = kind_of(inner[0])
        return Kind(hint, f"a list, each {item.accepted}", item=item)
    if origin is dict:
        return Kind(hint, "a map", key=kind_of(inner[0]), entry=kind_of(inner[1]))
    if isinstance(hint, type) and issubclass(hint, Struct):
        return Kind(hint, f"a map with the keys {', '.join(fields_of(hint))}", struct=hint)
    accepted = "anything" if hint is Any else WORDS["null" if hint is type(None) else hint.__name__]
    return Kind(hint, accepted, text=hint is str, number=hint in (int, float))


def _annotated(hint: Any, base: Any, meta: Meta) -> Kind:
    kind, extra = kind_of(base), meta.extra
    return replace(
        kind,
        hint=hint,
        accepted=meta.description or kind.accepted,
        names_node=extra == NODE,
        holds_outcome=extra == OUTCOME,
    )


def _union(hint: Any, members: list[Kind]) -> Kind:
    def first(name: str) -> Any:
        return next(filter(None, (getattr(member, name) for member in members)), None)

    return Kind(
        hint,
        " or ".join(member.accepted for member in members),
        *(first(name) for name in ("struct", "item", "key", "entry")),
        *(bool(first(name)) for name in ("text", "number", "names_node", "holds_outcome")),
    )
