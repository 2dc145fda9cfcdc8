"""Registration of channels that publish to a quorum queue, which precedes their first message.

Until then the channel's process waits for an answer, and so does whatever is published over it afterwards, to any queue
(`hawb.engine.quorum.awaiting_registration`).

Source: `rabbit_fifo_client` (`enqueue`, `register_enqueuer`), since 3.8.10.
"""

from __future__ import annotations

from hawb.engine.cluster.node_ports import linked, runs_anywhere
from hawb.engine.core.turn import Turn
from hawb.engine.raft_groups.enqueuers import (
    ALL,
    NO_CHANNEL,
    REGISTRATION_GIVEN_UP,
    asked_node,
    channel_of,
    is_known,
    node_of,
    note_asked,
    note_known,
    plan_giving_up,
    reject_first,
    silent_us,
)
from hawb.engine.raft_groups.group import GONE, Channel, Group, Proposal
from hawb.engine.raft_groups.ports import MAJORITY_REACHED, is_planned, plan, reached, record, waiting_of
from hawb.raft.member import NOWHERE
from hawb.raft.ports import bits_in

SHARED = True  # the kernel of studies compiles this module

BEYOND_TICKTIME_US = 5_000_000
"""The time beyond net_ticktime for which a channel waits for an answer (`rabbit_fifo_client:init`)."""
CONNECT_US = 7_000_000
"""The time for which a node tries to connect to another that does not answer (net_setuptime of Erlang's kernel)."""


def is_registered(t: Turn, g: Group, channel: Channel) -> bool:
    """Return True if a queue knows a channel, or need not."""
    return channel == NO_CHANNEL or is_known(t, g, channel)


def is_waiting(t: Turn, g: Group, channel: Channel) -> bool:
    """Return True if a channel with something to send waits for its registration."""
    if is_registered(t, g, channel):
        return False
    for p in waiting_of(t, g):
        if p.node != GONE and channel_of(t, p) == channel:
            return True
    return False


def register(t: Turn, g: Group, channel: Channel) -> None:
    """Register a channel with the queue by a leader that can commit. The round that this takes is not simulated."""
    if not is_registered(t, g, channel) and not asks_unreachable_node(t, g, channel):
        note_known(t, g, channel)


def asks_unreachable_node(t: Turn, g: Group, channel: Channel) -> bool:
    """Return True if an unregistered channel asks for the version of a node that is down or beyond a cut link.

    3.10.8 asks the node of the leader of when the channel first published to the queue, however often it tries and
    whichever node leads since (`rabbit_fifo_client:pick_server`: `servers` is as `init` had it, and the registration
    sets `leader`). So 3.10.8 clusters rejected messages after an election too.
    """
    node = asked_node(t, g, channel)
    return node != NOWHERE and not (runs_anywhere(t, node) and linked(t, node_of(channel), node))


def registration_us(t: Turn, g: Group, channel: Channel) -> int:
    """Return how long a channel waits for its registration, in microseconds.

    The channel asks the members that it reaches one after the other. Each passes the request on to the leader, or waits
    for a leader (`ra_server_proc:multi_statem_call`, `maybe_redirect`). A node behind a cut link is asked until the
    connection is given up, and later until it fails to connect.
    """
    if asks_unreachable_node(t, g, channel):
        node, here = asked_node(t, g, channel), node_of(channel)
        return (silent_us(t, here, node) or CONNECT_US) if runs_anywhere(t, node) else 0
    return bits_in(reached(t, g, node_of(channel))) * (t.setup.ticktime_us + BEYOND_TICKTIME_US)


def await_registration(t: Turn, g: Group, channel: Channel) -> None:
    """Let a channel register with its first message. Its other messages wait until it is registered."""
    for p in waiting_of(t, g):
        if p.node != GONE and channel_of(t, p) == channel:
            wait_with(t, g, p, channel)
            break
    note_asked(t, g, channel)


def wait_with(t: Turn, g: Group, p: Proposal, channel: Channel) -> None:
    """Schedule when the registration is given up that a message waits for."""
    if not is_planned(t, g, REGISTRATION_GIVEN_UP, p.number):
        patience_us, leader = registration_us(t, g, channel), record(t, g).master
        plan_giving_up(t, g, p, patience_us)
        if patience_us and record(t, g).up and linked(t, p.node, leader):
            plan(t, g, 0 if p.node == leader else t.setup.link_us, MAJORITY_REACHED, leader)


def registration_given_up(t: Turn, g: Group, p: Proposal) -> None:
    """Reject the message that waited for a registration that no member made in time.

    The channel tries again with the next message; if it reaches no member, all its messages are rejected.
    """
    channel = channel_of(t, p)
    if not is_registered(t, g, channel):
        reject_first(t, g, p, 1 if registration_us(t, g, channel) else ALL)
        await_registration(t, g, channel)
