"""A scenario's text as plain values: untrusted YAML or JSON.

Decisions:

* The values are built straight from the parser's events, in one loop that holds its own stack. So nesting, aliases and
  size are bounded before anything recurses, no tag is ever constructed, and every key is compared with its neighbours.
* Aliases count as often as they are used, so a few lines cannot stand for a billion values. Merge keys (`<<`), which
  YAML 1.2 has dropped, are refused.
* Plain `1:30` and `2020-01-01` are text, as in YAML 1.2: their author means neither the number 90 nor a date. `on` and
  `yes` stay true, as in YAML 1.1; where text was wanted, the message says to quote them.
* Text that begins with `{` is tried as JSON first, whose numbers (`1e5`) and escapes YAML reads differently.
"""

from __future__ import annotations

import contextlib
import json
import math
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import yaml
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from hawb.scenario.refused import QUOTE, ScenarioRefused, Where

MAX_BYTES = 64 * 2**20
MOST_LOCATED = 2 * 2**20
"""Larger texts are not read again for the line of a refusal."""
MAX_DEPTH = 40
MAX_VALUES = 1_000_000
"""The values of a YAML text; a million take about five seconds. JSON has no such limit."""
MAX_DIGITS = 400
LONGEST, MOST_SCALARS = 40, 10_000
"""The longest scalar that is kept once it is read, as most come again, and the number of those kept."""
ENCODINGS = "text in UTF-8 or UTF-16"

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_TEXT = f"{_TAG}str"
_PLAIN = {_TAG + name for name in ("int", "float", "bool", "null")}


def parse_many(source: str | bytes) -> list[Any]:
    """Return the plain values of all documents of a YAML text, refused as by `parse`. Raise ScenarioRefused."""
    values = _Builder(many=True).build(decode(source))
    check_values(values)
    return values


def parse(source: str | bytes) -> Any:
    """Return the plain value (maps with text keys, lists, text, numbers, booleans, null) of a YAML or JSON text.

    Raise ScenarioRefused for what is not text, not YAML, too large, too deep, or has what no scenario can have: tags of
    other kinds, a key twice, several documents, numbers that are not finite or exceed 64 bits.
    """
    text = decode(source)
    value = _parse_json(text) if text.lstrip().startswith("{") else None
    if value is None:
        value = _Builder().build(text)
    check_values(value)
    return value


def decode(source: str | bytes) -> str:
    """Return the text of a file of at most `MAX_BYTES`, in UTF-8 or UTF-16.

    UTF-8 may have a byte order mark. UTF-16 has one, as the PowerShell of Windows writes it, or begins with a character
    of ASCII (as YAML 1.2 has it).
    """
    if len(source) > MAX_BYTES:
        raise ScenarioRefused("the file is too large", accepted=f"at most {MAX_BYTES // 2**20} MiB")
    try:
        if isinstance(source, bytes):
            return source.decode(_encoding(source))
        source.encode()
        return source.removeprefix("\ufeff")
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        given = source[error.start : error.start + 8]
        raise ScenarioRefused(f"not text at {error.start}: {error.reason}", given=given, accepted=ENCODINGS) from None


def _encoding(source: bytes) -> str:
    """Return the encoding that a text's first two bytes show."""
    if source.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return "utf-16"
    if len(source) > 1 and not all(source[:2]):
        return "utf-16-le" if source[0] else "utf-16-be"
    return "utf-8-sig"


def check_values(value: Any, path: Where = ()) -> None:
    """Refuse plain values that no scenario can have: infinite numbers, text that is not Unicode, endless nesting."""
    if len(path) > MAX_DEPTH:
        raise _too_deep(path)
    match value:
        case dict():
            for key, inner in value.items():
                if not isinstance(key, str):
                    raise ScenarioRefused("a key is not text", path, given=key, accepted="text")
                check_values(key, path)
                check_values(inner, (*path, key))
        case list():
            for index, inner in enumerate(value):
                check_values(inner, (*path, index))
        case str():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise ScenarioRefused("an incomplete surrogate pair", path, given=value, accepted="Unicode"
                    " text") from None
        case None | bool():
            pass
        case float():
            if not math.isfinite(value):
                raise ScenarioRefused("not a finite number", path, given=value, accepted="finite numbers")
        case int():
            if not -(2**63) <= value < 2**63:
                raise ScenarioRefused("too large a number", path, given=value, accepted="numbers of 64 bits")
        case _:
            raise ScenarioRefused("not a value of YAML", path, given=value, accepted="maps, lists, text, numbers")


