"""A mirror that should take over and refuses to, for it is not synchronised: what it leaves behind in its group.

Source: `rabbit_mirror_queue_slave`, gm_deaths, for ha-promote-on-failure when-synced.
"""

from __future__ import annotations

from hawb.engine import confirms
from hawb.engine.burial import as_counted, bury_mirrors, leave_unburied
from hawb.engine.disks import on_disks
from hawb.engine.mirroring import recoverable, with_content
from hawb.engine.outage import abandon, answer_in_vain
from hawb.engine.state import NOWHERE, Queue
from hawb.engine.turn import Turn


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
