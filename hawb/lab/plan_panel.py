"""One's own cluster in a notebook: files to upload, the version to have, and the plan with its files to download.

Nothing is kept but in the page: uploads are read in a folder that is gone afterwards, and what is made is in its links.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import ipywidgets as widgets

from hawb.broker.untrusted import ImportRefused
from hawb.lab import fields
from hawb.lab.exports import text_link
from hawb.lab.sources import Upload, keep
from hawb.planning.migration import Migration
from hawb.rules.profiles import PROFILES
from hawb.views.migration import tables
from hawb.views.plans import planned, texts

ASK = (
    "A definitions export, and if you have them /api/queues and /api/nodes of the same cluster. They are read here and"
    " kept nowhere."
)
MEDIA_TYPES = {".json": "application/json", ".md": "text/markdown", ".html": "text/html"}


def plan_of(uploads: Sequence[Upload], to: str) -> Migration:
    """The plan for uploaded files. Raises ImportRefused, which names none of the kernel's folders."""
    with tempfile.TemporaryDirectory(prefix="hawb-plan-") as folder:
        files = keep(Path(folder), uploads)
        try:
            return planned(files, to)
        except ImportRefused as refused:
            raise ImportRefused(Path(refused.file.name), refused.place, refused.given, refused.accepted) from None


def shown(plan: Migration) -> str:
    """The plan as HTML: its tables, and a link for each of its files."""
    links = (text_link(text, name, MEDIA_TYPES[Path(name).suffix]) for name, text in texts(plan).items())
    return "".join(each._repr_html_() for each in tables(plan)) + f"<p>{', '.join(links)}</p>"


class PlanPanel:
    """`box` is what a notebook shows."""

    def __init__(self) -> None:
        self.files = fields.upload("files", ASK, several=True)
        self.to = fields.dropdown("move to", "the version to have", list(PROFILES))
        self.to.value = list(PROFILES)[-1]
        self.plan = fields.button("plan", "what becomes of each queue", self._plan)
        self.answer = widgets.HTML(f"<p>{ASK}</p>")
        self.box = fields.column(fields.row(self.files, self.to, self.plan), self.answer)

    def _plan(self) -> None:
        uploads = fields.uploaded(self.files)
        if not uploads:
            self.answer.value = f"<p>{ASK}</p>"
            return
        try:
            self.answer.value = shown(plan_of(uploads, self.to.value))
        except ImportRefused as refused:
            self.answer.value = fields.message(str(refused))
