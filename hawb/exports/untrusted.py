"""Read and check a file of unknown origin, or refuse it in one message.

JSON is parsed twice. The first pass is Python's own scanner, which keeps nothing: only it reports the line of an error,
a key that occurs twice in one object and the words NaN and Infinity. The second is msgspec, typed, which keeps only the
keys that hawb reads. So a file costs only the memory of the parts that are read, and later steps meet only the types
that they ask for.

An error names types and places, and names that are too long or empty, never another text: an export holds password
hashes, and the URI of a shovel a password.
"""

from __future__ import annotations

import json
import math
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from hawb.scenario import inputs
from hawb.scenario.fields import LONGEST_NAME
from hawb.scenario.kinds import WORDS

MAX_BYTES = 512 * 2**20

AmqpInteger = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Value = str | AmqpInteger | float | bool | list[Any] | dict[str, Any] | None
Table = dict[str, Value] | list[list[Any] | dict[str, Any]] | None
"""A property list (queue arguments, a policy's definition, limits, metadata).

It is an object, or a list as Erlang has it: of pairs, of [key, type, value] or of objects. An empty one may be written
[] or null. `as_object` converts it to an object.
"""

Empty = Annotated[list[msgspec.Raw], Meta(max_length=0)]
"""An empty list: RabbitMQ writes an object without keys like this in some places."""

AMQP_TYPES = {
    "array", "binary", "bit", "bool", "boolean", "byte", "decimal", "double", "float", "int", "long", "longstr",
    "short", "shortstr", "signedint", "table", "timestamp", "unsignedbyte", "unsignedint", "unsignedshort", "void",
}  # fmt: skip
"""The types between key and value in lists of [key, type, value] (`rabbit_framing:amqp_field_type`)."""

RELEASE = re.compile(r"\d{1,4}(\.\d{1,6}){1,3}([-+~.][A-Za-z][\w.+~-]{0,60})?", re.ASCII)
WORD = re.compile(r"[a-z][a-z0-9]*([ _-][a-z0-9]+)*", re.ASCII | re.IGNORECASE)
LONGEST_WORD = 40

T = TypeVar("T")

_WHOLE = "the whole file"
ANY_KEY = "[...]"
"""An object's key in a path that msgspec returns."""
_STEP = re.compile(r"\.(\w+(?:-\w+)*)|\[(\d+)\]")
_MISMATCH = re.compile(
    r"Expected `(?P<accepted>[^`]*)`(?P<counts> of length)?(?: (?P<side>[<>]=) (?P<bound>[^,]*?))?"
    r"(?:, got `(?P<given>[^`]*)`)?$"
)
_WORDS = {**WORDS, "array": "a list", "object": "an object"}
_UNITS = {"str": "character", "array": "item", "object": "key"}


class ImportRefused(ValueError):  # noqa: N818 - it reads as what happened
    """A file, or an API's answer, cannot be imported.

    `place` is a place in the file, `given` its content there, and `accepted` the forms that hawb accepts.
    """

    def __init__(self, file: Path | str, place: str, given: str, accepted: str) -> None:
        super().__init__(f"{file}: {place}\n  given: {given}\n  accepted: {accepted}")
        self.file, self.place, self.given, self.accepted = Path(file), place, given, accepted


