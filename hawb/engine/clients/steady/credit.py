"""Flow control: how many messages a channel may send to replicas that do not answer.

Source: `credit_flow` ({400, 200} by default), `rabbit_classic_queue:deliver`, `rabbit_reader`. A channel begins with
credit for 400 messages towards each process that it sends to, and gets 200 more whenever 200 have been dealt with. A
message costs one towards the master and two towards each mirror, which gets it from the channel and from the master. So
a replica that does not read what it is sent holds the channel up: a master, as one that synchronises, after 400
messages at most, a mirror after 200. The connection's reader has such credit towards the channel, which still passes on
what comes of it, before it stops reading. How much is left when a replica falls silent follows from how many messages
there were before: a 3.10.8 cluster took 550 messages after 450 and after 1,050, and 400 after 399. Replicas that read
answer at once here: their credit never runs out.
"""

from __future__ import annotations

from hawb.engine.classic.mailbox import is_busy
from hawb.engine.classic.record_ports import mirrors
from hawb.engine.clients.steady.publisher_ports import in_mailbox, is_silent, unheard

SHARED = True  # the kernel of studies compiles this module

CREDIT, MORE = 400, 200
"""What a process may send at first, and what it is granted whenever so much has been dealt with."""
TO_MASTER, TO_MIRROR = 1, 2
"""What a message costs."""
UNHINDERED = -1
"""In place of a number of messages: nothing holds the channel up."""


def credit_towards(t, q, p):
    """How many messages more a publisher's channel may send to a classic queue; UNHINDERED where nothing holds it
    up."""
    if is_busy(t, q, p.node):
        return left(p.beats, in_mailbox(t, q, p), TO_MASTER)
    least = UNHINDERED
    if q.up:
        for node in mirrors(t, q):
            if is_silent(t, q, node):
                free = left(p.beats, unheard(t, p, node), TO_MIRROR)
                least = free if least == UNHINDERED else min(least, free)
    return least


def left(sent, unread, cost):
    """How many messages more a channel that has `sent` so many and its connection's reader pass on towards a replica
    that has not read the last `unread` of them."""
    before = sent - unread
    last = before + (CREDIT - before * cost % MORE) // cost  # with this message the channel is blocked
    return max(0, last + CREDIT - last % MORE - sent)
