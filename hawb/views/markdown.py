"""Untrusted names in Markdown and in commands: no name can end its place or act as markup.

In a command a name is one word of bash, on one line, whatever it contains. In Markdown everything that could be markup
is escaped, and a block of commands has a fence that none of them can close. Source: CommonMark 0.31 (backslash escapes,
code spans, fenced code blocks), and bash's manual (ANSI-C quoting).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from html import escape

from hawb.views.formatting import shown

MARKUP = re.compile(r"([\\`*_\[\]#|~$])")
"""Characters that could be markup within a line.

No line here begins with a name, so markup at the beginning of a line is not included.
"""
BACKTICKS = re.compile("`+")


def bash_word(name: str) -> str:
    """Return a name as one word of bash, zsh and ksh, on one line."""
    if name.isprintable():
        return shlex.quote(name)
    return f"$'{''.join(map(_letter, name))}'"


def _letter(letter: str) -> str:
    """Return a character in the form for $'…'; undecodable bytes of a file name stay as they are."""
    if letter.isprintable() and letter not in "'\\":
        return letter
    return "".join(f"\\x{byte:02x}" for byte in letter.encode("utf-8", "surrogateescape"))


def plain(text: object) -> str:
    """Return text for a paragraph, a heading or a cell, with all markup escaped."""
    return MARKUP.sub(r"\\\1", escape(shown(text), quote=False))


def code(name: str) -> str:
    """Return a name as a code span that it cannot end, in a table or outside."""
    visible = shown(name).replace("\n", " ").replace("|", "\\|")
    ticks = "`" * (1 + _longest(visible))
    return f"{ticks} {visible} {ticks}" if "`" in visible else f"{ticks}{visible}{ticks}"


def block(lines: Iterable[str]) -> str:
    """Return commands as a block of code that none of them can end."""
    text = "\n".join(lines)
    fence = "`" * max(3, 1 + _longest(text))
    return f"{fence}bash\n{text}\n{fence}"


def _longest(text: str) -> int:
    return max(map(len, BACKTICKS.findall(text)), default=0)


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