class Place(NamedTuple):
    """The place of a value: its line from 1 and, for an unquoted scalar that is not read as text, its letters."""

    line: int
    letters: str | None


def locate(source: str | bytes, path: Where) -> Place | None:
    """Return the place of the value at `path`, or of the innermost map or list around it, as far as it can be read.

    Return None if nothing of it can be read as YAML, which some JSON cannot, or if the text is large.
    """
    if len(source) > MOST_LOCATED:
        return None
    builder = _Builder(wanted=path)
    with contextlib.suppress(ScenarioRefused):
        builder.build(decode(source))
    return builder.found


def lines(source: str | bytes, depth: int, many: bool = False) -> dict[Where, int]:
    """Return the line, from 1, of every value of a text that is at most `depth` keys deep, as far as it can be read.

    With `many` the first key is the number of its document, from 0.
    """
    builder = _Lines(depth, many)
    with contextlib.suppress(ScenarioRefused):
        builder.build(decode(source))
    return builder.lines


# --- JSON ---


def _parse_json(text: str) -> Any:
    """Return the value of a JSON text; None if it is none (it may still be a flow map of YAML)."""
    try:
        return json.loads(text, object_pairs_hook=_json_map, parse_int=_json_int)
    except json.JSONDecodeError:
        return None
    except RecursionError:
        raise _too_deep(()) from None


