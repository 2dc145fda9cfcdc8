"""Links between nodes that drop all messages, and what follows.

Until net_ticktime is over no node notices. Messages stay under way: a mirror behind such a link lags, publishers wait
for its answer, clients behind the link wait for the master, deliveries do not arrive, and changes of the cluster's
metadata wait. If the links are mended in time, all of it continues. Otherwise each end takes the other for down; what
that means for nodes is in `partition_handling`.

Links are given as a list: for each node the nodes at the other ends of its links, as bits.

Source: `net_kernel`, `rabbit_node_monitor`. Erlang notices a silent link after three to five quarters of net_ticktime;
in hawb after exactly net_ticktime. A node that sees another go down while a third node still sees both makes the
partition a full one (`rabbit_node_monitor:handle_cast`, partial_partition): one end of the failed link cuts itself off
from the nodes between. RabbitMQ's test (`partitions_SUITE`, partial_to_full) allows either end, or both; on a 3.10.8
cluster it was the end that noticed first.

With Khepri no node restarts, and all nodes rejoin when links are mended (`rejoin`). Metadata is one log, which only a
majority extends. A side without a majority takes over what the other side has done meanwhile; its nodes keep running,
with the processes of the queues that they host. A queue that the majority has deleted is deleted with its messages
(`rabbit_khepri`; `rabbit_node_monitor` of 4.3, without partition handling; `rabbit_amqqueue:on_node_up`).
"""

from __future__ import annotations

from hawb.engine.classic.copies import note_silent
from hawb.engine.classic.ports import AT_HAND, POLICY_TAKES_EFFECT, plan, release
from hawb.engine.classic.synchronisation import finish_late
from hawb.engine.cluster.booting import let_waiting_nodes_in
from hawb.engine.cluster.metadata import retry_changes
from hawb.engine.cluster.network_ports import (
    are_cut,
    be_silent,
    break_links,
    cut_as,
    forget_recoverable,
    give_up_what_waited,
    in_reach,
    mend_links,
    note_suspects,
    own,
    queue_names,
    receive_late,
    say_partitioned,
    say_rejoined,
    say_timed_out,
    send_what_waited,
    take_in,
    time_out_later,
    withdraw_time_outs,
)
from hawb.engine.cluster.node_ports import (
    blame,
    cause,
    focus_on,
    focused,
    is_running,
    look_from,
    look_from_outside,
    next_number,
    ranked,
    reaches_store,
    runs_anywhere,
    sides,
)
from hawb.engine.cluster.partition_handling import look_again, part, pause, reached, see_between
from hawb.engine.cluster.partitions import split, up_here
from hawb.engine.cluster.reachability import seen_from, sees
from hawb.engine.cluster.stopping import on_nodes_down
from hawb.engine.core.state import NOWHERE, Queue
from hawb.engine.core.turn import Turn

SHARED = True  # the kernel of studies compiles this module

# Cut and mended links


def cut(t: Turn, ends: list[int]) -> None:
    """Let these links drop all messages from now on."""
    look_from_outside(t)
    new = 0
    for node in range(t.setup.nodes):
        ends[node] &= reached(t, node)
        new |= ends[node]
    if not new:
        return
    number, focus = next_number(t), focused(t)
    break_links(t, ends, number)
    for side in sides(t):
        if focus_on(t, side):
            for name in queue_names(t):
                note_silent(t, own(t, name))
    focus_on(t, focus)
    be_silent(t, ends)
    time_out_later(t, number)


def heal(t: Turn) -> None:
    """Mend all links."""
    look_from_outside(t)
    if not are_cut(t):
        return
    numbers, focus = mend_links(t), focused(t)
    entry = cause(t)
    for side in sides(t):
        if focus_on(t, side):
            withdraw_time_outs(t, numbers)
            for name in queue_names(t):
                blame(t, entry)
                catch_up(t, own(t, name))
    focus_on(t, focus)
    if t.setup.khepri:
        blame(t, entry)
        rejoin(t)
    send_what_waited(t)
    blame(t, entry)
    in_reach(t)
    retry_changes(t)
    let_waiting_nodes_in(t)
    look_again(t)


def catch_up(t: Turn, q: Queue) -> None:
    """Bring a queue up to date over mended links.

    Mirrors that were not noticed as gone receive what was under way to them, and answer; what waited for them
    continues. A master whose node went down meanwhile sends nothing. What a process sent whose node still runs does
    arrive.
    """
    if q.up or (q.master != NOWHERE and is_running(t, q.master)):
        receive_late(t, q)
    if q.up:
        finish_late(t, q)
    release(t, q)
    if q.up:
        plan(t, q, t.setup.link_us, POLICY_TAKES_EFFECT, 0, 0, AT_HAND)
    forget_recoverable(t, q)


# Links given up after net_ticktime


def time_out(t: Turn, number: int) -> None:
    """Give up the links that were cut under `number`: they have been silent for net_ticktime."""
    give_up_links(t, cut_as(t, number))


def give_up_links(t: Turn, ends: list[int]) -> None:
    """Let the nodes at the ends of these links see each other as down, and handle partial partitions between them."""
    lost = 0
    for node in range(t.setup.nodes):
        for other in range(t.setup.nodes):
            if ends[node] >> other & 1 and not sees(t, node, other):
                ends[node] &= ~(1 << other)
        lost |= ends[node]
    if not lost:
        return
    note_suspects(t, ends)
    for a in range(t.setup.nodes):
        for b in range(a + 1, t.setup.nodes):
            if ends[a] >> b & 1:
                part(t, a, b)
    for a in range(t.setup.nodes):
        for b in range(a + 1, t.setup.nodes):
            if ends[a] >> b & 1 and not t.setup.khepri:
                see_between(t, a, b)
    say_timed_out(t, ends)
    entry = cause(t)
    for side in sides(t):
        if focus_on(t, side):
            blame(t, entry)
            fall_apart(t)
    give_up_what_waited(t)
    retry_changes(t)
    look_again(t)


def fall_apart(t: Turn) -> None:
    """Split the current side into one side for each group of nodes that see each other.

    Each new side handles the nodes that it no longer sees. If there is only one group, only pause nodes.
    """
    entry, up = cause(t), up_here(t)
    if split(t, up) < 2:
        pause(t)
        return
    say_partitioned(t, up)
    left = up
    for k in range(t.setup.nodes):
        if left >> ranked(t, k) & 1:
            group = seen_from(t, ranked(t, k), up)
            left &= ~group
            look_from(t, ranked(t, k))
            blame(t, entry)
            on_nodes_down(t, up & ~group)


def rejoin(t: Turn) -> None:
    """Join all sides into one after links are mended. All running nodes see each other as running."""
    running = 0
    for node in range(t.setup.nodes):
        running |= int(runs_anywhere(t, node)) << node
    for node in range(t.setup.nodes):
        if running >> node & 1:
            t.nodes[node].believes = running & ~(1 << node)
    best = best_side(t)
    say_rejoined(t, best)
    for side in sides(t):
        if side != best and focus_on(t, side):
            take_in(t, best, side)


def best_side(t: Turn) -> int:
    """Return the side that can write metadata. If none can, all sides have the same metadata: return the first."""
    first = NOWHERE
    for side in sides(t):
        if focus_on(t, side):
            if reaches_store(t, NOWHERE):
                return side
            first = side if first == NOWHERE else first
    return first
