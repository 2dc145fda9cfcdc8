"""The small parts that the lab's panels are made of, so that all of them look and speak alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import ipywidgets as widgets

from hawb.lab.controller import Controller, Place
from hawb.lab.sources import Upload
from hawb.languages import kept

Changed = Callable[[], None]
"""The function that a panel calls after the controller has done something."""


class Readable:
    """A widget that can be read where no widget can be shown: its text in full, which ipywidgets would cut, its
    `picture` if it has one, an SVG element, and in marimo, which shows no widgets of ipywidgets, what it shows standing
    `still`."""

    picture = ""

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        picture = {"image/svg+xml": self.picture} if self.picture else {}
        return super()._repr_mimebundle_(**kwargs) | {"text/plain": repr(self)} | picture

    def _mime_(self) -> tuple[str, str]:
        return "text/html", self.still()

    def still(self) -> str:
        """What it shows as HTML that needs no widget."""
        return self.picture or f"<pre>{escape(repr(self))}</pre>"


def button(label: str, tooltip: str, pressed: Callable[[], None]) -> widgets.Button:
    """A button as wide as its label, and what it does when it is pressed."""
    made = widgets.Button(description=label, tooltip=tooltip, layout={"width": "auto"})
    told = kept(pressed)
    made.on_click(lambda _button: told())
    return made


def watch(widget: widgets.Widget, do: Callable[[dict], object]) -> None:
    """Calls a function with each change of a widget's value, in the language in which it was laid out."""
    widget.observe(kept(do), "value")


def text(label: str, tooltip: str, value: str = "", *, width: str = "auto", live: bool = False) -> widgets.Text:
    """A line of text. It is taken at Enter or when left, a `live` one at each key."""
    return widgets.Text(
        description=label,
        tooltip=tooltip,
        value=value,
        continuous_update=live,
        layout={"width": width},
        style={"description_width": "initial"},
    )


def dropdown(label: str, tooltip: str, options: Sequence, *, width: str = "auto") -> widgets.Dropdown:
    """A choice of one option; options are values, or pairs of the text to read and the value."""
    return widgets.Dropdown(
        description=label,
        tooltip=tooltip,
        options=options,
        layout={"width": width},
        style={"description_width": "initial"},
    )


def combobox(label: str, tooltip: str, placeholder: str = "", *, width: str = "auto") -> widgets.Combobox:
    """A line of text with suggestions, taken at Enter or when left."""
    return widgets.Combobox(
        description=label,
        tooltip=tooltip,
        placeholder=placeholder,
        continuous_update=False,
        layout={"width": width},
        style={"description_width": "initial"},
    )


def upload(label: str, tooltip: str, several: bool = False) -> widgets.FileUpload:
    """A button that takes a file, or `several`."""
    return widgets.FileUpload(description=label, tooltip=tooltip, multiple=several, layout={"width": "auto"})


def uploaded(field: widgets.FileUpload) -> list[Upload]:
    """The files that a field has taken."""
    return [(file["name"], bytes(file["content"])) for file in field.value]


def row(*parts: widgets.Widget, name: str = "") -> widgets.HBox:
    """Parts beside each other; `name` is a class of lab.css."""
    return named(widgets.HBox(parts), "hawb-row", *filter(None, [name]))


def column(*parts: widgets.Widget, name: str = "") -> widgets.VBox:
    """Parts below each other; `name` is a class of lab.css."""
    return named(widgets.VBox(parts), *filter(None, [name]))


def named(widget: widgets.Widget, *names: str) -> widgets.Widget:
    """The widget, with classes of lab.css."""
    for name in names:
        widget.add_class(name)
    return widget


class Message:
    """The answer that stands beside the field or the row where something was asked; empty while there is none.

    Of a place's answers it shows all or, with `field`, only those about this field of a step ("": the whole step)."""

    def __init__(self, place: Place, field: str | None = None):
        self.place, self.field = place, field
        self.box = named(widgets.HTML(), "hawb-message")

    def beside(self, widget: widgets.Widget) -> widgets.VBox:
        """The widget with the message hanging below it, over whatever is there."""
        return named(widgets.VBox([widget, self.box]), "hawb-beside")

    def show(self, controller: Controller) -> None:
        """Shows the controller's message for this place."""
        mine = self.field in (None, controller.field)
        self.box.value = message(controller.messages.get(self.place) if mine else None)


def message(words: str | None) -> str:
    """A message as HTML that screen readers read out; all of it is text. It can be folded up to its first line."""
    if words is None:
        return ""
    first, _, rest = words.partition("\n")
    return f'<details open role="alert"><summary>{escape(first)}</summary>{escape(rest)}</details>'
