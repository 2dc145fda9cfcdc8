"""Publishing: a channel sends each message to the master and to every mirror in the queue's record.

Source: `rabbit_amqqueue:deliver`, `rabbit_mirror_queue_master:publish`, `rabbit_mirror_queue_slave`. Because mirrors
get a copy straight from the channel, what was published while the master died is not lost with it. Each message is
numbered when it reaches the queue, or when it is certain that no queue takes it.

Messages published together reach all replicas at the same moment; what they cost in time is in when they are confirmed:
a link's latency each way, the transfer to the mirrors, and a disk write at each replica for persistent messages.
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine import confirms, runs
from hawb.engine.access import is_replicated, park
from hawb.engine.consuming import deliver
from hawb.engine.events import Publish
from hawb.engine.runs import EMPTY, Runs
from hawb.engine.state import Batch, Parked, Queue, Share
from hawb.engine.turn import Turn


def publish(turn: Turn, operation: Publish) -> None:
    """Messages reach their queues. Where a queue synchronises, or its master is gone and it is not yet settled who
    takes over, they wait: the master's mailbox and the mirrors have them."""
    if operation.count == 0:
        return
    queues = [turn.queues[name] for name in operation.queues if name in turn.queues]
    busy = next((queue for queue in queues if queue.sync is not None or not (queue.up or queue.abandoned)), None)
    if busy is not None:
        park(turn, busy, operation)
        return
    shares = tuple(route(turn, operation, name) for name in operation.queues)
    if operation.confirm and None not in shares:
        confirms.await_answers(turn, operation.node, shares, transaction=operation.transaction)
    for name in operation.queues:
        deliver(turn, name)


def route(turn: Turn, operation: Publish, name: str) -> Share | None:
    """One queue's part. None where nobody will ever answer the publisher."""
    numbers = number(turn, name, operation.count)
    if not turn.is_running(operation.node):
        return refuse(turn, name, numbers, "client_node_gone")
    if name == operation.struck:
        refuse(turn, name, numbers, "master_died")
        return Share(name, numbers, ())
    queue = turn.queues.get(name)
    if queue is None:
        refuse(turn, name, numbers, "no_queue")
        return Share(name, numbers, (), answered=True)
    if queue.up:
        return take(turn, operation, queue, numbers)
    if queue.failed:
        refuse(turn, name, numbers, "crashed")
        return Share(name, numbers, ())
    if not is_replicated(queue):
        refuse(turn, name, numbers, "home_node_down")
        return Share(name, numbers, (), answered=True)
    if queue.stopped:
        refuse(turn, name, numbers, "master_stopped")
        return Share(name, numbers, ())
    return refuse(turn, name, numbers, "no_master")


def strike(parked: Parked, name: str) -> Parked:
    """What waits for a queue whose master is gone for good: messages in its mailbox went with it. Their channels hear
    of the death, and nack them."""
    if not isinstance(parked.operation, Publish):
        return parked
    return replace(parked, operation=replace(parked.operation, struck=name))


def number(turn: Turn, name: str, count: int) -> Runs:
    """The next `count` numbers of the queue's name."""
    before = turn.numbers.get(name, 0)
    turn.numbers[name] = before + count
    turn.book(name, published=before + count)
    return runs.run(before + 1, count)


def refuse(turn: Turn, name: str, numbers: Runs, reason: str) -> None:
    """No queue takes the messages."""
    turn.book(name, refused=runs.union(turn.account(name).refused, numbers))
    turn.emit("messages_refused", queue=name, ids=numbers, reason=reason)


def take(turn: Turn, operation: Publish, queue: Queue, numbers: Runs) -> Share:
    """Every replica takes the messages. When the publisher can be told is known at once."""
    takers = [node for node in (queue.master, *queue.mirrors) if turn.alive(queue, node)]
    sent_bytes = (len(takers) - 1) * operation.count * operation.size_bytes
    turn.book(queue.name, bytes_replicated=turn.account(queue.name).bytes_replicated + sent_bytes)
    turn.change_queue(
        queue.name,
        contents=tuple(
            runs.union(content or EMPTY, numbers) if node in takers else content
            for node, content in enumerate(queue.contents)
        ),
        batches=(*queue.batches, Batch(numbers[0][0], numbers[-1][1], operation.size_bytes, operation.persistent)),
    )
    turn.emit(
        "messages_published", queue=queue.name, ids=numbers, replicas=turn.settings.named(takers),
        bytes_replicated=sent_bytes,
    )  # fmt: skip
    return Share(queue.name, numbers, tuple((node, answer_us(turn, operation, queue, node)) for node in takers))


def answer_us(turn: Turn, operation: Publish, queue: Queue, node: int) -> int:
    """When the publisher's channel has the answer of the replica at `node`."""
    timing = turn.settings.timing
    transfer_us = 0
    if node != queue.master:
        transfer_us = turn.link_us(queue.master, node)
        transfer_us += operation.count * operation.size_bytes * 1_000_000 // timing.network_bytes_per_s
    write_us = timing.fsync_us if operation.persistent and queue.durable else 0
    return turn.now_us + transfer_us + write_us + turn.link_us(node, operation.node)
