"""The time within which consumers have to answer for deliveries: a channel checks it, or in 4.3 the quorum queue.

Source: `rabbit_channel` (`record_sent`, `evaluate_consumer_timeout`, `init_tick_timer`, `maybe_cancel_tick_timer`), up
to 4.2. A channel checks its oldest delivery alone, at each of its ticks. It ticks while the client has anything to
answer for, and stops in between: in hawb its ticks count from the first delivery to a client that has nothing. Answers
that have reached the channel count, whether they have reached its queue or not. A delivery counts from when it is sent.

Source: `rabbit_fifo:checkout_one`, `next_consumer_timeout`, `maybe_untimeout`, `handle_aux` of eval (4.3). Each
delivery of a quorum queue has an end: the time of the delivery and the timeout that the queue had when the consumer
subscribed, or fetched. The leader alone has a timer, for the earliest end.

`hawb.engine.clients.timeouts` has what happens then, `hawb.rules.consumer_timeouts` the length of the timeout. Clients
with automatic acknowledgement have no ends, since their channels answer. Clients with a rate have ends only if they are
sure to be late, because they need more than the timeout for the messages of their prefetch, or for one.
"""

from __future__ import annotations

from hawb.engine.clients.client_state import Consumer
from hawb.engine.core import runs
from hawb.engine.core.events import AnswersDue, ChannelTicks
from hawb.engine.core.operations import Settle
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.settings import Settings
from hawb.engine.core.state import NOWHERE, Queue, Side
from hawb.engine.core.turn import TIMER, Turn
from hawb.engine.quorum import fifo
from hawb.rules import consumer_timeouts
from hawb.rules.consumer_timeouts import TICK_US
from hawb.rules.policies import Policy, effective_definition


def configured_ms(turn: Turn) -> int | None:
    """Return the timeout in the cluster's configuration; None if it has none."""
    return consumer_timeouts.configured_ms(turn.settings.consumer_timeout, turn.settings.profile)


def is_late_at_best(consumer: Consumer, timeout_ms: int) -> bool:
    """Return True if a client with a rate cannot answer in time for the last message of its prefetch."""
    clock = consumer.clock
    return clock is None or max(consumer.prefetch, 1) * clock.per_us > timeout_ms * 1_000 * clock.per_ticks


# Timeouts of channels


def channels_look(turn: Turn) -> bool:
    """Return True if channels have a timeout, or may get one by a policy."""
    profile = turn.settings.profile
    return profile.channels_time_out and (profile.queues_set_consumer_timeout or configured_ms(turn) is not None)


def channel_timeout_ms(settings: Settings, known: Turn | Side, queue: Queue | None) -> int | None:
    """Return the timeout by which a channel checks deliveries of a queue, under the policies that its side knows.

    Return None if it does not check.
    """
    profile = settings.profile
    configured = consumer_timeouts.configured_ms(settings.consumer_timeout, profile)
    if not profile.channels_time_out or queue is None or not profile.queues_set_consumer_timeout:
        return configured if profile.channels_time_out else None
    kinds = (known.policies, queue.policy), (known.operator_policies, queue.operator_policy)
    definition = effective_definition(*(_named(policies, queue.vhost, name) for policies, name in kinds))
    return consumer_timeouts.timeout_ms(definition, dict(queue.arguments), configured, profile)


def _named(policies: tuple[Policy, ...], vhost: str, name: str | None) -> Policy | None:
    if name is None:
        return None
    return next((policy for policy in policies if (policy.vhost, policy.name) == (vhost, name)), None)


def with_delivery(turn: Turn, consumer: Consumer, count: int) -> dict[str, object]:
    """Return the changed fields of a client (`sent`, `ticks_from_us`) to which `count` messages are sent now.

    They are the times of its deliveries, and the start of its channel's timer. Return {} if no timeout can apply.
    """
    if consumer.automatic or not consumer.name or not channels_look(turn):
        return {}
    if consumer.clock is not None:
        timeout_ms = channel_timeout_ms(turn.settings, turn, turn.queues.get(consumer.queue))
        if timeout_ms is None or not is_late_at_best(consumer, timeout_ms):
            return {}
    known = sent(consumer)
    if not known:
        return {"sent": ((turn.now_us, count),), "ticks_from_us": turn.now_us}
    last_us, last = known[-1]
    if last_us == turn.now_us:
        return {"sent": (*known[:-1], (last_us, last + count))}
    return {"sent": (*known, (turn.now_us, count))}


def sent(consumer: Consumer) -> tuple[tuple[int, int], ...]:
    """Return when a client's unanswered deliveries were sent, the oldest first, each time with the number sent.

    The client answers in the order of the deliveries.
    """
    return _after(consumer.sent, sum(count for _, count in consumer.sent) - consumer.unanswered)


def _after(times: tuple[tuple[int, int], ...], answered: int) -> tuple[tuple[int, int], ...]:
    while times and answered > 0:
        (us, count), *rest = times
        times = ((us, count - answered), *rest) if count > answered else tuple(rest)
        answered -= count
    return times


def plan(turn: Turn, consumer: Consumer, *, anew: bool = False) -> None:
    """Schedule a client's channel's next check: the first tick by which the oldest delivery is too old.

    An earlier schedule stays unless `anew` is True.
    """
    event = ChannelTicks(consumer.node, consumer.name)
    if anew:
        turn.unschedule(event)
    if not consumer.sent or turn.is_planned(event):
        return
    due_us = looks_us(turn, consumer)
    if due_us is not None:
        turn.schedule(due_us - turn.now_us, event, priority=TIMER)


