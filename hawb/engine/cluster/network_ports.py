"""The ports of links and partitions: messages under way, waiting operations, and records.

This module is the engine's implementation; the kernel's is in `hawb.study.kernel.network_ports`. The docstrings here
describe both. Links are given as in `links`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from hawb.engine.clients import confirms, consuming, subscriptions
from hawb.engine.cluster import alarms, reachability, remembered
from hawb.engine.core import bookkeeping, runs
from hawb.engine.core.agenda import EVENT, SIDE
from hawb.engine.core.events import LinksTimeOut
from hawb.engine.core.mutable_side import MutableSide
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.state import CLASSIC, NOWHERE, Queue, nodes_of, with_content
from hawb.engine.core.turn import TIMER, Turn, place_of
from hawb.engine.queues import access
from hawb.engine.queues.contents import united
from hawb.engine.queues.policy_changes import OPERATOR, USER, reconsider
from hawb.engine.quorum import visibility
from hawb.engine.raft_groups import inputs
from hawb.engine.raft_groups.leadership import refresh

Link = tuple[int, int]
"""Two nodes, the smaller first."""


def ends_of(turn: Turn, links: Iterable[Link]) -> list[int]:
    """Return, for each node, the nodes at the other ends of its links, as bits."""
    ends = [0] * len(turn.nodes)
    for a, b in links:
        ends[a] |= 1 << b
        ends[b] |= 1 << a
    return ends


def links_of(ends: list[int]) -> list[Link]:
    """Return links given by their ends as pairs of nodes, in order."""
    return [(a, b) for a, others in enumerate(ends) for b in nodes_of(others) if a < b]


# Records of the current side

is_here = Turn.is_here
"""Return True if a node belongs to the current side."""
queue_names, own = Turn.queue_names, Turn.own
"""Return the names of the current side's queues; return the record of one of them."""


def classic_names(t: Turn) -> Iterator[str]:
    """Return the names of the current side's classic queues, whose records each side has for itself."""
    return (name for name in t.queue_names() if t.queues[name].type == CLASSIC)


# Cut links


def are_cut(t: Turn) -> bool:
    """Return True if any link drops its messages."""
    return bool(t.cuts)


def break_links(t: Turn, ends: list[int], number: int) -> None:
    """Let links drop all messages from now on; `number` identifies this cut."""
    t.cuts |= dict.fromkeys(links_of(ends), number)
    t.because = t.emit("links_cut", links=[t.settings.named(link) for link in links_of(ends)])


def be_silent(t: Turn, ends: list[int]) -> None:
    """Let members of quorum queues receive nothing over these links."""
    inputs.links_silent(t, links_of(ends))


def time_out_later(t: Turn, number: int) -> None:
    """Schedule that the links of a cut are given up when net_ticktime is over."""
    t.schedule(t.setup.ticktime_us, LinksTimeOut(number), priority=TIMER)


def mend_links(t: Turn) -> set[int]:
    """Mend all links; return the numbers of their cuts."""
    numbers = set(t.cuts.values())
    t.cuts.clear()
    t.because = t.emit("links_healed")
    return numbers


def withdraw_time_outs(t: Turn, numbers: set[int]) -> None:
    """Unschedule the time-outs of these cuts on the current side."""
    for number in numbers:
        t.unschedule(LinksTimeOut(number))


def receive_late(t: Turn, q: Queue) -> None:
    """Let mirrors whose links are back before net_ticktime receive the messages under way, and confirm them."""
    late = [(node, since) for node, since in q.lagging if t.alive(q, node)]
    held = {node: arrived(t, q, node, since) for node, since in late}
    q.lagging, q.contents = (), with_content(q.contents, held)
    for node, _ in late:
        confirms.replica_answers(t, q.name, node, t.link_us(q.master, node))


def arrived(t: Turn, q: Queue, node: int, since: int) -> Runs:
    """Return the messages of a mirror after it has received its master's operations since message `since`."""
    new = runs.common(q.content, ((since, max(t.numbers.get(q.name, 0), since)),))
    return runs.common(runs.union(q.contents[node] or EMPTY, new), q.content)


def forget_recoverable(t: Turn, q: Queue) -> None:
    """Remove nodes that are seen again and have no mirror from the recoverable ones.

    Source: `rabbit_amqqueue:maybe_clear_recoverable_node`.
    """
    q.recoverable = tuple(node for node in q.recoverable if node in q.mirrors or not t.runs_anywhere(node))


def send_what_waited(t: Turn) -> None:
    """Deliver the messages that were under way over links that are back."""
    for sent in t.under_way:
        t.schedule(t.settings.timing.link_latency_us, sent.delivery, sent.because, step=sent.step)
    t.under_way = ()


def in_reach(t: Turn) -> None:
    """Let members of quorum queues see each other as up again, and leaders their clients."""
    inputs.links_healed(t)
    visibility.links_healed(t)
    visibility.in_reach(t)


# Links given up after net_ticktime


