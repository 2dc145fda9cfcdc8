"""Flow control: how many messages a channel may send to replicas that do not answer.

Source: `credit_flow` ({400, 200} by default), `rabbit_classic_queue:deliver`, `rabbit_reader`. A channel begins with
credit for 400 messages towards each process that it sends to, and gets 200 more whenever 200 have been processed. A
message costs one towards the master and two towards each mirror, which gets it from the channel and from the master. So
a replica that does not read blocks the channel: a master, such as one that synchronises, after 400 messages at most, a
mirror after 200. The connection's reader has such credit towards the channel, which still passes on those messages,
before it stops reading. How much is left when a replica falls silent depends on how many messages there were before: a
3.10.8 cluster took 550 messages after 450 and after 1,050, and 400 after 399. Replicas that read answer at once in
hawb: their credit never runs out.
"""

from __future__ import annotations

from hawb.engine.classic.mailbox import is_busy
from hawb.engine.classic.record_ports import mirrors
from hawb.engine.clients.client_state import Publisher
from hawb.engine.clients.steady.publisher_ports import in_mailbox, is_silent, unheard
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn

SHARED = True  # the kernel of studies compiles this module

CREDIT, MORE = 400, 200
"""The credit of a process at first, and what it is granted whenever as many messages have been processed."""
TO_MASTER, TO_MIRROR = 1, 2
"""The cost of a message."""
UNHINDERED = -1
"""In place of a number of messages: the channel is not limited."""


def credit_towards(t: Turn, q: Queue, p: Publisher) -> int:
    """Return how many more messages a publisher's channel may send to a classic queue.

    UNHINDERED if there is no limit.
    """
    if is_busy(t, q, p.node):
        return left(p.ticks, in_mailbox(t, q, p), TO_MASTER)
    least = UNHINDERED
    if q.up:
        for node in mirrors(t, q):
            if is_silent(t, q, node):
                free = left(p.ticks, unheard(t, p, node), TO_MIRROR)
                least = free if least == UNHINDERED else min(least, free)
    return least


def left(sent: int, unread: int, cost: int) -> int:
    """Return how many more messages a channel and its connection's reader pass on towards a replica.

    The channel has `sent` so many, and the replica has not read the last `unread` of them. Each costs `cost`.
    """
    before = sent - unread
    last = before + (CREDIT - before * cost % MORE) // cost  # with this message the channel is blocked
    return max(0, last + CREDIT - last % MORE - sent)
