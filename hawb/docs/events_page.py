"""Write the page of the events in the trace, and of the causes of lost messages."""

from __future__ import annotations

from hawb.docs.prose import line
from hawb.engine.core.trace import CAUSES, EVENTS
from hawb.views import markdown

HEAD = """# Events and causes

The events of a run, in their order: `events` in the output of `hawb run --json`, and of a Cluster in Python. Each has
the time in seconds, the step, the event's name, a node and a queue if it is about one, its detail, and under `because`
the number of the event that caused it. So you can trace every loss back to the fault that started it.

## Events

"""
LOST = """
## Why messages are lost

The `cause` of a loss, in `losses` and in the event `messages_lost`.

"""


def events_page() -> str:
    """Return the page, from the tables that the trace uses."""
    events = [(markdown.code(name), *_told(text)) for name, text in EVENTS.items()]
    causes = [(markdown.code(name), line(text)) for name, text in CAUSES.items()]
    return (HEAD + markdown.table(("event", "what happened", "its detail"), events) + "\n"
            + LOST + markdown.table(("cause", "what it means"), causes) + "\n")  # fmt: skip


def _told(text: str) -> tuple[str, str]:
    what, _, detail = text.partition(". ")
    return line(what.rstrip(".") + "."), line(detail.rstrip("."))
