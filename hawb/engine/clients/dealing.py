"""Deal ready messages among the consumers of a queue.

Source: `rabbit_queue_consumers:deliver`, `rabbit_fifo:checkout`. Consumers with credit are served with one message each
in turn. A consumer without credit at its turn leaves the circle, and comes back as its last when it has credit again. A
quorum queue's consumer leaves the circle with the message that takes its last credit. Beyond DEALT_SINGLY messages at a
time they are dealt in equal lots, so that the cost does not grow with the depth.
"""

from __future__ import annotations

from hawb.engine.clients.dealing_ports import (
    Hands,
    give,
    leaves_with_last_credit,
    next_taker,
    pass_over,
    put_last,
    room_of,
    takers,
)
from hawb.engine.core.turn import Turn

SHARED = True  # the kernel of studies compiles this module

DEALT_SINGLY = 10_000
DEALT_OF_A_FLOW = 100
"""The same for clients with a rate (`flows`)."""
UNLIMITED = -1
"""In place of a number of messages: the consumer takes any number."""


def deal(t: Turn, h: Hands, count: int, flowing: bool) -> None:
    """Deal `count` messages among the consumers in the circle, as far as they have credit."""
    most = DEALT_OF_A_FLOW if flowing else DEALT_SINGLY
    lot = 1 + count // most if takers(t, h) > 1 else count
    while count and takers(t, h):
        c = next_taker(t, h)
        room = room_of(t, h, c)
        if room == 0:
            pass_over(t, h, c)
            continue
        dealt = min(lot, count) if room == UNLIMITED else min(lot, count, room)
        give(t, h, c, dealt)
        count -= dealt
        if dealt == room and leaves_with_last_credit(t, h):
            pass_over(t, h, c)
        else:
            put_last(t, h, c)
