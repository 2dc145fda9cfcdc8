"""Replace the package anywidget in a browser, where `hawb.site.lesson` sends the widgets' values to the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ipywidgets import Widget


class AnyWidget(Widget):
    """A widget with a front end of its own, which the page has already."""

    send_changed: Callable[[], None] = staticmethod(lambda: None)
    """The function of `hawb.site.lesson` that sends to the page what has changed."""

    @contextmanager
    def hold_sync(self) -> Iterator[None]:
        """Send what has changed at the end of a `with` block. Everything else is sent once a message was handled."""
        yield
        self.send_changed()

    def _repr_mimebundle_(self, **kwargs: object) -> tuple[dict[str, str]]:
        return (super()._repr_mimebundle_(**kwargs),)
