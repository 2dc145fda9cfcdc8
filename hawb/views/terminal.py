"""Tables and reports as text, within a width: that of the terminal, or `WIDTH` where there is none, so that what is
piped is the same everywhere. Colours are for terminals that have them, and no reader needs them.

`rich` lays out and colours; it is imported where something is drawn: whoever asks for JSON does not wait for it.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING

from hawb.views import style
from hawb.views.formatting import shown
from hawb.views.report import Part, Report, ToDo
from hawb.views.tables import WIDTH, Table

if TYPE_CHECKING:
    from rich.console import RenderableType

GAP = 2
"""The spaces between columns; a head has as many more behind it."""
LONGEST_WORD = 16
"""A column gives way as far as its longest word, if that is no longer."""
NARROWEST, MOST_LINES = 12, 6
"""A table whose columns would be narrower, or whose rows would be higher, is told row by row."""


def columns(
    rows: Iterable[Sequence[object]], headers: Sequence[str], width: int | None = WIDTH, right: Iterable[int] = (),
    colour: bool = False,
) -> str:  # fmt: skip
    """Aligned columns, those of the indices `right` at their right ends, within a width or as wide as they are. A table
    that is too wide for it is told row by row."""
    cells = [[str(cell) for cell in row] for row in rows]
    if width is not None and _too_wide(cells, headers, width):
        return _row_by_row(cells, headers, width, colour)
    from rich.table import Table as Grid
    from rich.text import Text

    grid, last = Grid(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold"), len(headers) - 1
    for at, head in enumerate(headers):
        least = len(head) + GAP
        fixed = width is None or (at != last and _natural(cells, headers, at) <= LONGEST_WORD)
        justify = "right" if at in {*right} else "left"
        grid.add_column(Text(head), justify=justify, min_width=least, no_wrap=fixed, overflow="fold")
    for row in cells:
        grid.add_row(*(Text(cell, style=_ink(cell, at == 0)) for at, cell in enumerate(row)))
    wide = width or sum(_natural(cells, headers, at) + GAP for at in range(len(headers)))
    return drawn(grid, wide, colour)


def _natural(cells: Sequence[Sequence[str]], headers: Sequence[str], at: int) -> int:
    return max([len(headers[at]) + GAP, *(len(row[at]) for row in cells)])


def _too_wide(cells: Sequence[Sequence[str]], headers: Sequence[str], width: int) -> bool:
    """Whether columns would have to be narrower than their words, or rows would be towers."""
    natural = [_natural(cells, headers, at) for at in range(len(headers))]
    room = width - GAP * (len(natural) - 1)
    if sum(natural) <= room:
        return False
    wide = [size for size in natural if size > LONGEST_WORD]
    left = room - sum(size for size in natural if size <= LONGEST_WORD)
    each = left // max(len(wide), 1)
    return each < NARROWEST or sum(wide) > MOST_LINES * left


def _row_by_row(cells: Iterable[Sequence[str]], headers: Sequence[str], width: int, colour: bool) -> str:
    from rich.text import Text

    lines = []
    for row in cells:
        head, *rest = [(name, cell) for name, cell in zip(headers, row, strict=True) if cell]
        lines += [Text(line, style=_ink(head[1], True) or "bold") for line in wrapped(head[1], width)]
        for name, cell in rest:
            told = f"{name}: {cell}" if name else cell
            lines += [Text(line, style=_ink(cell)) for line in wrapped(told, width, "  ")]
    return drawn(Text("\n").join(lines), width, colour)


def _ink(cell: str, is_name: bool = False) -> str:
    return style.ANSWERS[tone].colour if (tone := style.tone(cell, is_name)) else ""


def wrapped(text: str, width: int, lead: str = "", hang: str | None = None) -> list[str]:
    """The lines of a paragraph, the first behind `lead`, the others behind `hang`, by default as far in."""
    hang = " " * len(lead) if hang is None else hang
    return textwrap.wrap(text, width, initial_indent=lead, subsequent_indent=hang, break_on_hyphens=False)


def drawn(what: RenderableType, width: int, colour: bool) -> str:
    """Something of rich's as text; no line ends in spaces."""
    from rich.console import Console

    console = Console(
        file=StringIO(), width=width, color_system="standard" if colour else None, force_terminal=colour,
        no_color=not colour, force_jupyter=False, highlight=False, markup=False, emoji=False,
    )  # fmt: skip
    with console.capture() as told:
        console.print(what, soft_wrap=False)
    return "\n".join(line.rstrip() for line in told.get().rstrip("\n").split("\n"))


def terminal() -> tuple[int, bool]:
    """The width of standard output, and whether it has colours (https://no-color.org)."""
    if not sys.stdout.isatty():
        return WIDTH, False
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") in ("dumb", "unknown")
    return max(shutil.get_terminal_size().columns, 40), not plain


def told(report: Report) -> str:
    """A report for standard output."""
    return text(report, *terminal())


def text(report: Report, width: int = WIDTH, colour: bool = False) -> str:
    """A report as text: the verdict, what to do, tables, what is assumed."""
    parts = ["\n".join([*_verdict(report, width, colour), *wrapped(shown(report.about), width, "  ")])]
    if report.todo:
        lines = [line for number, one in enumerate(report.todo, 1) for line in _to_do(number, one, width)]
        parts.append("\n".join([head("What to do", width, colour), *lines]))
    parts += [_part(part, width, colour) for part in report.parts]
    parts += _listed("What is assumed", report.assumptions, width, colour)
    return "\n\n".join(parts)


def _verdict(report: Report, width: int, colour: bool) -> Iterator[str]:
    from rich.text import Text

    look = style.ANSWERS[report.verdict.answer]
    for line in wrapped(shown(report.verdict.sentence), width, f"{look.glyph} "):
        yield drawn(Text(line, style=f"bold {look.colour}"), width, colour)


def _to_do(number: int, one: ToDo, width: int) -> list[str]:
    """The lines of a thing to do; a command stays in one line, to be copied."""
    return [*wrapped(shown(one.what), width, f"  {number}. "), *(f"     $ {command}" for command in one.commands)]


def _part(part: Part, width: int, colour: bool) -> str:
    lines = [head(shown(part.title), width, colour)]
    if part.table is not None:
        lines.append(table(part.table, width, colour))
    for note in part.notes:
        lines += wrapped(shown(note), width, "  ")
    return "\n".join(lines)


def table(of: Table, width: int = WIDTH, colour: bool = False) -> str:
    """A table without its caption; columns of numbers stand at their right ends."""
    return columns([map(of.cell_text, row) for row in of.rows], [*map(shown, of.columns)], width, of.numbers(), colour)


def head(title: str, width: int, colour: bool) -> str:
    """A heading."""
    from rich.text import Text

    return drawn(Text("\n".join(wrapped(title, width)), style="bold"), width, colour)


def _listed(title: str, notes: Iterable[str], width: int, colour: bool) -> list[str]:
    lines = [line for note in notes for line in wrapped(shown(note), width, "  - ", "    ")]
    return ["\n".join([head(title, width, colour), *lines])] if lines else []
