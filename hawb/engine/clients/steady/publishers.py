"""The start of a steady publisher. `steady.publishing` has what it does then, `steady_confirms` its confirms."""

from __future__ import annotations

from fractions import Fraction

from hawb.engine.clients.client_state import Clock, Publisher
from hawb.engine.core.turn import Turn


def clock_from(turn: Turn, rate: float | Fraction) -> Clock:
    """Return a clock that starts now with `rate` ticks a second; a rate of 0.1 is exactly a tenth."""
    return Clock(turn.now_us, *(Fraction(str(rate)) / 1_000_000).as_integer_ratio())


def start(turn: Turn, publisher: Publisher) -> None:
    """Start a publisher. Under the name of a closed publisher it continues that one's counts."""
    known = turn.publishers.get(publisher.name)
    if known is not None and not known.closed:
        turn.refuse(None, f"there is a publisher '{publisher.name}' already")
        return
    turn.publishers[publisher.name] = publisher
    if known is not None:
        publisher.published, publisher.confirmed = known.published, known.confirmed
        publisher.blocked_us = known.blocked_us
    turn.emit("publisher_started", node=publisher.node, queue=publisher.queue, publisher=publisher.name)
