"""Write the page of the events in the trace, and of the causes of lost messages."""

from __future__ import annotations

from hawb.docs.prose import line
from hawb.engine.core.trace import CAUSES, EVENTS
from hawb.views import markdown

HEAD = """# Events and causes

`hawb run --json`, and a Cluster in Python, list the events of a run in `events`, in order. Each event has its time in
seconds, its step, its name and its detail. It names a node and a queue if it concerns one. `because` is the number of
the event that caused it. So you can trace every loss back to the fault that started it.

## Events

"""
LOST = """
## Why messages are lost

These are the values of `cause`, in `losses` and in the event `messages_lost`.

"""


def events_page() -> str:
    """Return the page, from the tables that the trace uses."""
    events = [(markdown.code(name), *_columns(text)) for name, text in EVENTS.items()]
    causes = [(markdown.code(name), line(text)) for name, text in CAUSES.items()]
    return (HEAD + markdown.table(("event", "what happened", "its detail"), events) + "\n"
            + LOST + markdown.table(("cause", "what it means"), causes) + "\n")  # fmt: skip


def _columns(text: str) -> tuple[str, str]:
    what, _, detail = text.partition(". ")
    return line(what.rstrip(".") + "."), line(detail.rstrip("."))
