"""The dead of a classic queue: mirrors that are struck out of its record, and replicas that stay on it because nobody
is left to strike them out.

Source: `rabbit_mirror_queue_misc:remove_from_queue`, `gm`.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from hawb.engine import confirms
from hawb.engine.access import is_replicated, release
from hawb.engine.disks import on_disks
from hawb.engine.events import AutomaticSync
from hawb.engine.mirroring import abort_sync, add_mirrors, finish_late_sync, on_record, recoverable, with_content
from hawb.engine.outage import abandon, answer_in_vain
from hawb.engine.state import Queue
from hawb.engine.turn import Turn
from hawb.rules import promotion
from hawb.rules.policies import Promote


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


def promote_on_shutdown(queue: Queue) -> Promote:
    """ha-promote-on-shutdown of the policy in force."""
    return queue.mirroring.promote_on_shutdown if is_replicated(queue) else Promote.WHEN_SYNCED
