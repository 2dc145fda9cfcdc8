"""The state of a quorum queue's state machine, apart from its messages.

Source: `rabbit_fifo` (`#rabbit_fifo{}`, `#enqueuer{}`).
"""

from __future__ import annotations

from msgspec import Struct

from hawb.engine.core.runs import EMPTY, Runs


class Enqueuer(Struct, frozen=True):
    """A channel that publishes to a quorum queue.

    `blocked` is True if the queue has sent it reject_publish. `rejecting` is what the channel does from `from_us` on,
    when it has received that; before that it does the opposite.
    """

    channel: tuple
    blocked: bool = False
    rejecting: bool = False
    from_us: int = 0


class Fifo(Struct, frozen=True):
    """The state of a quorum queue's state machine, apart from its messages (`hawb.engine.quorum.fifo`).

    Runs of messages are in the order of delivery.
    """

    returns: Runs = EMPTY
    """Returned messages, which are delivered before all others."""
    moved: tuple[tuple[int, Runs], ...] = ()
    """Other messages that do not stand where their number says: (the number behind which they stand, messages)."""
    counts: tuple[tuple[int, Runs], ...] = ()
    """How often messages were returned: (count, messages)."""
    discards: tuple[tuple[str, Runs], ...] = ()
    """Dead letters by their reason. They stay until each of their targets has `confirmed` them."""
    confirmed: tuple[tuple[str, Runs], ...] = ()
    missing: tuple[tuple[str, Runs], ...] = ()
    """Messages sent to consumers, by name, that have not arrived because their sender is gone."""
    suspected: frozenset[str] = frozenset()
    """Consumers on nodes that the leader has lost the connection to."""
    quiescing: bool = False
    """True if the active consumer gets no more messages because one of a higher priority waits."""
    extra_credit: tuple[tuple[str, int], ...] = ()
    """How many more messages a consumer may hold than its prefetch."""
    enqueuers: tuple[Enqueuer, ...] = ()
    roomy: bool = True
    """True if the queue was below its soft limit after the last command."""
    levels: int = 1
    """The levels of message priority; in 4.0 two, priorities above 4 and the others."""
    dequeued: int = 0
    """How many messages, modulo 3, have left the queue since the lower level's last turn in 4.0."""
    used_us: int = 0
    """When the queue was last used."""
    led_from_us: int = 0
    """When the leader was elected."""
    delayed: tuple[tuple[int, Runs], ...] = ()
    """Returned messages whose retry is delayed: (due time, messages)."""
    ends: tuple[tuple[int, Runs], ...] = ()
    """Messages with consumers by the time until which these may acknowledge them. Other messages may stand among
    them."""
    timed_out: tuple[tuple[str, Runs], ...] = ()
    """Messages that consumers lost because they did not acknowledge them in time, and still have to acknowledge."""
