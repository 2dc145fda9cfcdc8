"""Channels that publish to a quorum queue before it knows them: 3.8.9.

A channel sends its first message without registration, and its queue knows it once it has taken a message from it
(`rabbit_fifo:apply_enqueue`). Only the channels that it knows are informed of a new leader.

Source: `rabbit_fifo_client` (`enqueue`, `pick_node`), `rabbit_fifo:state_enter`, before 3.8.10.
"""

from __future__ import annotations

from hawb.engine.cluster.node_ports import linked
from hawb.engine.core.turn import Turn
from hawb.engine.raft_groups.enqueuers import (
    NO_CHANNEL,
    first_leader,
    forget_leader,
    is_known,
    node_of,
    note_known,
    note_leader,
    skips_registration,
)
from hawb.engine.raft_groups.group import Channel, Group
from hawb.engine.raft_groups.leadership import hosts
from hawb.raft.member import NOWHERE

SHARED = True  # the kernel of studies compiles this module


def learns_of_leaders(t: Turn, g: Group, channel: Channel) -> bool:
    """Return True if a new leader sends a channel a leader_change, with which it sends again all that is pending.

    A leader sends it to the channels that its queue knows.
    """
    return channel == NO_CHANNEL or not skips_registration(t, g, channel) or is_known(t, g, channel)


def gets_to_leader(t: Turn, g: Group, channel: Channel) -> bool:
    """Return True if the messages of an unregistered channel reach the leader.

    A channel that is not informed of leaders sends to the one that it began with: that node rejects the message and
    names its leader, or does not answer.
    """
    if learns_of_leaders(t, g, channel):
        return True
    node = first_leader(t, g, channel)
    return node == NOWHERE or (hosts(t, g, node) and linked(t, node_of(channel), node))


def note_sender(t: Turn, g: Group, channel: Channel) -> None:
    """Note the leader with which a channel begins to send messages."""
    if not learns_of_leaders(t, g, channel):
        note_leader(t, g, channel)


def note_taken(t: Turn, g: Group, channel: Channel) -> None:
    """Let a queue know the channel whose message it has taken."""
    if not learns_of_leaders(t, g, channel):
        note_known(t, g, channel)
        forget_leader(t, g, channel)
