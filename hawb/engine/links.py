"""Links between nodes that drop everything, and what comes of it.

For net_ticktime nobody notices. What was sent stays on its way: a mirror behind such a link lags, publishers wait for
its answer, clients behind it wait for the master, deliveries do not arrive, and changes of the cluster's metadata wait
for everybody. Healed in time, all of it goes on as if nothing had been. Afterwards each end takes the other for dead
(`sides.split`), and what that means for a node beside what it means for queues is in `partition_handling`.

Source: `net_kernel`, `rabbit_node_monitor`. Erlang notices a silent link between three quarters and five quarters of
net_ticktime; here it takes exactly that long. A node that sees another go, and still sees a third that sees it, makes
the partition a full one (`rabbit_node_monitor:handle_cast`, partial_partition): an end of the link that failed cuts
itself off from those between. RabbitMQ's test (`partitions_SUITE`, partial_to_full) allows either end, or both; on a
3.10.8 cluster it was the one that noticed first.
"""

from __future__ import annotations

from collections.abc import Iterable

from hawb.engine import (
    alarms,
    confirms,
    consuming,
    metadata,
    quorum_sight,
    quorum_view,
    raft_inputs,
    runs,
    sides,
)
from hawb.engine.access import release
from hawb.engine.booting import boot_order
from hawb.engine.classic.copies import note_silent
from hawb.engine.classic.synchronisation import finish_late
from hawb.engine.events import LinksTimeOut, PolicyTakesEffect
from hawb.engine.nodes import partition_handling, sight
from hawb.engine.runs import EMPTY
from hawb.engine.state import bits_of, with_content
from hawb.engine.stopping import going_down
from hawb.engine.turn import TIMER, Turn

Link = tuple[int, int]
"""Two nodes, the smaller first."""


def between(groups: Iterable[Iterable[int]]) -> list[Link]:
    """The links from each group of nodes to the others."""
    groups = [list(group) for group in groups]
    ends = [(a, b) for at, group in enumerate(groups) for other in groups[at + 1 :] for a in group for b in other]
    return sorted((min(link), max(link)) for link in ends)


def cut(turn: Turn, links: Iterable[Link]) -> None:
    """From now on these links drop everything."""
    new = [link for link in links if link not in turn.cuts]
    if not new:
        return
    number = turn.next_number()
    for link in new:
        turn.cuts[link] = number
    turn.because = turn.emit("links_cut", links=[turn.settings.named(link) for link in new])
    for _side in turn.each_side():
        for name in turn.queue_names():
            note_silent(turn, turn.own(name))
    raft_inputs.links_silent(turn, new)
    turn.schedule(turn.setup.ticktime_us, LinksTimeOut(number), priority=TIMER)


def heal(turn: Turn) -> None:
    """All links work again."""
    if not turn.cuts:
        return
    numbers = set(turn.cuts.values())
    turn.cuts.clear()
    turn.because = cause = turn.emit("links_healed")
    for _side in turn.each_side():
        for number in numbers:
            turn.unschedule(LinksTimeOut(number))
        for name in turn.queue_names():
            turn.because = cause
            catch_up(turn, name)
            forget_recoverable(turn, name)
    for sent in turn.under_way:
        turn.schedule(turn.settings.timing.link_latency_us, sent.delivery, sent.because, step=sent.step)
    turn.under_way = ()
    turn.because = cause
    raft_inputs.links_healed(turn)
    quorum_sight.links_healed(turn)
    quorum_sight.in_reach(turn)
    metadata.release(turn)
    boot_order.let_waiting_nodes_in(turn)
    partition_handling.look_again(turn)


def catch_up(turn: Turn, name: str) -> None:
    """Mirrors that nobody had missed yet get what was on its way to them, and answer; who waited goes on. A master that
    has died meanwhile sends it to nobody."""
    queue = turn.queues[name]
    if not queue.up:
        release(turn, name)
        return
    late = [(node, since) for node, since in queue.lagging if turn.alive(queue, node)]
    held = {node: arrived(turn, name, node, since) for node, since in late}
    turn.change_queue(name, lagging=(), contents=with_content(queue.contents, held))
    for node, _ in late:
        confirms.replica_answers(turn, name, node, turn.link_us(queue.master, node))
    finish_late(turn, turn.own(name))
    release(turn, name)
    turn.schedule(turn.settings.timing.link_latency_us, PolicyTakesEffect(name))


def forget_recoverable(turn: Turn, name: str) -> None:
    """Nodes that can be seen again and have no mirror here cannot be recovered either
    (`rabbit_amqqueue:maybe_clear_recoverable_node`)."""
    queue = turn.queues[name]
    kept = tuple(node for node in queue.recoverable if node in queue.mirrors or not turn.runs_anywhere(node))
    turn.change_queue(name, recoverable=kept)


def arrived(turn: Turn, name: str, node: int, since: int) -> runs.Runs:
    """What a mirror holds once everything has arrived that its master did since message `since`."""
    content = turn.queues[name].content
    new = runs.common(content, ((since, max(turn.numbers.get(name, 0), since)),))
    return runs.common(runs.union(turn.queues[name].contents[node] or EMPTY, new), content)


def time_out(turn: Turn, event: LinksTimeOut) -> None:
    """Links have been silent for net_ticktime: those at their ends take each other for dead."""
    links = [link for link, number in turn.cuts.items() if number == event.number]
    give_up_links(turn, links)


def give_up_links(turn: Turn, links: Iterable[Link]) -> None:
    """The nodes at both ends of these links take each other for dead, and those between them too."""
    lost = [link for link in links if sight.sees(turn, *link)]
    if not lost:
        return
    turn.suspected |= set(lost)
    for link in lost:
        partition_handling.part(turn, *link)
    for link in lost:
        partition_handling.see_between(turn, *link)
    cause = turn.emit("links_timed_out", links=[turn.settings.named(link) for link in lost])
    for number in list(turn.sides):
        if number in turn.sides:
            turn.focus = turn.sides[number]
            turn.because = cause
            fall_apart(turn)
    for name in sorted(turn.groups):
        quorum_view.refresh(turn, name)
    alarms.links_gone(turn)
    dead_deliveries(turn)
    metadata.release(turn)
    partition_handling.look_again(turn)


def fall_apart(turn: Turn) -> None:
    """The side in focus becomes as many as there are groups of nodes that see each other, and each acts on it."""
    cause = turn.because
    groups = sides.split(turn)
    if len(groups) < 2:
        partition_handling.pause(turn)
        return
    turn.emit("cluster_partitioned", sides=[turn.settings.named(group) for group in groups])
    for group in groups:
        turn.look_from(group[0])
        turn.because = cause
        others = [node for other in groups if other is not group for node in other]
        going_down.miss(turn, bits_of(others))


def dead_deliveries(turn: Turn) -> None:
    """Deliveries on links whose ends have given each other up do not arrive any more."""
    lost = [sent for sent in turn.under_way if not sight.sees(turn, *sent.link)]
    turn.under_way = tuple(sent for sent in turn.under_way if sent not in lost)
    for sent in lost:
        turn.look_from(sent.delivery.node)
        consuming.lose_delivery(turn, sent.delivery)
