"""Write tables of the structs that files are decoded into.

Each field has what it accepts, in the loader's words, and its default.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import NODEFAULT, Struct, to_builtins
from msgspec.structs import fields

from hawb.docs.prose import line, paragraphs
from hawb.scenario.kinds import FieldKind, Kind, fields_of
from hawb.views import markdown

HEADERS = ("field", "accepted", "default")


def section(struct: type[Struct], title: str, level: str, places: Mapping[type, str]) -> str:
    """Return a struct's section: its heading with a label, its description, and its fields."""
    return f"({place_of(struct)})=\n{level} {title}\n\n{paragraphs(struct.__doc__)}\n\n{table(struct, places)}\n"


def place_of(struct: type[Struct]) -> str:
    """Return the label of a struct's section."""
    return f"struct-{struct.__module__.rpartition('.')[2]}-{struct.__name__}".lower()


def table(struct: type[Struct], places: Mapping[type, str]) -> str:
    """Return the table of a struct's fields; `places` has links to other structs."""
    defaults = {field.encode_name: _default(field) for field in fields(struct)}
    rows = [(f"`{name}`", accepted(known, places), defaults[name]) for name, known in fields_of(struct).items()]
    return markdown.table(HEADERS, rows)


def accepted(field: FieldKind, places: Mapping[type, str]) -> str:
    """Return what a field accepts, with links to the structs in it."""
    return _accepted(field.kind, places)


def _accepted(kind: Kind, places: Mapping[type, str]) -> str:
    if kind.struct in places:
        other = " or ".join(_others(kind))
        return (f"{other}, or " if other else "") + f"a map: {places[kind.struct]}"
    if kind.item and kind.item.struct in places:
        return f"a list of maps: {places[kind.item.struct]}"
    if kind.entry and kind.entry.struct in places:
        return f"a map of maps, {places[kind.entry.struct]}, each under {line(kind.key.accepted)}"
    return line(kind.accepted)


def _others(kind: Kind) -> Iterator[str]:
    """Yield what a union accepts besides its struct."""
    for form in kind.accepted.split(" or "):
        if not form.startswith("a map with the keys") and form != "null":
            yield line(form)


def structs_below(struct: type[Struct], found: list[type[Struct]] | None = None) -> list[type[Struct]]:
    """Return a struct and all structs in it, each once, in the order of their fields."""
    found = [] if found is None else found
    found.append(struct)
    for field in fields_of(struct).values():
        inner = [kind.struct for kind in (field.kind, field.kind.item, field.kind.entry) if kind and kind.struct]
        for one in inner:
            if one not in found:
                structs_below(one, found)
    return found


def links(structs: Iterator[type[Struct]] | list[type[Struct]]) -> dict[type, str]:
    """Return the link to the section of each of these structs, on any page."""
    return {struct: f"[{struct.__name__}](#{place_of(struct)})" for struct in structs}


def _default(field: Any) -> str:
    if field.required:
        return "**required**"
    if field.default_factory is not NODEFAULT:
        return markdown.code(json.dumps(to_builtins(field.default_factory())))
    if isinstance(field.default, Struct):
        return "its own"
    return "none" if field.default is None else markdown.code(json.dumps(to_builtins(field.default)))
