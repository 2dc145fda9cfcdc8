"""Nodes that pause, boot and restart in a network that may be cut: `hawb.engine.partition_handling` and `membership`,
where they are otherwise than in `nodes`."""

from __future__ import annotations

from hawb.rules import partitions
from hawb.study.compiled import inner, rule
from hawb.study.kernel import answers as publishers
from hawb.study.kernel import nodes
from hawb.study.kernel.cut_state import (
    ELSEWHERE,
    EVERYBODY,
    NO_SIDE,
    RESTART,
    first_running,
    focus_on,
    linked,
    look_from,
    look_from_outside,
    runs_anywhere,
)
from hawb.study.kernel.failover import bury
from hawb.study.kernel.metadata import answers, release_stalled, unstall_deaths
from hawb.study.kernel.nodes import POLL_US, boot_again, decide_who_pauses, miss, pause
from hawb.study.kernel.sides import reachable_side
from hawb.study.kernel.state import (
    DOWN,
    LOOK_AROUND,
    MIRROR_JOINS,
    NOBODY,
    RUNNING,
    SHUT_DOWN,
    STOPPING,
    TIMER,
    WAITING,
    is_planned,
    is_running,
    put,
    schedule,
)

winner = rule(partitions.winner)
fulfills_handling, goes_down, looks_again = nodes.fulfilled, nodes.stopped, nodes.look_again
looks_around, publishers_gone = nodes.look_around, publishers.client_gone


# What a node waits for


@inner
def seen(t, node):
    """The nodes whose Erlang node a node takes for connected, itself among them."""
    bits, runs = 1 << node, runs_anywhere(t, node)
    for other in range(t.setup.nodes):
        status = t.status[other]
        gone = status == DOWN or (runs and status in (RUNNING, ELSEWHERE))
        known = (runs and t.believes[node] >> other & 1) or (not gone and linked(t, node, other))
        bits |= int(bool(known)) << other
    return bits


@inner
def fulfilled(t, node):
    """Whether what a node waits for, or would, is so."""
    if t.awaits[node] == EVERYBODY:
        return seen(t, node) == (1 << t.setup.nodes) - 1
    return t.awaits[node] == RESTART or fulfills_handling(t, node)


@inner
def pause_here(t):
    """Those of the side in focus that are to pause begin to stop."""
    for node in range(t.setup.nodes):
        if is_running(t, node) and t.awaits[node] not in (0, RESTART):
            schedule(t, 0, SHUT_DOWN, node)


@inner
def end(t, node):
    """A node whose broker has stopped goes down altogether, and so it can no longer be seen."""
    focus, t.status[node], t.awaits[node] = t.net.focus, DOWN, 0
    for number in range(1, t.net.last_side + 1):
        if focus_on(t, number):
            decide_who_pauses(t)
            pause(t)
    focus_on(t, focus)


@inner
def stopped(t, node, boot):
    """A controlled shutdown is complete. A node that gives in comes back at once."""
    if t.awaits[node] == RESTART and t.status[node] == STOPPING and t.boots[node] == boot:
        boot_again(t, node)
    else:
        goes_down(t, node, boot)


@inner
def notice_gone(t, gone):
    """Whoever still took a node for running learns that it is gone, each side for itself."""
    focus = t.net.focus
    t.queue.silent &= ~(1 << gone)
    for number in range(1, t.net.last_side + 1):
        if focus_on(t, number) and (t.side[gone] == number or is_believed(t, gone)):
            miss(t, 1 << gone)
    focus_on(t, focus)
    release_stalled(t)


@inner
def is_believed(t, node):
    """Whether anybody on the side in focus takes a node for running."""
    for watcher in range(t.setup.nodes):
        if is_running(t, watcher) and t.believes[watcher] >> node & 1:
            return True
    return False


@inner
def client_gone(t, node):
    """The node of publishers is gone, or takes no clients any more: its connections are closed."""
    t.net.connected &= ~(1 << node)
    publishers_gone(t, node)


# What waits for nodes that do not answer


@inner
def mute(t, node):
    """The nodes of which a node would hear nothing, as bits."""
    return t.queue.silent | t.cut[node]


