"""Clients with a rate are fluid: what they publish and acknowledge between two events is applied at once.

Between two events nothing of the cluster changes, so a flow in that time has a closed form: the number of a client's
ticks is the number of messages it published or may answer for. So the engine has events only where something changes,
and their number does not depend on any rate. The result is as if each message had been published and answered for by
itself, with these exceptions:

- Of several publishers to one queue, what one has published since the last event is numbered before what the next has.
- Of several consumers of one queue that are served at the same time, what each gets of a flow is dealt in lots, and
  each answers at its every tick as long as it has a message. A consumer that is alone finds nothing at ticks at which
  nothing was there, exactly.
- Where a queue is too long or its messages expire, consumers get the oldest of what came since the last event and the
  rest is dropped. The number of dropped messages is exact; which ones, only where no client consumes.
- What flows to a consumer arrives at once; only batches are ever under way.

A rated consumer answers at each tick for the oldest message that the queue takes it to hold, first of all for messages
of a master that is gone: for each message once, in the order of their numbers, and every master takes the answer to be
for the same message (for other consumers `hawb.engine.clients.settling` is more precise). Its answer takes a link's
latency. With automatic acknowledgement it takes a message at each tick, and holds none. While the queue does not read
its mailbox, messages and answers wait there.
"""

from __future__ import annotations

from collections.abc import Iterable

from hawb.engine.classic.mailbox import is_busy
from hawb.engine.clients import consuming, publishing, settling
from hawb.engine.clients.client_state import Consumer, rated
from hawb.engine.clients.steady import steady_confirms
from hawb.engine.clients.steady.arrivals import wait_in_mailbox
from hawb.engine.clients.steady.changes import room_made, ticks_heard, useful_ticks
from hawb.engine.clients.steady.consumer_ports import is_heard
from hawb.engine.clients.steady.publishing import leave
from hawb.engine.core import runs
from hawb.engine.core.operations import Settle
from hawb.engine.core.runs import Runs
from hawb.engine.core.state import State, WaitingOperation
from hawb.engine.core.turn import Turn
from hawb.engine.queues import expiry
from hawb.engine.quorum import requests
from hawb.engine.raft_groups.group import Proposal


def flow(turn: Turn, until_us: int) -> None:
    """Apply what clients with a rate publish and acknowledge until `until_us`, and set the time to it."""
    turn.now_us = max(turn.now_us, until_us)
    if not has_flows(turn):
        return
    turn.flowing, turn.because = True, None
    for _side in turn.each_side():
        for name in queues_with_flows(turn):
            flow_through(turn, name)
        hear_here(turn)
    turn.flowing = False


def hear(turn: Turn) -> None:
    """Deliver the due confirms to publishers. Without network delay these include those of the last flow."""
    turn.flowing, turn.because = True, None
    for _side in turn.each_side():
        hear_here(turn)
    turn.flowing = False


def hear_here(turn: Turn) -> None:
    """Do the same as `hear`, for the current side."""
    for publisher in list(turn.publishers.values()):
        if publisher.unanswered and turn.is_here(publisher.node):
            steady_confirms.due(turn, publisher.name)


def has_flows(clients: Turn | State) -> bool:
    """Return True if any publisher or consumer has a rate."""
    if not clients.consumers:  # a search asks so often that a generator counts
        return bool(clients.publishers)
    return bool(clients.publishers or rated(clients.consumers))


def queues_with_flows(turn: Turn) -> list[str]:
    """Return the names of the queues that clients with a rate use on the current side, even if a queue does not exist.

    Include queues of closed publishers, whose messages may still expire.
    """
    names = {one.queue for one in turn.publishers.values()}
    open_ones = (one for one in rated(turn.consumers) if one.state != "closed")
    return sorted(names | {one.queue for one in open_ones if turn.is_here(one.node)})


