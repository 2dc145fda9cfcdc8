"""Write the table of texts, `data/texts.csv`, and the page about it, `data/texts.md`.

Run `python -m hawb.views.broker.text_page` in a checkout.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from itertools import groupby

from hawb.engine.core.trace import EVENTS
from hawb.rules.profiles import PROFILES
from hawb.scenario.checkout import data_folder_for
from hawb.scenario.saving import write
from hawb.views import markdown
from hawb.views.broker.texts import KINDS, Row, form, reasons, table, text_of

COLUMNS = ("release", "kind", "scenario", "step", "seen", "model", "broker", "difference")
INTRODUCTION = """# What RabbitMQ says

This page lists three kinds of RabbitMQ's texts: log messages, errors that close a channel or a connection, and refusals
of the command line tools. It compares each text with hawb's text in the same scenario. RabbitMQ's texts come from the
[recordings](recorded/README.md). The table [texts.csv](texts.csv) has each text as it was first recorded.

If texts differ only in names and numbers, the page lists them once, with … in place of the name or number. In log
messages, nodes have the names of the scenario, without Erlang's quotes. A process is shown as `<node>` or `<pid>`, and
an Erlang term is on one line. The tools print `Error:` before a refusal. The page does not compare other log messages,
such as those about connections and boot steps.

`python -m hawb.views.broker.text_page` writes this page and the table from the recordings. `hawb record --log` keeps
the logs of a scenario's nodes with its recording.
"""
HEADINGS = {"log": "## Log lines", "amqp": "## Errors of AMQP", "ctl": "## Refusals of the command line tools"}


def as_csv(rows: Iterable[Row]) -> str:
    """Return the table with a line for each text; `difference` is empty if model and broker have the same text."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for said, seen, reason in rows:
        where = said.release, said.kind, said.scenario, said.step, seen
        writer.writerow((*where, said.model or "", said.broker or "", reason or ""))
    return stream.getvalue()


def as_page(rows: Sequence[Row]) -> str:
    """Return the page: the number of texts, the texts of each kind, and where model and broker differ."""
    parts = [INTRODUCTION, counts(rows)]
    for kind, heading in HEADINGS.items():
        equal = [row for row in rows if row.said.kind == kind and row.said.equal]
        parts += [f"{heading}\n", meanings(equal) if kind == "log" else sayings(equal)]
    differing = [row for row in rows if not row.said.equal]
    parts += ["## Where model and broker differ\n", differences(differing)]
    return "\n".join(parts)


def counts(rows: Sequence[Row]) -> str:
    """Return how many texts were compared, by release and kind."""
    found = []
    for release, of in groupby(rows, key=lambda row: row.said.release):
        listed = list(of)
        for kind, what in KINDS.items():
            equal = [row.said.equal for row in listed if row.said.kind == kind]
            found.append((PROFILES[release].release, what, str(len(equal)), str(sum(equal))))
    return markdown.table(("release", "texts", "compared", "equal"), found) + "\n"


def meanings(rows: Iterable[Row]) -> str:
    """Return log lines with their meaning and the scenarios that show them."""
    cells = [(markdown.code(text), meaning(of), *seen_in(of)) for text, of in by_form(rows)]
    return markdown.table(("line", "it means", *releases()), cells) + "\n"


def sayings(rows: Iterable[Row]) -> str:
    """Return errors and refusals with the scenarios that show them."""
    cells = [(markdown.code(" ".join(text.split())), *seen_in(of)) for text, of in by_form(rows)]
    return markdown.table(("text", *releases()), cells) + "\n"


def differences(rows: Iterable[Row]) -> str:
    """Return texts that differ, with the reason."""
    cells = [
        (PROFILES[said.release].release, KINDS[said.kind], cell(said.model), cell(said.broker), markdown.plain(why))
        for said, _, why in rows
    ]
    return markdown.table(("release", "of", "the model says", "the broker says", "why"), cells) + "\n"


def by_form(rows: Iterable[Row]) -> list[tuple[str, list[Row]]]:
    """Return rows grouped by text, apart from names and numbers."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(form(text_of(row)) or "", []).append(row)
    return sorted(found.items())


def meaning(rows: Iterable[Row]) -> str:
    """Return the meaning of the events that log lines are for, in the words of the trace."""
    events = dict.fromkeys(row.said.event for row in rows if row.said.event)
    return markdown.plain(" ".join(f"{EVENTS[event].partition('. ')[0].rstrip('.')}." for event in events))


def releases() -> list[str]:
    """Return the releases of the recordings."""
    return [PROFILES[version].release for version in ("3.8", "3.10", "4.0", "4.3")]


def seen_in(rows: Sequence[Row]) -> list[str]:
    """Return for each release a scenario that shows the text."""
    where = {PROFILES[row.said.release].release: row.said.scenario for row in reversed(rows)}
    return [f"[{where[name]}](scenarios/{where[name]}.yaml)" if name in where else "" for name in releases()]


def cell(text: str | None) -> str:
    """Return a text for a cell, without names and numbers."""
    return "nothing" if text is None else markdown.code(" ".join((form(text) or "").split()))


if __name__ == "__main__":
    data = data_folder_for("data")
    rows = table(data, reasons(data / "text-differences.yaml"))
    write(data / "texts.csv", as_csv(rows))
    write(data / "texts.md", as_page(rows))
