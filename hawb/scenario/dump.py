"""Write a scenario as YAML text that loads back to an equal one.

It has no defaults, short forms, and the contract's order of keys. A step, a policy, a queue and a setting of the
cluster each have a line of their own, as a person would write them. Files of other kinds are written the same way from
their own structs.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import msgspec
import yaml

from hawb.scenario.document import Step
from hawb.scenario.fields import Bare, Flag, NameOrMap, OnNodes, Verb

_LINE_WIDTH = 120


class _OneLine(NamedTuple):
    """A value that is written within braces or brackets."""

    value: Any


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):
    """A YAML dumper that writes every value out, however often it occurs."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return True: no value is written as an alias."""
        return True

    def represent_line(self, line: _OneLine) -> yaml.Node:
        """Represent a value on one line."""
        node = self.represent_data(line.value)
        if isinstance(node, yaml.CollectionNode):
            node.flow_style = True
        return node

    def represent_text(self, text: str) -> yaml.Node:
        """Represent a text, in quotes if it has characters that do not print, which are then escaped."""
        style = None if text.replace("\n", "").isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(_OneLine, _Dumper.represent_line)
_Dumper.add_representer(str, _Dumper.represent_text)


def dump(document: msgspec.Struct) -> str:
    """Return the YAML text of a scenario, or of another whole file."""
    parts = {key: _lay_out(key, value) for key, value in plain(document).items()}
    written = yaml.dump(
        parts, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=_LINE_WIDTH
    )
    if written.replace("\n", "").isprintable():
        return written
    return "".join(c if c.isprintable() or c == "\n" else _escaped(c) for c in written)


def _escaped(hidden: str) -> str:
    """Return a character as YAML escapes it within double quotes."""
    return f"\\u{ord(hidden):04X}" if ord(hidden) < 0x10000 else f"\\U{ord(hidden):08X}"


def plain(value: Any) -> Any:
    """Return a scenario, a step or another part as plain values: maps, lists, text and numbers.

    `read_step` accepts them.
    """
    match value:
        case Step(verb=verb, at=at):
            return {value.name: _argument(verb)} | ({} if at is None else {"at": plain(at)})
        case msgspec.Struct():
            return _fields(value)
        case tuple():
            return [plain(inner) for inner in value]
        case float() if value.is_integer():
            return int(value)
    return value


def _argument(verb: Verb) -> Any:
    """Return a verb's argument in its shortest form."""
    match verb:
        case Flag():
            return True
        case OnNodes(nodes=(only,)):
            return only
        case Bare():
            (inner,) = msgspec.structs.astuple(verb)
            return plain(inner)
        case NameOrMap(name=name, vhost="/"):
            return name
    return _fields(verb)


def _fields(struct: msgspec.Struct) -> dict[str, Any]:
    """Return the fields that differ from their defaults."""
    found = {}
    for name, written, default in _defaults(type(struct)):
        value = getattr(struct, name)
        if value != default:
            found[written] = plain(value)
    return found


@cache
def _defaults(struct: type[msgspec.Struct]) -> list[tuple[str, str, Any]]:
    """Return each field with its name in files and its default, from a cache: a file may have 100,000 of one struct."""
    return [
        (
            field.name,
            field.encode_name,
            field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory(),
        )
        for field in msgspec.structs.fields(struct)
    ]


def _lay_out(key: str, value: Any) -> Any:
    """Return lines for a part of the file: one for each step, entry or setting."""
    match value:
        case dict():
            return {name: _OneLine(inner) for name, inner in value.items()}
        case list() if key == "steps":
            return [{name: _OneLine(inner) for name, inner in step.items()} for step in value]
        case list():
            return [_OneLine(inner) for inner in value]
    return value
