"""What a queue's record says of its replicas."""

from __future__ import annotations

from hawb.engine.classic.record_ports import is_absent, is_alive, mirrors, synchronised

SHARED = True  # the kernel of studies compiles this module


def is_mirror(t, q, node):
    """Whether the record names a mirror at a node."""
    return node in mirrors(t, q)


def is_synchronised(t, q, node):
    """Whether the record counts a mirror as synchronised."""
    return node in synchronised(t, q)


def mirror_bits(t, q):
    """The nodes of mirrors."""
    bits = 0
    for node in mirrors(t, q):
        bits |= 1 << node
    return bits


def alive_bits(t, q):
    """The queue's replicas that are running processes."""
    bits = int(is_alive(t, q, q.master)) << q.master
    for node in mirrors(t, q):
        bits |= int(is_alive(t, q, node)) << node
    return bits


def mirrors_await_master(t, q):
    """Whether a queue has mirrors that live though it has no master. What is published they have from the channel, and
    keep until they hear of it from a master: the publisher hears nothing (`rabbit_mirror_queue_slave`)."""
    return q.awaits_master and not is_absent(t, q) and alive_bits(t, q) & mirror_bits(t, q) != 0
