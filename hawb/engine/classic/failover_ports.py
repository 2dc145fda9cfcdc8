"""What a failover of a classic queue needs of a turn beside `ports`: what becomes of its clients, and of what they have
sent. For the kernel it is in `hawb.study.kernel.failover_ports`.

Source: `rabbit_mirror_queue_slave`, `rabbit_amqqueue:on_node_down`, `rabbit_vhost:recover`.
"""

from __future__ import annotations

from collections.abc import Callable

from hawb.engine import limits, metadata, publishing, queues, settling, strays, subscriptions
from hawb.engine.access import is_replicated
from hawb.engine.access import leaves_memory as leaves_memory_of
from hawb.engine.classic.record import alive_bits, mirror_bits
from hawb.engine.operations import Publish
from hawb.engine.state import NOWHERE, Parked, Queue, bits_of, nodes_of
from hawb.engine.turn import Turn
from hawb.rules.policies import HaMode

COPIED, STRUCK = 1, 2
"""What becomes of messages that wait for a queue whose master is gone: its heir has them, or nobody."""


def listed(_: Turn, bits: int) -> list[int]:
    """The nodes of a set, in their order, as rules take them."""
    return nodes_of(bits)


def stall(t: Turn, q: Queue, kind: type) -> bool:
    """Whether something of the queue has to wait for a node that does not answer; then it does."""
    return metadata.stall(t, kind(q.name))


# The record


def disk_record(_: Turn, q: Queue) -> tuple[int, ...]:
    """The mirrors that the record on disk names."""
    return q.mirrors_on_disk


def on_disk_record(_: Turn, q: Queue) -> int:
    """The same as a set."""
    return bits_of(q.mirrors_on_disk)


def keep_disk_record(_: Turn, q: Queue, recorded: tuple[int, ...]) -> None:
    """The record on disk is as it was: nobody has written it."""
    q.mirrors_on_disk = recorded


def leaves_memory(t: Turn, q: Queue) -> bool:
    """Whether only disks have the record once the master's node is gone."""
    return leaves_memory_of(t, q)


def spared(t: Turn, q: Queue) -> int:
    """Who takes over starts mirrors, but not on the nodes of the dead, though one may be back: the master of a queue
    that is not durable is not started there either (`rabbit_mirror_queue_misc:slaves_to_start_on_failure`)."""
    back = q.abandoned and not q.durable and t.is_running(q.master)
    return int(back) << q.master


# Queues that crash, and those that are not durable


def fall_with_node(t: Turn, q: Queue) -> bool:
    """Whether the node has gone on which a queue's process crashed for the last time: now the queue is down like any
    other."""
    if not q.failed or t.is_running(q.master):
        return False
    q.failed, q.absent = False, leaves_memory(t, q)
    if not q.durable and not is_replicated(q):
        remove(t, q)
    return True


def has_room(_: Turn, q: Queue) -> bool:
    """Whether the record in memory counts no mirror that never started, so that exactly asks for no other."""
    return not q.abandoned or q.failed or not q.crashed >> q.master & 1


def forget_crashes(_: Turn, q: Queue, node: int) -> None:
    """A node that is back has no process that has crashed."""
    q.crashed &= ~(1 << node)
    q.crashes = tuple(pair for pair in q.crashes if pair[0] != node)


def remains(t: Turn, q: Queue) -> bool:
    """Whether a queue that nobody serves is still known."""
    return q.durable or ((is_replicated(q) or q.crashed >> q.master & 1 == 1) and bool(t.running()))


def remove(t: Turn, q: Queue) -> None:
    """The queue goes with its node."""
    queues.remove(t, q.name, "node_down")


def is_there(t: Turn, q: Queue) -> bool:
    """Whether the queue has not been removed."""
    return q.name in t.queues


# Mirrors that wait for a master


def leave_strays(t: Turn, q: Queue) -> None:
    """Mirrors that wait for a master are told by nobody that there is one again, or none any more, if policy asks for
    no mirrors: they keep what channels sent them, and the channels wait on."""
    if is_replicated(q):
        return
    waiting = alive_bits(t, q) & mirror_bits(t, q)
    if waiting:
        hollow = 0 if q.hollow == NOWHERE else 1 << q.hollow & bits_of(t.running())
        answer_waiting(t, q, waiting, hollow)


def answer_waiting(t: Turn, q: Queue, kept_by: int, hollow: int = 0) -> None:
    """What publishers sent while nobody was master no master has, but the mirrors `kept_by`, if they were there by
    then; `hollow` is where a process ended whose member of the group is left."""
    for parked in taken_out(q, lambda _: True):
        keepers = tuple(node for node in nodes_of(kept_by) if node not in parked.operation.lacked_by)
        struck = publishing.strike(parked, q.name, keepers, tuple(nodes_of(hollow)))
        t.schedule(0, struck.operation, step=parked.step)


