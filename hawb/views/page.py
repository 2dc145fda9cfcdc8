"""A web page with everything in it: nothing of it is fetched from anywhere or run, so that it can be mailed, kept and
opened without a network. The page forbids itself scripts and any address. How it looks is in `page.css`; it follows the
reader's light or dark, and prints in light.

A report's page answers first: the verdict, what to do, pictures, tables, what is assumed, what nobody told. Rows are
chosen and long tables opened without a script, by what browsers do themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from itertools import count
from pathlib import Path
from types import MappingProxyType

from hawb.languages import LANGUAGES, N_, _, in_force
from hawb.views import style
from hawb.views.formatting import counted, html, printable
from hawb.views.report import Part, Report, ToDo, Verdict
from hawb.views.tables import Table

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
LIMITS = N_(
    "This is a simulation. Times come from the model (links, disks and synchronisation at the rates of the"
    " scenario). What hawb has no rules for is left out."
)
NONE: Mapping[str, str] = MappingProxyType({})
LONG = 30
"""A table with more rows is closed until somebody opens it."""
FEW_TO_CHOOSE = 5
"""Of so many rows or fewer there is nothing to be chosen."""
MANY_COLUMNS = 8
"""With more a table scrolls from side to side."""
SHORT, LONGEST_WORD = 20, 30
"""A cell of so many letters or fewer is one line."""


@cache
def stylesheet() -> str:
    """The stylesheet of every page."""
    light, dark = style.properties(style.LIGHT), style.properties(style.DARK)
    ground = f":root{{color-scheme:light dark;{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return f"{ground}{Path(__file__).with_name('page.css').read_text('utf-8')}"


def document(title: str, parts: Iterable[str], chosen: str = "") -> str:
    """A whole page with these parts, all of it HTML, the title too; it fetches and runs nothing. `chosen` are rules for
    the rows of its tables."""
    forbids = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    sized = '<meta name="viewport" content="width=device-width,initial-scale=1">'
    head = f'<meta charset="utf-8">{forbids}{sized}<title>{title}</title><style>{stylesheet()}{chosen}</style>'
    tag = LANGUAGES[in_force()].tag
    return f'<!DOCTYPE html>\n<html lang="{tag}"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


def report_page(
    report: Report, pictures: Iterable[str] = (), below: Iterable[str] = (), instead: Mapping[str, str] = NONE
) -> str:
    """The page of a report, with pictures before its tables, and sections `below` them; `instead` is what stands in
    place of the table and notes of a part, by its title. All of them are HTML."""
    about, pictures = html(report.about), list(pictures)
    shown = [section(part.title, instead[part.title]) if part.title in instead else _part(part, number)
             for number, part in enumerate(report.parts)]  # fmt: skip
    rules = "".join(_rules(part, number) for number, part in enumerate(report.parts))
    asked = [f'<ol class="todo">{"".join(map(_to_do, report.todo))}</ol>'] if report.todo else []
    main = [
        section(_("What to do"), *asked),
        section(_("At a glance"), *pictures),
        *shown,
        *below,
        section(_("What is assumed"), *(f"<p>{html(note)}</p>" for note in report.assumptions)),
        section(_("What the files do not say"), *(f"<p>{html(note)}</p>" for note in report.untold)),
    ]
    top = f'<header><h1>{html(report.question)}</h1>{verdict(report.verdict)}<p class="about">{about}</p></header>'
    title = f"{html(report.question)} {style.ANSWERS[report.verdict.answer].told}"
    return document(title, [top, f"<main>{''.join(main)}</main>"], rules)


def verdict(told: Verdict) -> str:
    """A verdict, which the eye finds first: its glyph, its word, and why."""
    look = style.ANSWERS[told.answer]
    sentence = _("{lead} {why}.", lead=f"<strong>{told.lead}</strong>", why=html(told.why))
    glyph = f'<span class="glyph" aria-hidden="true">{look.glyph}</span>'
    return f'<p class="verdict {told.answer}">{glyph}<span>{sentence}</span></p>'


def _to_do(one: ToDo) -> str:
    commands = f"<pre><code>{escape(chr(10).join(one.commands))}</code></pre>" if one.commands else ""
    return f"<li><p>{html(one.what)}</p>{commands}</li>"


def _part(part: Part, number: int) -> str:
    notes = [f"<p>{html(note)}</p>" for note in part.notes]
    return section(part.title, *([] if part.table is None else [_table(part, part.table, number)]), *notes)


def _table(part: Part, table: Table, number: int) -> str:
    kinds = _kinds(part)
    rows = rows_html(table, [kinds.index(kind) for kind in part.kinds] if kinds else [])
    chooser = _chooser(kinds, number) if kinds else ""
    fits = " fits" * (len(table.columns) <= MANY_COLUMNS)
    named = f'role="region" tabindex="0" aria-label="{html(part.title)}"'
    inner = f'{chooser}<div class="scroll{fits}" {named}>{rows}</div>'
    if len(table.rows) > LONG:
        inner = f"<details><summary>{counted(len(table.rows), 'row')}</summary>{inner}</details>"
    return f'<div id="part-{number}">{inner}</div>'


def _kinds(part: Part) -> list[str]:
    """What rows can be chosen by; nothing where all are of a kind, or few."""
    kinds = list(dict.fromkeys(part.kinds))
    return kinds if len(kinds) > 1 and len(part.kinds) > FEW_TO_CHOOSE else []


def _chooser(kinds: Sequence[str], number: int) -> str:
    labels = "".join(
        f'<label><input type="radio" name="rows-{number}" value="{value}"{" checked" * (value == "all")}>'
        f"{html(kind)}</label>"
        for value, kind in [("all", "all"), *((str(at), kind) for at, kind in enumerate(kinds))]
    )
    return f"<fieldset><legend>Rows</legend>{labels}</fieldset>"


def _rules(part: Part, number: int) -> str:
    """The rules by which a chosen kind hides the rows of the others."""
    return "".join(
        f'#part-{number}:has(input[value="{at}"]:checked) tbody tr:not([data-kind="{at}"]){{display:none}}'
        for at in range(len(_kinds(part)))
    )


def rows_html(table: Table, kinds: Sequence[int] = ()) -> str:
    """A table without its caption, each row with its kind; numbers stand at the right, and a cell that speaks of a
    verdict has its colour."""
    numbers = table.numbers()
    classes = ["number" if at in numbers else "" for at in range(len(table.columns))]
    heads = "".join(f'<th scope="col" class="{css}">{html(name) or "<span>#</span>"}</th>'
                    for name, css in zip(table.columns, classes, strict=True))  # fmt: skip
    of_kind = iter(kinds) if kinds else count()
    body = "".join(
        f'<tr data-kind="{kind}">{"".join(_cell(table, at, value, classes[at]) for at, value in enumerate(row))}</tr>'
        for row, kind in zip(table.rows, of_kind, strict=False)
    )
    wide = ' class="many"' if len(table.columns) <= MANY_COLUMNS else ""
    return f"<table{wide}><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _cell(table: Table, at: int, value: object, css: str) -> str:
    told = table.cell_text(value)
    look = " ".join(filter(None, [css, style.tone(told, at == 0), "short" if _is_short(told) else ""]))
    tag, scope = ("th", ' scope="row"') if at == 0 else ("td", "")
    name = html(table.columns[at])
    return f'<{tag}{scope} class="{look}" data-name="{name}"><bdi>{html(told)}</bdi></{tag}>'


def _is_short(told: str) -> bool:
    """Whether a cell is one line: short, or a word of a usual length."""
    return len(told) <= (SHORT if " " in told else LONGEST_WORD)


def figure(svg: str, caption: str = "", sized: bool = False, slim: str = "") -> str:
    """A picture in its place, below what it shows, as wide as the page unless it is `sized` already. A phone shows the
    `slim` one in its place, if there is one."""
    about = f"<figcaption>{html(caption)}</figcaption>" if caption else ""
    look = "" if sized else ' class="drawn"'
    both = f'<div class="broad">{svg}</div><div class="slim">{slim}</div>' if slim else svg
    return f'<figure tabindex="0"{look}>{about}{both}</figure>'


def pre(text: str) -> str:
    """Text as it is, to be copied; what does not print is escaped."""
    return f"<pre>{escape(printable(text))}</pre>"


def closed(title: str, text: str) -> str:
    """A long text as a section that is opened by whoever wants it."""
    return section(title, f"<details><summary>{counted(len(text.splitlines()), 'line')}</summary>{pre(text)}</details>")


def section(title: str, *parts: str) -> str:
    """A heading and what is below it; nothing without parts."""
    return f"<section><h2>{html(title)}</h2>{''.join(parts)}</section>" if parts else ""
