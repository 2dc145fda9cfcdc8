"""Clients with a rate are fluid: what they publish and acknowledge between two events is taken in at once.

Between two events nothing of the cluster changes, so what flows in that time has a closed form: how many beats a client
had says how many messages it published or may answer for. So the engine has events only where something changes, and
their number does not depend on any rate. What comes out is as if each message had been published and answered for by
itself, but for these:

- Of several publishers to one queue, what one has published since the last event is numbered before what the next has.
- Of several consumers of one queue that are served at the same time, what each gets of a flow is dealt in lots, and
  each answers at its every beat as long as it has something. A consumer that is alone finds nothing at beats at which
  nothing was there, exactly.
- Where a queue is too long or its messages expire, consumers get the oldest of what came since the last event and the
  others go. How many go is right, which ones only where nobody consumes.
- What flows to a consumer is with it at once; only batches are ever on the way.

A rated consumer answers at each beat for the oldest message that the queue takes it to hold, first of all for what a
master that is gone had sent: for each message once, in the order of their numbers, and every master takes it for the
same message (of other consumers `hawb.engine.settling` knows better). Its answer takes a link's latency. With automatic
acknowledgement it takes a message at each beat, and holds none. Where the queue does not read its mailbox, messages and
answers wait there.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil

from msgspec.structs import replace

from hawb.engine import (
    connections,
    consuming,
    expiry,
    flow_control,
    publishers,
    publishing,
    quorum_requests,
    runs,
    settling,
    steady_confirms,
)
from hawb.engine.access import is_busy, park
from hawb.engine.clients import NEVER_US, Consumer, Publisher, Share, Unanswered
from hawb.engine.consuming import ready
from hawb.engine.operations import Publish, Settle
from hawb.engine.runs import EMPTY, Runs
from hawb.engine.state import QUORUM, Queue, State
from hawb.engine.turn import Turn


def flow(turn: Turn, until_us: int) -> None:
    """Takes in what flows until then, and time stands there."""
    turn.now_us = max(turn.now_us, until_us)
    if not has_flows(turn):
        return
    turn.flowing, turn.because = True, None
    for _side in turn.each_side():
        for name in queues_with_flows(turn):
            flow_through(turn, name)
        for publisher in list(turn.publishers.values()):
            if publisher.unanswered and turn.is_here(publisher.node):
                steady_confirms.due(turn, publisher.name)
    turn.flowing = False


def has_flows(clients: Turn | State) -> bool:
    """Whether any client has a rate."""
    if not clients.consumers:  # a search asks so often that a generator counts
        return bool(clients.publishers)
    return bool(clients.publishers) or any(consumer.clock is not None for consumer in clients.consumers.values())


def queues_with_flows(turn: Turn) -> list[str]:
    """The queues of the side in focus, there or not, from or to which something flows. What a publisher that is closed
    has sent may still expire."""
    names = {one.queue for one in turn.publishers.values()}
    rated = (one for one in turn.consumers.values() if one.clock is not None and one.state != "closed")
    return sorted(names | {one.queue for one in rated if turn.is_here(one.node)})


def flow_through(turn: Turn, name: str) -> None:
    """What flowed to and from one queue since the last time."""
    queue = turn.queues.get(name)
    beats = {one.name: beats_of(turn, queue, one) for one in rated_consumers(turn, name)}
    useful = {one: useful_beats(turn, queue, turn.consumers[one], count) for one, count in beats.items()}
    late = turn.settings.profile.late_answers_count
    room = {one: room_made(turn.consumers[one], count, late_answers_count=late) for one, count in useful.items()}
    arrived = sum(leave(turn, publisher, sum(room.values())) for publisher in publishers_of(turn, name))
    for consumer, count in beats.items():
        turn.change_consumer(consumer, beats=turn.consumers[consumer].beats + count)
    if queue is not None and any(is_busy(turn, queue, turn.consumers[one].node) for one in beats):
        for consumer in beats:
            answer_later(turn, queue.name, consumer, useful[consumer])
    elif arrived or any(useful.values()):
        serve(turn, name, publishing.latest(turn, name, arrived), room, useful)
    else:
        expiry.drop_expired(turn, name)


# Publishers


def publishers_of(turn: Turn, name: str) -> list[Publisher]:
    """The publishers to a queue that are connected to the side in focus and publish, in the order in which they
    began."""
    return [
        one
        for one in turn.publishers.values()
        if one.queue == name and not one.closed and one.blocked_since_us is None and turn.is_running(one.node)
    ]


def leave(turn: Turn, publisher: Publisher, more_room: int) -> int:
    """What a publisher may send reaches its queue, where consumers make `more_room` meanwhile; with the first message
    that it may not, it is blocked. Returns how many came."""
    count, credit = coming(turn, publisher, turn.now_us), flow_control.credit(turn, publisher)
    sent = count if credit is None else min(count, credit)
    if sent:
        turn.step = publisher.step
        turn.change_publisher(publisher.name, beats=publisher.beats + sent)
        queue = turn.queues.get(publisher.queue)
        if queue is None or queue.type == QUORUM or not publishing.keeps(turn, queue, publisher.node):
            arrive(turn, publisher, sent, more_room)
        else:
            wait_in_mailbox(turn, queue, publishers.operation(publisher, sent))
    if sent < count:
        publishers.block(turn, publisher.name)
    return sent


def coming(turn: Turn, publisher: Publisher, time_us: int | Fraction) -> int:
    """How many messages reach the queue until then, if nothing holds them up."""
    return max(0, publisher.clock.beats(time_us - publishers.lag_us(turn, publisher)) - publisher.beats)


def arrive(turn: Turn, publisher: Publisher, count: int, more_room: int) -> None:
    """Messages reach their queue one after the other; `publisher` is as it was before they left it."""
    operation = replace(publishers.operation(publisher, count), more_room=more_room)
    share = publishing.route(turn, operation, publisher.queue)
    publishing.note_published(turn, operation)
    if share is None:
        return
    if not share.due_us:
        steady_confirms.answer(turn, publisher, share.numbers, confirmed=share.answered)
        return
    taken = runs.size(share.numbers) - runs.size(share.rejected)
    if taken:
        clock, beat, number = publisher.clock, publisher.beats + 1, share.numbers[0][0]
        if not runs.common(share.numbers, turn.queues[publisher.queue].pending):
            lag_us = publishers.lag_us(turn, publisher)
            expiry.spread(turn, publisher.queue, clock.time_us(beat) + lag_us, 1 / clock.rate)
        run = Unanswered(clock, beat, number, taken, delays_of(turn, publisher, share))
        steady_confirms.wait_for(turn, publisher.name, run)
    if share.rejected:
        steady_confirms.answer(turn, publisher, share.rejected, confirmed=False)


def delays_of(turn: Turn, publisher: Publisher, share: Share) -> tuple[tuple[int, int], ...]:
    """How long after its beat each replica asked answers for a message."""
    queue, single = turn.queues[publisher.queue], publishers.operation(publisher, 1)
    lag_us = publishers.lag_us(turn, publisher) - turn.now_us
    return tuple(
        (node, NEVER_US if due_us == NEVER_US else lag_us + publishing.answer_us(turn, single, queue, node))
        for node, due_us in share.due_us
    )


def wait_in_mailbox(turn: Turn, queue: Queue, operation: Publish | Settle) -> None:
    """A queue that reads nothing gets more of what flows to it. That joins what waits of the same already, but not over
    what came in between: another publisher's messages, or anything that does not flow."""
    for parked in reversed(queue.parked):
        if is_more_of(operation, parked.operation):
            longer = replace(parked, operation=replace(operation, count=parked.operation.count + operation.count))
            turn.change_queue(queue.name, parked=tuple(longer if one is parked else one for one in queue.parked))
            return
        if not flows_beside(turn, operation, parked.operation):
            break
    park(turn, queue, operation)


