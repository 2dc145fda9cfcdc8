"""Tables and reports as text of a limited width.

The width is that of the terminal, or `WIDTH` without one, so that piped output is the same everywhere. Colours are for
terminals that have them; the text is complete without them.

`rich` does layout and colours. It is imported only where something is drawn, so that --json does not wait for it.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Container, Iterable, Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING

from hawb.languages import _
from hawb.views import style
from hawb.views.display import has_wide
from hawb.views.formatting import BEFORE_UNIT, shown
from hawb.views.report import Part, Report, ToDo
from hawb.views.tables import WIDTH, Table

if TYPE_CHECKING:
    from rich.console import RenderableType

PIECES = r"\s*(?:[\u2e80-\u9fff\uff00-\uffef]|[^\s\u2e80-\u9fff\uff00-\uffef]+)[、。），：；]*"
"""The pieces that stay on one line in a text with characters that are two columns wide.

It is compiled only for such a text.
"""

GAP = 2
"""Spaces between columns; a head has as many more after it if there is room."""
LONGEST_WORD = 30
"""A column is at least as wide as its longest word, up to this width; longer words are broken."""
JOINT = "\u2800"
"""Stands for the space between a number and its unit while a table is laid out: `rich` breaks lines at all spaces."""
MOST_LINES = 8
"""A table with higher rows is written row by row."""
MOST_ROWS = 3_000
"""Maximum number of rows that are printed of a table in a report. A row takes `rich` about a millisecond."""


def columns(
    rows: Iterable[Sequence[object]], headers: Sequence[str], width: int | None = WIDTH, right: Iterable[int] = (),
    colour: bool = False,
) -> str:  # fmt: skip
    """Return aligned columns within a width, or as wide as they are if it is None.

    Columns with the indices `right` are aligned right. A number and its unit stay on one line if there is room. A table
    that is too wide is written row by row.
    """
    cells = [[str(cell) for cell in row] for row in rows]
    joined = [[BEFORE_UNIT.sub(JOINT, cell) for cell in row] for row in cells]
    fits = _widths(joined, headers, width) is not None
    return _laid_out(joined if fits else cells, headers, width, {*right}, colour).replace(JOINT, " ")


def _laid_out(
    cells: Sequence[Sequence[str]], headers: Sequence[str], width: int | None, right: Container[int], colour: bool
) -> str:
    widths = _widths(cells, headers, width)
    if widths is None:
        return _row_by_row(cells, headers, width or WIDTH, colour)
    if _fit([headers, *cells], widths):
        return "\n".join(_lines(cells, headers, widths, right, colour))
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold")
    for at, head in enumerate(headers):
        grid.add_column(Text(head), justify="right" if at in right else "left", width=widths[at], overflow="fold")
    for row in cells:
        grid.add_row(*(Text(cell, style=_ink(cell, at == 0)) for at, cell in enumerate(row)))
    return drawn(grid, width or sum(widths) + GAP * len(widths), colour)


def _widths(cells: Sequence[Sequence[str]], headers: Sequence[str], width: int | None) -> list[int] | None:
    """Return the width of each column; None if there is no room, or if rows would be too high.

    If the columns together are too wide, each gets the width of its longest word, and the columns that need least more
    get the remaining room first.
    """
    from rich.cells import cell_len

    texts = [[head, *(row[at] for row in cells)] for at, head in enumerate(headers)]
    natural = [max(cell_len(head) + GAP, *map(cell_len, column)) for head, column in zip(headers, texts, strict=True)]
    if width is None or sum(natural) + GAP * (len(natural) - 1) <= width:
        return natural
    words = [max((cell_len(word) for text in column for word in text.split()), default=0) for column in texts]
    widths = [min(wanted, max(word, 1), LONGEST_WORD) for wanted, word in zip(natural, words, strict=True)]
    room = width - sum(widths) - GAP * (len(widths) - 1)
    if room < 0:
        return None
    wanting = sorted(range(len(widths)), key=lambda at: natural[at] - widths[at])
    for place, at in enumerate(wanting):
        more = min(natural[at] - widths[at], room // (len(wanting) - place))
        widths[at], room = widths[at] + more, room - more
    towers = any(wanted > MOST_LINES * given for wanted, given in zip(natural, widths, strict=True))
    return None if towers else widths


def _fit(rows: Iterable[Sequence[str]], widths: Sequence[int]) -> bool:
    """Return True if each cell is one line that is no wider than its column."""
    from rich.cells import cell_len

    return all(
        cell_len(cell) <= width and cell.isprintable() for row in rows for cell, width in zip(row, widths, strict=True)
    )


def _lines(
    rows: Iterable[Sequence[str]], headers: Sequence[str], widths: Sequence[int], right: Container[int], colour: bool
) -> Iterator[str]:
    """Yield the lines of a table whose cells fit.

    This is faster than a table of rich, which takes a millisecond for each row.
    """
    from rich.cells import cell_len
    from rich.color import ColorSystem
    from rich.style import Style

    def line(row: Sequence[str], inks: Iterable[str]) -> str:
        line_text, spaces = "", 0
        for at, (cell, width, ink) in enumerate(zip(row, widths, inks, strict=True)):
            free = width - cell_len(cell)
            before, behind = (free, 0) if at in right else (0, free)
            if cell:
                inked = Style.parse(ink).render(cell, color_system=ColorSystem.STANDARD) if colour and ink else cell
                line_text, spaces = f"{line_text}{' ' * (spaces + before)}{inked}", behind + GAP
            else:
                spaces += width + GAP
        return line_text

    yield line(headers, ["bold"] * len(headers))
    for row in rows:
        yield line(row, [_ink(cell, at == 0) for at, cell in enumerate(row)])


def _row_by_row(cells: Iterable[Sequence[str]], headers: Sequence[str], width: int, colour: bool) -> str:
    from rich.text import Text

    lines = []
    for row in cells:
        head, *rest = [(name, cell) for name, cell in zip(headers, row, strict=True) if cell]
        lines += [Text(line, style=_ink(head[1], True) or "bold") for line in wrapped(head[1], width)]
        for name, cell in rest:
            text = f"{name}: {cell}" if name else cell
            lines += [Text(line, style=_ink(cell)) for line in wrapped(text, width, "  ")]
    return drawn(Text("\n").join(lines), width, colour)


def _ink(cell: str, is_name: bool = False) -> str:
    return style.ANSWERS[tone].colour if (tone := style.tone(cell, is_name)) else ""


def wrapped(text: str, width: int, lead: str = "", hang: str | None = None) -> list[str]:
    """Return the lines of a paragraph.

    The first line begins with `lead`, the others with `hang`, by default spaces of the same width.
    """
    hang = " " * len(lead) if hang is None else hang
    if has_wide(text):
        return _wrapped_wide(text, width, lead, hang)
    return textwrap.wrap(text, width, initial_indent=lead, subsequent_indent=hang, break_on_hyphens=False)


def _wrapped_wide(text: str, width: int, lead: str, hang: str) -> list[str]:
    """Return the lines of a paragraph with characters that are two columns wide, as in Chinese.

    A line may break anywhere but before closing punctuation.
    """
    from rich.cells import cell_len

    lines, line = [], lead
    for piece in re.findall(PIECES, text):
        if cell_len(line) + cell_len(piece.rstrip()) > width and line.strip():
            lines.append(line.rstrip())
            line, piece = hang, piece.lstrip()
        line += piece
    return [*lines, line.rstrip()]


def drawn(what: RenderableType, width: int, colour: bool) -> str:
    """Return a rich object as text without spaces at the ends of lines."""
    from rich.console import Console

    console = Console(  # legacy_windows=True, for old consoles and pipes there, costs a column
        file=StringIO(), width=width, color_system="standard" if colour else None, force_terminal=colour,
        no_color=not colour, force_jupyter=False, highlight=False, markup=False, emoji=False, legacy_windows=False,
    )  # fmt: skip
    with console.capture() as captured:
        console.print(what, soft_wrap=False)
    return "\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n"))


def terminal() -> tuple[int, bool]:
    """Return the width of standard output, and True if it has colours (https://no-color.org)."""
    if not sys.stdout.isatty():
        return WIDTH, False
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") in ("dumb", "unknown")
    return max(shutil.get_terminal_size().columns, 40), not plain


def for_terminal(report: Report) -> str:
    """Return a report for standard output."""
    return text(report, *terminal())


def text(report: Report, width: int = WIDTH, colour: bool = False) -> str:
    """Return a report as text: the question, the verdict, what to do, tables, and assumptions."""
    question = wrapped(shown(report.question), width) if report.question else []
    parts = ["\n".join([*question, *_verdict(report, width, colour), *wrapped(shown(report.about), width, "  ")])]
    if report.todo:
        lines = [line for number, one in enumerate(report.todo, 1) for line in _to_do(number, one, width)]
        parts.append("\n".join([head(_("What to do"), width, colour), *lines]))
    parts += [_part(part, width, colour) for part in report.parts]
    parts += _listed(_("What is assumed"), report.assumptions, width, colour)
    parts += _listed(_("What the files do not say"), report.missing, width, colour)
    return "\n\n".join(parts)


def _verdict(report: Report, width: int, colour: bool) -> Iterator[str]:
    from rich.text import Text

    look = style.ANSWERS[report.verdict.answer]
    for line in wrapped(shown(report.verdict.sentence), width, f"{look.glyph} "):
        yield drawn(Text(line, style=f"bold {look.colour}"), width, colour)


def _to_do(number: int, one: ToDo, width: int) -> list[str]:
    """Return the lines of a to-do; each command stays on one line, to be copied."""
    return [*wrapped(shown(one.what), width, f"  {number}. "), *(f"     $ {command}" for command in one.commands)]


def _part(part: Part, width: int, colour: bool) -> str:
    lines = [head(shown(part.title), width, colour)]
    notes = [*part.notes]
    if part.table is not None:
        lines.append(table(part.table, width, colour))
        if (count := len(part.table.rows)) > MOST_ROWS:
            first = _("These are the first {first} of {count} rows; --json and -o have all of them.",
                      first=f"{MOST_ROWS:,}", count=f"{count:,}")  # fmt: skip
            notes.insert(0, first)
    for note in notes:
        lines += wrapped(shown(note), width, "  ")
    return "\n".join(lines)


def table(of: Table, width: int = WIDTH, colour: bool = False) -> str:
    """Return the first rows of a table without its caption; columns of numbers are aligned right."""
    rows = [map(of.cell_text, row) for row in of.rows[:MOST_ROWS]]
    return columns(rows, [*map(shown, of.columns)], width, of.numbers(), colour)


def head(title: str, width: int, colour: bool) -> str:
    """Return a heading."""
    from rich.text import Text

    return drawn(Text("\n".join(wrapped(title, width)), style="bold"), width, colour)


def _listed(title: str, notes: Iterable[str], width: int, colour: bool) -> list[str]:
    lines = [line for note in notes for line in wrapped(shown(note), width, "  - ", "    ")]
    return ["\n".join([head(title, width, colour), *lines])] if lines else []