def flow_through(turn: Turn, name: str) -> None:
    """Apply what clients with a rate have published to one queue, and acknowledged there, since the last call."""
    queue = turn.queues.get(name)
    consumers = [one for one in turn.consumers_of(name) if one.clock is not None and is_heard(turn, one)]
    ticks = {one.name: ticks_heard(turn, queue, one) for one in consumers}
    useful = {one.name: useful_ticks(turn, queue, one, ticks[one.name]) for one in consumers}
    room = {
        one.name: useful[one.name] if one.global_prefetch else room_made(turn, queue, one, useful[one.name])
        for one in consumers
    }
    more_room = sum(room.values())
    sending = [one for one in turn.publishers.values() if one.queue == name and not one.closed]
    arrived = sum([leave(turn, queue, one, more_room) for one in sending])
    for consumer, count in ticks.items():
        if count:
            turn.change_consumer(consumer, ticks=turn.consumers[consumer].ticks + count)
    if queue is not None and any(is_busy(turn, queue, turn.consumers[one].node) for one in ticks):
        for consumer in ticks:
            answer_later(turn, queue.name, consumer, useful[consumer])
    elif arrived or any(useful.values()):
        serve(turn, name, publishing.latest(turn, name, arrived), room, useful)
    else:
        expiry.drop_expired(turn, name)


def serve(turn: Turn, name: str, new: Runs, room: dict[str, int], ticks: dict[str, int]) -> None:
    """Deliver new messages to consumers as far as they have credit, and apply their acknowledgements.

    The credit includes what these acknowledgements free.
    """
    for consumer in room:
        consuming.come_back(turn, consumer, room[consumer])
    publishing.settle_down(turn, name, new, room)
    for consumer, count in ticks.items():
        answer(turn, turn.consumers[consumer], count)


def answer(turn: Turn, consumer: Consumer, ticks: int) -> None:
    """Let a consumer acknowledge as many of its oldest messages as it has had ticks."""
    if not ticks or not (consumer.stale or consumer.in_sequence):
        return
    if requests.is_decided(turn, consumer.queue):
        requests.settle_flowing(turn, consumer, ticks)
    settling.settle(turn, answers_of(consumer, ticks))


def answers_of(consumer: Consumer, count: int) -> Settle:
    """Return the operation by which a consumer acknowledges its `count` oldest messages."""
    return Settle(consumer.queue, consumer.node, consumer=consumer.name, count=count, verdict="ack")


def answer_later(turn: Turn, name: str, consumer_name: str, ticks: int) -> None:
    """Let acknowledgements wait for a queue that reads none now, at most as many as the consumer has messages.

    They wait in the mailbox, or for a quorum queue at the client, which sends them again. Drop acknowledgements for
    deliveries of an earlier master, unless the messages were delivered again and the release accepts late answers.
    """
    consumer = turn.consumers[consumer_name]
    counts = turn.settings.profile.late_answers_count and runs.common(consumer.stale, consumer.held)
    unheard = 0 if counts else min(ticks, runs.size(consumer.stale))
    answer(turn, consumer, unheard)
    queue, consumer = turn.queues[name], turn.consumers[consumer_name]
    decided = requests.is_decided(turn, name)
    has = runs.size(consumer.in_sequence) + (runs.size(consumer.stale) if counts else 0)
    waiting = turn.groups[name].waiting if decided else queue.waiting
    count = min(ticks - unheard, unanswered(waiting, consumer_name, has))
    if count > 0 and decided:
        requests.put(turn, name, answers_of(consumer, count), consumer.node)
    elif count > 0:
        wait_in_mailbox(turn, queue, answers_of(consumer, count))


def unanswered(waiting: Iterable[Proposal | WaitingOperation], consumer: str, has: int) -> int:
    """Return how many of a consumer's `has` messages no waiting acknowledgement is for."""
    left = has
    for one in waiting if left > 0 else ():
        operation = one.operation
        if isinstance(operation, Settle) and operation.consumer == consumer:
            left = 0 if operation.count is None else left - operation.count
            if left <= 0:  # far more operations may wait
                return 0
    return left
