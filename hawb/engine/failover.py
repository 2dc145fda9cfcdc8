"""Replicas die, and what is left of a queue: a mirror takes over, or nobody does until the master's node is back.

Source: `rabbit_mirror_queue_misc:remove_from_queue`, `rabbit_mirror_queue_slave:promote_me`,
`rabbit_mirror_queue_coordinator`, `gm`. The decisions themselves stand in `hawb.rules.promotion`; this module carries
them out.

Surviving replicas act on one view of who is dead: gm tells each of them only after it has received all that the dead
had broadcast, so a promoted mirror never misses what another survivor saw. Here that is one event for each queue.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from hawb.engine import (
    bookkeeping,
    confirms,
    consuming,
    limits,
    metadata,
    publishing,
    queues,
    runs,
    settling,
    subscriptions,
)
from hawb.engine.access import is_replicated, release, waits_for_heir
from hawb.engine.disks import on_disks, uncounted_from
from hawb.engine.events import AutomaticSync, PolicyTakesEffect, ReplicaGone
from hawb.engine.mirroring import (
    abort_sync,
    add_mirrors,
    drop_mirrors,
    finish_late_sync,
    note_silent,
    on_record,
    recoverable,
    synchronise_drained,
    with_content,
)
from hawb.engine.operations import Publish
from hawb.engine.runs import EMPTY, Runs
from hawb.engine.state import NOWHERE, Parked, Queue
from hawb.engine.turn import Turn
from hawb.rules import promotion
from hawb.rules.policies import HaMode, Promote


def replicas_gone(turn: Turn, event: ReplicaGone) -> None:
    """A master's process ended while its node runs."""
    if event.queue in turn.queues:
        bury(turn, event.queue)


def bury(turn: Turn, name: str, *, at_once: bool = False) -> None:
    """The survivors of a queue act on the deaths of the others (`rabbit_mirror_queue_misc:remove_from_queue`). While
    they take a master for alive that has gone they leave everything to it, and so they do, unless it has to be settled
    `at_once`, while a node that counts as running does not answer; then only channels know who is dead."""
    queue = turn.queues[name]
    stalled = not at_once and queue.mirrors and metadata.stall(turn, ReplicaGone(name))
    if stalled or (not queue.abandoned and is_unmissed(turn, queue.master)):
        gone = [node for node in (queue.master, *queue.mirrors) if not turn.alive(queue, node)]
        confirms.forget_replicas(turn, name, [node for node in gone if not is_unmissed(turn, node)])
        return
    if queue.failed and not turn.is_running(queue.master):
        fall_with_node(turn, name)
        return
    if not queue.up and turn.is_running(queue.master):
        queue = without_unreachable(turn, queue)
    alive = [node for node in (queue.master, *queue.mirrors) if turn.alive(queue, node)]
    dead = [node for node in queue.mirrors if node not in alive]
    if queue.hollow != NOWHERE and turn.is_running(queue.hollow):
        heed_hollow(turn, name, dead)
        return
    queue = bury_hollow(turn, queue)
    heir = promotion.candidate(queue.master, queue.mirrors, alive)
    nobody_new = queue.abandoned and not dead and not queue.unburied
    synchronised = len(queue.synchronised) + sum(counted for _, counted in queue.unburied)
    if heir == queue.master or nobody_new:
        bury_mirrors(turn, name, dead)
    elif heir == promotion.NOBODY:
        leave_unburied(turn, name, dead)
    elif promotion.refuses_on_failure(synchronised, int(promote_on_failure(queue))):
        refuse_promotion(turn, name, heir)
    else:
        promote(turn, name, heir)


def settle_stalled(turn: Turn) -> None:
    """A node comes up among others, and what they had still to settle is settled: what it finds is a queue that is
    served, or is down."""
    waiting = [parked.operation for parked in turn.stalled if isinstance(parked.operation, ReplicaGone)]
    turn.stalled = tuple(parked for parked in turn.stalled if parked.operation not in waiting)
    for _side in turn.each_side():
        for name in (event.queue for event in waiting if event.queue in turn.queues):
            bury(turn, name, at_once=True)


