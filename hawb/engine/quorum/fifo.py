"""`rabbit_fifo`, the state machine of a quorum queue, where it differs from a classic queue.

Source: `rabbit_fifo`, `rabbit_fifo_q` (4.0), `rabbit_fifo_client` and `rabbit_quorum_queue:consume` of 3.8.9, 3.10.8,
3.13.7 and 4.0.5. All of it happens when a command is committed. The classic queue's modules call these functions where
the types differ; RELEASES and `hawb.rules.quorum_profiles` have what differs between releases.

A returned message joins the returns, which are delivered first, in the order of their earlier delivery. From 3.10 on a
message that a client requeues to a queue without a delivery limit is written to the log again, and so goes to the
queue's end (`requeue`); a message whose consumer is gone joins the returns as before. Each return counts. (A client
that requeues more than 32 messages at once to 3.8.9, 3.10.8 or 3.13.7 gets them back in the order of an Erlang map,
which is not simulated.)

Memory limits (max-in-memory-length and -bytes) decide where a body is stored and change nothing that a client sees.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.clients.client_state import Consumer
from hawb.engine.core import runs
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.state import QUORUM, Queue
from hawb.engine.core.turn import Turn
from hawb.engine.quorum import retries
from hawb.engine.quorum.fifo_state import Fifo
from hawb.rules.limits import Limits, is_given_up
from hawb.rules.quorum_declaration import AT_LEAST_ONCE, QuorumSettings
from hawb.rules.quorum_profiles import QUORUM_PROFILES

UNLIMITED_PREFETCH = 2000
"""The prefetch of a consumer that asks for none (`rabbit_quorum_queue:consume`, 4.0 `rabbit_fifo_client:checkout`)."""

URGENT = 5
"""The lowest priority of a message that 4.0 serves before others (`rabbit_fifo:priority_tag`)."""

DEFAULT_PRIORITY, HIGHEST_PRIORITY = 4, 31
"""The priority of a message that says none, and the highest, in 4.3 (`rabbit_fifo:msg_priority`)."""

TWO = 2
"""The levels of priority that 4.0 knows."""

WEIGHT = 2
"""How many urgent messages leave a queue before it is the others' turn (`rabbit_fifo_q`)."""


class Release(Struct, frozen=True):
    """The differences of a release's state machine."""

    consumer_priority: bool = True
    """True if consumers of a higher x-priority are served first (3.8.10)."""
    urgent_active: bool = False
    """True if a consumer of a higher priority replaces a single active one (4.0)."""
    priority_levels: int = 1
    """The levels of message priority: two in 4.0, 32 in 4.3."""
    overpays: bool = False
    """True if a consumer gets one credit too many for each message over the delivery limit. In machine versions before
    3 `return` adds the credit that `complete` has added."""
    activates_at_once: bool = True
    """True if a new consumer becomes active while a cancelled one still holds messages. 3.8.9 counts the consumers that
    hold messages, and reports none as active meanwhile."""
    serves_again: bool = True
    """True if a cancelled consumer that holds messages is served once it subscribes again. In 3.8.9 it stays
    cancelled."""
    unblocks_unlimited: bool = False
    """True if blocked publishers are notified when the length limit is removed."""
    refuses_ha_failover: bool = True
    """True if a consumer may not pass x-cancel-on-ha-failover. From 3.9 on it may pass arguments that its queue's type
    supports or that no type does; since 4.0 no type supports this one (`rabbit_amqqueue:check_consume_arguments`)."""
    counts_nacks: bool = True
    """True if basic.nack counts towards the delivery limit, as the end of a consumer does. In 4.3 only failed
    deliveries count (`rabbit_channel:handle_method` basic.nack, `rabbit_fifo:return_one`)."""
    returns_activate: bool = False
    """True if a single active consumer makes way for a waiting one of a higher priority also when it returns a message
    (`rabbit_fifo:return`, `update_or_remove_con`, 4.1.2)."""
    purges_dead_letters: bool = False
    """True if a purge also takes the dead letters that wait for their targets (`dlx_purge`, 4.3)."""


_RELEASE_4_0 = Release(
    urgent_active=True, priority_levels=2, unblocks_unlimited=True, refuses_ha_failover=False
)

RELEASES: dict[str, Release] = {
    "3.8": Release(
        consumer_priority=False, overpays=True, activates_at_once=False, serves_again=False,
        refuses_ha_failover=False,
    ),
    "3.10": Release(overpays=True),
    "3.13": Release(),
    "4.0": _RELEASE_4_0,
    "4.3": replace(
        _RELEASE_4_0, priority_levels=32, counts_nacks=False, returns_activate=True, purges_dead_letters=True,
    ),
}
"""The releases by the version that a scenario names."""


