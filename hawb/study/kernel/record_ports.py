"""What a queue's record says of its replicas, for the kernel: `hawb.engine.classic.record_ports`. A list of nodes is
the first ones of an array."""

from __future__ import annotations

from hawb.study.compiled import inner, with_arrays
from hawb.study.kernel.state import is_among, is_running, without_nodes


@inner
def is_alive(t, q, node):
    """Whether the replica at a node is a running process."""
    if node == q.master:
        return q.up == 1
    return is_running(t, node) and is_among(t.mirrors, q.mirrors, node)


@inner
def mirroring_of(t, q):
    """What policy asks for in the way of mirrors, which does not change."""
    return t.setup


@inner
def is_absent(t, q):
    """Whether only disks have the record."""
    return q.absent == 1


@with_arrays
def mirrors(t, q):
    """The mirrors, oldest first."""
    return t.mirrors[: q.mirrors]


@with_arrays
def synchronised(t, q):
    """The mirrors that the record counts as synchronised, newest first."""
    return t.synchronised[: q.synchronised]


@inner
def put_last(t, q, node):
    """A node has the youngest of the mirrors."""
    q.mirrors = without_nodes(t.mirrors, q.mirrors, 1 << node)
    t.mirrors[q.mirrors] = node
    q.mirrors += 1


@inner
def put_first_synchronised(t, q, node):
    """A mirror is the last that has become synchronised."""
    for k in range(q.synchronised, 0, -1):
        t.synchronised[k] = t.synchronised[k - 1]
    t.synchronised[0] = node
    q.synchronised += 1


@inner
def strike_mirrors(t, q, bits):
    """Takes mirrors off the record."""
    q.mirrors = without_nodes(t.mirrors, q.mirrors, bits)
    q.synchronised = without_nodes(t.synchronised, q.synchronised, bits)


@inner
def forget_synchronised(t, q):
    """No mirror counts as synchronised."""
    q.synchronised = 0
