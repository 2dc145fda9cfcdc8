"""A picture of a made-up incident: three nodes, one of them cut off; a queue changes its master; one node is killed."""

from __future__ import annotations

from hawb.views.incident.figure import Leg, Mark, Picture, Span, Tear, Way

SECOND = 1_000_000
HOUR = 3600 * SECOND


def picture(**changed: object) -> Picture:
    """Return the picture, or one with changes."""
    data = {
        "title": "orders had two masters, and <what> b took was thrown away.",
        "nodes": ("rabbit@a", "rabbit@b", "<c>"),
        "spans": (
            Span("rabbit@a", "running", 0, HOUR), Span("rabbit@b", "booting", 0, 2 * SECOND),
            Span("rabbit@b", "running", 2 * SECOND, 30 * SECOND), Span("rabbit@b", "paused", 30 * SECOND, 40 * SECOND),
            Span("<c>", "running", 0, 50 * SECOND),
        ),
        "tears": (Tear((("rabbit@a",), ("rabbit@b", "<c>")), 10 * SECOND, 30 * SECOND),),
        "ways": (Way("orders", (Leg("rabbit@a", 5 * SECOND, HOUR), Leg("rabbit@b", 12 * SECOND, 30 * SECOND, True))),),
        "marks": (
            Mark(12 * SECOND, "rabbit@b", "promoted", 1, "orders", "b took over orders."),
            Mark(30 * SECOND, "rabbit@b", "paused", 2, "pauses", "b paused."),
            Mark(50 * SECOND, "<c>", "killed", 3, "killed", "c was killed."),
        ),
    }  # fmt: skip
    return Picture(**(data | changed))