def release(turn: Turn) -> Release:
    """Return the release that the cluster runs."""
    return RELEASES[turn.settings.profile.version]


def new(turn: Turn) -> Fifo:
    """Return the state machine of a queue that has just been declared."""
    return Fifo(levels=release(turn).priority_levels, used_us=turn.now_us, led_from_us=turn.now_us)


def of(queue: Queue) -> Fifo:
    """Return the state machine of a quorum queue."""
    return queue.fifo or Fifo()


def change(turn: Turn, name: str, **fields) -> Queue:
    """Change fields of a queue's state machine, and return the queue."""
    return turn.change_queue(name, fifo=replace(of(turn.queues[name]), **fields))


def limits_of(queue: Queue) -> Limits | QuorumSettings:
    """Return the limits that a queue of either type applies."""
    return queue.limits_in_effect if queue.quorum_settings is None else queue.quorum_settings


def delivery_limit(queue: Queue) -> float | None:
    """Return how often a message may be returned; None for no limit."""
    return None if queue.quorum_settings is None else queue.quorum_settings.delivery_limit


def keeps_dead_letters(queue: Queue) -> bool:
    """Return True if dead letters stay in the queue until their targets have confirmed them."""
    return queue.quorum_settings is not None and queue.quorum_settings.dead_letter_strategy == AT_LEAST_ONCE


# In which order messages are served


def purged(turn: Turn, queue: Queue) -> Runs:
    """Return the messages that a purge takes: ready and delayed ones, and in 4.3 dead letters."""
    waiting = runs.union(ready(queue), delayed(queue))
    return runs.union(waiting, discarded(queue)) if release(turn).purges_dead_letters else waiting


def ready(queue: Queue) -> Runs:
    """Return the committed messages that are ready to be delivered."""
    held = runs.minus(queue.contents[queue.holder] or EMPTY, queue.unacknowledged)
    return runs.minus(runs.minus(held, discarded(queue)), delayed(queue))


def discarded(queue: Queue) -> Runs:
    """Return the dead letters that wait for their targets' confirms."""
    return runs.normal(pair for _, these in of(queue).discards for pair in these)


def delayed(queue: Queue) -> Runs:
    """Return the messages whose retry is delayed."""
    return runs.normal(retries.waiting(of(queue)))


def in_order(queue: Queue, numbers: Runs, delivered: Runs = EMPTY) -> Runs:
    """Return messages in the order of delivery if all consumers closed now.

    That order is: returned messages, those that consumers hold, the others as logged, delayed ones, uncommitted ones.
    Held messages are returned in the order in which they were `delivered` (`rabbit_fifo:return_all`), if only one
    consumer holds any.
    """
    fifo = of(queue)
    returned = runs.within(fifo.returns, numbers)
    held = runs.common(numbers, runs.union(queue.unacknowledged, discarded(queue)))
    pending = runs.common(numbers, queue.pending)
    later = runs.within(retries.waiting(fifo), numbers)
    first = runs.union(runs.union(runs.normal(returned), held), runs.normal(later))
    again = runs.within(delivered, held)
    held = runs.chain(again, runs.minus(held, runs.normal(again)))
    others = as_logged(fifo, runs.minus(runs.minus(numbers, first), pending))
    if fifo.levels == TWO:
        others = by_level(queue, others)
    elif fifo.levels > TWO:
        others = by_priority(queue, others)
    return runs.chain(runs.chain(returned, held), runs.chain(runs.chain(others, later), pending))


def as_logged(fifo: Fifo, numbers: Runs) -> Runs:
    """Return messages in the order of the log: by number, except for those that were requeued or committed late."""
    staying = runs.minus(numbers, runs.normal(pair for _, these in fifo.moved for pair in these))
    ordered = EMPTY
    for behind, these in fifo.moved:
        before = runs.common(staying, ((1, behind),))
        ordered = runs.chain(runs.chain(ordered, before), runs.within(these, numbers))
        staying = runs.minus(staying, before)
    return runs.chain(ordered, staying)


