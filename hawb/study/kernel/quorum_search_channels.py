"""Channels that publish in a search: `hawb.engine.raft_groups.enqueuers`, for channels that are named by their nodes.

`asks` has for each the leader that it asks, or began to send to, and one more (0: none).
"""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.enqueuers import last_leader
from hawb.study.kernel.quorum_search_state import has_node, with_node, without_node
from hawb.study.kernel.state import NONE


@inner
def is_known(t, g, channel):
    """Return True if the queue knows a channel, which is named by its node."""
    return has_node(g.known, channel)


@inner
def note_known(t, g, channel):
    """Register a channel with the queue."""
    g.known = with_node(without_node(g.known, channel), channel)


@inner
def asked_node(t, g, channel):
    """Return the node of the leader that a channel asks for its version; NONE in a release without that request."""
    if not t.setup.asks_leader_first:
        return NONE
    return t.asks[channel] - 1 if t.asks[channel] else last_leader(t, g)


@inner
def note_asked(t, g, channel):
    """Note that a channel goes on asking the present leader, or the last one."""
    if t.setup.asks_leader_first:
        note_leader(t, g, channel)


@inner
def skips_registration(t, g, channel):
    """Return True if a channel sends messages to a queue that does not know it."""
    return not t.setup.registers


@inner
def first_leader(t, g, channel):
    """Return the node of the leader that a channel goes on asking, or began to send to; NONE if none is noted."""
    return t.asks[channel] - 1


@inner
def note_leader(t, g, channel):
    """Note the present leader, or the last one, unless a channel has begun with another one."""
    if not t.asks[channel]:
        t.asks[channel] = last_leader(t, g) + 1


@inner
def forget_leader(t, g, channel):
    """Forget the leader that a channel began to send to."""
    t.asks[channel] = 0
