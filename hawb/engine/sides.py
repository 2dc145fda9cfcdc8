"""Sides of a cluster: how one becomes several, and how their nodes find together again.

Nodes that no longer see each other go on each with the records that all had. Nothing ever merges what they do from then
on: a node that comes up among nodes of another side takes over their records (`rabbit_mnesia`), wipes its replicas, and
what only its own side had is gone when the last node leaves that. Only a queue whose master the others are still
waiting for is taken from the disk that comes back.

The same holds for a node that is made to boot from records that others have outlived (`go_back`).

Source: `rabbit_mnesia`, `rabbit_node_monitor`; partitions of 3.10.8 clusters.
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine import access, bookkeeping, runs, subscriptions
from hawb.engine.classic.mirrors import end_master
from hawb.engine.contents import united
from hawb.engine.disks import persistent
from hawb.engine.nodes import sight
from hawb.engine.records import Records
from hawb.engine.runs import EMPTY, Runs
from hawb.engine.state import NOWHERE, QUORUM, Queue, bits_of, nodes_of, with_content
from hawb.engine.turn import Turn


def apart(turn: Turn, nodes: int) -> list[list[int]]:
    """Nodes, given as bits, in groups of those that believe each other running, by way of others if need be. The group
    of the first node in the scenario's order comes first."""
    groups, left = [], nodes
    for node in turn.settings.file_order:
        if left >> node & 1:
            group = sight.seen_from(turn, node, nodes)
            groups.append(nodes_of(group))
            left &= ~group
    return groups


def split(turn: Turn) -> list[list[int]]:
    """Gives each group of nodes of the side in focus that see each other records of its own. The first keeps the side
    and what is down. Returns the groups."""
    old = turn.focus
    up = (node for node in range(len(turn.nodes)) if turn.is_here(node) and sight.is_up(turn, node))
    groups = apart(turn, bits_of(up))
    for group in groups[1:]:
        side = Records(replace(old.frozen(), number=turn.next_number()))
        turn.sides[side.number] = side
        for node in group:
            turn.change_node(node, side=side.number)
        turn.share_plans(old.number, side.number)
    for group in groups:
        turn.look_from(group[0])
        for name in turn.queue_names():
            keep_own(turn, name)
    return groups


def keep_own(turn: Turn, name: str) -> None:
    """Of what waits for a queue, a side keeps what its own clients asked for. Consumers on another side are gone from
    here, and a master there is none. Who leads a quorum queue its group says."""
    queue = turn.queues[name]
    if queue.type == QUORUM:
        return
    access.keep_own(turn, name)
    if not queue.up or turn.is_here(queue.master):
        subscriptions.lose_sight(turn, name)
    else:
        turn.emit("master_down", node=queue.master, queue=name, reason="out_of_reach")
        end_master(turn, turn.own(name), False)


def take_over_records(turn: Turn, node: int, side: int) -> None:
    """A node that is coming up forgets what it knew and takes over the records of another side."""
    old = turn.sides[turn.nodes[node].side]
    if old.number == side:
        return
    turn.change_node(node, side=side)
    turn.look_from(node)
    entry = turn.emit("records_taken_over", node=node)
    for name in turn.queue_names():
        queue = turn.queues[name]
        if queue.type != QUORUM and queue.master == node and not queue.up and name in old.queues:
            bring_back(turn, queue, old.queues[name])
    for name in sorted(old.queues):
        bookkeeping.give_up(turn, name, leave(old, name, node), "side_given_up", because=entry)
    drop_unheld(turn, entry)


def drop_unheld(turn: Turn, because: int) -> None:
    """Records that are on nobody's disk any more are gone, and what only they knew of."""
    holders = {value.side for value in turn.nodes if value.member and not value.virgin}
    for number in [number for number in turn.sides if number not in holders and len(turn.sides) > 1]:
        side = turn.sides.pop(number)
        turn.focus = next(iter(turn.sides.values())) if turn.focus is side else turn.focus
        for node, value in enumerate(turn.nodes):
            if value.side == number:
                turn.change_node(node, side=turn.focus.number)
        for name in sorted(side.queues):
            bookkeeping.count_times(turn, name)
            known = any(name in other.queues for other in turn.sides.values())
            if side.queues[name].type != QUORUM or not known:
                bookkeeping.give_up(turn, name, side.queues[name].content, "side_given_up", because=because)
            if not known:
                turn.groups.pop(name, None)
                turn.emit("queue_deleted", queue=name, because=because, reason="side_given_up", messages=0)


def bring_back(turn: Turn, queue: Queue, from_disk: Queue) -> None:
    """The master that a side waits for comes from the disk of a node that was on another."""
    content = from_disk.contents[queue.master] or EMPTY
    had = queue.content
    turn.change_queue(
        queue.name,
        contents=with_content(queue.contents, {queue.master: content}),
        batches=united(queue.batches, from_disk.batches),
        redelivered=perhaps_delivered(turn, queue.name, queue.master, content),
        unacknowledged=EMPTY,
    )
    bookkeeping.give_up(turn, queue.name, had, "side_given_up")
    bookkeeping.reclaim(turn, queue.name, content)


