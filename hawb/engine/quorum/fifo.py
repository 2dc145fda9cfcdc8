"""What rabbit_fifo, a quorum queue's state machine, does otherwise than a classic queue.

Source: `rabbit_fifo`, `rabbit_fifo_q` (4.0), `rabbit_fifo_client` and `rabbit_quorum_queue:consume` of 3.8.9, 3.10.8,
3.13.7 and 4.0.5. All of it happens when a command is committed. The classic queue's modules ask here where the types
differ; what differs between releases is in RELEASES and `hawb.rules.quorum_profiles`.

A message that is given back goes to the returns, which are served first, in the order in which it had been delivered.
From 3.10 on one that a client gives back to a queue without a delivery limit is written to the log anew, and so stands
at the queue's end (`requeue`); one whose consumer went away is returned as ever. Each return counts. (A client that
gives back more than 32 messages at once to 3.8.9, 3.10.8 or 3.13.7 gets them back in the order of an Erlang map, which
is not simulated.)

Memory limits (max-in-memory-length and -bytes) decide where a body is and change nothing that a client sees.
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
    """How a release's state machine differs.

    `consumer_priority` is whether consumers of a higher x-priority are served first (3.8.10), `urgent_active` whether a
    more urgent consumer takes over from a single active one (4.0), `priority_levels` how many levels of priority
    messages have: two in 4.0, 32 in 4.3. `overpays` is whether a consumer gets a credit too many for each message that
    is given up because it was given back too often (machine versions before 3: `return` adds what `complete` has
    added), `activates_at_once` whether a consumer that comes while a cancelled one still holds messages becomes active
    (3.8.9 counts who holds any, and for the same reason tells of nobody as active meanwhile), and `serves_again`
    whether one that was cancelled, still holds messages and subscribes anew gets any (in 3.8.9 it stays cancelled).
    `unblocks_unlimited` is whether publishers are told when the limit is taken away, `refuses_ha_failover` whether a
    consumer may not give x-cancel-on-ha-failover: from 3.9 on it may give what its queue's type knows and what none
    does, and since 4.0 none knows that (`rabbit_amqqueue:check_consume_arguments`). `counts_nacks` is whether what a
    client gives back by basic.nack counts towards the delivery limit, as do messages whose consumer has gone: not in
    4.3 (`rabbit_channel:handle_method` basic.nack, `rabbit_fifo:return_one`, which looks at failed deliveries alone).
    `returns_activate` is whether a single active consumer that a more urgent one waits for steps back for it also with
    a message that it gives back (`rabbit_fifo:return`, `update_or_remove_con`, 4.1.2).
    `purges_dead_letters` is whether a purge takes the dead letters that wait for their targets, too (`dlx_purge`, 4.3).
    """

    consumer_priority: bool = True
    urgent_active: bool = False
    priority_levels: int = 1
    overpays: bool = False
    activates_at_once: bool = True
    serves_again: bool = True
    unblocks_unlimited: bool = False
    refuses_ha_failover: bool = True
    counts_nacks: bool = True
    returns_activate: bool = False
    purges_dead_letters: bool = False


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
    """The release that the cluster runs."""
    return RELEASES[turn.settings.profile.version]


def new(turn: Turn) -> Fifo:
    """The state machine of a queue that has just been declared."""
    return Fifo(levels=release(turn).priority_levels, used_us=turn.now_us, led_from_us=turn.now_us)


def of(queue: Queue) -> Fifo:
    """The state machine of a quorum queue."""
    return queue.fifo or Fifo()


def change(turn: Turn, name: str, **fields) -> Queue:
    """The queue with other fields of its state machine."""
    return turn.change_queue(name, fifo=replace(of(turn.queues[name]), **fields))


def limits_of(queue: Queue) -> Limits | QuorumSettings:
    """What a queue of either type goes by."""
    return queue.limits_in_effect if queue.quorum_settings is None else queue.quorum_settings


def delivery_limit(queue: Queue) -> float | None:
    """How often a message may be given back; None: for ever."""
    return None if queue.quorum_settings is None else queue.quorum_settings.delivery_limit


def keeps_dead_letters(queue: Queue) -> bool:
    """Whether dead letters stay in the queue until their targets have confirmed them."""
    return queue.quorum_settings is not None and queue.quorum_settings.dead_letter_strategy == AT_LEAST_ONCE


# In which order messages are served


def purged(turn: Turn, queue: Queue) -> Runs:
    """What a purge takes: what is ready or waits to be tried again, and in 4.3 dead letters."""
    waiting = runs.union(ready(queue), delayed(queue))
    return runs.union(waiting, discarded(queue)) if release(turn).purges_dead_letters else waiting


def ready(queue: Queue) -> Runs:
    """What is committed, with no consumer and no dead letter, and does not wait to be tried again."""
    held = runs.minus(queue.contents[queue.holder] or EMPTY, queue.unacknowledged)
    return runs.minus(runs.minus(held, discarded(queue)), delayed(queue))


def discarded(queue: Queue) -> Runs:
    """The dead letters that wait for their targets."""
    return runs.normal(pair for _, these in of(queue).discards for pair in these)


def delayed(queue: Queue) -> Runs:
    """The messages that wait before they are delivered again."""
    return runs.normal(retries.waiting(of(queue)))


def in_order(queue: Queue, numbers: Runs, delivered: Runs = EMPTY) -> Runs:
    """Messages in the order in which they would be served if all consumers went away now: what was returned, what
    consumers hold, the others as the log has them, those that wait, and last what is not committed yet. What they hold
    comes back as it was `delivered` (`rabbit_fifo:return_all`), where only one of them holds any."""
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
    """Messages by their place in the log: by their numbers, but for those that were written again or late."""
    staying = runs.minus(numbers, runs.normal(pair for _, these in fifo.moved for pair in these))
    ordered = EMPTY
    for behind, these in fifo.moved:
        before = runs.common(staying, ((1, behind),))
        ordered = runs.chain(runs.chain(ordered, before), runs.within(these, numbers))
        staying = runs.minus(staying, before)
    return runs.chain(ordered, staying)


def by_level(queue: Queue, ordered: Runs) -> Runs:
    """Messages of 4.0: two urgent ones, then another, unless the next urgent one is older than that
    (`rabbit_fifo_q:next`). One that was requeued is urgent no more."""
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
    """Messages of 4.3: a higher priority always goes first (`rabbit_fifo_pq`). One that was requeued has the priority
    of those that say none."""
    served = EMPTY
    for level in by_level_of_priority(queue):
        served = runs.chain(served, runs.within(ordered, level))
    return served


def by_level_of_priority(queue: Queue) -> list[Runs]:
    """The numbers of each priority, the highest first."""
    moved = runs.normal(pair for _, these in of(queue).moved for pair in these)
    levels: dict[int, list[tuple[int, int]]] = {DEFAULT_PRIORITY: [*moved]}
    for batch in queue.batches:
        level = DEFAULT_PRIORITY if batch.priority is None else min(batch.priority, HIGHEST_PRIORITY)
        levels.setdefault(level, []).extend(runs.minus(((batch.first, batch.last),), moved))
    return [runs.normal(levels[level]) for level in sorted(levels, reverse=True)]


def lines(queue: Queue) -> list[Runs]:
    """The ready messages in lines, each with a head that is looked at whether it has expired: one, but in 4.3 that of
    the returned ones and one for each priority (`rabbit_fifo:expire_batch`)."""
    waiting, known = ready(queue), of(queue)
    ordered = in_order(queue, waiting)
    if known.levels <= TWO:
        return [ordered]
    returned = runs.within(known.returns, waiting)
    others = runs.minus(waiting, runs.normal(returned))
    of_levels = [runs.within(ordered, runs.common(level, others)) for level in by_level_of_priority(queue)]
    return [returned, *of_levels]


def place(ordered: Runs, number: int) -> tuple[int, int]:
    """Where a message stands, to be compared with another's place."""
    return next((at, number) for at, (first, last) in enumerate(ordered) if first <= number <= last)


