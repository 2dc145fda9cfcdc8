"""Convert docstrings to Markdown: prose with code in backticks, lists, and indented blocks of code."""

from __future__ import annotations

import inspect
import re
import textwrap

from hawb.views import markdown

LISTED = re.compile(r"^\s*[*-] ")


def line(text: str) -> str:
    """Return a line in which only backticks are markup."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # an unpaired backtick
        return markdown.plain(text)
    return "".join(markdown.code(part) if at % 2 else markdown.plain(part) for at, part in enumerate(parts))


def paragraphs(text: str | None) -> str:
    """Return a docstring as Markdown."""
    parts = inspect.cleandoc(text or "").split("\n\n")
    return "\n\n".join(_code(part) if part.startswith("    ") else _prose(part) for part in parts if part)


def sentence(text: str | None) -> str:
    """Return the first paragraph of a docstring in one line, for a table's cell."""
    first = inspect.cleandoc(text or "").partition("\n\n")[0]
    return line(" ".join(first.split()))


def _code(part: str) -> str:
    return f"```python\n{textwrap.dedent(part)}\n```"


def _prose(part: str) -> str:
    if not any(LISTED.match(one) for one in part.split("\n")):
        return line(" ".join(part.split()))
    return "\n".join(f"{mark[0]}{line(one[mark.end():])}" if (mark := LISTED.match(one)) else f"  {line(one.strip())}"
                     for one in part.split("\n"))  # fmt: skip
