"""Tables as text and as HTML, and their cells.

Names are untrusted input: they are escaped, and each is isolated with <bdi>.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from hawb.views import style
from hawb.views.display import mimebundle
from hawb.views.formatting import html, shown

WIDTH = 120
"""The characters in a line of text if the output is not a terminal."""

NUMBER = re.compile(r"[+-]?[\d,.]*( ?(s|%|min|MiB|x))?|never")
"""A number as cells contain it, or nothing."""

CELL = "padding:1px 8px;text-align:right;white-space:nowrap"
NAME_CELL = "padding:1px 8px;text-align:left;max-width:24em;overflow:hidden;text-overflow:ellipsis;white-space:nowrap"
HEAD = f"color:{style.FAINT};white-space:normal;vertical-align:bottom"
"""The head of a column: several words wrap if the figures need the room."""
TWO_WIDE = "max-width:48em"
"""The width of a cell with the values before and now side by side."""
CHANGED = f"background:{style.CHANGED}47;outline:1px dashed currentColor;outline-offset:-1px"
TABLE = f"border-collapse:collapse;margin-bottom:8px;font:12px {style.FONT};color:{style.INK}"
TEXT_CELL = "padding:1px 8px;text-align:left;vertical-align:top;white-space:normal;max-width:44em"


def cell(text: str, before: str | None, align: str = CELL) -> str:
    """Return a cell with a text, marked if the text `before` was different or None (there was no cell)."""
    if text == before or before is None:
        mark = f";{CHANGED}" if before is None else ""
        return f'<td style="{align}{mark}"><bdi>{html(text)}</bdi></td>'
    both = f"<bdi>{html(before or 'none')}</bdi> → <bdi>{html(text or 'none')}</bdi>"
    return f'<td style="{align};{TWO_WIDE};{CHANGED}">{both}</td>'


def name_cell(queue: str) -> str:
    """Return the head of a row: a name, cut if it is too long."""
    shown = html(queue)
    return f'<th scope="row" style="{NAME_CELL};font-weight:400" title="{shown}"><bdi>{shown}</bdi></th>'


def table(caption: str, columns: dict[str, str], body: str) -> str:
    """Return an HTML table of rows that are HTML already; `columns` are names with the style of their cells."""
    head = "".join(f'<th scope="col" style="{cell};{HEAD}">{name}</th>' for name, cell in columns.items())
    return (
        f'<table style="{TABLE}"><caption style="text-align:left;font-weight:600">{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


class Table(NamedTuple):
    """Rows under a caption, of any text and numbers: escaped as HTML, and in aligned columns as text."""

    caption: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]

    def __repr__(self) -> str:
        cells = [tuple(self.cell_text(value) for value in row) for row in (self.columns, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
        return "\n".join([shown(self.caption), *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        aligned = list(zip(*([isinstance(value, int) for value in row] for row in self.rows), strict=True))
        styles = [CELL if aligned and all(aligned[at]) else TEXT_CELL for at in range(len(self.columns))]
        columns = {html(name): align for name, align in zip(self.columns, styles, strict=True)}
        body = "".join(f"<tr>{''.join(map(self._cell, row, styles))}</tr>" for row in self.rows)
        return table(html(self.caption), columns, body)

    _repr_mimebundle_ = mimebundle

    def _cell(self, value: Any, align: str) -> str:
        return f'<td style="{align}{self.ink(value)}"><bdi>{html(self.cell_text(value))}</bdi></td>'

    def numbers(self) -> list[int]:
        """Return the indices of columns that contain only numbers, with or without a unit."""
        texts = [[self.cell_text(value) for value in column] for column in zip(*self.rows, strict=True)]
        return [at for at, column in enumerate(texts) if any(column) and all(map(NUMBER.fullmatch, column))]

    def cell_text(self, value: Any) -> str:
        """Return the text of a cell."""
        return f"{value:,}" if isinstance(value, int) else shown(value)

    def ink(self, value: Any) -> str:
        """Return additional style for a cell."""
        return ""
