"""Answer a question about the reader's own cluster in a notebook: upload files, read the answer, download its files.

Nothing is stored outside the page: uploads are read from a temporary folder, and the answer's files are in links.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import ipywidgets as widgets

from hawb.exports.untrusted import ImportRefused
from hawb.lab import fields
from hawb.lab.exports import text_link
from hawb.lab.questions import Question
from hawb.lab.sources import Upload, keep
from hawb.scenario.refused import ScenarioRefused
from hawb.views.formatting import html

ASK = (
    "A definitions export, and if you have them /api/queues and /api/nodes of the same cluster. They are read here and"
    " kept nowhere."
)
WORKING = "Reading, and playing what comes of it."
MEDIA_TYPES = {
    ".json": "application/json", ".md": "text/markdown", ".html": "text/html", ".yaml": "application/yaml",
    ".txt": "text/plain",
}  # fmt: skip


def found_in(question: Question, uploads: Sequence[Upload], chosen: dict[str, Any]) -> Any:
    """Return the answer to a question about uploaded files.

    Raise ScenarioRefused, or ImportRefused, which names the file without the kernel's temporary folder.
    """
    with tempfile.TemporaryDirectory(prefix="hawb-own-") as folder:
        try:
            return question.ask(keep(Path(folder), uploads), **chosen)
        except ImportRefused as refused:
            raise ImportRefused(Path(refused.file.name), refused.place, refused.given, refused.accepted) from None


def shown(question: Question, found: Any) -> str:
    """Return the answer as HTML, with a link for each of its files."""
    texts = question.texts(found)
    links = ", ".join(text_link(text, name, MEDIA_TYPES[Path(name).suffix]) for name, text in texts.items())
    parts = [each._repr_html_() for each in question.show(found)]
    return f"<p>To download: {links}</p>{missing_facts(found.notes)}{''.join(parts)}"


def missing_facts(notes: Sequence[str]) -> str:
    """Return HTML, foldable, that lists what the files do not say and what is assumed instead; "" without notes."""
    said = "".join(f"<li>{html(note)}</li>" for note in notes)
    return f"<details open><summary>What the files do not say</summary><ul>{said}</ul></details>" if notes else ""


class OwnFiles:
    """The widgets for a question; `box` is what the notebook displays.

    If `found` is given, the panel begins with that answer, labelled `name`.
    """

    def __init__(self, question: Question, found: Any = None, name: str = "") -> None:
        self.question = question
        self.files = fields.upload("files", ASK, several=True)
        self.choices = {one: fields.dropdown(one, one, values) for one, values in question.choices.items()}
        self.button = fields.button(question.verb, question.tells, self._ask)
        self.about = widgets.HTML(f"<p>{ASK}</p>")
        self.message = widgets.HTML()
        self.answer = widgets.HTML()
        row = fields.row(self.files, *self.choices.values(), self.button)
        self.box = fields.column(self.about, row, self.message, self.answer, name="hawb-own")
        if found is not None:
            self._show(found, name)

    def _ask(self) -> None:
        uploads = fields.uploaded(self.files)
        if not uploads:
            self.message.value = fields.message("No file is chosen.")
            return
        self.message.value = f'<p role="status">{WORKING}</p>'
        chosen = {name: field.value for name, field in self.choices.items()}
        try:
            found = found_in(self.question, uploads, chosen)
        except (ImportRefused, ScenarioRefused) as refused:
            self.message.value = f'<div style="white-space: pre-line">{fields.message(str(refused))}</div>'
            return
        self._show(found, ", ".join(name for name, _ in uploads))

    def _show(self, found: Any, name: str) -> None:
        self.message.value = f'<p role="status">{escape(f"The answer for {name}:")}</p>'
        self.answer.value = shown(self.question, found)