@inner
def release_stalled_of_sides(t):
    """Somebody answers again or was missed: what has waited is tried again on the sides on which everybody answers."""
    focus, left = t.net.focus, 0
    for k in range(t.queue.stalled):
        kind, node, waits = t.stalled[k, 0], t.stalled[k, 1], False
        for number in range(1, t.net.last_side + 1):
            if focus_on(t, number) and (kind != MIRROR_JOINS or t.side[node] == number):
                if answers(t):
                    schedule(t, 0, kind, node, int(kind == MIRROR_JOINS))
                else:
                    waits = True
        if waits:
            t.stalled[left, 0], t.stalled[left, 1] = kind, node
            left += 1
    t.queue.stalled = left
    focus_on(t, focus)


@inner
def settle_stalled(t):
    """What others had still to settle as a node comes up is settled, on each side."""
    focus = t.net.focus
    if unstall_deaths(t):
        for number in range(1, t.net.last_side + 1):
            if focus_on(t, number):
                bury(t, 1)
        focus_on(t, focus)


# Coming up


@inner
def must_wait(t, node):
    """Whether a booting node waits for another: one that it believed running when it went, unless that waits as well,
    and reaches it, and did not see it go. Where it reaches any node that runs it waits for nobody."""
    if reachable_side(t, node) != NO_SIDE:
        return False
    for other in range(t.setup.nodes):
        if t.believes[node] >> other & 1:
            waits = t.status[other] == WAITING and t.believes[other] >> node & 1
            if not waits or not linked(t, node, other):
                return True
    return False


# Sides that give in


@inner
def look_again(t):
    """Something has come back, or gone: in a second paused nodes look whether they may go on, and sides whether they
    can heal."""
    looks_again(t)
    if t.setup.heals and t.net.sides > 1 and are_parted(t) and not is_planned(t, LOOK_AROUND):
        put(t, POLL_US, TIMER, LOOK_AROUND, 0, 0, 0, 0)


@inner
def are_parted(t):
    """Whether everybody runs and reaches everybody, and they are on several sides."""
    several = False
    for node in range(t.setup.nodes):
        if not runs_anywhere(t, node) or t.cut[node]:
            return False
        several = several or t.side[node] != t.side[0]
    return several


@inner
def look_around(t):
    """The second is over."""
    looks_around(t)
    if t.setup.heals and are_parted(t):
        heal_sides(t)


@inner
def heal_sides(t):
    """All sides but one restart."""
    best = t.side[first_of(t, winning(t))]
    for first in range(t.setup.nodes):
        if is_first(t, first) and t.side[first] != best:
            for node in range(first, t.setup.nodes):
                if t.side[node] == t.side[first]:
                    look_from(t, node)
                    t.awaits[node] = RESTART
                    schedule(t, 0, SHUT_DOWN, node)


@inner
def is_first(t, node):
    """Whether a node is the first of its side."""
    for other in range(node):
        if t.side[other] == t.side[node]:
            return False
    return True


@inner
def first_of(t, place):
    """The first node of the side that is so many places behind the first one, in the order of their first nodes."""
    node = 0
    while place:
        node += 1
        place -= int(is_first(t, node))
    return node


@inner
def winning(t):
    """Which of the sides the others join, in the order of their first nodes: the rule's answer."""
    count = 0
    for first in range(t.setup.nodes):
        if is_first(t, first):
            t.available[count] = t.free[count] = 0
            for node in range(first, t.setup.nodes):
                if t.side[node] == t.side[first]:
                    t.available[count] += t.net.connected >> node & 1
                    t.free[count] += 1
            count += 1
    return winner(t.available[:count], t.free[:count])


# By hand


@inner
def parted(t):
    """The running nodes that a person restarts so that there is one side again, as bits."""
    first, bits = first_running(t), 0
    if t.net.sides == 1 or t.net.severed or t.setup.heals or first == NOBODY:
        return bits
    for node in range(t.setup.nodes):
        bits |= int(runs_anywhere(t, node) and t.side[node] != t.side[first]) << node
    return bits


@inner
def stop_parted(t):
    """A person stops them."""
    bits = parted(t)
    if bits:
        look_from_outside(t)
    for node in range(t.setup.nodes):
        if bits >> node & 1:
            schedule(t, 0, SHUT_DOWN, node)
