"""A classic queue that nobody serves: its master is gone and has no heir, until the master's node is back.

Source: `rabbit_amqqueue:on_node_down`, `rabbit_amqqueue:recover`, `rabbit_mirror_queue_master:init_with_existing_bq`.
"""

from __future__ import annotations

from hawb.engine import bookkeeping, confirms, consuming, limits, publishing, queues, runs, settling, subscriptions
from hawb.engine.access import is_replicated, leaves_memory, release, waits_for_heir
from hawb.engine.disks import on_disks, uncounted_from
from hawb.engine.events import PolicyTakesEffect
from hawb.engine.mirroring import add_mirrors, synchronise_drained, with_content
from hawb.engine.operations import Publish
from hawb.engine.runs import EMPTY
from hawb.engine.state import NOWHERE, Parked, Queue
from hawb.engine.turn import Turn
from hawb.rules.policies import HaMode


def abandon(turn: Turn, name: str, reason: str) -> None:
    """No replica may serve the queue. A durable one waits for its master's node with what is on that node's disk;
    mirrors that join meanwhile never take over: for them the master did not die, it was never there.

    One that is not durable is gone, but for a replicated one: its record stays as long as any node does
    (`rabbit_amqqueue:on_node_down`), names a master that will not come back, and can only be deleted.
    """
    queue = turn.queues[name]
    entry = turn.emit("queue_down", node=queue.master, queue=name, reason=reason)
    gone = [node for node in (queue.master, *queue.mirrors) if not turn.alive(queue, node)]
    confirms.forget_replicas(turn, name, gone)
    kept = runs.minus(on_disks(turn, queue, [queue.master])[queue.master] or EMPTY, queue.unwritten)
    bookkeeping.lose(turn, name, runs.minus(queue.content, kept), loss_with_process(turn, queue), because=entry)
    turn.change_queue(
        name,
        synchronised=(),
        contents=with_content(queue.contents, on_disks(turn, queue, gone) | {queue.master: kept}),
        redelivered=runs.common(queue.delivered, kept) if queue.stopped else kept,
        unacknowledged=EMPTY,
        uncounted_from=uncounted_from(turn, queue, kept),
        parked=tuple(after_death(turn, queue, parked) for parked in queue.parked),
        abandoned=True,
        absent=leaves_memory(turn, queue) and not turn.is_running(queue.master),
        unwritten=EMPTY,
    )
    turn.because = entry
    stays = is_replicated(queue) or queue.master in queue.crashed
    if queue.durable or (stays and turn.running()):
        release(turn, name)
        subscriptions.lose_master(turn, name)
    else:
        queues.remove(turn, name, "node_down")


def after_death(turn: Turn, queue: Queue, parked: Parked) -> Parked:
    """What waits for a queue whose master is gone and has no heir. Mirrors that live have the messages, too."""
    unheard = settling.unheard(parked)
    living = any(turn.alive(queue, node) for node in queue.mirrors)
    return unheard if living else publishing.strike(unheard, queue.name)


def answer_in_vain(turn: Turn, name: str, ended: bool = False) -> None:
    """The last mirror that waited for a master is gone, or ended by itself: what publishers sent meanwhile nobody
    has."""
    queue = turn.queues[name]
    if waits_for_heir(turn, queue):
        return
    strike_waiting(turn, name, ended=ended)


def strike_waiting(
    turn: Turn, name: str, kept_by: tuple[int, ...] = (), hollow_at: tuple[int, ...] = (), ended: bool = False
) -> None:
    """What publishers sent while nobody was master no master has, but the mirrors `kept_by`."""
    queue = turn.queues[name]
    waiting = [one for one in queue.parked if isinstance(one.operation, Publish)]
    turn.change_queue(name, parked=tuple(one for one in queue.parked if one not in waiting))
    for parked in waiting:
        turn.schedule(0, publishing.strike(parked, name, kept_by, hollow_at, ended).operation, step=parked.step)


def loss_with_process(turn: Turn, queue: Queue) -> str:
    """The cause of losing what a queue's last process held and its node's disk does not have."""
    if queue.owner is not None:
        return "exclusive_queue"
    if turn.is_running(queue.master) and queue.master not in queue.crashed:
        return "dropped_replicas"
    if queue.durable and turn.nodes[queue.master].virgin:
        return "disk_lost"
    return "transient_message" if queue.durable else "transient_queue"


def forget_transient(turn: Turn) -> None:
    """With the last node the records of queues that are not durable go too."""
    for name in turn.queue_names():
        if turn.queues[name].abandoned and not turn.queues[name].durable:
            queues.remove(turn, name, "node_down")


