"""The steps that replace members of quorum queues and streams on nodes that have left the cluster.

Such a member counts for the majority and never comes back. It is deleted before another is added: one member more
raises the majority. Source: `rabbit_quorum_queue:delete_member`, `rabbit_stream_queue:delete_replica`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from hawb.rules.quorum import majority

Node = TypeVar("Node", int, str)


class Change(Struct, Generic[Node], frozen=True):
    """The nodes of each step, in this order.

    Start the nodes `start`, delete the members on `delete`, reset the nodes `rejoin` and join them to the cluster, add
    members on `add`.
    """

    start: tuple[Node, ...] = ()
    delete: tuple[Node, ...] = ()
    rejoin: tuple[Node, ...] = ()
    add: tuple[Node, ...] = ()


def change(
    members: Sequence[Node], online: Sequence[Node], gone: Sequence[Node], free: Sequence[Node], down: Sequence[Node],
    deletes: bool = True,
) -> Change[Node]:  # fmt: skip
    """Return the steps for a queue with members on nodes that are `gone`, after which it outlives more failures.

    `free` are the running nodes without a member of the queue, `down` those members of the cluster without one that do
    not run, each the best first. Where neither lets the queue outlive more, the nodes that are gone join again; so they
    do where no member can be deleted: without a majority, if there is no other, or if not `deletes`.
    """
    gone = tuple(gone)
    left = len(members) - len(gone)
    if not deletes or len(online) < majority(len(members)) or not left:
        return Change(rejoin=gone)
    for start in ((), down):
        add = (*free, *start)[: len(gone)]
        if spare(left + len(add), len(online) + len(add)) > spare(len(members), len(online)):
            return Change(start=tuple(node for node in add if node in start), delete=gone, add=add)
    return Change(delete=gone, rejoin=gone, add=gone)


def spare(members_count: int, online_count: int) -> int:
    """Return how many more members a queue can lose and keep a majority."""
    return max(online_count - majority(members_count), 0)
