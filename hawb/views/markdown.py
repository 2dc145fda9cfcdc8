"""Names from outside in Markdown and in commands to type: no name ends its place, or means more than itself.

In a command a name is one word of bash, on one line, whatever is in it; in Markdown whatever could be markup is
escaped, and a block of commands has a fence that none of them can close. Source: CommonMark 0.31 (backslash escapes,
code spans, fenced code blocks), and bash's manual (ANSI-C quoting).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from html import escape

from hawb.views.formatting import shown

MARKUP = re.compile(r"([\\`*_\[\]#|~$])")
"""What could be markup in a line. No line begins with a name here, so that markup of a line's beginning is left out."""
BACKTICKS = re.compile("`+")


def bash_word(name: str) -> str:
    """A name as one word of bash, zsh and ksh, on one line."""
    if name.isprintable():
        return shlex.quote(name)
    return f"$'{''.join(map(_letter, name))}'"


def _letter(letter: str) -> str:
    """A letter within $'…'; of a file's name that is not UTF-8 each byte as it is."""
    if letter.isprintable() and letter not in "'\\":
        return letter
    return "".join(f"\\x{byte:02x}" for byte in letter.encode("utf-8", "surrogateescape"))


def plain(text: object) -> str:
    """Text as it can stand in a paragraph, a heading or a cell: nothing in it is markup."""
    return MARKUP.sub(r"\\\1", escape(shown(text), quote=False))


def code(name: str) -> str:
    """A name in a code span that it cannot end, in a table or outside."""
    visible = shown(name).replace("\n", " ").replace("|", "\\|")
    ticks = "`" * (1 + _longest(visible))
    return f"{ticks} {visible} {ticks}" if "`" in visible else f"{ticks}{visible}{ticks}"


def block(lines: Iterable[str]) -> str:
    """Commands as a block of code that none of them ends."""
    text = "\n".join(lines)
    fence = "`" * max(3, 1 + _longest(text))
    return f"{fence}bash\n{text}\n{fence}"


def _longest(text: str) -> int:
    return max(map(len, BACKTICKS.findall(text)), default=0)


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, of cells that are Markdown already."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