def perhaps_delivered(turn: Turn, name: str, node: int, content: Runs) -> Runs:
    """Of what a node that went has on its disk, what may have been delivered: a master that was shut down has written
    down what was, of every other copy it may be all."""
    remembered = turn.nodes[node].remembers
    queue = remembered.queues.get(name) if remembered else None
    if queue is None or queue.master != node or not queue.stopped or queue.up:
        return content
    return runs.common(queue.delivered, content)


def leave(side: Records, name: str, node: int) -> Runs:
    """A node's copy is no part of a side any more that it has left. Returns what the side's queue loses by it: of a
    quorum queue nothing, since its members are one group on all sides."""
    queue = side.queues[name]
    if queue.type == QUORUM:
        return EMPTY
    if queue.master != node:
        side.queues[name] = replace(queue, contents=with_content(queue.contents, {node: None}))
        return EMPTY
    empty = with_content(queue.contents, {node: EMPTY})
    side.queues[name] = replace(queue, contents=empty, redelivered=EMPTY, unacknowledged=EMPTY)
    return queue.content


def remember(turn: Turn, node: int) -> None:
    """A node that goes down keeps the records as they are now."""
    turn.look_from(node)
    members = frozenset(other for other, value in enumerate(turn.nodes) if value.member)
    groups = {name: group.number for name, group in turn.groups.items() if name in turn.queues}
    remembered = replace(turn.focus.frozen(), queues=dict(turn.queues), members=members, groups=groups)
    turn.change_node(node, remembers=remembered)


def go_back(turn: Turn, node: int) -> None:
    """A node that is down is to boot from the records that were on its disk when it went, as a side of its own. Others
    may have gone on with newer ones; they keep those until they come up and find this node running."""
    remembered = turn.nodes[node].remembers
    if remembered is None:
        return
    now = turn.sides[turn.nodes[node].side]
    side = Records(replace(remembered, number=turn.next_number()))
    turn.sides[side.number] = side
    for name, queue in list(side.queues.items()):
        if queue.type == QUORUM and name in now.queues:
            side.queues[name] = as_recorded(queue, now.queues[name])
        elif queue.type != QUORUM and queue.durable:
            side.queues[name] = as_on_disk(turn, queue, now.queues.get(name), node)
        else:
            del side.queues[name]
    turn.change_node(node, side=side.number, remembers=None)
    turn.look_from(node)
    entry = turn.emit("records_restored", node=node)
    for name in sorted(now.queues):
        bookkeeping.give_up(turn, name, leave(now, name, node), "side_given_up", because=entry)
    drop_unheld(turn, entry)
    turn.look_from(node)
    for name in sorted(side.queues):
        bookkeeping.reclaim(turn, name, turn.held_here(name))
        bookkeeping.count_times(turn, name)


def on_own_disk(turn: Turn, name: str, node: int) -> Runs | None:
    """What a node that is down has on its disk of a queue, though others have given it up as none of theirs."""
    remembered = turn.nodes[node].remembers
    queue = remembered.queues.get(name) if remembered else None
    if queue is None or not queue.durable or queue.contents[node] is None:
        return None
    return runs.common(queue.contents[node], persistent(queue.batches))


def as_recorded(queue: Queue, now: Queue) -> Queue:
    """A quorum queue while nobody leads it, under the policies of a remembered record. Its group is the same on all
    sides, and keeps to what it was told last."""
    before = queue.untold_settings or queue.quorum_settings
    return replace(
        now, master=NOWHERE, up=False, ttl_timer_us=None, policy=queue.policy, operator_policy=queue.operator_policy,
        untold_settings=before if before != now.quorum_settings else None,
    )  # fmt: skip


def as_on_disk(turn: Turn, queue: Queue, now: Queue | None, node: int) -> Queue:
    """A remembered record while nobody serves it, with what is on disks now."""
    contents = queue.contents if now is None else now.contents
    given_up = (at for at in (node, queue.master) if contents[at] is None and not turn.nodes[at].virgin)
    contents = with_content(contents, {at: on_own_disk(turn, queue.name, at) for at in given_up})
    return replace(
        queue,
        contents=tuple(content if at == node or at == queue.master else None for at, content in enumerate(contents)),
        batches=queue.batches if now is None else united(queue.batches, now.batches),
        redelivered=perhaps_delivered(turn, queue.name, queue.master, contents[queue.master] or EMPTY),
        mirrors=(), synchronised=(), depth_unknown=0, crashed=0, consumers=(), parked=(), active_consumer=None,
        unacknowledged=EMPTY, sync=None, up=False, abandoned=True, unburied=0, unburied_synchronised=0, hollow=NOWHERE,
        strays=(), stray_group=0, astray=(), heirless=0,
        ttl_timer_us=None,
    )  # fmt: skip
