"""A file of somebody else's making: read whole and checked, or refused in one message.

JSON is read twice. The first pass is Python's own scanner, told to keep nothing: it alone knows the line of a fault, a
key that stands twice in one object and the words NaN and Infinity. The second is msgspec, typed, which keeps only the
keys that somebody reads. So a file costs only the memory of the parts that are read, and no later step meets a type
that it did not ask for.

A refusal names types and places, never a value: an export holds password hashes, and the URI of a shovel a password.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

MAX_BYTES = 512 * 2**20

AmqpInteger = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Scalar = str | AmqpInteger | float | bool | None
Value = Scalar | list[Scalar] | dict[str, Scalar]
Table = dict[str, Value] | Annotated[list[Scalar], Meta(max_length=0)]
"""Queue arguments or policy keys: one level of nesting is as deep as they go, and an empty one may be written []."""

Empty = Annotated[list[msgspec.Raw], Meta(max_length=0)]
"""The form in which RabbitMQ writes an object without keys in some places."""

T = TypeVar("T")

_WHOLE = "the whole file"
_MISMATCH = re.compile(r"Expected `(?P<accepted>[^`]*)`(?P<bound>[^,]*?)(?:, got `(?P<given>[^`]*)`)?$")


class ImportRefused(ValueError):  # noqa: N818 - it reads as what happened
    """A file, or an answer of an API, that cannot be imported: which, where in it, what was given and what is
    accepted."""

    def __init__(self, file: Path | str, place: str, given: str, accepted: str) -> None:
        super().__init__(f"{file}: {place}\n  given: {given}\n  accepted: {accepted}")
        self.file, self.place, self.given, self.accepted = Path(file), place, given, accepted


def read_text(file: Path) -> str:
    """The text of a file of at most `MAX_BYTES`, in UTF-8 with or without a byte order mark, or in UTF-16 with one, as
    the PowerShell of Windows writes whatever is piped into a file."""
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ImportRefused(file, "the file", error.strerror or "an error", "a file that can be read") from None
    if len(data) > MAX_BYTES:
        raise ImportRefused(file, "the file", f"more than {MAX_BYTES} bytes", f"at most {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-16" if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig")
    except UnicodeDecodeError as error:
        told = error.encoding.upper()
        raise ImportRefused(file, f"byte {error.start}", f"bytes that are not {told}", f"text in {told}") from None
    if not text.strip():
        raise ImportRefused(file, "the file", "nothing", "a definitions export or a listing")
    return text


def check_json(file: Path, text: str, place: str = "the file") -> None:
    """Refuse text that is no JSON, that nests too deep to be read, or whose meaning depends on the reader."""

    def no_key_twice(pairs: list[tuple[str, Any]]) -> None:
        if len(keys := dict(pairs)) < len(pairs):
            names = [key for key, _ in pairs]
            twice = next(key for key in sorted(keys) if names.count(key) > 1)
            raise ImportRefused(file, f"an object in {place}", f"the key {quoted(twice)} twice", "each key once")

    def no_constant(word: str) -> None:
        raise ImportRefused(file, f"a number in {place}", word, "a number that JSON can write")

    try:
        json.loads(text, object_pairs_hook=no_key_twice, parse_constant=no_constant, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        raise ImportRefused(file, f"{place}, line {error.lineno}, column {error.colno}", error.msg, "JSON") from None
    except RecursionError:
        raise ImportRefused(file, place, "objects or arrays nested too deep", "an export's nesting") from None


def decode(file: Path, place: str, source: str | msgspec.Raw, kind: type[T] | Any) -> T:
    """The JSON at `place` of a file that passed `check_json`, as the given type."""
    try:
        return msgspec.json.decode(source, type=kind)
    except msgspec.ValidationError as error:
        raise ImportRefused(file, *explain(place, str(error))) from None
    except msgspec.DecodeError:
        # All that check_json lets pass and msgspec does not.
        raise ImportRefused(
            file, place or "the whole file", "half a surrogate pair in a string", "text in Unicode"
        ) from None
    except RecursionError:
        raise ImportRefused(
            file, place or "the whole file", "objects or arrays nested too deep", "an export's nesting"
        ) from None


def explain(place: str, message: str) -> tuple[str, str, str]:
    """(place, given, accepted) of a msgspec message, which names types and bounds but no value."""
    message, _, path = message.partition(" - at `$")
    place = (place + path.rstrip("`")).lstrip(".") or _WHOLE
    if match := _MISMATCH.fullmatch(message):
        accepted = match["accepted"].replace(" | ", " or ") + match["bound"]
        return place, match["given"] or "a value out of these bounds", accepted
    return place, message[:1].lower() + message[1:], "what RabbitMQ exports here"


def quoted(name: str) -> str:
    """A name for a message: in quotes, without characters that would steer a terminal, and cut where it is long."""
    return repr(name if len(name) <= 100 else name[:99] + "…")


def named(names: Iterable[str], most: int | None = None) -> str:
    """Names for a message, in quotes; `most` of them and how many more there are, or each."""
    names = list(names)
    shown = ", ".join(quoted(name) for name in names[:most])
    return shown if most is None or len(names) <= most else f"{shown} and {len(names) - most} more"
