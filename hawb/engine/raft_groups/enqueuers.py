"""Channels that publish to quorum queues, and proposals that wait: what the rules that stand once (`registration` and
`asking` in `hawb.engine.raft_groups`) need of a turn for them.

Here is what the engine has for it; for the kernel it is in `hawb.study.kernel.enqueuers`. What a port promises is said
here for both. `p` is a proposal, `g` the group that it waits for.

Source: `rabbit_fifo_client` (`enqueue`, `register_enqueuer`); since 3.8.10. Before that a channel just sends, and its
queue knows it once it has taken a message from it (`rabbit_fifo:apply_enqueue`).
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from hawb.engine import streams
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
from hawb.engine.raft_groups import leadership
from hawb.engine.raft_groups.events import ProposalGivenUp, RegistrationGivenUp
from hawb.engine.raft_groups.group import Channel, Group, Proposal, proposals
from hawb.rules.quorum_profiles import QUORUM_PROFILES, QuorumProfile

REGISTRATION_GIVEN_UP, PROPOSAL_GIVEN_UP = RegistrationGivenUp, ProposalGivenUp
"""What may be planned of a proposal."""
STEADY = "publisher "
"""The beginning of the connection's name of a publisher with a rate."""
NO_CHANNEL = None
"""In place of a channel: none that has to be known."""
ALL = 2**62
"""In place of a number of messages."""


def profile_of(turn: Turn) -> QuorumProfile:
    """How the cluster's release differs."""
    return QUORUM_PROFILES[turn.settings.profile.version]


# Channels


def channel_over(turn: Turn, operation: object) -> Channel | None:
    """The channel that has to be known to a queue before it may publish to it; None where that is not asked."""
    return sender(operation) if profile_of(turn).registers_enqueuers else None


def channel_of(t: Turn, p: Proposal) -> Channel | None:
    """The channel that has to be known before what it asks gets to a leader; NO_CHANNEL where none has to be."""
    return channel_over(t, p.operation)


def sender(operation: object) -> Channel | None:
    """The channel over which messages were published; None for anything else."""
    if not isinstance(operation, Enqueue | Publish) or operation.connection is None:
        return None
    return operation.connection, operation.node, operation.mode


def node_of(channel: Channel) -> int:
    """The node at which a channel is."""
    return channel[1]


def is_known(t: Turn, g: Group, channel: Channel) -> bool:
    """Whether the queue knows a channel, which to a stream is all the same."""
    return t.queues[g.name].type == STREAM or any(one.channel == channel for one in fifo.of(t.queues[g.name]).enqueuers)


def note_known(t: Turn, g: Group, channel: Channel) -> None:
    """The queue gets to know a channel."""
    limits.register(t, g.name, channel)


def whom_it_asks(t: Turn, g: Group, channel: Channel) -> int:
    """The node of the leader that a channel asks for its version; NOWHERE where no channel does."""
    return dict(g.asked).get(channel, last_leader(t, g)) if profile_of(t).asks_leader_first else -1


def note_asked(t: Turn, g: Group, channel: Channel) -> None:
    """A channel goes on asking the leader that there is now, or was last."""
    if profile_of(t).asks_leader_first:
        note_leader(t, g, channel)


def note_leader(t: Turn, g: Group, channel: Channel) -> None:
    """Note the leader that there is now, or was last, unless a channel has begun with another one."""
    if channel not in dict(g.asked):
        g.asked = (*g.asked, (channel, last_leader(t, g)))


def note_sender(t: Turn, g: Group, channel: Channel | None) -> None:
    """Note with which leader a channel begins that sends messages now, in releases that do not register it first."""
    if not hears_of_leaders(t, g, channel):
        note_leader(t, g, channel)


def note_taken(t: Turn, g: Group, operation: object) -> None:
    """Let the queue know the channel whose messages it takes, in releases that do not register it first."""
    channel = sender(operation)
    if not hears_of_leaders(t, g, channel):
        note_known(t, g, channel)
        g.asked = tuple(pair for pair in g.asked if pair[0] != channel)


def sends_at_once(t: Turn, g: Group) -> bool:
    """Return True if a channel sends messages to a quorum queue that does not know it."""
    return not profile_of(t).registers_enqueuers and t.queues[g.name].type == QUORUM


def hears_of_leaders(t: Turn, g: Group, channel: Channel | None) -> bool:
    """Return True if a new leader sends a channel a leader_change, with which the channel sends all again that is
    pending: a leader sends it to the channels that it knows (`rabbit_fifo:state_enter`). Here that is so of each
    publisher with a rate, which goes on publishing, and passes the soft limit soon."""
    if channel is None or channel[0].startswith(STEADY) or not sends_at_once(t, g):
        return True
    return is_known(t, g, channel)


def gets_to_leader(t: Turn, g: Group, channel: Channel | None) -> bool:
    """Return True if what a channel sends gets to the leader. A channel that does not hear of leaders sends it to the
    one that it began with (`rabbit_fifo_client:pick_node`): that node rejects it and names its leader, or does not
    answer."""
    if not streams.writes_to_leader(t, g, channel):
        return False
    node = dict(g.asked).get(channel, NOWHERE)
    if hears_of_leaders(t, g, channel) or node == NOWHERE:
        return True
    return leadership.hosts(t, g, node) and t.linked(channel[1], node)


