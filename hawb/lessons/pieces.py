"""Split a notebook's cells into pieces: paragraphs of prose, and strings that code displays to the reader.

A piece is a text with the source before and after it. The pieces in their order are the whole cell, so that a
translated cell consists of the same pieces with other texts.

In Markdown a text is a paragraph, a heading, a list item, a table row, or the summary of a folded block. Code blocks,
HTML comments and table rules have no text. In code a text is a string on one line that is prose: two words in a row, a
word with a colon, or one of `WORDS`. A replacement field of an f-string counts as a word.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

WORDS = ("before", "nowhere", " and ")
"""Displayed strings that look like names of queues, nodes and states."""

OPENING = re.compile(r"\s*(?:#{1,6} +|[-*] +|[0-9]+\. +|> ?|<details>|<summary>)+|\s*\| *")
CLOSING = re.compile(r"(?:</summary>|</details>| *\|)?\s*$")
UNREAD = re.compile(r"\s*(?:<!--.*-->|</?details>|\|?[\s:|-]*)\s*")
"""A line without text: a comment, the bounds of a folded block, the rule below a table's head, an empty line."""
FENCE = re.compile(r"\s*(?:```|~~~)")

LITERAL = re.compile(r'(f?")([^"\\\n]+)(")')
IN_BRACES = re.compile(r"\{[^{}]*\}")
PROSE = re.compile(r"\w+ \w+|\w:$")


class Piece(NamedTuple):
    """A text for the reader, with the source before and after it in its cell."""

    before: str
    text: str
    after: str


def of_markdown(source: str) -> Iterator[Piece]:
    """Yield the pieces of a Markdown cell. A paragraph on several lines is one text."""
    before, paragraph, fenced = "", "", False
    for line in source.splitlines(keepends=True):
        fence = FENCE.match(line) is not None
        opening = OPENING.match(line)
        apart = fence or fenced or UNREAD.fullmatch(line) is not None
        fenced ^= fence
        if paragraph and (apart or opening):
            yield Piece(before, *_closed(paragraph))
            before, paragraph = "", ""
        if apart:
            before += line
        elif paragraph:
            paragraph += line
        else:
            before, paragraph = before + (opening[0] if opening else ""), line[opening.end() if opening else 0 :]
    yield Piece(before, *_closed(paragraph))


def _closed(paragraph: str) -> tuple[str, str]:
    """Return a paragraph's text, and the markup that ends it."""
    end = CLOSING.search(paragraph).start()
    return paragraph[:end], paragraph[end:]


def of_code(source: str) -> Iterator[Piece]:
    """Yield the pieces of a code cell. Raise SyntaxError if it is not Python."""
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    begins = [len(b"".join(lines[:number])) for number in range(len(lines))]
    whole, done = b"".join(lines), 0
    for literal in _literals(ast.parse(source)):
        start, end = (begins[row - 1] + column for row, column in (
            (literal.lineno, literal.col_offset), (literal.end_lineno, literal.end_col_offset)))  # fmt: skip
        found = LITERAL.fullmatch(whole[start:end].decode())
        if found and is_prose(found[2]):
            yield Piece(whole[done:start].decode() + found[1], found[2], found[3])
            done = end
    yield Piece(whole[done:].decode(), "", "")


def _literals(tree: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    """Yield the strings of a program in their order, each f-string as one."""
    if isinstance(tree, ast.JoinedStr) or (isinstance(tree, ast.Constant) and isinstance(tree.value, str)):
        yield tree
    else:
        yield from (each for child in ast.iter_child_nodes(tree) for each in _literals(child))


def is_prose(text: str) -> bool:
    """Return True if a string of a cell is text for the reader."""
    return text in WORDS or PROSE.search(IN_BRACES.sub("x", text)) is not None
