"""A queue's record of its replicas, for the kernel: `hawb.engine.classic.record_ports`.

A list of nodes is the first ones of an array.
"""

from __future__ import annotations

from hawb.study.compiled import inner, with_arrays
from hawb.study.kernel.state import is_among, is_running, without_nodes


@inner
def is_alive(t, q, node):
    """Return True if the replica at a node is a running process."""
    if node == q.master:
        return q.up == 1
    return is_running(t, node) and is_among(t.mirrors, q.mirrors, node)


@inner
def mirroring_of(t, q):
    """Return the mirroring that policy asks for, which does not change."""
    return t.setup


@inner
def is_absent(t, q):
    """Return True if the record is on disks only."""
    return q.absent == 1


@with_arrays
def mirrors(t, q):
    """Return the mirrors, oldest first."""
    return t.mirrors[: q.mirrors]


@with_arrays
def synchronised(t, q):
    """Return the mirrors that the record counts as synchronised, newest first."""
    return t.synchronised[: q.synchronised]


@inner
def put_last(t, q, node):
    """Put a node last among the mirrors, as the youngest."""
    q.mirrors = without_nodes(t.mirrors, q.mirrors, 1 << node)
    t.mirrors[q.mirrors] = node
    q.mirrors += 1


@inner
def put_first_synchronised(t, q, node):
    """Put a mirror first among the synchronised ones, as the newest."""
    for k in range(q.synchronised, 0, -1):
        t.synchronised[k] = t.synchronised[k - 1]
    t.synchronised[0] = node
    q.synchronised += 1


@inner
def remove_mirrors(t, q, bits):
    """Remove mirrors from the record."""
    q.mirrors = without_nodes(t.mirrors, q.mirrors, bits)
    q.synchronised = without_nodes(t.synchronised, q.synchronised, bits)


@inner
def forget_synchronised(t, q):
    """Count no mirror as synchronised."""
    q.synchronised = 0
