"""Make the lab's story downloadable: as a scenario, as a Python script, or as a page with its figures.

The text is made on demand and the browser stores it. The lab itself writes no file, so that it can be offered to
visitors.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable

from msgspec import Struct

from hawb.lab.history import Point
from hawb.languages import _
from hawb.planning.advised import advised
from hawb.scenario.dump import dump
from hawb.scenario.script import script
from hawb.views.formatting import whole
from hawb.views.story import report

UNFIT, LONGEST_NAME = re.compile(r"[^a-z0-9]+"), 60


class Kind(Struct, frozen=True):
    """A form of download: the file's ending, its media type, and the function that makes its text from a point."""

    suffix: str
    media_type: str
    make: Callable[[Point], str]


def _report(point: Point) -> str:
    return report.page(point.outcome, dump(point.run.scenario), advised(point.run, point.outcome))


KINDS = {
    "scenario": Kind(".yaml", "application/yaml", lambda point: dump(point.run.scenario)),
    "Python": Kind(".py", "text/x-python", lambda point: script(point.run.scenario)),
    "report": Kind(".html", "text/html", _report),
}


def file_name(title: str, kind: str) -> str:
    """Return a safe file name for a scenario's title."""
    stem = UNFIT.sub("-", title.lower()).strip("-")[:LONGEST_NAME].rstrip("-")
    return (stem or "story") + KINDS[kind].suffix


def link(point: Point, kind: str) -> str:
    """Return an HTML link that downloads a point's story; the link contains the whole text."""
    name = file_name(point.outcome["scenario"], kind)
    return text_link(KINDS[kind].make(point), name, KINDS[kind].media_type)


def text_link(text: str, name: str, media_type: str) -> str:
    """Return an HTML link that downloads a text under `name`, which must be safe; the link contains the whole text."""
    content = text.encode()
    address = f"data:{media_type};charset=utf-8;base64,{b64encode(content).decode()}"
    size = _("{count} bytes", count=whole(len(content)))
    return f'<a href="{address}" download="{name}">{name}</a> ({size})'
