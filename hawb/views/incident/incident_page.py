"""An incident as one page: the verdict, then the picture and the story that its numbers tell of, then the rest."""

from __future__ import annotations

from html import escape

from msgspec.structs import replace

from hawb.scenario.dump import dump
from hawb.views.formatting import counted, html
from hawb.views.incident.figure import svg
from hawb.views.incident.incident_report import STORY, Account, report_of
from hawb.views.incident.sentences import Sentence
from hawb.views.incident.times import day, time_of_day
from hawb.views.page import closed, figure, report_page

MOST_OPEN, MOST_LINES = 40, 3
"""A longer story, and more lines of a sentence, are closed until somebody opens them."""


def page(of: Account) -> str:
    """The page, which fetches and runs nothing."""
    report = report_of(of)
    parts = tuple(part for part in report.parts if part.title != STORY)
    drawn = [figure(svg(of.picture), of.picture.title)] if of.picture.nodes else []
    retold = of.incident.retold
    below = [] if retold is None else [closed("The same as a scenario", dump(retold.scenario))]
    return report_page(replace(report, parts=parts), [*drawn, *_story(of)], below)


def _story(of: Account) -> list[str]:
    """The story as a list, numbered as the picture is."""
    if not of.told:
        return []
    items = "".join(_item(one, of) for one in of.told)
    listed = f'<ol class="story told">{items}</ol>'
    if len(of.told) > MOST_OPEN:
        listed = f"<details><summary>{counted(len(of.told), 'sentence')}</summary>{listed}</details>"
    return [f"<h3>{STORY}</h3>{listed}"]


def _item(one: Sentence, of: Account) -> str:
    weight = ' class="weighs"' * (one.words.weight == 2)
    told = f'<b>{one.number}</b><time title="{day(one.at_us)}">{time_of_day(one.at_us)}</time>'
    return f"<li{weight}>{told}<div>{escape(one.text)} {_lines(one, of)}</div></li>"


def _lines(one: Sentence, of: Account) -> str:
    """Where the messages of a sentence are; many are opened by whoever wants them."""
    told = [html(of.names.line(event)) for event in one.events]
    if len(told) <= MOST_LINES:
        return f'<span class="lines">{", ".join(told)}</span>'
    return (f'<details class="lines"><summary>{told[0]} and {len(told) - 1} more</summary>'
            f"{', '.join(told[1:])}</details>")  # fmt: skip
