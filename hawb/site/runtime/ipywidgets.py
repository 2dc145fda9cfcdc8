"""Replace the package ipywidgets in a browser, where `hawb.site.lesson` sends the widgets' values to the page.

It provides what lessons show: boxes and HTML. The page draws them, so there is nothing else to know about them.
"""

from __future__ import annotations

import traitlets


class Widget(traitlets.HasTraits):
    """A widget, as far as lessons use it. Its values that have the tag `sync` are those that the page draws.

    The page ignores the `layout`, which one widget may pass on to another.
    """

    layout = traitlets.Any()

    def _repr_mimebundle_(self, **_kwargs: object) -> dict[str, str]:
        return {}


class VBox(Widget):
    """Widgets below each other."""

    children = traitlets.Tuple().tag(sync=True)

    def __init__(self, children: tuple = (), **given: object):
        super().__init__(children=tuple(children), **given)

    @traitlets.validate("children")
    def _as_tuple(self, proposal: dict) -> tuple:
        return tuple(proposal["value"])


class HTML(Widget):
    """HTML."""

    value = traitlets.Unicode().tag(sync=True)

    def __init__(self, value: str = "", **given: object):
        super().__init__(value=value, **given)


def __getattr__(name: str) -> type[Widget]:
    """Return the base class for all other widgets: panels of the lab name them, but lessons never make one."""
    if name.startswith("__"):
        raise AttributeError(name)
    return Widget
