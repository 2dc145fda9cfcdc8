"""What links and sides need of a turn: what is on its way, what waits, and what records say.

Here is what the engine has for it; for the kernel it is in `hawb.study.kernel.network_ports`. What a port promises is
said here for both. Links are given as in `links`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from hawb.engine.clients import confirms, consuming, subscriptions
from hawb.engine.cluster import alarms, reachability, remembered
from hawb.engine.core import bookkeeping, runs
from hawb.engine.core.events import LinksTimeOut
from hawb.engine.core.mutable_side import MutableSide
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.state import CLASSIC, Queue, nodes_of, with_content
from hawb.engine.core.turn import TIMER, Turn
from hawb.engine.queues import access
from hawb.engine.queues.contents import united
from hawb.engine.quorum import visibility
from hawb.engine.raft_groups import inputs
from hawb.engine.raft_groups.leadership import refresh

Link = tuple[int, int]
"""Two nodes, the smaller first."""


def ends_of(turn: Turn, links: Iterable[Link]) -> list[int]:
    """Links, of each node the others, as bits."""
    ends = [0] * len(turn.nodes)
    for a, b in links:
        ends[a] |= 1 << b
        ends[b] |= 1 << a
    return ends


def links_of(ends: list[int]) -> list[Link]:
    """The same as pairs of nodes, in their order."""
    return [(a, b) for a, others in enumerate(ends) for b in nodes_of(others) if a < b]


# Whose records

is_here = Turn.is_here
"""Whether a node belongs to the side in focus."""
queue_names, own = Turn.queue_names, Turn.own
"""The queues of the side in focus, by their names, and the record of one."""


def classic_names(t: Turn) -> Iterator[str]:
    """Those of its queues that are no quorum queues, whose records sides have each for themselves."""
    return (name for name in t.queue_names() if t.queues[name].type == CLASSIC)


# Links that drop everything


def are_cut(t: Turn) -> bool:
    """Whether any links drop everything."""
    return bool(t.cuts)


def break_links(t: Turn, ends: list[int], number: int) -> None:
    """Links drop everything from now on; `number` tells that from other times."""
    t.cuts |= dict.fromkeys(links_of(ends), number)
    t.because = t.emit("links_cut", links=[t.settings.named(link) for link in links_of(ends)])


def be_silent(t: Turn, ends: list[int]) -> None:
    """Members of quorum queues hear nothing over these links."""
    inputs.links_silent(t, links_of(ends))


def time_out_later(t: Turn, number: int) -> None:
    """What was cut under that number is given up when net_ticktime is over."""
    t.schedule(t.setup.ticktime_us, LinksTimeOut(number), priority=TIMER)


def mend_links(t: Turn) -> set[int]:
    """All links work again; returns the numbers under which they were cut."""
    numbers = set(t.cuts.values())
    t.cuts.clear()
    t.because = t.emit("links_healed")
    return numbers


def withdraw_time_outs(t: Turn, numbers: set[int]) -> None:
    """What was planned on the side in focus for these numbers does not happen."""
    for number in numbers:
        t.unschedule(LinksTimeOut(number))


def hear_late(t: Turn, q: Queue) -> None:
    """Mirrors that nobody had missed yet get what was on its way to them, and answer."""
    late = [(node, since) for node, since in q.lagging if t.alive(q, node)]
    held = {node: arrived(t, q, node, since) for node, since in late}
    q.lagging, q.contents = (), with_content(q.contents, held)
    for node, _ in late:
        confirms.replica_answers(t, q.name, node, t.link_us(q.master, node))


def arrived(t: Turn, q: Queue, node: int, since: int) -> Runs:
    """What a mirror holds once everything has arrived that its master did since message `since`."""
    new = runs.common(q.content, ((since, max(t.numbers.get(q.name, 0), since)),))
    return runs.common(runs.union(q.contents[node] or EMPTY, new), q.content)


def forget_recoverable(t: Turn, q: Queue) -> None:
    """Nodes that can be seen again and have no mirror here cannot be recovered either
    (`rabbit_amqqueue:maybe_clear_recoverable_node`)."""
    q.recoverable = tuple(node for node in q.recoverable if node in q.mirrors or not t.runs_anywhere(node))


def send_what_waited(t: Turn) -> None:
    """Deliveries that were on their way arrive."""
    for sent in t.under_way:
        t.schedule(t.settings.timing.link_latency_us, sent.delivery, sent.because, step=sent.step)
    t.under_way = ()


def in_reach(t: Turn) -> None:
    """Members of quorum queues reach each other again, and leaders see clients that they had lost sight of."""
    inputs.links_healed(t)
    visibility.links_healed(t)
    visibility.in_reach(t)


# Links that are given up


def cut_as(t: Turn, number: int) -> list[int]:
    """The links that were cut under that number, and still are."""
    return ends_of(t, (link for link, known in t.cuts.items() if known == number))


def note_suspects(t: Turn, ends: list[int]) -> None:
    """Members of quorum queues at the ends of these links take each other for dead."""
    t.suspected |= set(links_of(ends))


def say_timed_out(t: Turn, ends: list[int]) -> None:
    """The nodes at the ends of these links take each other for dead."""
    t.because = t.emit("links_timed_out", links=[t.settings.named(link) for link in links_of(ends)])


def say_partitioned(t: Turn, up: int) -> None:
    """The nodes `up`, given as bits, are several groups that do not see each other."""
    t.emit("cluster_partitioned", sides=[t.settings.named(group) for group in apart(t, up)])


def apart(t: Turn, up: int) -> list[list[int]]:
    """These groups, that of the first node in the scenario's order first."""
    groups, left = [], up
    for node in t.settings.file_order:
        if left >> node & 1:
            group = reachability.seen_from(t, node, up)
            groups.append(nodes_of(group))
            left &= ~group
    return groups