def last_leader(t: Turn, g: Group) -> int:
    """The leader that the records of the side in focus name: the one that it knows, or the last there was."""
    queue = t.queues[g.name]
    return queue.holder if queue.master == NOWHERE else queue.master


def forget(turn: Turn, chosen: Callable[[tuple[str, int, str]], bool]) -> None:
    """The channels of the chosen connections are gone, and with them whom they asked."""
    for name, group in turn.groups.items():
        vhost = split_queue(name)[0]
        left = tuple((channel, node) for channel, node in group.asked if not chosen((*channel[:2], vhost)))
        if left != group.asked:
            turn.groups.own(name).asked = left


def rejects(t: Turn, g: Group, channel: Channel | None) -> bool:
    """Whether a channel rejects what it was to publish, since it has been told that the queue is full."""
    return channel is not None and limits.rejects(t, t.queues[g.name], channel)


def silent_us(t: Turn, a: int, b: int) -> int:
    """How long it takes until the connection of two nodes, between which a link drops everything, is given up; 0 where
    it is by now."""
    given_up = LinksTimeOut(t.cuts[min(a, b), max(a, b)])
    return next((entry[TIME_US] - t.now_us for entry in t.agenda if entry[EVENT] == given_up), 0)


# Proposals


def is_chosen(p: Proposal, by: Callable[[Proposal], bool]) -> bool:
    """Whether somebody who chooses means a proposal."""
    return by(p)


def is_in_log(_: Turn, g: Group, node: int, number: int, after: int) -> bool:
    """Whether a member's log has a proposal behind an index."""
    return any(p.number == number for p in proposals(g.members[node].log, after))


def withdraw(_: Turn, g: Group, number: int) -> None:
    """A proposal is decided, or waits no more."""
    g.waiting = tuple(p for p in g.waiting if p.number != number)


def plan_giving_up(t: Turn, g: Group, p: Proposal, patience_us: int) -> None:
    """A channel waits so long to be known before it sends a message."""
    event = RegistrationGivenUp(g.name, p.number, g.number)
    t.schedule(patience_us, event, priority=TIMER if patience_us else REACTION, step=p.step)


def refuse_orphan(t: Turn, g: Group, p: Proposal) -> None:
    """The messages of a proposal were never taken, since their client's node is gone."""
    numbers = runs.common(p.numbers, t.queues[g.name].pending) if g.name in t.queues else ()
    if numbers:
        t.change_queue(g.name, pending=runs.minus(t.queues[g.name].pending, numbers))
        bookkeeping.refuse(t, g.name, numbers, "client_node_gone")


def set_aside(t: Turn, g: Group, p: Proposal) -> None:
    """Count the messages of a proposal as refused, while their channel keeps them. Those to a stream stay uncommitted:
    their channel goes on writing to the former leader (`hawb.engine.streams`)."""
    queue = t.queues[g.name]
    numbers = runs.common(p.numbers, queue.pending)
    if numbers and queue.type == QUORUM and sender(p.operation) is not None:
        t.change_queue(g.name, pending=runs.minus(queue.pending, numbers))
        bookkeeping.refuse(t, g.name, numbers, "not_sent_again")


def take_up(t: Turn, g: Group, p: Proposal) -> None:
    """Let the messages of a proposal that was set aside be pending again: their channel sends them to a leader."""
    refused = runs.minus(p.numbers, t.queues[g.name].pending)
    if refused:
        be_pending(t, g.name, p.operation, p.numbers)
        bookkeeping.take_after_all(t, g.name, refused, "messages_sent_again")


def be_pending(t: Turn, name: str, operation: Enqueue, numbers: Runs) -> None:
    """Let a queue know messages that no majority has yet."""
    queue = t.queues[name]
    sent = Batch(
        numbers[0][0], numbers[-1][1], operation.size_bytes, operation.persistent, operation.priority,
        deaths=operation.deaths, routing_keys=operation.routing_keys,
    )  # fmt: skip
    t.change_queue(name, pending=runs.union(queue.pending, numbers), batches=with_batch(queue.batches, sent))


def reject_first(t: Turn, g: Group, p: Proposal, most: int) -> None:
    """A channel does not send up to `most` messages of a proposal, and says so to their publisher; the rest stands in
    its place. It rejects all that it was to publish to a queue that is full, and some where nobody makes it known."""
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
    """A channel does not send messages, and says so to their publisher."""
    t.change_queue(g.name, pending=runs.minus(t.queues[g.name].pending, numbers))
    bookkeeping.refuse(t, g.name, numbers, reason)
    confirms.group_answers(t, g.name, node, numbers, numbers, 0)


PORTS = (
    "REGISTRATION_GIVEN_UP", "PROPOSAL_GIVEN_UP", "NO_CHANNEL", "channel_of", "node_of", "is_known",
    "note_known", "whom_it_asks", "note_asked", "silent_us", "rejects", "is_chosen", "is_in_log", "withdraw",
    "plan_giving_up", "refuse_orphan", "set_aside", "take_up", "reject_first",
)  # fmt: skip
"""The names of what others have to have."""