def return_master(turn: Turn, name: str) -> None:
    """The master's node is back. A queue that is not durable was kept by its policy alone: without that, it goes with
    what the node left behind (`rabbit_vhost:recover`, `rabbit_amqqueue:on_node_down`). Nobody tells mirrors that wait
    for their master, nor who publishes to them."""
    queue = turn.queues[name]
    if queue.durable:
        start_master(turn, name)
    elif not is_replicated(queue):
        leave_strays(turn, name)
        queues.remove(turn, name, "node_down")


def leave_strays(turn: Turn, name: str) -> None:
    """Mirrors that wait for a master are told by nobody that there is one again, or none any more, if that has no
    mirrors: they keep what channels sent them, and the channels wait on."""
    queue = turn.queues[name]
    strays = tuple(node for node in queue.mirrors if turn.alive(queue, node) and turn.is_running(node))
    hollow_at = (queue.hollow,) if queue.hollow != NOWHERE and turn.is_running(queue.hollow) else ()
    if strays:
        strike_waiting(turn, name, strays, hollow_at)


def start_master(turn: Turn, name: str) -> None:
    """The master's node is back. Where the record on its disk names it as a mirror too, as that of an heir may, and
    ha-mode exactly keeps it as one, the process would start a mirror beside itself, and crashes at each attempt; what
    it has written by then names none (`rabbit_mirror_queue_mode_exactly`, `rabbit_mirror_queue_slave:init_it`; seen on
    a 3.10.8 cluster)."""
    queue = turn.queues[name]
    mirroring = queue.mirroring
    exactly = is_replicated(queue) and mirroring.mode == HaMode.EXACTLY
    if exactly and queue.master in queue.mirrors_on_disk[: mirroring.count - 1]:
        turn.change_queue(name, crashed=queue.crashed | {queue.master}, mirrors_on_disk=())
        turn.emit("process_crashed", node=queue.master, queue=name, final=True)
    else:
        recover(turn, name, "node_running")


def is_full_of_the_dead(queue: Queue) -> bool:
    """Whether the record in memory counts a mirror that never started, so that exactly asks for no other."""
    return queue.abandoned and not queue.failed and queue.master in queue.crashed


def recover(turn: Turn, name: str, reason: str) -> None:
    """The master's node is back, or its process, and nobody took over meanwhile: the queue is served from its disk, and
    the mirrors that policy asks for join empty, on nodes that run by now, in its order
    (`rabbit_mirror_queue_master:init_with_existing_bq`)."""
    on_disk = turn.queues[name].mirrors_on_disk
    if not is_replicated(turn.queues[name]):
        leave_strays(turn, name)
    replace_mirrors(turn, name)
    answer_in_vain(turn, name)
    queue = turn.change_queue(name, up=True, abandoned=False, unburied=(), hollow=NOWHERE, absent=False, overcounted=())
    turn.emit("queue_recovered", node=queue.master, queue=name, messages=runs.size(queue.content), reason=reason)
    bookkeeping.count_times(turn, name)
    limits.adopt(turn, name, starting=True)
    synchronise_drained(turn, name, "joined")
    add_mirrors(turn, name, returning=reason == "node_running", recorded=on_disk)
    if not turn.queues[name].mirrors:
        turn.schedule(0, PolicyTakesEffect(name, returning=reason == "node_running"))
    release(turn, name)
    consuming.deliver(turn, name)


def replace_mirrors(turn: Turn, name: str) -> None:
    """Mirrors that joined while the master was away are on no record any more, since the master puts the one from its
    own disk in its place: where policy asks for them others join in their stead (`rabbit_amqqueue:internal_declare`,
    `amqqueue:reset_mirroring_and_decorators`). Those that the one on disk names stay, whether policy asks for them or
    not, and with them what they had from channels while there was no master."""
    queue = turn.queues[name]
    left = tuple(node for node in queue.mirrors if node in queue.mirrors_on_disk and turn.alive(queue, node))
    gone = [node for node in queue.mirrors if node not in left]
    for node in gone:
        turn.emit("mirror_removed", node=node, queue=name, reason="master_recovered")
    for node in left:
        turn.emit("mirror_stays", node=node, queue=name)
    held = {node: runs.common(queue.contents[node] or EMPTY, queue.content) for node in left}
    contents = with_content(queue.contents, dict.fromkeys(gone) | held)
    strays = () if is_replicated(turn.queues[name]) else left
    turn.change_queue(name, mirrors=left, synchronised=(), lagging=(), strays=strays, contents=contents)
    confirms.forget_replicas(turn, name, gone)
    if left:
        strike_waiting(turn, name, left)