def by_level(queue: Queue, ordered: Runs) -> Runs:
    """Return messages in the order of 4.0 (`rabbit_fifo_q:next`).

    Two urgent messages go before one other, unless the next urgent message is older than the other one. A requeued
    message is no longer urgent.
    """
    moved = runs.normal(pair for _, these in of(queue).moved for pair in these)
    batches = ((batch.first, batch.last) for batch in queue.batches if (batch.priority or 0) >= URGENT)
    urgent = runs.within(ordered, runs.minus(runs.normal(batches), moved))
    others = runs.within(ordered, runs.minus(runs.normal(ordered), runs.normal(urgent)))
    served, turns = EMPTY, of(queue).dequeued
    while urgent and others:
        if turns == WEIGHT and place(ordered, others[0][0]) < place(ordered, urgent[0][0]):
            taken, others = runs.split(others, 1)
        else:
            taken, urgent = runs.split(urgent, 1 if turns == WEIGHT else WEIGHT - turns)
        turns = (turns + runs.size(taken)) % (WEIGHT + 1)
        served = runs.chain(served, taken)
    return runs.chain(served, urgent or others)


def by_priority(queue: Queue, ordered: Runs) -> Runs:
    """Return messages in the order of 4.3: the highest priority first (`rabbit_fifo_pq`).

    A requeued message has the default priority.
    """
    served = EMPTY
    for level in by_level_of_priority(queue):
        served = runs.chain(served, runs.within(ordered, level))
    return served


def by_level_of_priority(queue: Queue) -> list[Runs]:
    """Return the numbers of each priority, the highest first."""
    moved = runs.normal(pair for _, these in of(queue).moved for pair in these)
    levels: dict[int, list[tuple[int, int]]] = {DEFAULT_PRIORITY: [*moved]}
    for batch in queue.batches:
        level = DEFAULT_PRIORITY if batch.priority is None else min(batch.priority, HIGHEST_PRIORITY)
        levels.setdefault(level, []).extend(runs.minus(((batch.first, batch.last),), moved))
    return [runs.normal(levels[level]) for level in sorted(levels, reverse=True)]


def lines(queue: Queue) -> list[Runs]:
    """Return the ready messages in lines; only the head of a line is checked for expiry (`rabbit_fifo:expire_batch`).

    There is one line; in 4.3 one for returned messages and one for each priority.
    """
    waiting, known = ready(queue), of(queue)
    ordered = in_order(queue, waiting)
    if known.levels <= TWO:
        return [ordered]
    returned = runs.within(known.returns, waiting)
    others = runs.minus(waiting, runs.normal(returned))
    of_levels = [runs.within(ordered, runs.common(level, others)) for level in by_level_of_priority(queue)]
    return [returned, *of_levels]


def place(ordered: Runs, number: int) -> tuple[int, int]:
    """Return a message's place among ordered runs, as a value to compare with other places."""
    return next((at, number) for at, (first, last) in enumerate(ordered) if first <= number <= last)


def with_late(turn: Turn, name: str, numbers: Runs) -> None:
    """Put newly committed messages behind those that were committed before them and have higher numbers."""
    queue = turn.queues[name]
    end = last_number(queue)
    if numbers and numbers[0][0] < end:
        change(turn, name, moved=behind(of(queue).moved, end, numbers))


def last_number(queue: Queue) -> int:
    """Return the highest number of a message that the queue holds or that another message was put behind."""
    content, moved = queue.contents[queue.holder], of(queue).moved
    return max(content[-1][1] if content else 0, moved[-1][0] if moved else 0)


def behind(moved: tuple[tuple[int, Runs], ...], end: int, ordered: Runs) -> tuple[tuple[int, Runs], ...]:
    """Return `moved` with messages appended at the queue's end."""
    if moved and moved[-1][0] == end:
        return (*moved[:-1], (end, runs.chain(moved[-1][1], ordered)))
    return (*moved, (end, ordered))


def without(pairs: tuple[tuple, ...], numbers: Runs) -> tuple[tuple, ...]:
    """Return messages by some key, without those in `numbers`."""
    if not pairs:
        return pairs
    gone = runs.normal(numbers)
    left = ((key, runs.within(these, runs.minus(runs.normal(these), gone))) for key, these in pairs)
    return tuple((key, these) for key, these in left if these)


def checked_out(queue: Queue, numbers: Runs) -> Fifo:
    """Return the state machine after ready messages were delivered."""
    fifo = of(queue)
    if not (fifo.returns or fifo.moved or fifo.levels == TWO):
        return fifo
    returned = runs.common(runs.normal(fifo.returns), numbers)
    from_log = runs.size(runs.minus(numbers, returned)) if fifo.levels == TWO else 0
    return replace(
        fifo,
        returns=runs.within(fifo.returns, runs.minus(runs.normal(fifo.returns), numbers)),
        moved=without(fifo.moved, numbers),
        dequeued=(fifo.dequeued + from_log) % (WEIGHT + 1),
    )


