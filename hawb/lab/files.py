"""Take files that the reader drops on a page, and show a report's own page in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anywidget
import traitlets

from hawb import languages
from hawb.lab.sources import Upload
from hawb.lab.stage import FRONT, THEMES, front_end

LOOK = THEMES + (FRONT / "files.css").read_text(encoding="utf-8")


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
