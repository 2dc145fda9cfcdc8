"""Limit the messages that a channel may send. `steady.credit_flow` has the rule for classic queues.

To a quorum queue that cannot commit a channel sends until quorum_commands_soft_limit commands are unanswered, and one
more (`rabbit_fifo_client:enqueue`), to a stream until 256 are (`rabbit_stream_queue:deliver`). Messages that its reader
would still pass on are left out.
"""

from __future__ import annotations

from hawb.engine.classic.mailbox import is_busy
from hawb.engine.clients.client_state import NEVER_US, Publisher
from hawb.engine.clients.steady.credit_flow import CREDIT, TO_MIRROR, UNHINDERED, credit_towards
from hawb.engine.clients.steady.publisher_ports import is_silent, unheard
from hawb.engine.cluster import alarms
from hawb.engine.core import runs
from hawb.engine.core.operations import Publish
from hawb.engine.core.state import NOWHERE, STREAM, Queue
from hawb.engine.core.turn import Turn
from hawb.rules.streams import SOFT_LIMIT

MIRROR_CREDIT = CREDIT // TO_MIRROR + CREDIT


def credit(turn: Turn, queue: Queue | None, publisher: Publisher) -> int:
    """Return how many more messages a publisher's channel may send to its queue; UNHINDERED if there is no limit.

    Under a resource alarm its connection is blocked with the next one.
    """
    if turn.alarms and alarms.blocks_publishing(turn, publisher.node):
        return 0
    if queue is None:
        return UNHINDERED
    if not queue.has_group:
        return credit_towards(turn, queue, publisher)
    most = SOFT_LIMIT if queue.type == STREAM else turn.settings.quorum_commands_soft_limit + 1
    return max(0, most - unheard(turn, publisher, NOWHERE)) if is_busy(turn, queue, publisher.node) else UNHINDERED


def batch_credit(turn: Turn, queue: Queue, operation: Publish) -> int | None:
    """Return how many more messages of a batch a client may send; None if no mirror is silent."""
    silent = silent_mirrors(turn, queue)
    if not silent or operation.publisher is not None:
        return None
    waiting = [one for one in turn.unconfirmed if one.node == operation.node and one.publisher is None]
    channel = [one for one in waiting if one.transaction == operation.transaction]
    shares = [share for one in channel for share in one.shares if share.queue == queue.name]
    counts = [sum(runs.size(one.numbers) for one in shares if (node, NEVER_US) in one.due_us) for node in silent]
    return max(0, MIRROR_CREDIT - max(counts))


def silent_mirrors(turn: Turn, queue: Queue) -> list[int]:
    """Return the mirrors of a queue that receive nothing although they are not known to be down."""
    return [node for node in queue.mirrors if is_silent(turn, queue, node)] if queue.up else []
