"""What is lost, has left the queue or is back while each side of a cluster has records of its own:
`hawb.engine.core.bookkeeping`. Nothing has left the queue before no side has it any more."""

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
    """Counts from now on, or no longer, that the queue has no master on any side, and that it synchronises."""
    up, syncing = t.queue.up, t.queue.syncing
    for place in range(MOST_SIDES):
        if t.kept_side[place] != NO_SIDE:
            up, syncing = up | t.kept[place].up, syncing | t.kept[place].syncing
    count_times_of(t, up, syncing)


@inner
def lose(t, after, last):
    """What the queue had taken after `after` up to `last` is gone from here, and for good unless another side has
    it."""
    windows.clear(t.gone)
    windows.copy(t.content, t.gone, after, last)
    windows.strike_out(t.content, after, last)
    lose_gone(t)


@inner
def lose_gone(t):
    """What of `gone` no other side has is lost."""
    without_elsewhere(t, t.gone)
    windows.copy_all(t.gone, t.lost)


@inner
def take_out(t, after, last):
    """Messages leave the queue in an orderly way. Of those that another side still has that is noted, and holds when
    that side has given them up."""
    for place in range(MOST_SIDES):
        if t.kept_side[place] != NO_SIDE:
            others = t.kept_content[place]
            for k in range(1, others[0, 0] + 1):
                windows.copy(t.content, t.left, max(after, others[k, 0]), min(last, others[k, 1]))
    take_out_here(t, after, last)


@inner
def give_up(t, some):
    """A side has given up messages: what no side has any more is lost, but for what has left the queue on another side
    in an orderly way."""
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
    """A mirror that the last messages did not reach gets those that come now. What lies between it lacks: then it holds
    all only after that, unless it has some of what was before."""
    if windows.count_between(t.content, t.queue.lag_from, t.queue.taken):
        for k in range(1, t.behind[0, 0] + 1):
            if windows.count_between(t.content, max(t.behind[k, 0], t.since[node]), t.behind[k, 1]):
                hand_to_engine(t)
        t.since[node] = t.queue.taken


@inner
def turn_back(t, promoted):
    """A mirror that the last messages did not reach has what was in the queue before, and what has left it since:
    the last of these, 0 if there is none."""
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
    """Messages are in the queue again that had been lost or had left it: an old copy is served."""
    for k in range(1, some[0, 0] + 1):
        windows.clear(t.gone)
        windows.add(t.gone, some[k, 0], some[k, 1])
        without_messages(t.gone, t.lost)
        windows.copy_all(t.gone, t.left)
        windows.strike_out(t.lost, some[k, 0], some[k, 1])


@inner
def note_silent(t, q):
    """Remembers what mirrors have that the master does not reach from now on, and from when on they miss what it
    gets."""
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
