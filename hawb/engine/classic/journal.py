"""Trace entries about replicas. The kernel writes none.

Functions return the number of the entry if later entries name it as their cause.
"""

from __future__ import annotations

from hawb.engine.cluster.node_ports import blame
from hawb.engine.core import runs
from hawb.engine.core.runs import EMPTY
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn

BY_POLICY, TRANSFER, OUT_OF_REACH, DIED = "policy", "transfer", "out_of_reach", "died"
LEFT_BEHIND = "left_behind"
MASTER_DOWN, MASTER_SHUTDOWN, NODE_STOPPED = "master_down", "master_shutdown", "node_stopped"
NO_MIRROR, MIRRORS_STOPPED, PROMOTION_REFUSED = "no_mirror", "mirrors_stopped", "promotion_refused"
MIRRORS_GONE, CANCELLED = "mirrors_gone", "cancelled"
JOINED, DRAINED, SYNCHRONISED, PROMOTED = "joined", "drained", "synchronisation", "promotion"
"""Why a master, a mirror or a synchronisation is gone, why a queue is down, and how a mirror came to be
synchronised."""


def ordered(q: Queue, bits: int) -> list[int]:
    """Return the mirrors among the nodes of a set, oldest first."""
    return [node for node in q.mirrors if bits >> node & 1]


def say_mirror_added(t: Turn, q: Queue, node: int) -> None:
    """Write that an empty mirror joined."""
    t.emit("mirror_added", node=node, queue=q.name, synchronised=q.up and not q.content)


def say_mirrors_removed(t: Turn, q: Queue, bits: int, reason: str) -> None:
    """Write that mirrors are gone."""
    for node in ordered(q, bits):
        died = "crashed" if t.is_running(node) else "node_down"
        t.emit("mirror_removed", node=node, queue=q.name, reason=died if reason == DIED else reason)


def say_mirrors_replaced(t: Turn, q: Queue, gone: int, left: int) -> None:
    """Write which mirrors a recovered master removed from its record and which stay on it."""
    for node in ordered(q, gone):
        t.emit("mirror_removed", node=node, queue=q.name, reason="master_recovered")
    for node in ordered(q, left):
        t.emit("mirror_stays", node=node, queue=q.name)


def say_synchronised(t: Turn, q: Queue, bits: int, how: str) -> None:
    """Write that mirrors became synchronised."""
    for node in ordered(q, bits):
        t.emit("mirror_synchronised", node=node, queue=q.name, how=how)


def say_master_down(t: Turn, q: Queue, reason: str) -> int | None:
    """Write that the master's process ended."""
    return t.emit("master_down", node=q.master, queue=q.name, reason=reason)


def say_mirrors_stopped(t: Turn, q: Queue) -> None:
    """Write that a master stopped its mirrors during its own controlled stop."""
    mirrors = t.settings.named(q.mirrors)
    blame(t, t.emit("mirrors_stopped", node=q.master, queue=q.name, mirrors=mirrors))


def say_promoted(t: Turn, q: Queue, node: int) -> int | None:
    """Write that a mirror becomes master, before the record changes."""
    content = q.contents[node] or EMPTY
    return t.emit(
        "promoted", node=node, queue=q.name, synchronised=node in q.synchronised, was=t.settings.names[q.master],
        messages=runs.size(content), missing=runs.size(runs.minus(q.content, content)),
    )  # fmt: skip


def say_promotion_refused(t: Turn, q: Queue, node: int) -> None:
    """Write that a mirror refused promotion and deleted its copy."""
    t.emit("promotion_refused", node=node, queue=q.name)


def say_queue_down(t: Turn, q: Queue, reason: str) -> int | None:
    """Write that no replica may become master."""
    return t.emit("queue_down", node=q.master, queue=q.name, reason=reason)


def say_queue_recovered(t: Turn, q: Queue, returning: int) -> None:
    """Write that the master started from its disk, because its node or its process is back."""
    reason = "node_running" if returning else "process_restarted"
    t.emit("queue_recovered", node=q.master, queue=q.name, messages=runs.size(q.content), reason=reason)


def say_sync_finished(t: Turn, q: Queue, took_part: int) -> None:
    """Write that mirrors have received all messages of the master."""
    mirrors = t.settings.named(ordered(q, took_part))
    sent_bytes = len(mirrors) * q.sync.effort.size_bytes
    blame(t, t.emit("sync_finished", queue=q.name, mirrors=mirrors, bytes_replicated=sent_bytes))


def say_sync_ended(t: Turn, q: Queue, reason: str) -> None:
    """Write that a synchronisation ended early."""
    t.emit("sync_ended", queue=q.name, reason=reason)


def say_sync_not_needed(t: Turn, q: Queue) -> None:
    """Write that all mirrors are synchronised already."""
    t.emit("sync_not_needed", queue=q.name)
