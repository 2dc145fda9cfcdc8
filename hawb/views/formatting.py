"""Format names, numbers and times for readers.

Names of queues, nodes, policies and consumers are untrusted input. Characters that do not print (line breaks, escape
sequences of terminals, marks that change the direction of text) are written as escapes, so that no name can affect the
text around it. A name in a right-to-left script is wrapped in Unicode's isolates.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from html import escape
from math import ceil

from hawb.engine.core import runs
from hawb.languages import LANGUAGES, N_, Plural, _, in_force, ngettext, pgettext

RIGHT_TO_LEFT = ("R", "AL")
ISOLATE, END_ISOLATE = "\u2068", "\u2069"
ISOLATED = re.compile("(\u2068[^\u2066-\u2069]*\u2069)")
UNITS = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))
BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:ms|s|min|h|days?|months?|years?|B|bytes|[kMG]B|[KMG]iB)\b|%)")
"""The space between a number and its unit."""
SMALLEST_SHARE = 1e-6
"""Smaller shares are not distinguished."""
HAIR = 1e-15
"""The largest value that rounding errors may give a share of 0."""
LISTED = 4
"""The number of names or runs in a list from which the rest is only counted."""


def shown(name: object) -> str:
    """Return a name, or a line with names, in a form that is safe in any line of text.

    Text that this function returned before is not changed.
    """
    text = str(name)
    if text.isascii() and text.isprintable():
        return text
    return "".join(part if at % 2 and part[1:-1].isprintable() else _shown(part)
                   for at, part in enumerate(ISOLATED.split(text)))  # fmt: skip


def printable(text: str) -> str:
    """Return a text of several lines with escapes for all other characters that do not print."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def _shown(text: str) -> str:
    visible = printable(text).replace("\n", "\\n")
    if any(unicodedata.bidirectional(character) in RIGHT_TO_LEFT for character in visible):
        return ISOLATE + visible + END_ISOLATE
    return visible


def one_line(text: str) -> str:
    """Return a text of several lines as one, each line break and indentation a space."""
    return " ".join(text.split())


def html(name: object) -> str:
    """Return a name in a form that is safe in HTML and SVG, in text and in attributes."""
    return escape(shown(name))


def prose(text: object) -> str:
    """Return text in HTML like `html`, with no-break spaces between numbers and their units."""
    return BEFORE_UNIT.sub("\u00a0", html(text))


def shortened(text: str, length: int) -> str:
    """Return `text` in at most `length` characters, without its middle: names differ at both ends."""
    if len(text) <= length:
        return text
    kept = length - 1
    return f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"


def sentence(text: str) -> str:
    """Return text with a capital first letter."""
    return f"{text[:1].upper()}{text[1:]}"


def listing(names: Iterable[object]) -> str:
    """Return names as a list: a, b and c. Of many names the rest is counted."""
    words = [shown(name) for name in names]
    if len(words) > LISTED:
        words = [*words[: LISTED - 1], _("{count} more", count=whole(len(words) - LISTED + 1))]
    return joined(words)


def joined(words: Iterable[str]) -> str:
    """Return words, or parts of a sentence, as a list: a, b and c."""
    *most, last = [*words] or [""]
    return _("{most} and {last}", most=commas(most), last=last) if most else last


def commas(words: Iterable[str]) -> str:
    """Return words with commas between them, or with the separator of the language."""
    return pgettext("between parts of a list", ", ").join(words)


def paragraph(sentences: Iterable[str]) -> str:
    """Return sentences one after the other, without empty ones."""
    between = _("{one} {another}").removeprefix("{one}").removesuffix("{another}")
    return between.join(filter(None, sentences))


def size(ids: list[list[int]]) -> int:
    """Return the number of messages in an outcome's runs."""
    return sum(last - first + 1 for first, last in ids)


def holds(ids: list[list[int]], number: int) -> bool:
    """Return True if `number` is in an outcome's runs."""
    return any(first <= number <= last for first, last in ids)


