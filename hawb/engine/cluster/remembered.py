"""The records that a node that is down remembers, and what of them it finds on its disk.

Source: `rabbit_mnesia`, `rabbit_node_monitor`; 3.10.8 clusters.
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine.classic.copies import persistent
from hawb.engine.core import runs
from hawb.engine.core.mutable_side import MutableSide
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.state import NOWHERE, Queue, with_content
from hawb.engine.core.turn import Turn
from hawb.engine.queues.contents import united


def remember(turn: Turn, node: int) -> None:
    """Keep the current records for a node that goes down."""
    turn.look_from(node)
    members = frozenset(other for other, value in enumerate(turn.nodes) if value.member)
    groups = {name: group.number for name, group in turn.groups.items() if name in turn.queues}
    remembered = replace(turn.focus.snapshot(), members=members, groups=groups)
    turn.change_node(node, remembers=remembered)


def restored(turn: Turn, node: int) -> MutableSide:
    """Return a new side with the records that a node remembers and the messages that are on disks now."""
    remembered, now = turn.nodes[node].remembers, turn.sides[turn.nodes[node].side]
    side = MutableSide(replace(remembered, number=turn.next_number()))
    for name, queue in list(side.queues.items()):
        if queue.has_group and name in now.queues:
            side.queues[name] = as_recorded(queue, now.queues[name])
        elif not queue.has_group and queue.durable:
            side.queues[name] = as_on_disk(turn, queue, now.queues.get(name), node)
        else:
            del side.queues[name]
    return side


def perhaps_delivered(turn: Turn, name: str, node: int, content: Runs) -> Runs:
    """Return the messages on a node's disk that may have been delivered before.

    After a controlled stop the disk says which; otherwise any of them may have been.
    """
    remembered = turn.nodes[node].remembers
    queue = remembered.queues.get(name) if remembered else None
    if queue is None or queue.master != node or not queue.stopped or queue.up:
        return content
    return runs.common(queue.delivered, content)


def on_own_disk(turn: Turn, name: str, node: int) -> Runs | None:
    """Return the messages of a queue on the disk of a node that is down; None if it has no copy.

    The other nodes may have removed that node from the queue.
    """
    remembered = turn.nodes[node].remembers
    queue = remembered.queues.get(name) if remembered else None
    if queue is None or not queue.durable or queue.contents[node] is None:
        return None
    return runs.common(queue.contents[node], persistent(queue.batches))


def as_recorded(queue: Queue, now: Queue) -> Queue:
    """Return the record of a quorum queue without a leader, with the policies of a remembered record.

    All sides share the queue's Raft group, which keeps the settings that it received last.
    """
    before = queue.pending_settings or queue.quorum_settings
    return replace(
        now, master=NOWHERE, up=False, ttl_timer_us=None, policy=queue.policy, operator_policy=queue.operator_policy,
        pending_settings=before if before != now.quorum_settings else None,
    )  # fmt: skip


def as_on_disk(turn: Turn, queue: Queue, now: Queue | None, node: int) -> Queue:
    """Return a remembered record without a master process, with the messages that are on disks now."""
    contents = queue.contents if now is None else now.contents
    given_up = (at for at in (node, queue.master) if contents[at] is None and not turn.nodes[at].virgin)
    contents = with_content(contents, {at: on_own_disk(turn, queue.name, at) for at in given_up})
    return replace(
        queue,
        contents=tuple(content if at == node or at == queue.master else None for at, content in enumerate(contents)),
        batches=queue.batches if now is None else united(queue.batches, now.batches),
        redelivered=perhaps_delivered(turn, queue.name, queue.master, contents[queue.master] or EMPTY),
        mirrors=(), synchronised=(), depth_unknown=0, crashed=0, consumers=(), waiting=(), active_consumer=None,
        unacknowledged=EMPTY, sync=None, up=False, awaits_master=True, orphaned_gm=NOWHERE,
        dead_gm_members=0, dead_gm_synchronised=0,
        orphaned_mirrors=(), orphaned_group=0, orphaned_publishes=(), not_promotable=0,
        ttl_timer_us=None,
    )  # fmt: skip
