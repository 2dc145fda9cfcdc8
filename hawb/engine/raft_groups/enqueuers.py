"""Channels that publish to quorum queues, and waiting proposals: the ports of `registration` and `asking`.

This module is the engine's implementation; the kernel's is in `hawb.study.kernel.enqueuers`. The docstrings here
describe both. `p` is a proposal, `g` the group that it waits for.

Source: `rabbit_fifo_client` (`enqueue`, `register_enqueuer`), since 3.8.10. `unregistered` has what holds before that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from hawb.engine.clients import confirms
from hawb.engine.core import bookkeeping, runs
from hawb.engine.core.agenda import EVENT, TIME_US
from hawb.engine.core.events import LinksTimeOut
from hawb.engine.core.naming import split_queue
from hawb.engine.core.operations import Enqueue, Publish
from hawb.engine.core.runs import Runs
from hawb.engine.core.state import NOWHERE, QUORUM, STREAM, Batch
from hawb.engine.core.turn import REACTION, TIMER, Turn
from hawb.engine.queues import limits
from hawb.engine.queues.contents import with_batch
from hawb.engine.quorum import fifo
from hawb.engine.raft_groups.events import ProposalGivenUp, RegistrationGivenUp
from hawb.engine.raft_groups.group import Channel, Group, Proposal, proposals
from hawb.rules.quorum_profiles import QUORUM_PROFILES, QuorumProfile

REGISTRATION_GIVEN_UP, PROPOSAL_GIVEN_UP = RegistrationGivenUp, ProposalGivenUp
"""The kinds of events of a proposal."""
STEADY = "publisher "
"""The beginning of the connection's name of a publisher with a rate."""
NO_CHANNEL: Any = None
"""In place of a channel: no registration needed."""
ALL = 2**62
"""In place of a number of messages: all of them."""


def profile_of(turn: Turn) -> QuorumProfile:
    """Return the rules in which the cluster's release differs."""
    return QUORUM_PROFILES[turn.settings.profile.version]


# Channels


def channel_over(turn: Turn, operation: object) -> Channel | None:
    """Return the channel that has to be registered with a queue before this operation; None if none has to be."""
    return sender(operation) if profile_of(turn).registers_enqueuers else None


def channel_of(t: Turn, p: Proposal) -> Channel:
    """Return the channel that has to be registered before a proposal reaches a leader; NO_CHANNEL if none has to be."""
    return channel_over(t, p.operation)


def sender(operation: object) -> Channel | None:
    """Return the channel over which messages were published; None for any other operation."""
    if not isinstance(operation, Enqueue | Publish) or operation.connection is None:
        return None
    return operation.connection, operation.node, operation.mode


def node_of(channel: Channel) -> int:
    """Return the node at which a channel is."""
    return channel[1]


def is_known(t: Turn, g: Group, channel: Channel) -> bool:
    """Return True if the queue knows a channel. A stream needs no registration."""
    return t.queues[g.name].type == STREAM or any(one.channel == channel for one in fifo.of(t.queues[g.name]).enqueuers)


def note_known(t: Turn, g: Group, channel: Channel) -> None:
    """Register a channel with the queue."""
    limits.register(t, g.name, channel)


def asked_node(t: Turn, g: Group, channel: Channel) -> int:
    """Return the node of the leader that a channel asks for its version; NOWHERE in a release without that request."""
    return dict(g.asked).get(channel, last_leader(t, g)) if profile_of(t).asks_leader_first else -1


def note_asked(t: Turn, g: Group, channel: Channel) -> None:
    """Note that a channel goes on asking the present leader, or the last one."""
    if profile_of(t).asks_leader_first:
        note_leader(t, g, channel)


def note_leader(t: Turn, g: Group, channel: Channel) -> None:
    """Note the present leader, or the last one, unless a channel has begun with another one."""
    if channel not in dict(g.asked):
        g.asked = (*g.asked, (channel, last_leader(t, g)))


def first_leader(t: Turn, g: Group, channel: Channel) -> int:
    """Return the node of the leader that a channel goes on asking, or began to send to; NOWHERE if none is noted."""
    return dict(g.asked).get(channel, NOWHERE)


def forget_leader(t: Turn, g: Group, channel: Channel) -> None:
    """Forget the leader that a channel began to send to."""
    g.asked = tuple(pair for pair in g.asked if pair[0] != channel)


def sends_at_once(t: Turn, g: Group) -> bool:
    """Return True if a channel sends messages to a quorum queue that does not know it."""
    return not profile_of(t).registers_enqueuers and t.queues[g.name].type == QUORUM


def skips_registration(t: Turn, g: Group, channel: Channel) -> bool:
    """Return True if a channel sends messages to a queue that does not know it, and is not informed of leaders then.

    In hawb each publisher with a rate is informed: it goes on publishing and soon passes the soft limit.
    """
    return sends_at_once(t, g) and not channel[0].startswith(STEADY)


def last_leader(t: Turn, g: Group) -> int:
    """Return the leader that the current side's records name: the present one, or the last one."""
    queue = t.queues[g.name]
    return queue.holder if queue.master == NOWHERE else queue.master


def forget(turn: Turn, chosen: Callable[[tuple[str, int, str]], bool]) -> None:
    """Drop the channels of the chosen connections, and the leaders that they asked."""
    for name, group in turn.groups.items():
        vhost = split_queue(name)[0]
        left = tuple((channel, node) for channel, node in group.asked if not chosen((*channel[:2], vhost)))
        if left != group.asked:
            turn.groups.own(name).asked = left