def is_unmissed(turn: Turn, node: int) -> bool:
    """Whether a node has gone, and somebody of the side in focus still takes it for running."""
    watchers = (turn.nodes[watcher] for watcher in turn.running())
    return not turn.is_running(node) and any(node in watcher.believes_running for watcher in watchers)


def without_unreachable(turn: Turn, queue: Queue) -> Queue:
    """A master's process is gone and its node is not. Mirrors behind links that drop everything do not hear of it, and
    whoever is master next begins without them."""
    silent = [node for node in queue.mirrors if turn.alive(queue, node) and not turn.linked(queue.master, node)]
    if silent:
        drop_mirrors(turn, queue.name, silent, "out_of_reach")
    return turn.queues[queue.name]


def fall_with_node(turn: Turn, name: str) -> None:
    """The node goes on which a queue's process crashed for the last time: now the queue is down like any other."""
    queue = turn.change_queue(name, failed=False, absent=not is_replicated(turn.queues[name]))
    if not queue.durable and not is_replicated(queue):
        queues.remove(turn, name, "node_down")


def promote_on_failure(queue: Queue) -> Promote:
    """ha-promote-on-failure of the policy in force; without one a mirror that is left over takes over."""
    return queue.mirroring.promote_on_failure if is_replicated(queue) else Promote.ALWAYS


def promote_on_shutdown(queue: Queue) -> Promote:
    """ha-promote-on-shutdown of the policy in force."""
    return queue.mirroring.promote_on_shutdown if is_replicated(queue) else Promote.WHEN_SYNCED


def bury_mirrors(turn: Turn, name: str, dead: list[int]) -> None:
    """Mirrors that died are struck out and, under ha-mode exactly, others started."""
    if not dead:
        return
    queue = turn.queues[name]
    for node in dead:
        reason = "crashed" if turn.is_running(node) else "node_down"
        turn.emit("mirror_removed", node=node, queue=name, reason=reason)
    mirrors = tuple(node for node in queue.mirrors if node not in dead)
    turn.change_queue(
        name,
        mirrors=mirrors,
        synchronised=tuple(node for node in queue.synchronised if node not in dead),
        recoverable=recoverable(turn, queue.recoverable, on_record(queue, mirrors)),
        contents=with_content(queue.contents, on_disks(turn, queue, dead)),
    )
    confirms.forget_replicas(turn, name, dead)
    if queue.abandoned:
        answer_in_vain(turn, name)
        return
    if queue.sync is not None:
        leave_sync(turn, name, dead)
    add_mirrors(turn, name)
    release(turn, name)
    turn.schedule(0, AutomaticSync(name))


def leave_sync(turn: Turn, name: str, dead: list[int]) -> None:
    """Mirrors that died leave a synchronisation; the others go on, and without others it ends. One that an alarm holds
    notices that afterwards."""
    sync = turn.queues[name].sync
    left = tuple(node for node in sync.mirrors if node not in dead)
    if left or sync.held_us is not None:
        turn.change_queue(name, sync=replace(sync, mirrors=left))
        finish_late_sync(turn, name)
    else:
        abort_sync(turn, name, "mirrors_gone")


def leave_unburied(turn: Turn, name: str, dead: list[int]) -> None:
    """Nobody is left to strike the dead out of the record, unless a master that was shut down has taken its group along
    (`rabbit_mirror_queue_misc:stop_all_slaves` empties `gm_pids`). A mirror that joins finds them there and dead
    (`gm:validate_members`), and does what a mirror does whose master has died."""
    queue = turn.queues[name]
    unburied = (*queue.unburied, *as_counted(queue, dead))
    if not queue.abandoned:
        unburied = () if queue.stopped and takes_group_along(queue) else ((queue.master, False), *unburied)
        abandon(turn, name, "no_mirror")
    if name in turn.queues:
        turn.change_queue(name, unburied=unburied if is_replicated(queue) else ())
        bury_mirrors(turn, name, dead)


def as_counted(queue: Queue, mirrors: Iterable[int]) -> tuple[tuple[int, bool], ...]:
    """Mirrors with whether the record counts them as synchronised."""
    return tuple((node, node in queue.synchronised) for node in mirrors)