def is_more_of(operation: Publish | Settle, other: object) -> bool:
    """Whether two operations are alike but for how many messages they are about."""
    alike = type(operation) is type(other) and other.count is not None
    return alike and replace(operation, count=other.count) == other


def flows_beside(turn: Turn, operation: Publish | Settle, other: object) -> bool:
    """Whether what waits has flowed to the queue in the same time as `operation`, so that it does not matter which of
    them is read first."""
    if isinstance(other, Settle):
        return other.verdict == "ack" and other.count is not None and turn.consumers[other.consumer].clock is not None
    return isinstance(other, Publish) and other.publisher is not None and isinstance(operation, Settle)


# Consumers


def rated_consumers(turn: Turn, name: str) -> list[Consumer]:
    """The consumers of a queue that have a rate and are heard."""
    return [
        one
        for one in turn.consumers_of(name)
        if one.clock is not None
        and one.state != "closed"
        and turn.is_running(one.node)
        and not connections.is_blocked(turn, connections.connection_of(turn, one))
    ]


def beats_of(turn: Turn, queue: Queue | None, consumer: Consumer) -> int:
    """How many beats of a consumer have reached its queue since the last time."""
    return max(0, consumer.clock.beats(turn.now_us - lag_us(turn, queue, consumer)) - consumer.beats)


