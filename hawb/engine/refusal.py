"""A mirror that should take over and refuses to, for it is not synchronised: what it leaves behind in its group.

Source: `rabbit_mirror_queue_slave`, gm_deaths, for ha-promote-on-failure when-synced.
"""

from __future__ import annotations

from hawb.engine import chance, confirms
from hawb.engine.burial import as_counted, bury_mirrors, leave_unburied
from hawb.engine.disks import on_disks
from hawb.engine.mirroring import recoverable, with_content
from hawb.engine.outage import abandon, answer_in_vain
from hawb.engine.state import NOWHERE, Queue
from hawb.engine.turn import Turn


def refuse_promotion(turn: Turn, name: str, heir: int) -> None:
    """The mirror that should take over deletes its copy and ends instead; the queue waits for its master's node. Its
    member of the group it leaves behind, so that the others never hear that it is gone: they strike out the dead, and
    live on as mirrors that wait for it (`rabbit_mirror_queue_slave`, gm_deaths; seen on 3.10.8 clusters). Where it is
    the first to hear of the death nobody else does, and the record stays as it is."""
    queue = turn.queues[name]
    others = tuple(node for node in queue.mirrors if node != heir and turn.alive(queue, node))
    dead = [node for node in queue.mirrors if node != heir and node not in others]
    unburied = queue.unburied if queue.abandoned else ((queue.master, False),)
    unwritten = not others or (not queue.abandoned and hears_first(turn, queue, others))
    on_disk = queue.mirrors_on_disk
    turn.emit("promotion_refused", node=heir, queue=name)
    turn.change_queue(
        name,
        mirrors=others,
        synchronised=(),
        recoverable=queue.recoverable if unwritten else recoverable(turn, queue.recoverable, (heir, *others)),
        contents=with_content(queue.contents, {heir: None} | on_disks(turn, queue, dead)),
        unburied=() if others else (*unburied, *as_counted(queue, dead)),
        hollow=heir,
    )
    confirms.forget_replicas(turn, name, [heir])
    if queue.abandoned:
        answer_in_vain(turn, name, ended=True)
    else:
        abandon(turn, name, "promotion_refused")
    if unwritten:
        turn.change_queue(name, mirrors_on_disk=on_disk)


def hears_first(turn: Turn, queue: Queue, others: tuple[int, ...]) -> bool:
    """Whether the mirror that refuses, or what it left behind, hears of a death before any other mirror: who stands
    behind the dead in the ring of the group does, where mirrors join behind any member (`gm:join_group`). It matters
    where the record on disk names mirrors, which those that hear would strike out, and is drawn there alone."""
    if not queue.mirrors_on_disk:
        return False
    return chance.below(1 + len(others), turn.settings.seed, chance.GROUP_RING, turn.next_number(), 0) == 0


def heed_hollow(turn: Turn, name: str, dead: list[int]) -> None:
    """Whoever dies, the one that would take over is a member of the group whose process is gone. Mirrors that live
    strike out the dead, if they hear of it, and wait for it; where none does, the dead stay on the record."""
    queue = turn.queues[name]
    living = tuple(node for node in queue.mirrors if node not in dead)
    if not living:
        leave_unburied(turn, name, dead)
        return
    unwritten, on_disk = bool(dead) and hears_first(turn, queue, living), queue.mirrors_on_disk
    turn.change_queue(name, unburied=())
    bury_mirrors(turn, name, dead)
    if unwritten:
        turn.change_queue(name, mirrors_on_disk=on_disk)


def bury_hollow(turn: Turn, queue: Queue) -> Queue:
    """What a mirror that refused has left behind is gone with its node; the record still counts it."""
    if queue.hollow == NOWHERE:
        return queue
    return turn.change_queue(queue.name, hollow=NOWHERE, unburied=(*queue.unburied, (queue.hollow, False)))
