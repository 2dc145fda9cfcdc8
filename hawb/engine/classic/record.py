"""Questions about the replicas in a queue's record."""

from __future__ import annotations

from hawb.engine.classic.record_ports import is_absent, is_alive, mirrors, synchronised
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn

SHARED = True  # the kernel of studies compiles this module


def is_mirror(t: Turn, q: Queue, node: int) -> bool:
    """Return True if the record names a mirror at a node."""
    return node in mirrors(t, q)


def is_synchronised(t: Turn, q: Queue, node: int) -> bool:
    """Return True if the record counts the mirror at a node as synchronised."""
    return node in synchronised(t, q)


def mirror_bits(t: Turn, q: Queue) -> int:
    """Return the nodes of mirrors, as bits."""
    bits = 0
    for node in mirrors(t, q):
        bits |= 1 << node
    return bits


def alive_bits(t: Turn, q: Queue) -> int:
    """Return the nodes where a replica's process runs, as bits."""
    bits = int(is_alive(t, q, q.master)) << q.master
    for node in mirrors(t, q):
        bits |= int(is_alive(t, q, node)) << node
    return bits


def mirrors_await_master(t: Turn, q: Queue) -> bool:
    """Return True if the queue has no master and mirrors that run.

    These have published messages from the channels and keep them until a master reports them; the publisher gets no
    answer (`rabbit_mirror_queue_slave`).
    """
    return q.awaits_master and not is_absent(t, q) and alive_bits(t, q) & mirror_bits(t, q) != 0