def give_up_what_waited(t: Turn) -> None:
    """What depends on links that have been given up: who leads quorum queues, alarms, and deliveries, which do not
    arrive any more."""
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
    """A group of nodes, given as bits, has records of its own from now on, as those of its old side are, and what was
    planned for them."""
    side = MutableSide(replace(t.sides[old].snapshot(), number=t.next_number()))
    t.sides[side.number] = side
    for node in nodes_of(group):
        t.nodes[node].side = side.number
    t.share_plans(old, side.number)


def keep_own_waiting(t: Turn, q: Queue) -> None:
    """What clients on another side asked for waits there."""
    access.keep_own(t, q.name)


def lose_sight(t: Turn, q: Queue) -> None:
    """Consumers on another side are gone from here."""
    subscriptions.lose_sight(t, q.name)


def say_out_of_reach(t: Turn, q: Queue) -> None:
    """The master is on another side."""
    t.emit("master_down", node=q.master, queue=q.name, reason="out_of_reach")


# Several sides become one


def say_taken_over(t: Turn, node: int) -> int | None:
    """A node has taken over the records of another side; returns the entry of the trace."""
    return t.emit("records_taken_over", node=node)


def bring_back(t: Turn, q: Queue, old: int) -> None:
    """The master that a side waits for comes from the disk of its node, which was on another side, if that has one."""
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
    """A node's copies are no part any more of the side that it has left."""
    side = t.sides[old]
    for name in sorted(side.queues):
        bookkeeping.give_up(t, name, leave(side, name, node), "side_given_up", because=entry)


def leave(side: MutableSide, name: str, node: int) -> Runs:
    """A node's copy is no part of a side any more that it has left. Returns what the side's queue loses by it: of a
    quorum queue nothing, since its members are one group on all sides."""
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
    """Whether there is a side of that number, and another one."""
    return side in t.sides and len(t.sides) > 1


def look_elsewhere(t: Turn, side: int) -> None:
    """Puts another side than this in focus, if it is."""
    if t.focus.number == side:
        t.focus = next(other for number, other in t.sides.items() if number != side)


def drop_side(t: Turn, side: int, entry: int | None) -> None:
    """A side's records are gone, and what only they knew of."""
    gone = t.sides.pop(side)
    for name in sorted(gone.queues):
        bookkeeping.count_times(t, name)
        known = any(name in other.queues for other in t.sides.values())
        if not gone.queues[name].has_group or not known:
            bookkeeping.give_up(t, name, gone.queues[name].content, "side_given_up", because=entry)
        if not known:
            t.groups.pop(name, None)
            t.emit("queue_deleted", queue=name, because=entry, reason="side_given_up", messages=0)


# Disks that are lost


def has_copy(_: Turn, q: Queue, node: int) -> bool:
    """Whether a node has a copy of a queue, be it on its disk."""
    return q.contents[node] is not None


def lose_content(t: Turn, q: Queue, why: str) -> None:
    """Nothing is left of what a queue holds that waits for its master's node."""
    bookkeeping.lose(t, q.name, q.content, why)
    q.contents, q.redelivered = with_content(q.contents, {q.master: EMPTY}), EMPTY


# Records of before


def remembers(t: Turn, node: int) -> bool:
    """Whether a node that is down has kept the records as they were when it went."""
    return t.nodes[node].remembers is not None


def restore_records(t: Turn, node: int) -> int | None:
    """They are those of a side of its own, which is in focus; returns the entry of the trace."""
    side = remembered.restored(t, node)
    t.sides[side.number] = side
    t.change_node(node, side=side.number, remembers=None)
    t.look_from(node)
    return t.emit("records_restored", node=node)


def reclaim_records(t: Turn) -> None:
    """What the side in focus serves from now on is neither lost nor has it left its queues."""
    for name in sorted(t.queues):
        bookkeeping.reclaim(t, name, t.held_here(name))
        bookkeeping.count_times(t, name)


PORTS = (
    "is_here", "queue_names", "own", "classic_names", "are_cut", "break_links", "be_silent", "time_out_later",
    "mend_links", "withdraw_time_outs", "hear_late", "forget_recoverable", "send_what_waited", "in_reach", "cut_as",
    "note_suspects", "say_timed_out", "say_partitioned", "give_up_what_waited", "split_off", "keep_own_waiting",
    "lose_sight", "say_out_of_reach", "say_taken_over", "bring_back", "leave_side", "can_go", "look_elsewhere",
    "drop_side", "rejoin", "has_copy", "lose_content", "remembers", "restore_records", "reclaim_records",
)  # fmt: skip
"""The names of what others have to have."""
