"""Flow control: how many messages a channel may send to replicas that do not answer.

Source: `credit_flow` ({400, 200} by default), `rabbit_amqqueue:deliver`, `rabbit_reader`. A channel begins with credit
for 400 messages towards each process that it sends to, and gets more as they are dealt with. A message costs one
towards the master and two towards each mirror, which gets it from the channel and from the master. So a replica that
does not read what it is sent holds the channel up: a master, as one that synchronises, after 400 messages, a mirror
after 200. Replicas that read answer at once here: their credit never runs out.
"""

from __future__ import annotations

from hawb.engine import alarms, runs
from hawb.engine.access import is_busy
from hawb.engine.events import Publish
from hawb.engine.state import NEVER_US, Publisher, Queue
from hawb.engine.turn import Turn

MASTER_CREDIT = 400
MIRROR_CREDIT = 200


def credit(turn: Turn, publisher: Publisher) -> int | None:
    """How many messages more a publisher's channel may send; None where nothing holds it up. Under a resource alarm its
    connection is blocked with the next one."""
    if alarms.blocks_publishing(turn, publisher.node):
        return 0
    queue = turn.queues.get(publisher.queue)
    if queue is None:
        return None
    if is_busy(turn, queue, publisher.node):
        return max(0, MASTER_CREDIT - in_mailbox(queue, publisher.name))
    left = [MIRROR_CREDIT - unheard(turn, publisher, node) for node in silent_mirrors(turn, queue)]
    return max(0, min(left)) if left else None


def silent_mirrors(turn: Turn, queue: Queue) -> list[int]:
    """The mirrors of a queue that nothing reaches, though their deaths are not known."""
    if not queue.up:
        return []
    return [node for node in queue.mirrors if not turn.follows(queue, node) and node not in queue.crashed]


def unheard(turn: Turn, publisher: Publisher, node: int) -> int:
    """For how many of a publisher's messages a replica will not answer."""
    flowing = sum(run.count for run in publisher.unanswered if (node, NEVER_US) in run.delays_us)
    shares = (share for waiting in turn.unconfirmed if waiting.publisher == publisher.name for share in waiting.shares)
    return flowing + sum(runs.size(share.numbers) for share in shares if (node, NEVER_US) in share.due_us)


def in_mailbox(queue: Queue, publisher: str) -> int:
    """How many of a publisher's messages a queue has not read."""
    operations = (parked.operation for parked in queue.parked)
    return sum(one.count for one in operations if isinstance(one, Publish) and one.publisher == publisher)
