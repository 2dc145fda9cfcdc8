"""Decide whether a queue confirms messages at once; the rule for classic queues is in `steady.serving`."""

from __future__ import annotations

from hawb.engine.classic.mailbox import is_busy
from hawb.engine.clients.client_state import Publisher
from hawb.engine.clients.steady.publisher_ports import awaits_confirms, unheard
from hawb.engine.clients.steady.serving import answers_for
from hawb.engine.core.state import NOWHERE, Queue
from hawb.engine.core.turn import Turn


def answers(turn: Turn, queue: Queue, publisher: Publisher) -> bool:
    """Return True if a queue confirms a message that it gets now as soon as its replicas have it.

    A quorum queue does so if it can commit and has decided all earlier messages of the publisher's channel.
    """
    if not queue.has_group:
        return answers_for(turn, queue, publisher)
    if not queue.up or is_busy(turn, queue, publisher.node):
        return False
    return not awaits_confirms(turn, publisher) or unheard(turn, publisher, NOWHERE) == 0