def rejects(t: Turn, g: Group, channel: Channel | None) -> bool:
    """Return True if a channel rejects messages because the queue has reported that it is full."""
    return channel is not None and limits.rejects(t, t.queues[g.name], channel)


def silent_us(t: Turn, a: int, b: int) -> int:
    """Return the time until two nodes give up their connection over a cut link; 0 if they have done so."""
    given_up = LinksTimeOut(t.cuts[min(a, b), max(a, b)])
    return next((entry[TIME_US] - t.now_us for entry in t.agenda if entry[EVENT] == given_up), 0)


# Proposals


def is_chosen(p: Proposal, by: Callable[[Proposal], bool]) -> bool:
    """Return True if a choice (`by`) includes a proposal."""
    return by(p)


def is_in_log(_: Turn, g: Group, node: int, number: int, after: int) -> bool:
    """Return True if a member's log has a proposal behind an index."""
    return any(p.number == number for p in proposals(g.members[node].log, after))


def withdraw(_: Turn, g: Group, number: int) -> None:
    """Remove a proposal that is decided, or no longer waits."""
    g.waiting = tuple(p for p in g.waiting if p.number != number)


def plan_giving_up(t: Turn, g: Group, p: Proposal, patience_us: int) -> None:
    """Schedule when a channel gives up the registration for which a message waits."""
    event = RegistrationGivenUp(g.name, p.number, g.number)
    t.schedule(patience_us, event, priority=TIMER if patience_us else REACTION, step=p.step)


def refuse_orphan(t: Turn, g: Group, p: Proposal) -> None:
    """Count the messages of a proposal as refused: they were never taken, since their client's node is gone."""
    numbers = runs.common(p.numbers, t.queues[g.name].pending) if g.name in t.queues else ()
    if numbers:
        t.change_queue(g.name, pending=runs.minus(t.queues[g.name].pending, numbers))
        bookkeeping.refuse(t, g.name, numbers, "client_node_gone")


def set_aside(t: Turn, g: Group, p: Proposal) -> None:
    """Count the messages of a proposal as refused, while their channel keeps them.

    Messages to a stream stay uncommitted: their channel goes on writing to the former leader (`hawb.engine.streams`).
    """
    queue = t.queues[g.name]
    numbers = runs.common(p.numbers, queue.pending)
    if numbers and queue.type == QUORUM and sender(p.operation) is not None:
        t.change_queue(g.name, pending=runs.minus(queue.pending, numbers))
        bookkeeping.refuse(t, g.name, numbers, "not_sent_again")


def take_up(t: Turn, g: Group, p: Proposal) -> None:
    """Make the messages of a proposal that was set aside pending again: their channel sends them to a leader."""
    refused = runs.minus(p.numbers, t.queues[g.name].pending)
    if refused:
        be_pending(t, g.name, p.operation, p.numbers)
        bookkeeping.take_after_all(t, g.name, refused, "messages_sent_again")


def be_pending(t: Turn, name: str, operation: Enqueue, numbers: Runs) -> None:
    """Record messages of a queue that no majority has yet."""
    queue = t.queues[name]
    sent = Batch(
        numbers[0][0], numbers[-1][1], operation.size_bytes, operation.persistent, operation.priority,
        deaths=operation.deaths, routing_keys=operation.routing_keys,
    )  # fmt: skip
    t.change_queue(name, pending=runs.union(queue.pending, numbers), batches=with_batch(queue.batches, sent))


def reject_first(t: Turn, g: Group, p: Proposal, most: int) -> None:
    """Let a channel reject up to `most` messages of a proposal; the rest stays in its place.

    A channel rejects all messages to a full queue, and some if no member registers the channel.
    """
    failed = runs.head(p.numbers, most)
    left = runs.minus(p.numbers, failed)
    place = g.waiting.index(p)
    t.look_from(p.node)
    withdraw(t, g, p.number)
    reject(t, g, p.node, failed, "max_length" if rejects(t, g, channel_of(t, p)) else "no_majority")
    if left:
        operation = replace(p.operation, count=runs.size(left), numbers=left)
        again = replace(p, number=t.next_number(), operation=operation, numbers=left)
        g.waiting = (*g.waiting[:place], again, *g.waiting[place:])


def reject(t: Turn, g: Group, node: int, numbers: Runs, reason: str) -> None:
    """Let a channel reject messages to their publisher instead of sending them."""
    t.change_queue(g.name, pending=runs.minus(t.queues[g.name].pending, numbers))
    bookkeeping.refuse(t, g.name, numbers, reason)
    confirms.group_answers(t, g.name, node, numbers, numbers, 0)


PORTS = (
    "REGISTRATION_GIVEN_UP", "PROPOSAL_GIVEN_UP", "NO_CHANNEL", "channel_of", "node_of", "is_known",
    "note_known", "asked_node", "note_asked", "silent_us", "rejects", "is_chosen", "is_in_log", "withdraw",
    "plan_giving_up", "refuse_orphan", "set_aside", "take_up", "reject_first",
)  # fmt: skip
"""The ports that engine and kernel both implement."""
PORTS_OF_SEARCHES = ("skips_registration", "first_leader", "note_leader", "forget_leader")
"""The ports of `unregistered`. The kernel implements them for searches only: its trials have publishers with a rate."""