def common(some: list[list[int]], others: list[list[int]]) -> list[list[int]]:
    """Return the numbers that are in both of two lists of an outcome's runs."""
    return runs.as_lists(runs.common(*(tuple((first, last) for first, last in ids) for ids in (some, others))))


def messages(ids: list[list[int]]) -> str:
    """Return message numbers in words: messages 1 to 100; message 5; messages 1 to 3, 5 and 7.

    Of many runs only the count and the ends are given.
    """
    if not ids:
        return _("no messages")
    if len(ids) > LISTED:
        between = {"first": whole(ids[0][0]), "last": whole(ids[-1][1])}
        return _("{count} messages between {first} and {last}", count=whole(size(ids)), **between)
    numbers = [
        whole(first) if first == last else _("{first} to {last}", first=whole(first), last=whole(last))
        for first, last in ids
    ]
    return ngettext("message {numbers}", "messages {numbers}", size(ids), numbers=joined(numbers))


COUNTED = {
    "message": (Plural("{count} message", "{count} messages"), N_("no messages")),
    "queue": (Plural("{count} queue", "{count} queues"), N_("no queues")),
    "node": (Plural("{count} node", "{count} nodes"), N_("no nodes")),
    "entry": (Plural("{count} entry", "{count} entries"), N_("no entries")),
    "line": (Plural("{count} line", "{count} lines"), N_("no lines")),
    "more queue": (Plural("{count} more queue", "{count} more queues"), ""),
}
"""The nouns that can be counted in every language, and the words for none of them."""


def whole(number: int) -> str:
    """Return a whole number with thousands separators of the language in force: 1,000 or 1.000."""
    return _written(f"{number:,}")


def _written(number: str) -> str:
    """Return a number, given in English notation, in that of the language in force."""
    return number.translate(LANGUAGES[in_force()].marks)


def counted(number: int, noun: str = "message", nouns: str = "") -> str:
    """Return a number with its noun: 1 message, 1,000 messages, no messages.

    `nouns` is the plural if it is not formed with an s. Nouns that are not in COUNTED are English only.
    """
    if noun in COUNTED:
        forms, none = COUNTED[noun]
        return ngettext(*forms, number, count=whole(number)) if number else _(none)
    word = noun if number == 1 else nouns or f"{noun}s"
    return f"{whole(number)} {word}" if number else f"no {word}"


def brief(number: int) -> str:
    """Return a number in few characters, truncated and not rounded: 9999, 12.3k, 100M."""
    if number < 10_000:
        return str(number)
    unit, letter = next(pair for pair in UNITS if number >= pair[0])
    tenths = number * 10 // unit
    return _written(f"{tenths // 10}{letter}" if tenths % 10 == 0 or tenths >= 1000 else f"{tenths / 10}{letter}")


def seconds(t: float) -> str:
    """Return seconds with one to three decimals, without a unit, in the language's notation: 12.0, 7.006; 7,006."""
    before, _, decimals = f"{t:.3f}".partition(".")
    return _written(f"{before}.{decimals.rstrip('0') or '0'}")


def left(duration_s: float) -> str:
    """Return a duration, roughly: 40 s, 12 min, 3 h 20 min."""
    if duration_s < 100:
        return f"{duration_s:.0f} s"
    minutes = round(duration_s / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def about(value: float) -> int:
    """Return a number of trials rounded up to two digits."""
    digits = len(str(int(value))) - 2
    return ceil(value / 10**digits) * 10**digits if digits > 0 else ceil(value)


def too_few(takes: float | None) -> str:
    """Return how many trials the interval of a mean takes (`hawb.study.intervals.ends_of_mean`); "" for None."""
    return "" if takes is None else f"takes {about(takes):,} trials"


def percent(value: float) -> str:
    """Return a share as a percentage; small ones have two digits, and a share above 0 never reads as 0 %."""
    if value < HAIR:
        return "0 %"
    if value < SMALLEST_SHARE:
        return f"< {100 * SMALLEST_SHARE:g} %"
    return _written(f"{100 * value:.2g} %" if value < 0.1 else f"{100 * value:.1f} %")
