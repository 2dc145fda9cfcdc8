"""Adapt the links of pages that are shown elsewhere: to the page of a file, or to the file itself.

A page's links name files of the checkout, so that they work in an editor and in the checkout itself. A link to a
missing file stays unchanged, and the build reports it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

LINK = re.compile(r"(?P<before>\]\()(?P<target>[^)\s#:]+)(?P<place>#[^)\s]*)?(?=\))")
"""A link or a picture of Markdown, without those to web addresses."""
FENCE = re.compile(r"^(`{3,}|:{3,}|~{3,})")
SECTION = re.compile(r"^```\{include\} (?P<file>\S+)\n:section: (?P<head>.+)\n```\n", re.MULTILINE)
"""A block that is replaced by a section of another page, without its heading."""


def followed(text: str, origin: Path, page: Path, shown: Mapping[Path, Path]) -> str:
    """Return the text of `page`, which shows the file `origin`, with links that work there.

    `shown` has the page of each file that is shown as one.
    """

    def link(found: re.Match[str]) -> str:
        file = Path(os.path.normpath(origin.parent / found["target"]))
        if file not in shown and not file.is_file():
            return found[0]
        there = os.path.relpath(shown.get(file, file), page.parent).replace(os.sep, "/")
        return f"{found['before']}{there}{found['place'] or ''}"

    return "\n".join(line if code else LINK.sub(link, line) for line, code in with_code(text))


def with_code(text: str) -> list[tuple[str, bool]]:
    """Return the lines of a page, each with True if it is in a block of code."""
    lines, fence = [], ""
    for line in text.split("\n"):
        mark = FENCE.match(line)
        is_code = bool(fence)
        if mark and not fence and mark[1].startswith(("`", "~")):
            fence = is_code = mark[1]
        elif fence and line.rstrip() == fence:
            fence = ""
        lines.append((line, bool(is_code)))
    return lines


def with_sections(text: str, origin: Path, page: Path, shown: Mapping[Path, Path]) -> str:
    """Return the text of a page with the sections of other pages that it includes."""

    def section(found: re.Match[str]) -> str:
        file = Path(os.path.normpath(origin.parent / found["file"]))
        return followed(section_of(file.read_text("utf-8"), found["head"]), file, page, shown)

    return SECTION.sub(section, text)


def section_of(text: str, head: str) -> str:
    """Return the text below a second-level heading, up to the next one. Raise KeyError for a missing heading."""
    lines = with_code(text)
    heads = [at for at, (line, code) in enumerate(lines) if line.startswith("## ") and not code]
    begin = next((at for at in heads if lines[at][0] == f"## {head}"), None)
    if begin is None:
        raise KeyError(f"## {head}: no such section; there are: {', '.join(lines[at][0] for at in heads)}")
    end = next((at for at in heads if at > begin), len(lines))
    return "\n".join(line for line, _ in lines[begin + 1 : end]).strip() + "\n"