def takes_group_along(queue: Queue) -> bool:
    """Whether a master that is shut down leaves its group without a member, and so without anybody who is missed."""
    return promotion.takes_mirrors_down(len(queue.synchronised), int(promote_on_shutdown(queue)))


def refuse_promotion(turn: Turn, name: str, heir: int) -> None:
    """The mirror that should take over deletes its copy and ends instead; the queue waits for its master's node. Its
    member of the group it leaves behind, so that the others never hear that it is gone: they strike out the dead, and
    live on as mirrors that wait for it (`rabbit_mirror_queue_slave`, gm_deaths; seen on 3.10.8 clusters)."""
    queue = turn.queues[name]
    others = tuple(node for node in queue.mirrors if node != heir and turn.alive(queue, node))
    dead = [node for node in queue.mirrors if node != heir and node not in others]
    unburied = queue.unburied if queue.abandoned else ((queue.master, False),)
    turn.emit("promotion_refused", node=heir, queue=name)
    turn.change_queue(
        name,
        mirrors=others,
        synchronised=(),
        recoverable=recoverable(turn, queue.recoverable, (heir, *others)) if others else queue.recoverable,
        contents=with_content(queue.contents, {heir: None} | on_disks(turn, queue, dead)),
        unburied=() if others else (*unburied, *as_counted(queue, dead)),
        hollow=heir,
    )
    confirms.forget_replicas(turn, name, [heir])
    if queue.abandoned:
        answer_in_vain(turn, name)
    else:
        abandon(turn, name, "promotion_refused")


def heed_hollow(turn: Turn, name: str, dead: list[int]) -> None:
    """Whoever dies, the one that would take over is a member of the group whose process is gone. Mirrors that live
    strike out the dead, and wait for it; where none does, the dead stay on the record."""
    queue = turn.queues[name]
    if len(dead) == len(queue.mirrors):
        leave_unburied(turn, name, dead)
    else:
        turn.change_queue(name, unburied=())
        bury_mirrors(turn, name, dead)


def bury_hollow(turn: Turn, queue: Queue) -> Queue:
    """What a mirror that refused has left behind is gone with its node; the record still counts it."""
    if queue.hollow == NOWHERE:
        return queue
    return turn.change_queue(queue.name, hollow=NOWHERE, unburied=(*queue.unburied, (queue.hollow, False)))


def answer_in_vain(turn: Turn, name: str) -> None:
    """The last mirror that waited for a master is gone: what publishers sent meanwhile nobody has."""
    queue = turn.queues[name]
    if waits_for_heir(turn, queue):
        return
    waiting = [one for one in queue.parked if isinstance(one.operation, Publish)]
    turn.change_queue(name, parked=tuple(one for one in queue.parked if one not in waiting))
    for parked in waiting:
        turn.schedule(0, publishing.strike(parked, name).operation, step=parked.step)


