"""An incident as one page: the verdict, the picture, the story with the picture's numbers, then the rest."""

from __future__ import annotations

from hawb.scenario.dump import dump
from hawb.views.formatting import counted, html, prose
from hawb.views.incident.figure import svg
from hawb.views.incident.incident_report import BY_RULES, STORY, Account, report_of
from hawb.views.incident.sentences import Sentence
from hawb.views.page import closed, figure, report_page

MOST_OPEN, MOST_LINES = 40, 3
"""A story with more sentences, and a sentence with more lines of logs, are collapsed at first."""


def page(of: Account) -> str:
    """Return the page, which fetches and runs nothing."""
    drawn = [figure(svg(of.picture), of.picture.title, slim=svg(of.picture, slim=True))] if of.picture.spans else []
    reconstructed = of.incident.reconstructed
    below = [] if reconstructed is None else [closed("This story as a scenario file", dump(reconstructed.scenario))]
    return report_page(report_of(of), drawn, below, {STORY: _story(of)})


def _story(of: Account) -> str:
    """Return the story as a list, numbered as in the picture."""
    items = "".join(_item(one, of) for one in of.story)
    listed = f'<ol class="story told">{items}</ol>'
    if len(of.story) <= MOST_OPEN:
        return listed
    return f"<details><summary>{counted(len(of.story), 'sentence')}</summary>{listed}</details>"


def _item(one: Sentence, of: Account) -> str:
    weight = ' class="weighs"' * (one.words.weight == 2)
    head = f"<b>{one.number}</b><time>{of.names.time(one.at_us)}</time>"
    return f"<li{weight}>{head}<div>{prose(one.text)} {_lines(one, of)}</div></li>"


def _lines(one: Sentence, of: Account) -> str:
    """Return the places of a sentence's log messages; if there are many, all but the first are collapsed."""
    cited = [html(of.names.line(event)) for event in one.events] or [BY_RULES]
    if len(cited) <= MOST_LINES:
        return f'<span class="lines">{", ".join(cited)}</span>'
    return (f'<details class="lines"><summary>{cited[0]} and {len(cited) - 1} more</summary>'
            f"{', '.join(cited[1:])}</details>")  # fmt: skip
