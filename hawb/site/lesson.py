"""Play a lesson in the browser, where Python runs as WebAssembly (`front/worker.js`).

The page sends the code of each cell in its order, and gets what the cell shows: HTML, or a widget of the lessons as its
values. The page draws a widget with the widget's own front end; what a reader sets there comes back as a message, and
all values that change meanwhile are sent to the page. Guesses and answers are in the file of answers, whose text the
page keeps.
"""

from __future__ import annotations

import ast
import io
import json
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout, suppress
from traceback import format_exception_only
from typing import Any

import anywidget
import ipywidgets
import traitlets

from hawb.languages import ENGLISH, language, named
from hawb.lessons import answers
from hawb.lessons.view import html_of

CELL = "cell"
"""The name of a cell's code in error messages."""


class Lesson:
    """A lesson being played, `spoken` in a language. `post` sends JSON to the page.

    Raise ValueError for a language that hawb lacks.
    """

    def __init__(self, post: Callable[[str], None], spoken: str = ENGLISH):
        self.post, self.language = post, named(spoken)
        self._names: dict[str, object] = {"__name__": "__main__"}
        self._widgets: dict[str, traitlets.HasTraits] = {}
        self._changed: dict[str, dict[str, object]] = {}
        self._kept = ""

    def receive(self, message: dict[str, Any]) -> None:
        """Run the `code` of a `cell`, or `set` values of a `widget`; then send the output and what changed."""
        with language(self.language):
            if "code" in message:
                self._send(cell=message["cell"], shown=self.run(message["code"]))
            else:
                with suppress(traitlets.TraitError):  # a value that the widget refuses changes nothing
                    for name, value in message["set"].items():
                        setattr(self._widgets[message["widget"]], name, value)
        self._send_changed()
        if (kept := answers.answers_file()).is_file() and (text := kept.read_text("utf-8")) != self._kept:
            self._kept = text
            self._send(answers=text)

    def _send_changed(self) -> None:
        if self._changed:
            self._send(changed=self._changed)
            self._changed = {}

    def run(self, code: str) -> list[dict[str, object]]:
        """Run a cell, and return what it shows: what it prints, then the value of its last line or its error."""
        printed, value = io.StringIO(), None
        try:
            with redirect_stdout(printed):
                value = value_of(code, self._names)
        except Exception as error:
            value = "".join(format_exception_only(error)).rstrip()
        shown = [{"kind": "text", "text": printed.getvalue()}] if printed.getvalue() else []
        return shown if value is None else [*shown, self.drawn(value)]

    def drawn(self, value: object) -> dict[str, object]:
        """Return what the page draws of a value: a box of further values, a widget, or HTML."""
        if isinstance(value, ipywidgets.VBox):
            return self._known(value, "box", ["children"])
        if isinstance(value, anywidget.AnyWidget):
            shared = anywidget.AnyWidget.class_traits(sync=True)
            return self._known(value, type(value).__name__.lower(), sorted(set(value.traits(sync=True)) - set(shared)))
        return {"kind": "html", "html": value.value if isinstance(value, ipywidgets.HTML) else html_of(value)}

    def _known(self, widget: traitlets.HasTraits, kind: str, names: Sequence[str]) -> dict[str, object]:
        """Return a widget with its values; from now on it may be set, and changes are sent."""
        key = str(len(self._widgets))
        self._widgets[key] = widget
        vars(widget)["send_changed"] = self._send_changed  # for `hold_sync` in the browser (`runtime/anywidget.py`)
        widget.observe(lambda change: self._change(key, change["name"], change["new"]), list(names))
        return {"kind": kind, "widget": key, "values": {name: self._plain(getattr(widget, name)) for name in names}}

    def _change(self, key: str, name: str, value: object) -> None:
        self._changed.setdefault(key, {})[name] = self._plain(value)

    def _plain(self, value: object) -> object:
        """Return a widget's value for JSON. Child widgets are replaced by their drawn form."""
        if isinstance(value, tuple) and all(isinstance(one, traitlets.HasTraits) for one in value):
            return [self.drawn(one) for one in value]
        return value

    def _send(self, **message: object) -> None:
        self.post(json.dumps(message))


def value_of(code: str, names: dict[str, object]) -> object:
    """Run a cell with the `names` of the cells before it, and return the value of its last line; None without one."""
    body = ast.parse(code, CELL).body
    last = body[-1] if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body[:-1] if last else body, []), CELL, "exec"), names)
    return eval(compile(ast.Expression(last.value), CELL, "eval"), names) if last else None


def begin(kept: str, spoken: str, messages: Sequence[dict], post: Callable[[str], None]) -> Lesson:
    """Return a lesson in a language whose reader's guesses and answers are `kept`, after `messages`.

    Text that is none is ignored. Raise ValueError for a language that hawb lacks.
    """
    file = answers.answers_file()
    file.unlink(missing_ok=True)
    if kept:
        file.write_text(kept, encoding="utf-8")
    try:
        answers.read()
    except answers.AnswersRefused:
        file.unlink()
    lesson = Lesson(post, spoken)
    for message in messages:
        lesson.receive(message)
    return lesson