def answer_unheld(t: Turn, q: Queue, holders: int, ended: bool) -> None:
    """What publishers sent while nobody was master nobody has, if none of the mirrors `holders` was there by then;
    `ended` is whether the last one that had it ended by itself."""
    for parked in taken_out(q, lambda operation: not holders & ~bits_of(operation.lacked_by)):
        t.schedule(0, publishing.strike(parked, q.name, ended=ended).operation, step=parked.step)


def taken_out(q: Queue, chosen: Callable[[Publish], bool]) -> list[Parked]:
    """What publishers sent and is chosen waits no more."""
    taken = [one for one in q.parked if isinstance(one.operation, Publish) and chosen(one.operation)]
    q.parked = tuple(one for one in q.parked if one not in taken)
    return taken


def keep_waiting(t: Turn, q: Queue, how: int) -> None:
    """What waits for a queue whose master is gone: answers reach nobody; messages its heir has, or nobody."""
    waiting = [settling.unheard(parked) for parked in q.parked]
    if how == COPIED:
        q.parked = tuple(publishing.copied(t, parked, q.name) for parked in waiting)
    elif how == STRUCK:
        q.parked = tuple(publishing.strike(parked, q.name) for parked in waiting)
    else:
        q.parked = tuple(waiting)


def heed_strays(t: Turn, q: Queue) -> bool:
    """Whether one of those that stay on the record takes over, since another member of their group has died."""
    return strays.heed(t, q)


def is_alone(t: Turn, q: Queue) -> bool:
    """Whether the mirrors on the record do not take over when the master dies."""
    return strays.is_alone(t, q)


def heirless_bits(_: Turn, q: Queue) -> int:
    """The mirrors that end with their master."""
    return q.heirless


# Clients


def detach(t: Turn, q: Queue) -> None:
    """Consumers still hold what the master had sent, as far as they know: each has that with it."""


def follow_new_master(t: Turn, q: Queue, was: int) -> None:
    """Consumers of the master at node `was` go on with the new one, or are cancelled."""
    subscriptions.follow_new_master(t, q.name, was)


def lose_master(t: Turn, q: Queue) -> None:
    """Consumers wait for a master, or are cancelled."""
    subscriptions.lose_master(t, q.name)


def adopt_limits(t: Turn, q: Queue) -> None:
    """A master that begins goes by what the record says."""
    limits.adopt(t, q.name, starting=True)


def note_promotion(t: Turn, q: Queue, synchronised: bool) -> None:
    """Counts that a mirror, synchronised or not, has become master."""
    account = t.account(q.name)
    t.book(
        q.name,
        promotions=account.promotions + 1,
        unsynchronised_promotions=account.unsynchronised_promotions + (not synchronised),
    )


# A node that is back


def may_return(t: Turn, q: Queue) -> bool:
    """Whether the master's process starts with its node. A queue that is not durable was kept by its policy alone:
    without that, it goes with what the node left behind (`rabbit_vhost:recover`, `rabbit_amqqueue:on_node_down`), and
    nobody tells mirrors that wait for their master, nor who publishes to them. Where the record on the node's disk
    names it as a mirror too, as that of an heir may, and ha-mode exactly keeps it as one, the process would start a
    mirror beside itself, and crashes at each attempt; what it has written by then names none
    (`rabbit_mirror_queue_mode_exactly`, `rabbit_mirror_queue_slave:init_it`; seen on a 3.10.8 cluster)."""
    if not q.durable:
        if not is_replicated(q):
            leave_strays(t, q)
            remove(t, q)
        return False
    exactly = is_replicated(q) and q.mirroring.mode == HaMode.EXACTLY
    if exactly and q.master in q.mirrors_on_disk[: q.mirroring.count - 1]:
        q.crashed, q.mirrors_on_disk = q.crashed | 1 << q.master, ()
        t.emit("process_crashed", node=q.master, queue=q.name, final=True)
        return False
    return True


def meet(t: Turn, q: Queue, node: int) -> None:
    """A node that is up and the other running ones tell each other so, and each strikes out of those that could be
    recovered offline whoever has no synchronised mirror. One that is up alone nobody strikes out
    (`rabbit_amqqueue:maybe_clear_recoverable_node`, `rabbit_node_monitor:notify_node_up`)."""
    met = t.running() if len(t.running()) > 1 else []
    q.recoverable = tuple(
        mirror for mirror in q.recoverable if mirror not in met or (mirror in q.synchronised and mirror != node)
    )


PORTS = (
    "COPIED", "STRUCK", "listed", "stall", "heed_strays", "is_alone", "heirless_bits",
    "disk_record", "on_disk_record", "keep_disk_record", "leaves_memory", "spared", "fall_with_node", "has_room",
    "forget_crashes", "remains", "remove", "is_there", "leave_strays", "answer_waiting", "answer_unheld",
    "keep_waiting", "detach", "follow_new_master", "lose_master", "adopt_limits", "note_promotion", "meet",
    "may_return",
)  # fmt: skip
"""The names of what others have to have."""
