"""JSON values as RabbitMQ's error texts show them: Erlang's `~p`, and `~tp` in newer releases.

Source: `io_lib_pretty`. A string is a binary, `<<"all">>`; one that is not printable is shown as numbers; a list of
numbers that are all printable characters is shown as the string it could be. A list longer than what is left of 80
columns has each element on a line of its own; in hawb a string or a map of that length stays on one line.
"""

from __future__ import annotations

LINE_LENGTH = 80
ESCAPES = dict(zip('"\\\n\r\t\v\b\f\x1b', '"\\nrtvbfe', strict=True))
"""The letter after the backslash for a character that is not shown as itself."""


def erlang_term(value: object, unicode: bool, column: int) -> str:
    """Return `value` as Erlang prints it after `column` characters of a line.

    `value` is a JSON value or a tuple. Raise TypeError for any other.
    """
    flat = _flat(value, unicode)
    if len(flat) < LINE_LENGTH - column - 1 or not isinstance(value, list | tuple) or flat.startswith('"'):
        return flat
    between = ",\n" + " " * (column + 1)
    return flat[0] + between.join(erlang_term(element, unicode, column + 1) for element in value) + flat[-1]


def _flat(value: object, unicode: bool) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case float():
            return _float(value)
        case str():
            return _binary(value, unicode)
        case dict():
            pairs = [f"{_flat(key, unicode)} => {_flat(value[key], unicode)}" for key in sorted(value)]
            return "#{" + ",".join(pairs) + "}"
        case tuple():
            return "{" + ",".join(_flat(element, unicode) for element in value) + "}"
        case [*numbers] if numbers and all(type(number) is int and _printable(number, unicode) for number in numbers):
            return _quoted("".join(map(chr, numbers)))
        case list():
            return "[" + ",".join(_flat(element, unicode) for element in value) + "]"
    raise TypeError(f"no Erlang term for {type(value).__name__}")


def _float(number: float) -> str:
    mantissa, _, exponent = repr(number).partition("e")
    if not exponent:
        return mantissa
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{int(exponent)}"


def _binary(text: str, unicode: bool) -> str:
    data = text.encode("utf-8", "surrogatepass")
    shown = text if unicode else data.decode("latin-1")
    if not data or not all(_printable(ord(character), unicode) for character in shown):
        return f"<<{','.join(map(str, data))}>>"
    return f"<<{_quoted(shown)}{'/utf8' if unicode and len(data) > len(text) else ''}>>"


def _quoted(text: str) -> str:
    return '"' + "".join(f"\\{ESCAPES[character]}" if character in ESCAPES else character for character in text) + '"'


def _printable(code: int, unicode: bool) -> bool:
    """Return True if Erlang's `io_lib:printable_latin1_list` or `printable_unicode_list` accepts a character."""
    if code < 256:
        return 32 <= code < 127 or code >= 160 or code == 27 or 8 <= code <= 13
    return unicode and code <= 0x10FFFF and not 0xD800 <= code < 0xE000 and code not in (0xFFFE, 0xFFFF)
