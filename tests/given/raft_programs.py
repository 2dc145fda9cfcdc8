"""Random programs for an adversary of a Raft group: he delays, overtakes, loses and doubles messages, cuts links, kills
members together with what was not yet on their disks, and asks for elections, new members and new leaders.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from hypothesis import strategies as st
from raft_cluster import Cluster, promise

from hawb.raft.messages import Command, ConditionTimeout, ElectionTimeout, Join, Leave, Tick, TransferLeadership
from hawb.rules.quorum import tolerated_failures

Step = tuple[str, int, int]
"""A verb, whom or what it is about, and how."""

Program = tuple[int, list[Step]]
"""The size of the group, and what happens to it."""

Verb = Callable[[Cluster, int, int], None]

SIZES = {3: 2, 5: 1, 7: 0}
"""Members of the group, and how many others may join it."""


def some(cluster: Cluster, which: int) -> int:
    """Draw a member."""
    return which % len(cluster.members)


def in_charge(cluster: Cluster, which: int) -> int:
    """Return the leader mostly, and some member otherwise."""
    leader = cluster.leader()
    return leader.id if leader and which % 4 else some(cluster, which)


def deliver(cluster: Cluster, which: int, _: int) -> None:
    """Deliver one message, the oldest as often as any other."""
    if cluster.wire:
        cluster.deliver(cluster.wire[which % len(cluster.wire) if which % 2 else 0])


def drop(cluster: Cluster, which: int, _: int) -> None:
    if cluster.wire:
        cluster.drop(cluster.wire[which % len(cluster.wire)])


def double(cluster: Cluster, which: int, _: int) -> None:
    if cluster.wire:
        cluster.wire += (cluster.wire[which % len(cluster.wire)],)


def write(cluster: Cluster, which: int, _: int) -> None:
    """Finish one write of one disk."""
    if busy := [number for number, writes in cluster.writes.items() if writes]:
        cluster.finish_write(busy[which % len(busy)])


def cut(cluster: Cluster, which: int, shape: int) -> None:
    """Cut some nodes from the others, in one or both directions, into a ring of neighbours, or so that one node sees
    both sides.
    """
    nodes = range(len(cluster.members))
    apart = {(a, b) for a in nodes for b in nodes if (which >> a & 1) != (which >> b & 1)}
    shapes = (
        apart,
        {(a, b) for a, b in apart if which >> a & 1},
        {(a, b) for a in nodes for b in nodes if (a - b + 1) % len(nodes) > 2},
        {(a, b) for a, b in apart if which % len(nodes) not in (a, b)},
    )
    cluster.cuts = frozenset(shapes[shape % len(shapes)])


def heal(cluster: Cluster, _: int, __: int) -> None:
    cluster.cuts = frozenset()


def settle(cluster: Cluster, which: int, _: int) -> None:
    cluster.settle(which % 40)


def elect(cluster: Cluster, which: int, _: int) -> None:
    """Fire a member's election timeout and let a drawn number of events follow."""
    cluster.start(some(cluster, which))
    cluster.give(some(cluster, which), ElectionTimeout())
    cluster.settle(which % 60)


def duel(cluster: Cluster, which: int, other: int) -> None:
    """Let two members become candidates before the others have heard of either."""
    cluster.stand(some(cluster, which))
    cluster.stand(some(cluster, other))


def command(cluster: Cluster, which: int, count: int) -> None:
    """Send a batch that differs from all others."""
    cluster.give(in_charge(cluster, which), Command(len(cluster.known), count + 1))


def release(cluster: Cluster, which: int, _: int) -> None:
    if cluster.members[some(cluster, which)]:
        cluster.release(some(cluster, which))


def kill(cluster: Cluster, which: int, _: int) -> None:
    cluster.kill(some(cluster, which))


def start(cluster: Cluster, which: int, _: int) -> None:
    cluster.start(some(cluster, which))


def again(cluster: Cluster, which: int, _: int) -> None:
    """Kill and start a member before any other notices."""
    cluster.kill(some(cluster, which))
    cluster.start(some(cluster, which))


def to_some(event: object) -> Verb:
    """Give a member the event."""
    return lambda cluster, which, _: cluster.give(some(cluster, which), event)


def to_leader(event: Callable[[int], object]) -> Verb:
    """Give mostly the leader an event about some member."""
    return lambda cluster, which, more: cluster.give(in_charge(cluster, which), event(some(cluster, more)))


VERBS: dict[str, tuple[int, Verb]] = {
    "deliver": (16, deliver),
    "settle": (8, settle),
    "write": (6, write),
    "drop": (3, drop),
    "double": (3, double),
    "election": (3, to_some(ElectionTimeout())),
    "elect": (5, elect),
    "duel": (3, duel),
    "tick": (4, to_some(Tick())),
    "condition": (1, to_some(ConditionTimeout())),
    "command": (7, command),
    "join": (3, to_leader(Join)),
    "leave": (3, to_leader(Leave)),
    "transfer": (2, to_leader(TransferLeadership)),
    "release": (2, release),
    "kill": (3, kill),
    "start": (5, start),
    "restart": (3, again),
    "cut": (2, cut),
    "heal": (2, heal),
}
"""What an adversary does, and how often."""

NAMES = [name for name, (often, _) in VERBS.items() for _ in range(often)]
STEPS = st.tuples(st.sampled_from(NAMES), st.integers(0, 9_999), st.integers(0, 9))
PROGRAMS = st.tuples(st.sampled_from(list(SIZES)), st.lists(STEPS, min_size=100, max_size=200))


def drawn(seed: int) -> Program:
    """Draw a program like those of `PROGRAMS`, a hundred times as fast and without shrinking."""
    draw = random.Random(seed)
    steps = [(draw.choice(NAMES), draw.randrange(10_000), draw.randrange(10)) for _ in range(draw.randint(100, 200))]
    return draw.choice(list(SIZES)), steps


def play(program: Program) -> Cluster:
    """Return the group after the program, with a check after each event."""
    size, steps = program
    cluster = Cluster(size, SIZES[size])
    for name, which, more in steps:
        VERBS[name][1](cluster, which, more)
    return cluster


def end_well(cluster: Cluster) -> None:
    """Faults stop: somebody leads, and commits what it takes; nothing that was committed is lost. Then the leader dies,
    and as many more as a majority can spare, for good."""
    leader = cluster.get_well()
    cluster.give(leader.id, Command("last but one"))
    leader = cluster.get_well()
    others = [number for number in leader.members if number != leader.id]
    spared = tolerated_failures(len(leader.members))
    leader = cluster.get_well(dead=[leader.id, *others][:spared])
    cluster.give(leader.id, Command("last"))
    leader = cluster.get_well(dead=cluster.dead())
    machine = cluster.machines[leader.id]
    promise(machine == cluster.committed, "nothing committed is lost", machine, cluster.committed)
    said = [command for _, command, _ in machine]
    promise(said[-1] == "last" and "last but one" in said, "what a leader takes is committed", said)
