"""Build the small widgets of the lab's panels, so that they all look and behave alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import ipywidgets as widgets

from hawb.lab.controller import Controller, Place
from hawb.lab.sources import Upload
from hawb.languages import kept

Changed = Callable[[], None]
"""The function that a panel calls after the controller has changed."""


class Readable:
    """A widget with output for pages that cannot show widgets.

    The output is the widget's full text, which ipywidgets would cut, and its `picture`, an SVG element, if it has one.
    For marimo, which shows no ipywidgets, it is the HTML of `still`.
    """

    picture = ""

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        picture = {"image/svg+xml": self.picture} if self.picture else {}
        return super()._repr_mimebundle_(**kwargs) | {"text/plain": repr(self)} | picture

    def _mime_(self) -> tuple[str, str]:
        return "text/html", self.still()

    def still(self) -> str:
        """Return the widget's content as HTML that needs no widget."""
        return self.picture or f"<pre>{escape(repr(self))}</pre>"


def button(label: str, tooltip: str, pressed: Callable[[], None]) -> widgets.Button:
    """Return a button as wide as its label that calls `pressed` when it is clicked."""
    made = widgets.Button(description=label, tooltip=tooltip, layout={"width": "auto"})
    handler = kept(pressed)
    made.on_click(lambda _button: handler())
    return made


def watch(widget: widgets.Widget, do: Callable[[dict], object]) -> None:
    """Call a function with each change of a widget's value, in the language that is in force now."""
    widget.observe(kept(do), "value")


def text(label: str, tooltip: str, value: str = "", *, width: str = "auto", live: bool = False) -> widgets.Text:
    """Return a line of text. It is submitted at Enter or on blur, a `live` one at each key."""
    return widgets.Text(
        description=label,
        tooltip=tooltip,
        value=value,
        continuous_update=live,
        layout={"width": width},
        style={"description_width": "initial"},
    )


def dropdown(label: str, tooltip: str, options: Sequence, *, width: str = "auto") -> widgets.Dropdown:
    """Return a dropdown; options are values, or pairs of label and value."""
    return widgets.Dropdown(
        description=label,
        tooltip=tooltip,
        options=options,
        layout={"width": width},
        style={"description_width": "initial"},
    )


def combobox(label: str, tooltip: str, placeholder: str = "", *, width: str = "auto") -> widgets.Combobox:
    """Return a line of text with suggestions, submitted at Enter or on blur."""
    return widgets.Combobox(
        description=label,
        tooltip=tooltip,
        placeholder=placeholder,
        continuous_update=False,
        layout={"width": width},
        style={"description_width": "initial"},
    )


def upload(label: str, tooltip: str, several: bool = False) -> widgets.FileUpload:
    """Return a button that uploads one file, or `several`."""
    return widgets.FileUpload(description=label, tooltip=tooltip, multiple=several, layout={"width": "auto"})


def uploaded(field: widgets.FileUpload) -> list[Upload]:
    """Return the files that were uploaded with a field."""
    return [(file["name"], bytes(file["content"])) for file in field.value]


def row(*parts: widgets.Widget, name: str = "") -> widgets.HBox:
    """Return widgets side by side; `name` is a class of lab.css."""
    return named(widgets.HBox(parts), "hawb-row", *filter(None, [name]))


def column(*parts: widgets.Widget, name: str = "") -> widgets.VBox:
    """Return widgets below each other; `name` is a class of lab.css."""
    return named(widgets.VBox(parts), *filter(None, [name]))


def named(widget: widgets.Widget, *names: str) -> widgets.Widget:
    """Return the widget, with classes of lab.css added."""
    for name in names:
        widget.add_class(name)
    return widget


class Message:
    """The message beside the field or row from which an action came; empty if there is none.

    It shows all messages of a place or, with `field`, only those about this field of a step ("": the whole step).
    """

    def __init__(self, place: Place, field: str | None = None):
        self.place, self.field = place, field
        self.box = named(widgets.HTML(), "hawb-message")

    def beside(self, widget: widgets.Widget) -> widgets.VBox:
        """Return the widget with the message below it, which overlaps what follows."""
        return named(widgets.VBox([widget, self.box]), "hawb-beside")

    def show(self, controller: Controller) -> None:
        """Show the controller's message for this place."""
        mine = self.field in (None, controller.field)
        self.box.value = message(controller.messages.get(self.place) if mine else None)


def message(words: str | None) -> str:
    """Return a message, escaped, as HTML that screen readers announce. It can be folded up to its first line."""
    if words is None:
        return ""
    first, _, rest = words.partition("\n")
    return f'<details open role="alert"><summary>{escape(first)}</summary>{escape(rest)}</details>'