def lag_us(turn: Turn, queue: Queue | None, consumer: Consumer) -> int:
    """How long a consumer's answers take to the queue's master."""
    return 0 if queue is None else turn.link_us(consumer.node, queue.master)


def useful_beats(turn: Turn, queue: Queue | None, consumer: Consumer, count: int) -> int:
    """At how many of its next `count` beats a consumer that is alone finds something to answer for.

    Where messages come faster than beats only the first beats find nothing, and where they come more slowly it answers
    for all that have come by the last one.
    """
    alone = queue is not None and queue.up and queue.sync is None and queue.consumers == (consumer.name,)
    if not count:
        return 0
    if not alone:
        return count
    held = runs.size(consumer.stale) + runs.size(consumer.in_sequence) + runs.size(ready(queue))

    def there(beat: int) -> int:
        time_us = consumer.clock.time_us(beat) + lag_us(turn, queue, consumer)
        return held + sum(coming(turn, publisher, time_us) for publisher in publishers_of(turn, queue.name))

    first, last = there(consumer.beats + 1), there(consumer.beats + count)
    return max(0, min(count, first + count - 1, last))


def serve(turn: Turn, name: str, new: Runs, room: dict[str, int], beats: dict[str, int]) -> None:
    """Consumers get what has come as far as they have room, also that which they make by answering, and answer."""
    for consumer in room:
        consuming.come_back(turn, consumer, room[consumer])
    publishing.settle_down(turn, name, new, room)
    for consumer, count in beats.items():
        answer(turn, turn.consumers[consumer], count)


def room_made(consumer: Consumer, beats: int, *, late_answers_count: bool) -> int:
    """How many messages more a consumer takes because of its beats. Answers to a master that is gone make no room,
    unless the channel counts all together, or they settle what was delivered again; then those that follow make
    none."""
    if consumer.global_prefetch:
        return beats
    settle_again = runs.common(consumer.stale, consumer.held) if late_answers_count else EMPTY
    late = runs.size(runs.common(runs.head(consumer.stale, beats), settle_again))
    useless = runs.size(consumer.stale) + runs.size(consumer.settled_early) + runs.size(settle_again)
    return late + max(0, beats - useless)


def answer(turn: Turn, consumer: Consumer, beats: int) -> None:
    """A consumer answers for its oldest messages."""
    if not beats or not (consumer.stale or consumer.in_sequence):
        return
    if quorum_requests.is_decided(turn, consumer.queue):
        quorum_requests.settle_flowing(turn, consumer, beats)
    settling.settle(turn, answers_of(consumer, beats))


def answers_of(consumer: Consumer, count: int) -> Settle:
    """So many acknowledgements of a consumer."""
    return Settle(consumer.queue, consumer.node, consumer=consumer.name, count=count, verdict="ack")