def dropped(queue: Queue, numbers: Runs) -> Fifo:
    """Return the state machine after messages, ready or not, have left the queue."""
    fifo = checked_out(queue, runs.minus(numbers, runs.union(queue.unacknowledged, discarded(queue))))
    return replace(
        fifo,
        counts=without(fifo.counts, numbers),
        discards=without(fifo.discards, numbers),
        confirmed=without(fifo.confirmed, numbers),
        delayed=without(fifo.delayed, numbers),
    )


# Returned messages


def give_back(turn: Turn, name: str, ordered: Runs, *, asked: bool, failed: bool = True) -> Runs:
    """Return messages that consumers held to the queue, in the order of their delivery.

    `asked` is True if the client returned them, `failed` if their delivery counts as failed. Return the messages over
    the delivery limit, which still count as held.
    """
    queue = turn.queues[name]
    fifo, limit, numbers = of(queue), delivery_limit(queue), runs.normal(ordered)
    fails = failed and (release(turn).counts_nacks or not asked)
    counts = counted(fifo.counts, numbers) if fails else fifo.counts
    often = runs.normal(pair for count, these in counts if is_given_up(count, limit) for pair in these)
    spent = runs.common(numbers, often)
    back = runs.minus(numbers, spent)
    kept = runs.within(ordered, back)
    if asked and limit is None and QUORUM_PROFILES[turn.settings.profile.version].requeues_at_tail:
        fifo = replace(fifo, counts=counts, moved=behind(fifo.moved, last_number(queue), kept) if kept else fifo.moved)
    else:
        fifo = retries.give_back(turn, queue, replace(fifo, counts=counts), kept, failed=fails)
    turn.change_queue(
        name, fifo=fifo,
        unacknowledged=runs.minus(queue.unacknowledged, back), redelivered=runs.union(queue.redelivered, numbers),
    )  # fmt: skip
    retries.set_timer(turn, name)
    return spent


def counted(counts: tuple[tuple[int, Runs], ...], numbers: Runs) -> tuple[tuple[int, Runs], ...]:
    """Return the delivery counts after some messages were returned once more."""
    known = runs.normal(pair for _, these in counts for pair in these)
    found: dict[int, Runs] = {1: runs.minus(numbers, known)}
    for count, these in counts:
        again = runs.common(these, numbers)
        found[count] = runs.union(found.get(count, EMPTY), runs.minus(these, again))
        found[count + 1] = runs.union(found.get(count + 1, EMPTY), again)
    return tuple((count, found[count]) for count in sorted(found) if found[count])


# How much consumers take


def capacity(turn: Turn, consumer: Consumer) -> int | None:
    """Return how many more messages a consumer of a queue of either type takes; None for no limit.

    A quorum queue counts unsettled messages against the prefetch of every consumer, since with automatic
    acknowledgement the channel settles messages once it has them (`rabbit_fifo_client:maybe_auto_ack`).
    """
    queue = turn.queues.get(consumer.queue)
    if queue is None or queue.type != QUORUM or (consumer.automatic and consumer.clock is not None):
        return consumer.capacity
    extra = dict(of(queue).extra_credit).get(consumer.name, 0)
    prefetch = consumer.prefetch or UNLIMITED_PREFETCH
    return max(0, prefetch + extra - max(0, runs.size(consumer.held) - consumer.carried))


def overpay(turn: Turn, name: str, consumer: str, count: int) -> None:
    """Give a consumer of an old release one credit too many for each of its messages over the delivery limit."""
    if count and release(turn).overpays:
        extra = dict(of(turn.queues[name]).extra_credit)
        extra[consumer] = extra.get(consumer, 0) + count
        change(turn, name, extra_credit=tuple(sorted(extra.items())))


def rank(turn: Turn, queue: Queue, consumer: str) -> int:
    """Return the priority by which a queue serves a consumer."""
    if queue.type == QUORUM and not release(turn).consumer_priority:
        return 0
    return turn.consumers[consumer].priority


def is_served(queue: Queue, consumer: str) -> bool:
    """Return True if a queue of either type delivers messages to a consumer."""
    if queue.type != QUORUM:
        return True
    fifo = of(queue)
    if consumer in fifo.suspected or any(one == consumer for one, _ in fifo.timed_out):
        return False
    return not (fifo.quiescing and consumer == queue.active_consumer)


def missing(turn: Turn, consumer: Consumer) -> Runs:
    """Return the messages sent to a consumer that have not arrived because the sender is gone."""
    queue = turn.queues.get(consumer.queue)
    return EMPTY if queue is None else runs.normal(dict(of(queue).missing).get(consumer.name, EMPTY))
