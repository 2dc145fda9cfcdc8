"""Decide whether a queue serves clients with a rate now: confirms a publisher's messages, delivers to a consumer."""

from __future__ import annotations

from hawb.engine.classic.mailbox import is_busy
from hawb.engine.classic.record_ports import mirrors
from hawb.engine.clients.client_state import Consumer, Publisher
from hawb.engine.clients.steady.consumer_ports import is_heard, is_subscribed
from hawb.engine.clients.steady.publisher_ports import awaits_confirms, is_silent
from hawb.engine.cluster.node_ports import linked
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn

SHARED = True  # the kernel of studies compiles this module


def answers_for(t: Turn, q: Queue, p: Publisher) -> bool:
    """Return True if a classic queue confirms a message that it gets now as soon as its replicas have it.

    While a mirror is gone and not known to be down, the channel waits for that mirror's answer (`rabbit_channel`).
    """
    if not q.up or is_busy(t, q, p.node):
        return False
    if awaits_confirms(t, p):
        for node in mirrors(t, q):
            if is_silent(t, q, node):
                return False
    return True


def sends_to(t: Turn, q: Queue | None, c: Consumer) -> bool:
    """Return True if a queue sends its messages to a consumer, and they reach the consumer's node."""
    if q is None or not q.up or q.syncing or not is_heard(t, c) or not is_subscribed(t, q, c):
        return False
    return linked(t, q.master, c.node)
