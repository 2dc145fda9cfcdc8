"""When a publisher's channel has a replica's answer: a link's latency each way, the transfer to a mirror, and a disk
write for persistent messages.

Source: `rabbit_channel`, `rabbit_mirror_queue_master:publish`, `rabbit_msg_store`.
"""

from __future__ import annotations

SHARED = True  # the kernel of studies compiles this module


def answer_us(t, q, node, client, count, size_bytes, written):
    """How long after messages have reached their master a client at a node has the answer of the replica at another:
    of the master, or of a mirror, to which they are sent on. Messages to be `written` to disk are answered for then."""
    transfer_us = 0
    if node != q.master:
        transfer_us = t.setup.link_us + count * size_bytes * 1_000_000 // t.setup.network_bytes_per_s
    return transfer_us + (t.setup.fsync_us if written else 0) + (0 if node == client else t.setup.link_us)


def group_answer_us(t, q, client, others, written):
    """The same of a quorum queue, whose leader commits what the `others` of its group have, if there are any: each
    writes it at the same time as the leader does (`rabbit_fifo_client`, `ra_server`)."""
    transfer_us = 2 * t.setup.link_us if others else 0
    return transfer_us + (t.setup.fsync_us if written else 0) + (0 if q.master == client else t.setup.link_us)
