"""Messages that are lost, removed or back while each side of a cluster has records of its own.

This is `hawb.engine.core.bookkeeping`. A message has left the queue only when no side has it any more.
"""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import deliveries, windows
from hawb.study.kernel.links import replica_answers
from hawb.study.kernel.partitioned_state import MOST_SIDES, NO_SIDE, linked, without_elsewhere, without_messages
from hawb.study.kernel.record_rules import is_synchronised
from hawb.study.kernel.state import count_times_of, hand_to_engine, link_us

take_out_here = deliveries.take_out


@inner
def count_times(t):
    """Start or stop counting the time without a master on any side, and the time of synchronisations."""
    up, syncing = t.queue.up, t.queue.syncing
    for place in range(MOST_SIDES):
        if t.kept_side[place] != NO_SIDE:
            up, syncing = up | t.kept[place].up, syncing | t.kept[place].syncing
    count_times_of(t, up, syncing)


@inner
def lose(t, after, last):
    """Lose here the messages after `after` up to `last`; they are lost for good unless another side has them."""
    windows.clear(t.gone)
    windows.copy(t.content, t.gone, after, last)
    windows.remove(t.content, after, last)
    lose_gone(t)


@inner
def lose_gone(t):
    """Lose for good what of `gone` no other side has."""
    without_elsewhere(t, t.gone)
    windows.copy_all(t.gone, t.lost)


@inner
def take_out(t, after, last):
    """Remove messages from the queue.

    For those that another side still has this is noted, and counts when that side has given them up.
    """
    for place in range(MOST_SIDES):
        if t.kept_side[place] != NO_SIDE:
            others = t.kept_content[place]
            for k in range(1, others[0, 0] + 1):
                windows.copy(t.content, t.left, max(after, others[k, 0]), min(last, others[k, 1]))
    take_out_here(t, after, last)


@inner
def give_up(t, some):
    """Give up a side's messages.

    What no side has any more is lost, except messages that were removed from the queue on another side.
    """
    windows.clear(t.gone)
    windows.copy_all(some, t.gone)
    without_messages(t.gone, t.content)
    without_messages(t.gone, t.left)
    lose_gone(t)


@inner
def inherit(t, q, promoted, living, gone, entry):
    """Make the promoted mirror's copy the queue's; the other mirrors keep what they held of it.

    Fall back to the engine where a mirror that the master reached holds part of what the promoted mirror brings back
    and the master did not reach it.
    """
    lagging, behind = q.lagging & living, is_behind_all(t, q, promoted, living)
    answer_late(t, q, promoted, living)
    last_back = turn_back(t, promoted) if behind else 0
    lose(t, 0, t.since[promoted])
    for node in range(t.setup.nodes):
        if living >> node & 1:
            near = linked(t, promoted, node)
            if near and is_synchronised(t, q, node):
                t.since[node] = 0
            else:
                t.since[node] = max(t.since[node], t.since[promoted])
                if behind and not lagging >> node & 1 and (not near or last_back > t.since[node]):
                    hand_to_engine(t)
                elif near and not behind and lagging >> node & 1:
                    close_gap(t, node)
            lagging &= ~(int(near) << node)
    q.lagging = lagging
    if lagging:
        windows.clear(t.here)
        windows.copy_all(t.behind, t.here)
        without_messages(t.here, t.content)
        without_messages(t.behind, t.here)
    windows.clear(t.unwritten)


@inner
def is_behind_all(t, q, promoted, living):
    """Return True if the master's last messages did not reach the promoted mirror.

    If they reached a synchronised mirror that the promoted mirror sees, it receives them from the first such mirror,
    and answers for them.
    """
    if not q.lagging >> promoted & 1:
        return False
    for node in range(t.setup.nodes):
        if (living & ~q.lagging) >> node & 1 and is_synchronised(t, q, node) and linked(t, promoted, node):
            t.since[promoted] = t.since[node]
            replica_answers(t, promoted, link_us(t, q.master, promoted))
            return False
    return True


@inner
def answer_late(t, q, promoted, living):
    """Send the master's last messages to the synchronised mirrors that lack them, which answer."""
    for node in range(t.setup.nodes):
        if (living & q.lagging) >> node & 1 and is_synchronised(t, q, node) and linked(t, promoted, node):
            replica_answers(t, node, link_us(t, promoted, node))


@inner
def close_gap(t, node):
    """Let a mirror that the last messages did not reach receive the present ones.

    It lacks those between, so it holds all only after them, unless it has some of the earlier ones.
    """
    if windows.count_between(t.content, t.queue.lag_from, t.queue.taken):
        for k in range(1, t.behind[0, 0] + 1):
            if windows.count_between(t.content, max(t.behind[k, 0], t.since[node]), t.behind[k, 1]):
                hand_to_engine(t)
        t.since[node] = t.queue.taken


@inner
def turn_back(t, promoted):
    """Restore the queue to what a mirror holds that the last messages did not reach.

    That is what was in the queue before, including messages that have left it since. Return the last of these, 0 if
    there is none.
    """
    windows.clear(t.gone)
    windows.copy_all(t.content, t.gone)
    windows.clear(t.here)
    windows.copy(t.behind, t.here, t.since[promoted], t.queue.taken)
    without_messages(t.gone, t.here)
    without_messages(t.here, t.content)
    windows.clear(t.content)
    windows.copy(t.behind, t.content, t.since[promoted], t.queue.taken)
    lose_gone(t)
    last_back = windows.last_by(t.here, t.queue.taken)
    without_elsewhere(t, t.here)
    take_back(t, t.here)
    return last_back


@inner
def take_back(t, some):
    """Put messages back into the queue that had been lost or had left it: an old copy is served."""
    for k in range(1, some[0, 0] + 1):
        windows.clear(t.gone)
        windows.add(t.gone, some[k, 0], some[k, 1])
        without_messages(t.gone, t.lost)
        windows.copy_all(t.gone, t.left)
        windows.remove(t.lost, some[k, 0], some[k, 1])


@inner
def note_silent(t, q):
    """Note what mirrors hold that the master no longer reaches, and from which message on they lack what it gets."""
    silent = 0
    for k in range(q.mirrors):
        silent |= int(not linked(t, q.master, t.mirrors[k])) << t.mirrors[k]
    silent &= ~q.lagging
    if silent and q.lagging:
        hand_to_engine(t)
    if silent:
        windows.clear(t.behind)
        windows.copy_all(t.content, t.behind)
        q.lagging, q.lag_from = silent, q.taken