def cut_as(t: Turn, number: int) -> list[int]:
    """Return the links of a cut that are still cut."""
    return ends_of(t, (link for link, known in t.cuts.items() if known == number))


def note_suspects(t: Turn, ends: list[int]) -> None:
    """Let members of quorum queues at the ends of these links see each other as down."""
    t.suspected |= set(links_of(ends))


def say_timed_out(t: Turn, ends: list[int]) -> None:
    """Record that the nodes at the ends of these links see each other as down."""
    t.because = t.emit("links_timed_out", links=[t.settings.named(link) for link in links_of(ends)])


def say_partitioned(t: Turn, up: int) -> None:
    """Record that the nodes `up`, given as bits, are several groups that do not see each other."""
    t.emit("cluster_partitioned", sides=[t.settings.named(group) for group in apart(t, up)])


def apart(t: Turn, up: int) -> list[list[int]]:
    """Return these groups, starting with that of the first node in the scenario's order."""
    groups, left = [], up
    for node in t.settings.file_order:
        if left >> node & 1:
            group = reachability.seen_from(t, node, up)
            groups.append(nodes_of(group))
            left &= ~group
    return groups


def give_up_what_waited(t: Turn) -> None:
    """Apply the loss of links to quorum queues' leaders, alarms and deliveries, which no longer arrive."""
    for name in sorted(t.groups):
        refresh(t, t.groups.own(name))
    alarms.links_gone(t)
    lost = [sent for sent in t.under_way if not reachability.sees(t, *sent.link)]
    t.under_way = tuple(sent for sent in t.under_way if sent not in lost)
    for sent in lost:
        t.look_from(sent.delivery.node)
        consuming.lose_delivery(t, sent.delivery)


# One side becomes several


def split_off(t: Turn, group: int, old: int) -> None:
    """Make a group of nodes, as bits, a side with its own records and agenda, copied from its former side."""
    side = MutableSide(replace(t.sides[old].snapshot(), number=t.next_number()))
    t.sides[side.number] = side
    for node in nodes_of(group):
        t.nodes[node].side = side.number
    t.share_plans(old, side.number)


def keep_own_waiting(t: Turn, q: Queue) -> None:
    """Drop the waiting operations of clients on other sides. They wait in the records of those sides."""
    access.keep_own(t, q.name)


def lose_sight(t: Turn, q: Queue) -> None:
    """Remove consumers on another side."""
    subscriptions.lose_sight(t, q.name)


def say_out_of_reach(t: Turn, q: Queue) -> None:
    """Record that a queue's master is on another side."""
    t.emit("master_down", node=q.master, queue=q.name, reason="out_of_reach")


# Several sides become one


def say_taken_over(t: Turn, node: int) -> int | None:
    """Record that a node has taken over the records of another side; return the entry of the trace."""
    return t.emit("records_taken_over", node=node)


def bring_back(t: Turn, q: Queue, old: int) -> None:
    """Replace a queue's content by the copy on its master's disk, as the master returns from side `old`.

    Do nothing if side `old` does not have the queue.
    """
    if q.name not in t.sides[old].queues:
        return
    from_disk, had = t.sides[old].queues[q.name], q.content
    content = from_disk.contents[q.master] or EMPTY
    q.contents = with_content(q.contents, {q.master: content})
    q.batches = united(q.batches, from_disk.batches)
    q.redelivered = remembered.perhaps_delivered(t, q.name, q.master, content)
    q.unacknowledged = EMPTY
    bookkeeping.give_up(t, q.name, had, "side_given_up")
    bookkeeping.reclaim(t, q.name, content)


def leave_side(t: Turn, old: int, node: int, entry: int | None) -> None:
    """Remove the copies of a node that leaves side `old` from that side's queues."""
    side = t.sides[old]
    for name in sorted(side.queues):
        bookkeeping.give_up(t, name, leave(side, name, node), "side_given_up", because=entry)


def leave(side: MutableSide, name: str, node: int) -> Runs:
    """Remove a node's copy of a queue from the side that the node has left. Return the messages that the side loses.

    A side loses the messages of a classic queue whose master leaves, and none of a quorum queue, whose members are one
    group on all sides.
    """
    queue = side.queues[name]
    if queue.has_group:
        return EMPTY
    if queue.master != node:
        side.queues[name] = replace(queue, contents=with_content(queue.contents, {node: None}))
        return EMPTY
    empty = with_content(queue.contents, {node: EMPTY})
    side.queues[name] = replace(queue, contents=empty, redelivered=EMPTY, unacknowledged=EMPTY)
    return queue.content


def can_go(t: Turn, side: int) -> bool:
    """Return True if there is a side of that number, and another one."""
    return side in t.sides and len(t.sides) > 1


def look_elsewhere(t: Turn, side: int) -> None:
    """Make another side the current one, if it is this."""
    if t.focus.number == side:
        t.focus = next(other for number, other in t.sides.items() if number != side)


