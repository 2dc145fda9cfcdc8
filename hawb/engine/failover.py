"""Replicas die, and what is left of a queue: a mirror takes over, or nobody does until the master's node is back.

Source: `rabbit_mirror_queue_misc:remove_from_queue`, `rabbit_mirror_queue_slave:promote_me`,
`rabbit_mirror_queue_coordinator`, `rabbit_mirror_queue_master:terminate`, `gm`. The decisions themselves stand in
`hawb.rules.promotion`; this module carries them out. What becomes of the dead is in `burial`, of a mirror that refuses
in `refusal`, and of a queue that nobody serves in `outage`.

Surviving replicas act on one view of who is dead: gm tells each of them only after it has received all that the dead
had broadcast, so a promoted mirror never misses what another survivor saw. Here that is one event for each queue.
"""

from __future__ import annotations

from collections.abc import Iterable

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
from hawb.engine.access import is_replicated, leaves_memory, release
from hawb.engine.burial import bury_mirrors, leave_unburied, takes_group_along
from hawb.engine.disks import on_disks
from hawb.engine.events import PolicyTakesEffect, ReplicaGone
from hawb.engine.mirroring import drop_mirrors, end_master, note_silent, recoverable, synchronise_drained, with_content
from hawb.engine.nodes.sight import is_unmissed
from hawb.engine.outage import abandon
from hawb.engine.refusal import bury_hollow, heed_hollow, refuse_promotion
from hawb.engine.runs import EMPTY, Runs
from hawb.engine.state import NOWHERE, Queue
from hawb.engine.turn import Turn
from hawb.rules import promotion
from hawb.rules.policies import Promote


def shut_down_master(turn: Turn, name: str) -> None:
    """A master ends in a controlled way. With no mirror synchronised and ha-promote-on-shutdown when-synced it takes
    its mirrors with it, and the queue waits for this node."""
    queue = turn.queues[name]
    turn.emit("master_down", node=queue.master, queue=name, reason="node_stopped")
    end_master(turn, name, stopped=True)
    queue = turn.queues[name]
    living = [node for node in queue.mirrors if turn.alive(queue, node)]
    if not living or not is_replicated(queue):
        return
    if takes_group_along(queue):
        turn.because = turn.emit(
            "mirrors_stopped", node=queue.master, queue=name, mirrors=turn.settings.named(queue.mirrors)
        )
        drop_mirrors(turn, name, list(queue.mirrors), "master_shutdown")
        abandon(turn, name, "mirrors_stopped")


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


def without_unreachable(turn: Turn, queue: Queue) -> Queue:
    """A master's process is gone and its node is not. Mirrors behind links that drop everything do not hear of it, and
    whoever is master next begins without them."""
    silent = [node for node in queue.mirrors if turn.alive(queue, node) and not turn.linked(queue.master, node)]
    if silent:
        drop_mirrors(turn, queue.name, silent, "out_of_reach")
    return turn.queues[queue.name]


def fall_with_node(turn: Turn, name: str) -> None:
    """The node goes on which a queue's process crashed for the last time: now the queue is down like any other."""
    queue = turn.change_queue(name, failed=False, absent=leaves_memory(turn, turn.queues[name]))
    if not queue.durable and not is_replicated(queue):
        queues.remove(turn, name, "node_down")


def promote_on_failure(queue: Queue) -> Promote:
    """ha-promote-on-failure of the policy in force; without one a mirror that is left over takes over."""
    return queue.mirroring.promote_on_failure if is_replicated(queue) else Promote.ALWAYS


def promote(turn: Turn, name: str, heir: int) -> None:
    """The oldest mirror becomes master with what it holds, which is nothing if it has joined since the master died;
    what only the old master held is lost, since a replica that comes back is wiped."""
    queue = turn.queues[name]
    content = queue.contents[heir] or EMPTY
    missing = runs.minus(queue.content, content)
    was, left_out, was_synchronised = queue.master, spared(turn, queue), heir in queue.synchronised
    mirrors = tuple(node for node in queue.mirrors if node != heir and turn.alive(queue, node))
    gone = [node for node in (queue.master, *queue.mirrors) if node != heir and node not in mirrors]
    entry = turn.emit(
        "promoted", node=heir, queue=name, synchronised=was_synchronised, was=turn.settings.names[was],
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
        strays=(),
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
    subscriptions.follow_new_master(turn, name, was)
    limits.adopt(turn, name, starting=True)
    waiting = (settling.unheard(parked) for parked in turn.queues[name].parked)
    turn.change_queue(name, parked=tuple(publishing.copied(turn, parked, name) for parked in waiting))
    synchronise_drained(turn, name, "promotion")
    turn.schedule(0, PolicyTakesEffect(name, adding=True, spared=left_out))
    release(turn, name)
    consuming.deliver(turn, name)


def spared(turn: Turn, queue: Queue) -> int | None:
    """Who takes over starts mirrors, but not on the nodes of the dead, though one may be back: the master of a queue
    that is not durable is not started there either (`rabbit_mirror_queue_misc:slaves_to_start_on_failure`)."""
    back = queue.abandoned and not queue.durable and turn.is_running(queue.master)
    return queue.master if back else None


def overcounted(turn: Turn, queue: Queue, mirrors: Iterable[int], content: Runs) -> tuple[tuple[int, Runs], ...]:
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