def looks_us(turn: Turn, consumer: Consumer) -> int | None:
    """Return when a client's channel finds its oldest delivery too old, now at the earliest; None if it does not."""
    queue = turn.queues.get(consumer.queue)
    timeout_ms = channel_timeout_ms(turn.settings, turn, queue)
    times = _after(sent(consumer), passed_on(turn, consumer))
    if timeout_ms is None or not times or not is_late_at_best(consumer, timeout_ms):
        return None
    from_us = consumer.ticks_from_us
    wanted_us = max(times[0][0] + timeout_ms * 1_000, turn.now_us) - from_us
    return from_us + max(1, -(-wanted_us // TICK_US)) * TICK_US


def passed_on(turn: Turn, consumer: Consumer) -> int:
    """Return the number of deliveries that a client has answered while its queue has not received the answers."""
    queue, group = turn.queues.get(consumer.queue), turn.groups.get(consumer.queue)
    waiting = [entry[-1] for entry in turn.agenda.of_queue(consumer.queue)]
    waiting += [] if queue is None else [one.operation for one in queue.waiting]
    waiting += [] if group is None else [proposal.operation for proposal in group.waiting]
    answers = [one.count for one in waiting if isinstance(one, Settle) and one.consumer == consumer.name]
    return consumer.unanswered if None in answers else sum(answers)


def plan_anew(turn: Turn, name: str) -> None:
    """Schedule again the checks of channels with deliveries of a queue whose policy has changed."""
    for consumer in turn.consumers_of(name):
        plan(turn, consumer, anew=True)


def queues_with_timers(turn: Turn) -> set[str]:
    """Return the queues with clients whose channels check deliveries by a timeout that the queue's policy may set."""
    profile = turn.settings.profile
    timed = profile.channels_time_out and profile.queues_set_consumer_timeout
    return {consumer.queue for consumer in turn.consumers.values()} if timed else set()


# Timeouts of quorum queues


def timeout_ms(turn: Turn, queue: Queue) -> int | None:
    """Return the timeout for consumers that subscribe to a queue now, or fetch from it; None if the queue has none."""
    if queue.quorum_settings is None or turn.settings.profile.channels_time_out:
        return None
    own = queue.quorum_settings.consumer_timeout_ms
    return configured_ms(turn) if own is None else own


def begin(turn: Turn, consumer: Consumer, numbers: Runs) -> None:
    """Set the ends of messages that a consumer gets."""
    queue = turn.queues[consumer.queue]
    limited = consumer.timeout_ms is not None and not consumer.automatic
    limited = limited and is_late_at_best(consumer, consumer.timeout_ms)
    if not limited and not fifo.of(queue).ends:
        return
    ends = {us: runs.minus(these, numbers) for us, these in held_until(queue)}
    if limited:
        end_us = turn.now_us + consumer.timeout_ms * 1_000
        ends[end_us] = runs.union(ends.get(end_us, EMPTY), numbers)
    fifo.change(turn, queue.name, ends=tuple((us, ends[us]) for us in sorted(ends) if ends[us]))
    set_timer(turn, queue.name)


def held_until(queue: Queue) -> list[tuple[int, Runs]]:
    """Return the messages that consumers hold, by the ends of their deliveries, the earliest first."""
    held = ((us, runs.common(these, queue.unacknowledged)) for us, these in fifo.of(queue).ends)
    return [(us, these) for us, these in held if these]


def set_timer(turn: Turn, name: str) -> None:
    """Set the leader's timer for the earliest end, unless one is set that fires no later."""
    queue = turn.queues[name]
    ends = held_until(queue)
    if not ends or queue.master == NOWHERE:
        return
    planned = turn.planned(name, AnswersDue)
    if all(due_us > ends[0][0] or event.node != queue.master for due_us, event in planned):
        for _, event in planned:
            turn.unschedule(event)
        delay_us = max(0, ends[0][0] - turn.now_us)
        turn.schedule(delay_us, AnswersDue(name, queue.master), priority=TIMER)


def answered(turn: Turn, name: str, consumer: str, said: Runs) -> Runs:
    """Handle a consumer's answers for messages that it no longer holds.

    Return the messages that were taken from it because it had not answered in time. Once it has answered for all of
    these, it is served again, last in turn.
    """
    known = fifo.of(turn.queues[name])
    had = dict(known.timed_out).get(consumer, EMPTY)
    late = runs.common(had, runs.normal(said))
    if late:
        owe(turn, name, consumer, runs.minus(had, late))
    queue = turn.queues[name]
    if late == had != EMPTY and consumer in queue.consumers:
        turn.change_queue(name, consumers=(*(one for one in queue.consumers if one != consumer), consumer))
    return late


def owe(turn: Turn, name: str, consumer: str, numbers: Runs) -> None:
    """Record the messages, lost in time, that a consumer still has to answer for; without any it is served."""
    known = fifo.of(turn.queues[name]).timed_out
    left = dict(known) | {consumer: numbers}
    if numbers or consumer in dict(known):
        fifo.change(turn, name, timed_out=tuple((one, these) for one, these in sorted(left.items()) if these))
