"""Every story of three members, up to a depth: any message under way may arrive next, again and again or never; any
member may ask to be elected, where pre-votes are asked and given in one event, finish a write, or restart. What Raft
promises is so in each state.
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
    """A leader with a first entry that all have, and two batches that it has told nobody of yet: those it sent are
    under way."""
    cluster = Cluster(3)
    cluster.give(0, ElectionTimeout())
    cluster.settle()
    cluster.give(0, Command("m", 2))
    return cluster


def followers(cluster: Cluster) -> Iterator[Cluster]:
    """All states one event later."""
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


def test_every_story():
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