def with_late(turn: Turn, name: str, numbers: Runs) -> None:
    """Messages are committed. Where others with higher numbers were before them, they stand behind those."""
    queue = turn.queues[name]
    end = last_number(queue)
    if numbers and numbers[0][0] < end:
        change(turn, name, moved=behind(of(queue).moved, end, numbers))


def last_number(queue: Queue) -> int:
    """The highest number of what the queue holds or has put something behind."""
    content, moved = queue.contents[queue.holder], of(queue).moved
    return max(content[-1][1] if content else 0, moved[-1][0] if moved else 0)


def behind(moved: tuple[tuple[int, Runs], ...], end: int, ordered: Runs) -> tuple[tuple[int, Runs], ...]:
    """`moved` and what now stands at the end."""
    if moved and moved[-1][0] == end:
        return (*moved[:-1], (end, runs.chain(moved[-1][1], ordered)))
    return (*moved, (end, ordered))


def without(pairs: tuple[tuple, ...], numbers: Runs) -> tuple[tuple, ...]:
    """Messages by something, without some of them."""
    if not pairs:
        return pairs
    gone = runs.normal(numbers)
    left = ((key, runs.within(these, runs.minus(runs.normal(these), gone))) for key, these in pairs)
    return tuple((key, these) for key, these in left if these)


