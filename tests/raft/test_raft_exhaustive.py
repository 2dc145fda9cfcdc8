"""Raft's invariants hold in every state that three members can reach within a number of events.

An event delivers any message in flight, once, repeatedly or never; starts an election, with its pre-votes in the same
event; finishes a write; or restarts a member.
"""

from __future__ import annotations

from collections.abc import Iterator

from conftest import LONG
from raft_cluster import Cluster

from hawb.raft.messages import Command, ElectionTimeout

DEPTH = 7 if LONG else 6
STATES = {6: 56_939, 7: 313_597}
"""How many there are. Another number means that the protocol does something else than it did."""


def beginning() -> Cluster:
    """Return a leader with one entry on all members and a batch of commands whose messages are in flight."""
    cluster = Cluster(3)
    cluster.give(0, ElectionTimeout())
    cluster.settle()
    cluster.give(0, Command("m", 2))
    return cluster


def followers(cluster: Cluster) -> Iterator[Cluster]:
    """Yield each state that is one event later."""
    for message in dict.fromkeys(cluster.wire):
        after = cluster.copy()
        after.deliver(message)
        after.wire += (message,)
        yield after
    for number in cluster.members:
        if cluster.writes[number]:
            after = cluster.copy()
            after.finish_write(number)
            yield after
        after = cluster.copy()
        after.stand(number)
        yield after
        after = cluster.copy()
        after.kill(number)
        after.start(number)
        yield after


def test_invariants_hold_in_every_reachable_state():
    level = [beginning()]
    seen = {hash(level[0].key())}
    for depth in range(1, DEPTH + 1):
        found = []
        for after in (after for before in level for after in followers(before)):
            if (key := hash(after.key())) not in seen:
                seen.add(key)
                found.extend([after] if depth < DEPTH else [])
        level = found
        print(f"up to depth {depth}: {len(seen):,} states")
    assert len(seen) == STATES[DEPTH]
