"""Flow control: how many messages a channel may send to replicas that do not answer.

Source: `credit_flow` ({400, 200} by default), `rabbit_classic_queue:deliver`, `rabbit_reader`. A channel begins with
credit for 400 messages towards each process that it sends to, and gets 200 more whenever 200 have been dealt with. A
message costs one towards the master and two towards each mirror, which gets it from the channel and from the master. So
a replica that does not read what it is sent holds the channel up: a master, as one that synchronises, after 400
messages at most, a mirror after 200. The connection's reader has such credit towards the channel, which still passes on
what comes of it, before it stops reading. How much is left when a replica falls silent follows from how many messages
there were before: a 3.10.8 cluster took 550 messages after 450 and after 1,050, and 400 after 399. Replicas that read
answer at once here: their credit never runs out.

Towards a quorum queue that cannot commit a channel goes on until quorum_commands_soft_limit commands are unanswered,
and sends one more (`rabbit_fifo_client:enqueue`); what its reader would still pass on is left out.
"""

from __future__ import annotations

from hawb.engine import alarms, runs
from hawb.engine.access import is_busy
from hawb.engine.clients import NEVER_US, Publisher
from hawb.engine.operations import Publish
from hawb.engine.state import NOWHERE, QUORUM, Queue
from hawb.engine.turn import Turn

CREDIT, MORE = 400, 200
"""What a process may send at first, and what it is granted whenever so much has been dealt with."""
TO_MASTER, TO_MIRROR = 1, 2
"""What a message costs."""
MIRROR_CREDIT = CREDIT // TO_MIRROR + CREDIT


def credit(turn: Turn, publisher: Publisher) -> int | None:
    """How many messages more a publisher's channel may send; None where nothing holds it up. Under a resource alarm its
    connection is blocked with the next one."""
    if turn.alarms and alarms.blocks_publishing(turn, publisher.node):
        return 0
    queue = turn.queues.get(publisher.queue)
    if queue is None:
        return None
    if queue.type == QUORUM:
        most = turn.settings.quorum_commands_soft_limit + 1
        return max(0, most - unheard(turn, publisher, NOWHERE)) if is_busy(turn, queue, publisher.node) else None
    if is_busy(turn, queue, publisher.node):
        return left(publisher.beats, in_mailbox(queue, publisher.name), TO_MASTER)
    silent = silent_mirrors(turn, queue)
    return min((left(publisher.beats, unheard(turn, publisher, node), TO_MIRROR) for node in silent), default=None)


def left(sent: int, unread: int, cost: int) -> int:
    """How many messages more a channel that has `sent` so many and its connection's reader pass on towards a replica
    that has not read the last `unread` of them."""
    before = sent - unread
    last = before + (CREDIT - before * cost % MORE) // cost  # with this message the channel is blocked
    return max(0, last + CREDIT - last % MORE - sent)


def batch_credit(turn: Turn, queue: Queue, operation: Publish) -> int | None:
    """How many messages more of a batch a client may send; None where no mirror is silent."""
    silent = silent_mirrors(turn, queue)
    if not silent or operation.publisher is not None:
        return None
    waiting = [one for one in turn.unconfirmed if one.node == operation.node and one.publisher is None]
    channel = [one for one in waiting if one.transaction == operation.transaction]
    shares = [share for one in channel for share in one.shares if share.queue == queue.name]
    counts = [sum(runs.size(one.numbers) for one in shares if (node, NEVER_US) in one.due_us) for node in silent]
    return max(0, MIRROR_CREDIT - max(counts))


def silent_mirrors(turn: Turn, queue: Queue) -> list[int]:
    """The mirrors of a queue that nothing reaches, though their deaths are not known."""
    if not queue.up:
        return []
    return [node for node in queue.mirrors if not turn.follows(queue, node) and not queue.crashed >> node & 1]


def unheard(turn: Turn, publisher: Publisher, node: int) -> int:
    """For how many of a publisher's messages a replica will not answer."""
    flowing = sum(run.count for run in publisher.unanswered if (node, NEVER_US) in run.delays_us)
    shares = (share for waiting in turn.unconfirmed if waiting.publisher == publisher.name for share in waiting.shares)
    return flowing + sum(runs.size(share.numbers) for share in shares if (node, NEVER_US) in share.due_us)


def in_mailbox(queue: Queue, publisher: str) -> int:
    """How many of a publisher's messages a queue has not read."""
    operations = (parked.operation for parked in queue.parked)
    return sum(one.count for one in operations if isinstance(one, Publish) and one.publisher == publisher)
