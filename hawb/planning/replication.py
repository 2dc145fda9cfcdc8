"""The number of members that a quorum queue should have: the rule, and its result for a given cluster.

A majority of the members decides, so an even number tolerates no more failures than the odd one below it, and every
member writes every message: take the smallest odd number that tolerates the failures wanted, at least three, at most
seven, and no more than there are nodes. Source: the guide to quorum queues, its sections on group size and on
performance (three, five and seven nodes), and `hawb.rules.quorum.majority`.
"""

from __future__ import annotations

from hawb.rules.policies import HaMode, Mirroring
from hawb.rules.quorum import tolerated_failures

FEWEST, MOST = 3, 7
RULE = (
    "the smallest odd number of members whose majority survives the failures to tolerate: at least 3, at most 7,"
    " and no more than there are nodes"
)


def members_for(failures: int, nodes: int | None = None) -> int:
    """Return the number of members that tolerates so many failures, or comes closest on `nodes` nodes.

    `nodes` is None if unknown.
    """
    members = next((odd for odd in range(FEWEST, MOST + 1, 2) if tolerated_failures(odd) >= failures), MOST)
    if nodes is None or members <= nodes:
        return members
    return nodes if nodes < FEWEST else nodes - 1 + nodes % 2


def members_for_mirrors(said: Mirroring | None, nodes: int | None) -> int:
    """Return the number of members to replace a master and its mirrors: as many as there are copies, rounded up to odd.

    ha-mode all is no number that an operator chose, and counts as three.
    """
    copies = FEWEST
    if said is not None and said.mode is HaMode.EXACTLY:
        copies = said.count or FEWEST
    elif said is not None and said.mode is HaMode.NODES:
        copies = len(set(said.nodes))
    return members_for(tolerated_failures(copies | 1), nodes)
