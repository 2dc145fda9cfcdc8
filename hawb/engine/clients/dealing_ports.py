"""The ports through which messages are dealt (`hawb.engine.clients.dealing`): a queue's circle of consumers.

Those of the highest priority are served as long as they have credit.

Source: `rabbit_queue_consumers:deliver`, `rabbit_fifo:checkout`.
"""

from __future__ import annotations

from collections.abc import Mapping

from hawb.engine.clients.single_active import is_single_active
from hawb.engine.core import runs
from hawb.engine.core.runs import Runs
from hawb.engine.core.state import QUORUM, Queue
from hawb.engine.core.turn import Turn
from hawb.engine.quorum import fifo
from hawb.engine.quorum.fifo import capacity, rank


class Hands:
    """The messages of a queue while they are dealt.

    `order` is the circle, `waiting` what is still to be dealt and `hands` what each consumer has got; both are in the
    order of delivery. `more_room` is the further credit of consumers that go on answering.
    """

    def __init__(self, turn: Turn, queue: Queue, waiting: Runs, more_room: Mapping[str, int]):
        self.queue, self.waiting, self.more_room = queue, waiting, more_room
        self.order = circle(turn, queue)
        self.hands: dict[str, list[tuple[int, int]]] = {}
        self.room: dict[str, int] = {}


def circle(turn: Turn, queue: Queue) -> list[str]:
    """Return the consumers of a queue in the order in which it serves them.

    Consumers of a higher priority come first. Of the same priority the one whose turn it is comes first.
    """
    served_ones = [queue.active_consumer] if is_single_active(queue) else queue.consumers
    taking = [one for one in served_ones if one is not None and not turn.consumers[one].blocked]
    return sorted((one for one in taking if fifo.is_served(queue, one)), key=lambda one: -rank(turn, queue, one))


def takers(_: Turn, h: Hands) -> int:
    """Return how many consumers are in the circle."""
    return len(h.order)


def next_taker(_: Turn, h: Hands) -> str:
    """Take the consumer whose turn it is out of the circle, and return it."""
    return h.order.pop(0)


def room_of(t: Turn, h: Hands, c: str) -> int:
    """Return how many more messages a consumer takes; UNLIMITED (-1) if any number."""
    if c not in h.room:
        left = capacity(t, t.consumers[c])
        h.room[c] = -1 if left is None else left + h.more_room.get(c, 0)
    return h.room[c]


def pass_over(t: Turn, _: Hands, c: str) -> None:
    """Note that a consumer without credit waits for some, outside the circle."""
    t.change_consumer(c, blocked=True)


def give(_: Turn, h: Hands, c: str, count: int) -> None:
    """Give a consumer the first messages that wait."""
    hand, h.waiting = runs.split(h.waiting, count)
    h.hands.setdefault(c, []).extend(hand)
    h.room[c] -= count if h.room[c] > 0 else 0


def leaves_with_last_credit(_: Turn, h: Hands) -> bool:
    """Return True if the queue takes a consumer out of the circle with the message that takes its last credit."""
    return h.queue.type == QUORUM


def put_last(t: Turn, h: Hands, c: str) -> None:
    """Put a consumer last into the circle, of those of its priority."""
    priority = rank(t, h.queue, c)
    h.order.insert(sum(rank(t, h.queue, other) >= priority for other in h.order), c)


PORTS = (
    "takers", "next_taker", "room_of", "pass_over", "give", "leaves_with_last_credit", "put_last",
)  # fmt: skip
"""The ports that engine and kernel both implement."""
