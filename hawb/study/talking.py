"""Play the messages within Raft groups without applying the clients' flows before each, as the kernel's trials do.

See `hawb.study.kernel.quorum_trial.talk`. The groups are those of a quorum queue and of the metadata store. While no
client publishes or receives anything, applying flows before each message has no effect, but would take most of a
trial's time.
"""

from __future__ import annotations

from hawb.engine import advance
from hawb.engine.clients.steady.changes import flows_us
from hawb.engine.clients.steady.publishing import react
from hawb.engine.core.state import QUORUM, Queue
from hawb.engine.core.turn import Turn
from hawb.engine.quorum import fifo
from hawb.engine.raft_groups.events import (
    ElectionDue,
    LeaderElected,
    LogCut,
    MajorityReached,
    MembersAbreast,
    RaftArrives,
    RaftWritten,
)

WITHIN_GROUP = frozenset(
    (RaftArrives, RaftWritten, ElectionDue, LeaderElected, MajorityReached, LogCut, MembersAbreast)
)
"""Events between members alone, or between a group and operations that wait for it."""


def talk(turn: Turn, name: str, stop_us: int) -> bool:
    """Play the events of Raft groups until `stop_us`, or until a client publishes or receives.

    Return True if clients have to react: if the leader changes, if the queue or the metadata store can or cannot commit
    any more, or if something is committed. Clients and operators of a trial see nothing else of the groups.
    """
    queue = turn.queues.get(name)
    if not is_next_within_group(turn) or queue is None or not may_talk(turn, queue):
        return False
    calm_us = min(stop_us, flows_us(turn, queue))
    while is_next_within_group(turn) and turn.next_time_us() < calm_us:
        before = leaders(turn, queue)
        event = turn.take()
        advance.HANDLERS[type(event)](turn, event)
        queue = turn.queues[name]
        if turn.committed or leaders(turn, queue) != before:
            advance.flow(turn, turn.now_us)
            react(turn)
            return True
    return False


def leaders(turn: Turn, queue: Queue) -> tuple[int, ...]:
    """Return the leader of the queue and whether it can commit; the same of the metadata store, if it is a group."""
    view = turn.focus.store
    return (queue.master, queue.up) if view is None else (queue.master, queue.up, view.master, view.up)


def is_next_within_group(turn: Turn) -> bool:
    """Return True if the next event is within a Raft group."""
    return type(turn.agenda.next_event) in WITHIN_GROUP


def may_talk(turn: Turn, queue: Queue) -> bool:
    """Return True if `talk` applies to the queue: no message and no queue expires, and no link is cut."""
    limits = fifo.limits_of(queue)
    lasting = limits.message_ttl_ms is None and limits.expires_ms is None
    return queue.type == QUORUM and lasting and not turn.cuts and len(turn.sides) == 1