def checked_out(queue: Queue, numbers: Runs) -> Fifo:
    """The state machine when messages that were ready are not any more."""
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
    """The state machine when messages, ready or not, have left the queue."""
    fifo = checked_out(queue, runs.minus(numbers, runs.union(queue.unacknowledged, discarded(queue))))
    return replace(
        fifo,
        counts=without(fifo.counts, numbers),
        discards=without(fifo.discards, numbers),
        confirmed=without(fifo.confirmed, numbers),
        delayed=without(fifo.delayed, numbers),
    )


# What is given back


def give_back(turn: Turn, name: str, ordered: Runs, *, asked: bool, failed: bool = True) -> Runs:
    """Messages that consumers held, in the order in which they were delivered, are ready again; `asked` is whether the
    client said so, and `failed` whether their delivery counts as one that did. Returns those that were given back too
    often, which still count as held."""
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
    """How often messages were given back, when some are once more."""
    known = runs.normal(pair for _, these in counts for pair in these)
    found: dict[int, Runs] = {1: runs.minus(numbers, known)}
    for count, these in counts:
        again = runs.common(these, numbers)
        found[count] = runs.union(found.get(count, EMPTY), runs.minus(these, again))
        found[count + 1] = runs.union(found.get(count + 1, EMPTY), again)
    return tuple((count, found[count]) for count in sorted(found) if found[count])


# How much consumers take


def capacity(turn: Turn, consumer: Consumer) -> int | None:
    """How many more messages a consumer of a queue of either type takes; None for no limit. A quorum queue counts what
    is not settled against the prefetch of every consumer, since with automatic acknowledgement the channel settles
    messages when it has them (`rabbit_fifo_client:maybe_auto_ack`)."""
    queue = turn.queues.get(consumer.queue)
    if queue is None or queue.type != QUORUM or (consumer.automatic and consumer.clock is not None):
        return consumer.capacity
    extra = dict(of(queue).extra_credit).get(consumer.name, 0)
    prefetch = consumer.prefetch or UNLIMITED_PREFETCH
    return max(0, prefetch + extra - max(0, runs.size(consumer.held) - consumer.carried))


def overpay(turn: Turn, name: str, consumer: str, count: int) -> None:
    """A consumer of an old release gets a credit too many for each message of its that is given up."""
    if count and release(turn).overpays:
        extra = dict(of(turn.queues[name]).extra_credit)
        extra[consumer] = extra.get(consumer, 0) + count
        change(turn, name, extra_credit=tuple(sorted(extra.items())))


def rank(turn: Turn, queue: Queue, consumer: str) -> int:
    """The priority by which a consumer is served."""
    if queue.type == QUORUM and not release(turn).consumer_priority:
        return 0
    return turn.consumers[consumer].priority


def is_served(queue: Queue, consumer: str) -> bool:
    """Whether a queue of either type sends a consumer anything at all."""
    if queue.type != QUORUM:
        return True
    fifo = of(queue)
    if consumer in fifo.suspected or any(one == consumer for one, _ in fifo.timed_out):
        return False
    return not (fifo.quiescing and consumer == queue.active_consumer)


def missing(turn: Turn, consumer: Consumer) -> Runs:
    """What the queue has sent a consumer and has not arrived, since the sender is gone."""
    queue = turn.queues.get(consumer.queue)
    return EMPTY if queue is None else runs.normal(dict(of(queue).missing).get(consumer.name, EMPTY))