def answer_later(turn: Turn, name: str, consumer_name: str, beats: int) -> None:
    """Answers to a queue that reads nothing wait, for no more than the consumer has of it: in the mailbox, those to a
    quorum queue at the client that sends them again. Answers to a master that is gone reach nobody anyway, unless what
    they are for was delivered again and they count."""
    consumer = turn.consumers[consumer_name]
    counts = turn.settings.profile.late_answers_count and runs.common(consumer.stale, consumer.held)
    unheard = 0 if counts else min(beats, runs.size(consumer.stale))
    answer(turn, consumer, unheard)
    queue, consumer = turn.queues[name], turn.consumers[consumer_name]
    decided = quorum_requests.is_decided(turn, name)
    operations = [one.operation for one in (turn.groups[name].waiting if decided else queue.parked)]
    answers = (one for one in operations if isinstance(one, Settle))
    waiting = [one.count for one in answers if one.consumer == consumer_name]
    has = runs.size(consumer.in_sequence) + (runs.size(consumer.stale) if counts else 0)
    count = 0 if None in waiting else min(beats - unheard, has - sum(waiting))
    if count > 0 and decided:
        quorum_requests.put(turn, name, answers_of(consumer, count), consumer.node)
    elif count > 0:
        wait_in_mailbox(turn, queue, answers_of(consumer, count))


# When a flow changes something by itself


def next_change_us(turn: Turn) -> int | None:
    """When next a flow changes more than how many messages there are: a publisher is blocked, or a mirror is
    synchronised because all that it lacks has left the queue."""
    if not has_flows(turn):
        return None
    changes = []
    for _side in turn.each_side():
        for name in queues_with_flows(turn):
            changes += [*blocks_us(turn, name), *drains_us(turn, name)]
    return min((time_us for time_us in changes if time_us > turn.now_us), default=None)


def blocks_us(turn: Turn, name: str) -> Iterator[int]:
    """When publishers that have little credit left are to be blocked."""
    for publisher in publishers_of(turn, name):
        credit = flow_control.credit(turn, publisher)
        if credit is not None:
            beat = publisher.beats + credit + 1
            yield ceil(publisher.clock.time_us(beat)) + publishers.lag_us(turn, publisher)


def drains_us(turn: Turn, name: str) -> Iterator[int]:
    """When each mirror that runs and is not synchronised will have all that is left, as far as it is for the consumers
    that have a rate: never, where others keep some of what it lacks. Where they are several it may be a beat of each
    later."""
    queue, consumers = turn.queues.get(name), rated_consumers(turn, name)
    if queue is None or not queue.up or queue.sync is not None or not consumers:
        return
    lags_us = [lag_us(turn, queue, one) for one in consumers]
    rate = sum(one.clock.rate for one in consumers)
    over = sum(
        one.beats + (one.clock.start_us + lag) * one.clock.rate for one, lag in zip(consumers, lags_us, strict=True)
    )
    theirs = runs.normal(pair for one in consumers for pair in one.held)
    kept = runs.minus(queue.unacknowledged, theirs)
    for node in filter(turn.is_running, queue.mirrors):
        missing = runs.minus(queue.content, queue.contents[node] or EMPTY)
        if missing and not queue.depth_unknown >> node & 1 and not runs.common(missing, kept):
            answers = answers_until(turn, queue, consumers, missing[-1][1]) + len(consumers) - 1
            yield ceil((answers + over) / rate)


def answers_until(turn: Turn, queue: Queue, consumers: list[Consumer], last: int) -> int:
    """How many answers it takes until all up to message `last` have left the queue. Those for what a master that is
    gone had sent come first. Where they count (`settling.settle`), what they have settled is answered for once more
    later, so that it matters whether they settle all that is in question."""
    until = ((1, last),)
    before = runs.common(queue.content, until)
    if turn.settings.profile.late_answers_count:
        again = runs.normal(pair for one in consumers for pair in runs.common(one.stale, one.held))
        if not runs.minus(before, again):
            return sum(runs.size(runs.common(one.stale, until)) for one in consumers)
    twice = sum(runs.size(one.stale) + runs.size(runs.common(one.settled_early, until)) for one in consumers)
    return runs.size(before) + twice
