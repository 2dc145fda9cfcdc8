"""Reports as self-contained web pages that can be mailed, stored and opened without a network.

A page fetches and runs nothing: its content security policy forbids scripts and all addresses. Its look is in
`page.css`; it follows the reader's preference for light or dark, and prints in light.

A report's page begins with the answer: the verdict, what to do, pictures, tables, assumptions, and what the files lack.
Rows can be filtered and long tables opened without a script, by features of the browser.
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
from hawb.views.formatting import counted, html, printable, prose
from hawb.views.report import Part, Report, ToDo, Verdict
from hawb.views.tables import Table

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
LIMITS = N_(
    "This is a simulation. Its times come from the model, with the scenario's rates for links, disks and"
    " synchronisation. It leaves out everything that hawb has no rules for."
)
NONE: Mapping[str, str] = MappingProxyType({})
LONG = 30
"""A table with more rows is collapsed at first."""
FEW_TO_CHOOSE = 5
"""A table with at most this number of rows has no filter."""
MANY_COLUMNS = 8
"""A table with more columns scrolls horizontally."""
SHORT, LONGEST_WORD = 20, 30
"""A cell of at most so many characters, or of one word that is no longer than the second number, is not broken."""


@cache
def stylesheet() -> str:
    """Return the stylesheet of every page."""
    light, dark = style.properties(style.LIGHT), style.properties(style.DARK)
    ground = f":root{{color-scheme:light dark;{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return f"{ground}{Path(__file__).with_name('page.css').read_text('utf-8')}"


def document(title: str, parts: Iterable[str], chosen: str = "", policy: str = POLICY) -> str:
    """Return a whole page with these parts, which fetches and runs nothing; `title` and parts are HTML.

    `chosen` are further style rules, for instance for the rows of its tables. `policy` is its content security policy.
    """
    forbids = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    sized = '<meta name="viewport" content="width=device-width,initial-scale=1">'
    head = f'<meta charset="utf-8">{forbids}{sized}<title>{title}</title><style>{stylesheet()}{chosen}</style>'
    tag = LANGUAGES[in_force()].tag
    begun = f'<!DOCTYPE html>\n<html lang="{tag}"><head>{head}</head><body>'
    return "".join([begun, *parts, "</body></html>\n"])  # once: a page may have many megabytes


def report_page(
    report: Report, pictures: Iterable[str] = (), below: Iterable[str] = (), instead: Mapping[str, str] = NONE
) -> str:
    """Return the page of a report, with pictures before its tables, and sections `below` them.

    `instead` replaces the table and notes of parts, by title. Pictures, sections and replacements are HTML.
    """
    about, pictures = prose(report.about), list(pictures)
    shown = [section(part.title, instead[part.title]) if part.title in instead else _part(part, number)
             for number, part in enumerate(report.parts)]  # fmt: skip
    rules = "".join(_rules(part, number) for number, part in enumerate(report.parts))
    asked = [f'<ol class="todo">{"".join(map(_to_do, report.todo))}</ol>'] if report.todo else []
    main = [
        section(_("What to do"), *asked),
        section(_("At a glance"), *pictures),
        *shown,
        *below,
        section(_("What is assumed"), *(f"<p>{prose(note)}</p>" for note in report.assumptions)),
        section(_("What the files do not say"), *(f"<p>{prose(note)}</p>" for note in report.missing)),
    ]
    top = f'<header><h1>{html(report.question)}</h1>{verdict(report.verdict)}<p class="about">{about}</p></header>'
    title = f"{html(report.question)} {style.ANSWERS[report.verdict.answer].label}"
    return document(title, [top, "<main>", *main, "</main>"], rules)


def verdict(answer: Verdict) -> str:
    """Return a verdict as HTML: its glyph, its word, and why."""
    look = style.ANSWERS[answer.answer]
    sentence = _("{lead} {why}.", lead=f"<strong>{answer.lead}</strong>", why=prose(answer.why))
    glyph = f'<span class="glyph" aria-hidden="true">{look.glyph}</span>'
    return f'<p class="verdict {answer.answer}">{glyph}<span>{sentence}</span></p>'


def _to_do(one: ToDo) -> str:
    commands = f"<pre><code>{escape(chr(10).join(one.commands))}</code></pre>" if one.commands else ""
    return f"<li><p>{prose(one.what)}</p>{commands}</li>"


def _part(part: Part, number: int) -> str:
    notes = [f"<p>{prose(note)}</p>" for note in part.notes]
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
    """Return the kinds by which rows can be filtered; none if all rows have the same kind, or there are few rows."""
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
    """Return the style rules by which a chosen kind hides the rows of other kinds."""
    return "".join(
        f'#part-{number}:has(input[value="{at}"]:checked) tbody tr:not([data-kind="{at}"]){{display:none}}'
        for at in range(len(_kinds(part)))
    )


def rows_html(table: Table, kinds: Sequence[int] = ()) -> str:
    """Return a table without its caption, each row with its kind.

    Numbers are aligned right, and a cell about a verdict has the verdict's colour.
    """
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
    text = table.cell_text(value)
    look = " ".join(filter(None, [css, style.tone(text, at == 0), "short" if _is_short(text) else ""]))
    tag, scope = ("th", ' scope="row"') if at == 0 else ("td", "")
    name = html(table.columns[at])
    return f'<{tag}{scope} class="{look}" data-name="{name}"><bdi>{prose(text)}</bdi></{tag}>'


def _is_short(text: str) -> bool:
    """Return True if a cell must not be broken: it is short, or one word of usual length."""
    return len(text) <= (SHORT if " " in text else LONGEST_WORD)


def figure(svg: str, caption: str = "", sized: bool = False, slim: str = "") -> str:
    """Return a picture below its caption, as wide as the page unless it is `sized` already.

    If there is a `slim` picture, phones show it instead.
    """
    about = f"<figcaption>{prose(caption)}</figcaption>" if caption else ""
    look = "" if sized else ' class="drawn"'
    both = f'<div class="broad">{svg}</div><div class="slim">{slim}</div>' if slim else svg
    return f'<figure tabindex="0"{look}>{about}{both}</figure>'


def pre(text: str) -> str:
    """Return preformatted text to copy, with escapes for characters that do not print."""
    return f"<pre>{escape(printable(text))}</pre>"


def closed(title: str, text: str) -> str:
    """Return a long text as a collapsed section."""
    return section(title, f"<details><summary>{counted(len(text.splitlines()), 'line')}</summary>{pre(text)}</details>")


def section(title: str, *parts: str) -> str:
    """Return a heading with its content; "" without content."""
    return f"<section><h2>{prose(title)}</h2>{''.join(parts)}</section>" if parts else ""