def read_text(file: Path) -> str:
    """Return the text of a file of at most `MAX_BYTES`. Raise ImportRefused.

    The file is in UTF-8, with or without a byte order mark, or in UTF-16 with one, as PowerShell on Windows writes
    piped output.
    """
    try:
        data = inputs.content(file, MAX_BYTES + 1)
    except OSError as error:
        raise ImportRefused(file, "the file", error.strerror or "an error", "a file that can be read") from None
    if len(data) > MAX_BYTES:
        raise ImportRefused(file, "the file", f"more than {MAX_BYTES} bytes", f"at most {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-16" if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig")
    except UnicodeDecodeError as error:
        name = error.encoding.upper()
        raise ImportRefused(file, f"byte {error.start}", f"bytes that are not {name}", f"text in {name}") from None
    if not text.strip():
        raise ImportRefused(file, "the file", "nothing", "a definitions export or a listing")
    return text


def check_json(file: Path, text: str, place: str = "the file") -> None:
    """Refuse text that is no JSON, that nests too deep, repeats a key in an object, or has NaN or Infinity."""

    def no_key_twice(pairs: list[tuple[str, Any]]) -> None:
        if len(dict(pairs)) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            twice = min(key for key, count in counts.items() if count > 1)
            raise ImportRefused(file, f"an object in {place}", f"the key {quoted(twice)} twice", "each key once")

    def no_constant(word: str) -> None:
        raise ImportRefused(file, f"a number in {place}", word, "a number that JSON can represent")

    try:
        json.loads(text, object_pairs_hook=no_key_twice, parse_constant=no_constant, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        raise ImportRefused(file, f"{place}, line {error.lineno}, column {error.colno}", error.msg, "JSON") from None
    except RecursionError:
        raise ImportRefused(file, place, "objects or arrays nested too deep", "an export's nesting") from None


def as_object(table: Table) -> dict[str, Any]:
    """Return a property list as an object. Raise ValueError, whose text names the accepted forms."""
    if isinstance(table, dict):
        return table
    pairs = [pair for item in table or () for pair in (item.items() if isinstance(item, dict) else [_pair(item)])]
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("an object, or a list of pairs, with each key once")
    for key, value in found.items():
        if not _is_value(value):
            raise ValueError(f"{quoted(key)} with a value that JSON can represent; integers have at most 64 bits")
    return found


def _pair(item: list[Any]) -> tuple[str, Any]:
    match item:
        case [str(key), value]:
            return key, value
        case [str(key), str(kind), value] if kind in AMQP_TYPES:
            return key, value
    raise ValueError("an object, or a list of pairs of key and value, or of [name, type, value]")


def properties(file: Path, place: str, table: Table) -> dict[str, Any]:
    """Return the property list at a place of a file as an object. Raise ImportRefused if it is none."""
    try:
        return as_object(table)
    except ValueError as error:
        bad = next((number for number, item in enumerate(table or ()) if not _is_item(item)), None)
        where = place if bad is None else f"{place}[{bad}]"
        raise ImportRefused(file, where, "a list of something else", str(error)) from None


def _is_item(item: object) -> bool:
    if isinstance(item, dict):
        return True
    try:
        return isinstance(item, list) and bool(_pair(item))
    except ValueError:
        return False


def decode(file: Path, place: str, source: str | msgspec.Raw, kind: type[T] | Any) -> T:
    """Return the JSON at `place` of a file that passed `check_json`, as the given type. Raise ImportRefused."""
    try:
        return msgspec.json.decode(source, type=kind)
    except msgspec.ValidationError as error:
        document = None
        if ANY_KEY in str(error) or ", got `" not in str(error):
            text = source if isinstance(source, str) else bytes(source)
            document = json.loads(text, parse_int=_of_64_bits)
        raise ImportRefused(file, *explain(place, str(error), document)) from None
    except msgspec.DecodeError:
        # The only text that check_json accepts and msgspec does not.
        raise ImportRefused(
            file, place or "the whole file", "an incomplete surrogate pair in a string", "text in Unicode"
        ) from None
    except RecursionError:
        raise ImportRefused(
            file, place or "the whole file", "objects or arrays nested too deep", "an export's nesting"
        ) from None


def _of_64_bits(digits: str) -> float:
    """Return an integer, or infinity for one of more than 64 bits: Python refuses to read thousands of digits."""
    return int(digits) if len(digits) <= 20 else math.inf


def explain(place: str, message: str, document: Any = None) -> tuple[str, str, str]:
    """Return (place, given, accepted) of a msgspec message, which names types and bounds but no value.

    `document` is the value that was decoded. With it, the place names the object's key, which msgspec leaves out, and a
    value out of its bounds is given.
    """
    message, _, path = message.partition(" - at `$")
    path = path.rstrip("`")
    place = (place + _with_key(path, document)).lstrip(".") or _WHOLE
    if match := _MISMATCH.fullmatch(message):
        given = _out_of_bounds(path, document) if match["given"] is None else _in_words(match["given"])
        return place, given, _in_words(match["accepted"]) + _bound(match)
    return place, message[:1].lower() + message[1:], "what RabbitMQ exports here"


def _in_words(names: str) -> str:
    """Return msgspec's names of types, such as `str | null`, in words."""
    return " or ".join(_WORDS.get(name, name) for name in names.split(" | "))


def _bound(match: re.Match[str]) -> str:
    """Return the bound of a msgspec message in words; "" if it has none."""
    if match["side"] is None:
        return ""
    most, bound = "at most" if match["side"] == "<=" else "at least", match["bound"].removesuffix(".0")
    if match["counts"] is None:
        return f", {most} {bound}"
    if bound == "0":
        return ", empty"
    return f" of {most} {bound} {_UNITS[match['accepted']]}{'' if bound == '1' else 's'}"


def _out_of_bounds(path: str, document: Any) -> str:
    """Return the value at a msgspec path for a message: a name or a number; else only that it is out of bounds."""
    value = _at(path, document)
    if isinstance(value, str):
        return quoted(value) + (f" ({len(value)} characters)" if len(value) > LONGEST_NAME else "")
    return str(value) if isinstance(value, float | int) and math.isfinite(value) else "a value out of these bounds"


def _with_key(path: str, document: Any) -> str:
    """Return msgspec's path with the first key whose value is refused in place of `[...]`."""
    before, anything, after = path.partition(ANY_KEY)
    if not anything:
        return path
    table = _at(before, document)
    refused = (key for key, value in table.items() if not _is_value(value)) if isinstance(table, dict) else ()
    key = next(iter(refused), None)
    return path if key is None else f"{before}[{quoted(key)}]{after}"


def _at(path: str, document: Any) -> Any:
    """Return the value at a msgspec path of a document; None if no path of plain keys and indices leads to one."""
    steps = _STEP.findall(path)
    if "".join(f"[{index}]" if index else f".{name}" for name, index in steps) != path:
        return None
    for name, index in steps:
        try:
            document = document[name or int(index)]
        except (KeyError, IndexError, TypeError):
            return None
    return document


def _is_value(value: Any) -> bool:
    try:
        msgspec.json.decode(json.dumps(value), type=Value)
    except (msgspec.MsgspecError, ValueError):
        return False
    return True


def quoted(name: str) -> str:
    """Return a name for a message: in quotes, without characters that control a terminal, and cut if long."""
    return repr(name if len(name) <= 100 else name[:99] + "…")


def released(release: str) -> str:
    """Return a release for a message. Of any other text, which may be a secret, return only the length."""
    return quoted(release) if RELEASE.fullmatch(release) else f"(no release: a text of length {len(release)})"


def worded(value: str) -> str:
    """Return a word of RabbitMQ, such as a state or a type, for a message.

    Of any other text, which may be a secret, return only the length.
    """
    return quoted(value) if len(value) <= LONGEST_WORD and WORD.fullmatch(value) else f"(a text of length {len(value)})"


def named(names: Iterable[str], most: int | None = None) -> str:
    """Return names for a message, in quotes: all, or the first `most` of them and the number of the rest."""
    names = list(names)
    shown = ", ".join(quoted(name) for name in names[:most])
    return shown if most is None or len(names) <= most else f"{shown} and {len(names) - most} more"
