"""What a quorum queue's state machine is made of, beside its messages.

Source: `rabbit_fifo` (`#rabbit_fifo{}`, `#enqueuer{}`).
"""

from __future__ import annotations

from msgspec import Struct

from hawb.engine.core.runs import EMPTY, Runs


class Enqueuer(Struct, frozen=True):
    """A channel that publishes to a quorum queue. `blocked` is whether the queue has told it to reject what is
    published, and `rejecting` whether it does so from `from_us` on, when it hears that; before that it does the
    opposite."""

    channel: tuple
    blocked: bool = False
    rejecting: bool = False
    from_us: int = 0


class Fifo(Struct, frozen=True):
    """What a quorum queue's state machine keeps beside its messages (`hawb.engine.quorum.fifo`). Messages are in the
    order in which they are served.

    `returns` are messages that were given back, served before all others. `moved` are others that do not stand where
    their number says: behind which number, and which. `counts` says how often messages were given back. `discards` are
    dead letters, by their reason, that stay until each of their targets has `confirmed` them. `missing` are messages
    sent to consumers, by their names, that have not arrived because their sender is gone. `suspected` are consumers
    whose nodes are out of reach, `quiescing` whether the active consumer gets no more because a more urgent one waits,
    and `extra_credit` how many more messages a consumer may hold than its prefetch says. `roomy` is whether the queue
    was below its soft limit after the last command. `levels` is how many levels of priority messages have: in
    4.0 two, the others being those of a priority above 4, and `dequeued` how many messages, modulo 3, have left the
    queue since it last was the others' turn. `used_us` is when the queue was last used and `led_from_us` when its
    leader was elected. `delayed` are messages that were given back by the time until which they wait, `ends`
    those with consumers by the time until which these may answer, others perhaps among them, and `timed_out` those that
    consumers have lost because they did not and are still to answer for.
    """

    returns: Runs = EMPTY
    moved: tuple[tuple[int, Runs], ...] = ()
    counts: tuple[tuple[int, Runs], ...] = ()
    discards: tuple[tuple[str, Runs], ...] = ()
    confirmed: tuple[tuple[str, Runs], ...] = ()
    missing: tuple[tuple[str, Runs], ...] = ()
    suspected: frozenset[str] = frozenset()
    quiescing: bool = False
    extra_credit: tuple[tuple[str, int], ...] = ()
    enqueuers: tuple[Enqueuer, ...] = ()
    roomy: bool = True
    levels: int = 1
    dequeued: int = 0
    used_us: int = 0
    led_from_us: int = 0
    delayed: tuple[tuple[int, Runs], ...] = ()
    ends: tuple[tuple[int, Runs], ...] = ()
    timed_out: tuple[tuple[str, Runs], ...] = ()
