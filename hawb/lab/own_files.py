"""Answer a question about the reader's own cluster in a notebook: drop files, read the answer, download its files.

Nothing is stored outside the page: uploads are read from a temporary folder, and the answer's files are in links.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets
import traitlets

from hawb import languages
from hawb.exports.untrusted import ImportRefused
from hawb.lab import fields
from hawb.lab.exports import text_link
from hawb.lab.questions import Question, QuestionRefused
from hawb.lab.sources import Upload, keep
from hawb.lab.stage import FRONT, THEMES, front_end
from hawb.languages import ENGLISH, N_, _
from hawb.scenario.refused import ScenarioRefused
from hawb.views.formatting import shown

LOOK = THEMES + (FRONT / "files.css").read_text(encoding="utf-8")
WORKING = N_("Reading the files, and simulating the cluster.")
PAGE = "report.html"
MEDIA_TYPES = {
    ".json": "application/json", ".md": "text/markdown", ".html": "text/html", ".yaml": "application/yaml",
    ".txt": "text/plain",
}  # fmt: skip

PREFIX = "hawb-own-"
KEPT = re.compile(rf"[^\s\"'<>=]*{PREFIX}[^/\s\"'<>]+/\d+/")
"""The kernel's temporary folder in front of a file's name."""


class Dropped(anywidget.AnyWidget):
    """A place on the page for files; `value` has those that the reader dropped or chose last.

    `taken` is called after each time. The contents stay in this process: `value` is no trait, so no page gets them.
    """

    _esm = front_end(("elements",), FRONT / "drop.js")
    _css = LOOK
    description = traitlets.Unicode().tag(sync=True)
    tag = traitlets.Unicode().tag(sync=True)
    words = traitlets.Dict().tag(sync=True)

    def __init__(self, description: str, taken: Callable[[], object]):
        name = languages.in_force()
        words = languages.catalogue(name, languages.FRONT).texts
        super().__init__(description=description, tag=languages.LANGUAGES[name].tag, words=words)
        self.value: list[Upload] = []
        self._taken = languages.kept(taken)
        self.on_msg(lambda _widget, message, buffers: self.receive(message["names"], buffers))

    def receive(self, names: Sequence[str], contents: Sequence[bytes | memoryview]) -> None:
        """Take files, as a drop or a choice on the page does."""
        self.value = [(str(name), bytes(content)) for name, content in zip(names, contents, strict=True)]
        self._taken()


class ReportPage(anywidget.AnyWidget):
    """A report's page in a frame; `page` is its HTML, empty without an answer, and `title` names the frame."""

    _esm = front_end(("elements",), FRONT / "report.js")
    _css = LOOK
    page = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)


def found_in(question: Question, uploads: Sequence[Upload], chosen: Mapping[str, Any]) -> Any:
    """Return the answer to a question about uploaded files.

    Raise ScenarioRefused, or ImportRefused, which names the file without the kernel's temporary folder.
    """
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder, languages.language(ENGLISH):
        try:
            return question.ask(keep(Path(folder), uploads), **chosen)
        except ImportRefused as refused:
            raise ImportRefused(Path(refused.file.name), refused.place, refused.given, refused.accepted) from None


def texts_of(question: Question, found: Any) -> dict[str, str]:
    """Return the texts of the answer's files by name, in English as the commands write them.

    They name the uploaded files as the reader did, without the temporary folder that has the copies.
    """
    with languages.language(ENGLISH):
        return {name: KEPT.sub("", text) for name, text in question.texts(found).items()}


def links_html(texts: Mapping[str, str]) -> str:
    """Return a link for each of the answer's files as HTML."""
    links = ", ".join(text_link(text, name, MEDIA_TYPES[Path(name).suffix]) for name, text in texts.items())
    text = _("To download: {links}", links=links)
    return f"<p>{text}</p>"


class OwnFiles:
    """The widgets for a question; `box` is what the notebook displays.

    If `found` is given, the panel begins with that answer, labelled `name`. `example` are the files of that answer, for
    which the question is asked again when the reader chooses otherwise before any own file is there.
    """

    def __init__(self, question: Question, found: Any = None, name: str = "", example: Sequence[str | Path] = ()):
        self.question, self.example, self.name = question, [*map(Path, example)], name
        self.files = Dropped(_(question.files), self._ask)
        self.choices = {
            one: fields.dropdown(_(one), _(one), [(_(value) if isinstance(value, str) else str(value), value)
                                                  for value in values])
            for one, values in question.choices.items()
        }  # fmt: skip
        self.button = fields.button(_(question.verb), _(question.description), self._ask)
        self.message = widgets.HTML()
        self.links = widgets.HTML()
        self.page = ReportPage(title=_("the answer"))
        row = fields.row(*self.choices.values(), self.button)
        self.box = fields.column(self.files, row, self.message, self.links, self.page, name="hawb-own")
        for choice in self.choices.values():
            fields.watch(choice, lambda _change: (self.files.value or self.example) and self._ask())
        if found is not None:
            self._show(found, name)

    def _ask(self) -> None:
        uploads = self.files.value
        if not uploads and not self.example:
            self.message.value = fields.message(_("No file is chosen."))
            return
        self.message.value = f'<p role="status">{_(WORKING)}</p>'
        chosen = {name: field.value for name, field in self.choices.items()}
        try:
            found = found_in(self.question, uploads, chosen) if uploads else self._example(chosen)
        except (ImportRefused, ScenarioRefused, QuestionRefused) as refused:
            problem = fields.message(KEPT.sub("", str(refused)))
            self.message.value = f'<div style="white-space: pre-line">{problem}</div>'
            return
        self._show(found, ", ".join(shown(name) for name, _content in uploads) or self.name)

    def _example(self, chosen: Mapping[str, Any]) -> Any:
        with languages.language(ENGLISH):
            return self.question.ask(self.example, **chosen)

    def _show(self, found: Any, name: str) -> None:
        texts = texts_of(self.question, found)
        heading = _("The answer for {name}:", name=name)
        self.message.value = f'<p role="status">{escape(heading)}</p>'
        self.links.value, self.page.page = links_html(texts), texts[PAGE]
