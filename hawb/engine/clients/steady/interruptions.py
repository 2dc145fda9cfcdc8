"""Interruptions as clients see them: messages that are not confirmed, or not delivered, within a deadline.

A client is interrupted while a message that it offers, or could be sent, would have to wait until a failure is noticed,
repaired or over. Of an interruption that lasts longer than the deadline all messages are late but those of its last
moments, which are as long as the deadline. So what counts is the interruption's length less the deadline. The same
holds for every type of queue.
"""

from __future__ import annotations

from hawb.engine.clients.answering import answers
from hawb.engine.clients.client_state import NEVER_US, Consumer, Publisher
from hawb.engine.clients.steady.publisher_ports import queue_of
from hawb.engine.clients.steady.serving import sends_to
from hawb.engine.cluster.node_ports import focus_on, focused, look_from, runs_anywhere
from hawb.engine.core.turn import Turn

SHARED = True  # the kernel of studies compiles this module

NOT_YET = -1
"""The beginning of an interruption of a client that was never served: what comes before it is first served does not
count."""


def is_confirmed(t: Turn, p: Publisher) -> bool:
    """Return True if a message that a publisher offers now is confirmed without waiting for a failure to end."""
    if p.closed or p.blocked or not runs_anywhere(t, p.node):
        return False
    side = focused(t)
    look_from(t, p.node)
    q = queue_of(t, p)
    confirmed = q is not None and answers(t, q, p)
    focus_on(t, side)
    return confirmed


def is_delivered(t: Turn, c: Consumer) -> bool:
    """Return True if a message that is ready in the queue now is delivered to a consumer at once."""
    side, delivered = focused(t), False
    if runs_anywhere(t, c.node):
        look_from(t, c.node)
        delivered = sends_to(t, queue_of(t, c), c)
        focus_on(t, side)
    return delivered


def since_us(before_us: int, is_served: bool, now_us: int) -> int:
    """Return when the present interruption began; NEVER_US without one.

    `before_us` is the answer of the last look.
    """
    if is_served:
        return NEVER_US
    return now_us if before_us == NEVER_US else before_us


def late_us(begun_us: int, now_us: int, deadline_us: int) -> int:
    """Return the time in an interruption, up to now, whose messages are late; 0 without an interruption."""
    return max(0, now_us - begun_us - deadline_us) if 0 <= begun_us <= now_us else 0


PORTS = ("answers",)
"""The port that engine and kernel both implement, beside those of publishers and consumers."""