def promote(turn: Turn, name: str, heir: int) -> None:
    """The oldest mirror becomes master with what it holds, which is nothing if it has joined since the master died;
    what only the old master held is lost, since a replica that comes back is wiped."""
    queue = turn.queues[name]
    content = queue.contents[heir] or EMPTY
    missing = runs.minus(queue.content, content)
    was_synchronised = heir in queue.synchronised
    mirrors = tuple(node for node in queue.mirrors if node != heir and turn.alive(queue, node))
    gone = [node for node in (queue.master, *queue.mirrors) if node != heir and node not in mirrors]
    entry = turn.emit(
        "promoted", node=heir, queue=name, synchronised=was_synchronised, was=turn.settings.names[queue.master],
        messages=runs.size(content), missing=runs.size(missing),
    )  # fmt: skip
    # gm hands on to the survivors what the dead had broadcast, so those that were synchronised still are.
    held = {
        node: content if node in queue.synchronised and turn.linked(heir, node)
        else runs.common(queue.contents[node] or EMPTY, content)
        for node in mirrors
    }  # fmt: skip
    turn.change_queue(
        name,
        master=heir,
        mirrors=mirrors,
        lagging=tuple(pair for pair in queue.lagging if not turn.linked(heir, pair[0])),
        synchronised=tuple(node for node in queue.synchronised if node in mirrors),
        recoverable=recoverable(turn, queue.recoverable, mirrors),
        contents=with_content(queue.contents, held | on_disks(turn, queue, gone)),
        depth_unknown=frozenset(),
        up=True,
        abandoned=False,
        unburied=(),
        hollow=NOWHERE,
        failed=False,
        crashed=queue.crashed - {queue.master} if queue.failed else queue.crashed,
        unwritten=EMPTY,
        redelivered=content,
        unacknowledged=EMPTY,
        uncounted_from=0,
        overcounted=overcounted(turn, queue, mirrors, content),
    )
    note_silent(turn, name)
    bookkeeping.lose(turn, name, missing, "unsynchronised_promotion", because=entry)
    bookkeeping.reclaim(turn, name, content)
    note_promotion(turn, name, synchronised=was_synchronised)
    turn.because = entry
    confirms.forget_replicas(turn, name, gone)
    subscriptions.follow_new_master(turn, name)
    limits.adopt(turn, name, starting=True)
    waiting = (settling.unheard(parked) for parked in turn.queues[name].parked)
    turn.change_queue(name, parked=tuple(publishing.copied(turn, parked, name) for parked in waiting))
    synchronise_drained(turn, name, "promotion")
    turn.schedule(0, PolicyTakesEffect(name))
    release(turn, name)
    consuming.deliver(turn, name)


def overcounted(
    turn: Turn, queue: Queue, mirrors: Iterable[int], content: Runs
) -> tuple[tuple[int, Runs], ...]:
    """What mirrors that did not take over count as delivered, which the heir takes back: before 3.13.0 nobody tells
    them (`rabbit_mirror_queue_master:promote_backing_queue_state`)."""
    if turn.settings.profile.requeues_at_mirrors:
        return ()
    known, abreast = dict(queue.overcounted), [node for node in mirrors if node in queue.synchronised]
    counted = ((node, runs.union(known.get(node, EMPTY), queue.unacknowledged)) for node in abreast)
    taken_back = ((node, runs.common(numbers, content)) for node, numbers in counted)
    return tuple(pair for pair in taken_back if pair[1])


def note_promotion(turn: Turn, name: str, *, synchronised: bool) -> None:
    """Counts a promotion and ends the outage before it."""
    account = turn.account(name)
    turn.book(
        name,
        promotions=account.promotions + 1,
        unsynchronised_promotions=account.unsynchronised_promotions + (not synchronised),
    )
    bookkeeping.count_times(turn, name)


# Down, and back


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
        absent=not is_replicated(queue) and not turn.is_running(queue.master),
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
    replace_mirrors(turn, name)
    answer_in_vain(turn, name)
    queue = turn.change_queue(
        name, up=True, abandoned=False, unburied=(), hollow=NOWHERE, absent=False, overcounted=()
    )
    turn.emit("queue_recovered", node=queue.master, queue=name, messages=runs.size(queue.content), reason=reason)
    bookkeeping.count_times(turn, name)
    limits.adopt(turn, name, starting=True)
    synchronise_drained(turn, name, "joined")
    add_mirrors(turn, name, returning=reason == "node_running")
    turn.schedule(0, PolicyTakesEffect(name, returning=reason == "node_running"))
    release(turn, name)
    consuming.deliver(turn, name)


def replace_mirrors(turn: Turn, name: str) -> None:
    """Mirrors that joined while the master was away are on no record any more, since the master puts the one from its
    own disk in its place: where policy asks for them others join in their stead (`rabbit_amqqueue:internal_declare`,
    `amqqueue:reset_mirroring_and_decorators`)."""
    queue = turn.queues[name]
    for node in queue.mirrors:
        turn.emit("mirror_removed", node=node, queue=name, reason="master_recovered")
    contents = with_content(queue.contents, dict.fromkeys(queue.mirrors))
    turn.change_queue(name, mirrors=(), synchronised=(), lagging=(), contents=contents)
    confirms.forget_replicas(turn, name, queue.mirrors)