def drop_side(t: Turn, side: int, entry: int | None) -> None:
    """Drop a side's records, and the messages and queues that only they have."""
    gone = t.sides.pop(side)
    for name in sorted(gone.queues):
        bookkeeping.count_times(t, name)
        known = any(name in other.queues for other in t.sides.values())
        if not gone.queues[name].has_group or not known:
            bookkeeping.give_up(t, name, gone.queues[name].content, "side_given_up", because=entry)
        if not known:
            t.groups.pop(name, None)
            t.emit("queue_deleted", queue=name, because=entry, reason="side_given_up", messages=0)


# Sides of a cluster with Khepri


def say_rejoined(t: Turn, best: int) -> None:
    """Record that all sides go on with the metadata of one of them, if there are several."""
    if len(t.sides) > 1:
        t.emit("sides_rejoined", nodes=t.settings.named(nodes_on(t, best)))


def nodes_on(turn: Turn, side: int) -> list[int]:
    """Return the nodes of a side."""
    return [node for node, value in enumerate(turn.nodes) if value.side == side]


def take_in(t: Turn, best: int, side: int) -> None:
    """Merge a side into the best one, which learns of the processes of that side's queues, and make the latter current.

    Events at the side's nodes happen on the best side; others only if they are about a queue that the side hosts.
    Messages that only the merged side counted as a queue's are given up.
    """
    joins, into = t.sides[side], t.sides[best]
    for entry in sorted(entry for entry in t.agenda if entry[SIDE] == side):
        t.agenda.remove(entry)
        if place_of(entry[EVENT]) is not None or is_hosted(t, joins, getattr(entry[EVENT], "queue", None)):
            due_us, priority, _, cause, step, _, event = entry
            t.agenda.add((due_us, priority, t.next_number(), cause, step, best, event))
    hosted = [name for name in joins.queues if is_hosted(t, joins, name)]
    t.focus = into
    for name in list(joins.queues):
        queue = joins.queues.pop(name)
        if name in hosted and name in into.queues:
            queue = adopt(t, queue)
        if not queue.has_group:
            bookkeeping.give_up(t, name, queue.content, "side_given_up")
    for node in nodes_on(t, side):
        t.nodes[node].side = best
    del t.sides[side]
    for name in t.queue_names():
        bookkeeping.count_times(t, name)


def is_hosted(turn: Turn, side: MutableSide, name: str | None) -> bool:
    """Return True if a classic queue's process is on a node of a side."""
    queue = side.queues.get(name) if name is not None else None
    hosted = queue is not None and queue.type == CLASSIC and queue.master != NOWHERE
    return hosted and turn.nodes[queue.master].side == side.number


def adopt(turn: Turn, queue: Queue) -> Queue:
    """Put back a queue whose process was out of sight, under the current side's policies.

    Return that side's record of before.
    """
    had, turn.focus.queues[queue.name] = turn.queues[queue.name], queue
    turn.own(queue.name)
    for kind in (USER, OPERATOR):
        reconsider(turn, queue.name, kind)
    return had


# Lost disks


def has_copy(_: Turn, q: Queue, node: int) -> bool:
    """Return True if a node has a copy of a queue, in memory or on disk."""
    return q.contents[node] is not None


def lose_content(t: Turn, q: Queue, why: str) -> None:
    """Lose all messages of a queue that waits for its master's node."""
    bookkeeping.lose(t, q.name, q.content, why)
    q.contents, q.redelivered = with_content(q.contents, {q.master: EMPTY}), EMPTY


# Remembered records


def remembers(t: Turn, node: int) -> bool:
    """Return True if a node that is down has the records of the time when it went down."""
    return t.nodes[node].remembers is not None


def restore_records(t: Turn, node: int) -> int | None:
    """Make a new side of the records on a node's disk, switch to it, and return the trace entry's number."""
    side = remembered.restored(t, node)
    t.sides[side.number] = side
    t.change_node(node, side=side.number, remembers=None)
    t.look_from(node)
    return t.emit("records_restored", node=node)


def reclaim_records(t: Turn) -> None:
    """Count the messages of the current side's queues as neither lost nor consumed."""
    for name in sorted(t.queues):
        bookkeeping.reclaim(t, name, t.held_here(name))
        bookkeeping.count_times(t, name)


PORTS = (
    "is_here", "queue_names", "own", "classic_names", "are_cut", "break_links", "be_silent", "time_out_later",
    "mend_links", "withdraw_time_outs", "receive_late", "forget_recoverable", "send_what_waited", "in_reach", "cut_as",
    "note_suspects", "say_timed_out", "say_partitioned", "give_up_what_waited", "split_off", "keep_own_waiting",
    "lose_sight", "say_out_of_reach", "say_taken_over", "bring_back", "leave_side", "can_go", "look_elsewhere",
    "drop_side", "say_rejoined", "take_in", "has_copy", "lose_content", "remembers", "restore_records",
    "reclaim_records",
)  # fmt: skip
"""The ports that engine and kernel both implement."""
