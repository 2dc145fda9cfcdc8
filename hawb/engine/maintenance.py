"""Masters that are moved on purpose: transfer of leadership and rebalancing.

Source: `rabbit_mirror_queue_misc:transfer_leadership`, `rabbit_amqqueue:rebalance`. A transfer makes sure of a mirror
at its destination and then drops all other replicas, the master among them, whether that mirror is synchronised or not:
what it did not hold is lost (rabbitmq-server issue 2749). Afterwards policy brings mirrors back, empty. What moves, and
where to, is decided in `hawb.rules.rebalancing`.
"""

from __future__ import annotations

from hawb.engine import mirroring, runs
from hawb.engine.access import is_replicated
from hawb.engine.events import PolicyTakesEffect, Rebalance, TransferLeadership
from hawb.engine.state import Queue
from hawb.engine.turn import Turn
from hawb.rules import rebalancing


def transfer_leadership(turn: Turn, event: TransferLeadership) -> None:
    """A queue's master moves to another node. A queue that synchronises moves afterwards."""
    queue = turn.queues.get(event.queue)
    if queue is None or not queue.up or not is_replicated(queue) or not turn.is_running(event.node):
        return
    if queue.sync is not None:
        turn.schedule(queue.sync.ends_us - turn.now_us, event)
        return
    turn.because = turn.emit(
        "leadership_transferred", node=event.node, queue=queue.name, was=turn.settings.names[queue.master]
    )
    if event.node not in queue.replicas:
        mirroring.enlist(turn, queue.name, event.node)
        mirroring.synchronise_drained(turn, queue.name, "joined")
    others = [node for node in turn.queues[queue.name].mirrors if node != event.node]
    mirroring.drop_mirrors(turn, queue.name, others, "transfer")
    if queue.master == event.node:
        turn.schedule(0, PolicyTakesEffect(queue.name))
    else:
        mirroring.drop_master(turn, queue.name, "transfer")


def rebalance(turn: Turn, _event: Rebalance) -> None:
    """`rabbitmq-queues rebalance all`: one queue after the other moves from the nodes that have too many masters."""
    queues = [queue for name in turn.queue_names() if is_replicated(queue := turn.queues[name]) and queue.up]
    masters = [queue.master for queue in queues]
    lengths = [runs.size(queue.content) for queue in queues]
    tried = [0] * len(queues)
    running = turn.running()
    most = rebalancing.most_masters(len(queues), len(running))
    turn.because = turn.emit("rebalance_started", most=most)
    while (moving := rebalancing.next_to_move(masters, lengths, tried, most, running)) != rebalancing.NOTHING:
        tried[moving] = 1
        to = rebalancing.destination(candidates(turn, queues[moving]), masters)
        if to != rebalancing.NOTHING:
            masters[moving] = to
            turn.schedule(0, TransferLeadership(queues[moving].name, to))


def candidates(turn: Turn, queue: Queue) -> list[int]:
    """The other nodes that policy wants a replica on."""
    return [node for node in mirroring.wanted(turn, queue, turn.running()) if node != queue.master]