def _json_map(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ScenarioRefused("a map has the same key twice", given=key)
        found[key] = value
    return found


def _json_int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ScenarioRefused("too large a number", given=digits, accepted="numbers of 64 bits")
    return int(digits)


# --- YAML ---


@dataclass
class _Open:
    """A list or map that is being read; `begun` is the count of values before it."""

    value: list[Any] | dict[str, Any]
    anchor: str | None
    begun: int
    key: str | None = None


class _Builder:
    """Build the value of one YAML document from its events, or a list of those of `many`.

    It also finds the place of the value at the `wanted` path.
    """

    def __init__(self, wanted: Where | None = None, many: bool = False) -> None:
        self._wanted = wanted
        self._many = many
        self._deepest = -1
        self.found: Place | None = None
        self._open: list[_Open] = [_Open([], None, 0)] if many else []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._count = 0
        self._documents = 0
        self._root: Any = None
        self._constructor = SafeConstructor()
        self._resolver = Resolver()
        self._scalars: dict[tuple[str, tuple[bool, bool]], Any] = {}
        self._takers: dict[type[yaml.Event], Callable[[Any], None]] = {
            yaml.ScalarEvent: self._take_scalar,
            yaml.SequenceStartEvent: self._take_start,
            yaml.MappingStartEvent: self._take_start,
            yaml.SequenceEndEvent: self._take_end,
            yaml.MappingEndEvent: self._take_end,
            yaml.AliasEvent: self._take_alias,
            yaml.DocumentStartEvent: self._take_document,
        }

    def build(self, text: str) -> Any:
        """Return the value of the text's one document. Raise ScenarioRefused with its line."""
        event = None
        try:
            for event in yaml.parse(text, Loader=_LOADER):
                self._take(event)
        except ScenarioRefused as refused:
            refused.line = event.start_mark.line + 1
            raise
        except yaml.YAMLError as error:
            raise _not_yaml(error) from None
        if not self._documents:
            raise ScenarioRefused("the file is empty", accepted="a map of keys")
        return self._open[0].value if self._many else self._root

    def _take(self, event: yaml.Event) -> None:
        taker = self._takers.get(type(event))
        if taker is not None:
            taker(event)

    def _take_scalar(self, event: yaml.ScalarEvent) -> None:
        self._grow(1)
        value = self._scalar(event)
        self._find(event, None if isinstance(value, str) else event.value)
        self._add(value, event.anchor, 1)

    def _take_start(self, event: yaml.CollectionStartEvent) -> None:
        if event.tag is not None:
            raise self._tag(event.tag)
        self._find(event)
        empty: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._open.append(_Open(empty, event.anchor, self._count))
        self._grow(1)

    def _take_end(self, _event: yaml.CollectionEndEvent) -> None:
        closed = self._open.pop()
        self._add(closed.value, closed.anchor, self._count - closed.begun)

    def _take_alias(self, event: yaml.AliasEvent) -> None:
        if event.anchor not in self._anchors:
            raise ScenarioRefused("an alias without an anchor before it", self._path(), given=event.anchor)
        self._find(event)
        value, count = self._anchors[event.anchor]
        self._grow(count)
        self._add(value, None, count)

    def _take_document(self, _event: yaml.DocumentStartEvent) -> None:
        self._documents += 1
        self._anchors = {}
        if self._documents > 1 and not self._many:
            raise ScenarioRefused("a second document begins", accepted="one document in a file")

    def _find(self, event: yaml.Event, letters: str | None = None) -> None:
        """Remember the place of an event, if nothing before it was as near to the wanted path."""
        if self._wanted is None:
            return
        path = self._path()
        if self._deepest < len(path) <= len(self._wanted) and path == self._wanted[: len(path)]:
            self._deepest = len(path)
            self.found = Place(event.start_mark.line + 1, letters)

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        """Return the value of a scalar: text, unless it is unquoted and reads as a number, a boolean or null."""
        if event.tag is not None:
            return self._resolved(event)
        key = event.value, event.implicit
        if key not in self._scalars:
            value = self._resolved(event)
            if len(event.value) > LONGEST or len(self._scalars) >= MOST_SCALARS:
                return value
            self._scalars[key] = value
        return self._scalars[key]

    def _resolved(self, event: yaml.ScalarEvent) -> Any:
        node = yaml.ScalarNode(None, event.value)
        node.tag = event.tag or self._resolver.resolve(yaml.ScalarNode, event.value, event.implicit)
        if event.tag is not None and event.tag != _TEXT:
            raise self._tag(event.tag)
        if node.tag == f"{_TAG}merge":
            raise ScenarioRefused("a merge key", self._path(), given="<<", accepted="maps that list all their keys")
        if node.tag not in _PLAIN or ":" in event.value:
            return event.value
        if len(event.value) > MAX_DIGITS:
            raise ScenarioRefused("too large a number", self._path(), given=event.value, accepted="numbers of 64 bits")
        try:
            return self._constructor.construct_object(node)
        except ValueError:
            raise ScenarioRefused("not a number", self._path(), given=event.value, hint=QUOTE) from None

    def _add(self, value: Any, anchor: str | None, count: int) -> None:
        """Put a finished value, which holds `count` values, where it belongs."""
        if anchor in self._anchors:
            raise ScenarioRefused("the same anchor is defined twice", self._path(), given=anchor)
        if anchor is not None:
            self._anchors[anchor] = (value, count)
        if not self._open:
            self._root = value
            return
        inside = self._open[-1]
        if isinstance(inside.value, list):
            inside.value.append(value)
        elif inside.key is None:
            self._set_key(inside, value)
        else:
            inside.value[inside.key] = value
            inside.key = None

    def _set_key(self, inside: _Open, key: Any) -> None:
        if not isinstance(key, str):
            raise ScenarioRefused("a key is not text", self._path(), given=key, accepted="text", hint=QUOTE)
        if key in inside.value:
            raise ScenarioRefused("a map has the same key twice", self._path(), given=key)
        inside.key = key

    def _grow(self, count: int) -> None:
        self._count += count
        if self._count > MAX_VALUES:
            raise ScenarioRefused(
                "too many values, aliases counted", self._path()[:3], accepted=f"at most {MAX_VALUES:,} in YAML",
                hint="write a file of this size as JSON",
            )  # fmt: skip
        if len(self._open) > MAX_DEPTH:
            raise _too_deep(self._path())

    def _tag(self, tag: str) -> ScenarioRefused:
        return ScenarioRefused("a YAML tag", self._path(), given=tag, accepted="values without tags, or !!str")

    def _path(self) -> Where:
        """Return the path of what is being read."""
        parts = (len(inside.value) if isinstance(inside.value, list) else inside.key for inside in self._open)
        return tuple(part for part in parts if part is not None)


class _Lines(_Builder):
    """Note the line of every value down to a depth."""

    def __init__(self, depth: int, many: bool) -> None:
        super().__init__(many=many)
        self._depth = depth
        self.lines: dict[Where, int] = {}

    def _find(self, event: yaml.Event, letters: str | None = None) -> None:
        if len(path := self._path()) <= self._depth:
            self.lines.setdefault(path, event.start_mark.line + 1)


def _not_yaml(error: Any) -> ScenarioRefused:
    """Return the parser's error as a refusal, with its place."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return ScenarioRefused(f"not YAML: {error.reason}, at character {error.position}")
    context = f"{error.context}, " if error.context else ""
    return ScenarioRefused(f"not YAML at column {mark.column + 1}: {context}{error.problem}", line=mark.line + 1)


def _too_deep(path: Where) -> ScenarioRefused:
    return ScenarioRefused("nested too deeply", path[:3], accepted=f"at most {MAX_DEPTH} levels")
