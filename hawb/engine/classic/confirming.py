"""When a replica's answer reaches a publisher's channel.

It takes a link's latency each way, the transfer to a mirror, and a disk write for persistent messages.

Source: `rabbit_channel`, `rabbit_mirror_queue_master:publish`, `rabbit_msg_store`.
"""

from __future__ import annotations

from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn

SHARED = True  # the kernel of studies compiles this module


def answer_us(t: Turn, q: Queue, node: int, client: int, count: int, size_bytes: int, written: bool) -> int:
    """Return how long after messages reach the master a client has the answer of the replica at `node`.

    The replica is the master, or a mirror to which the master sends the messages. `client` is the client's node.
    Messages to be `written` are answered once they are on disk.
    """
    transfer_us = 0
    if node != q.master:
        transfer_us = t.setup.link_us + count * size_bytes * 1_000_000 // t.setup.network_bytes_per_s
    return transfer_us + (t.setup.fsync_us if written else 0) + (0 if node == client else t.setup.link_us)


def group_answer_us(t: Turn, q: Queue, client: int, others: int, written: bool) -> int:
    """Return how long after messages reach a quorum queue's leader a client has its confirm, in microseconds.

    The leader confirms once the group has committed the messages. `others` is nonzero if the group has other members;
    they write the messages while the leader does (`rabbit_fifo_client`, `ra_server`).
    """
    transfer_us = 2 * t.setup.link_us if others else 0
    return transfer_us + (t.setup.fsync_us if written else 0) + (0 if q.master == client else t.setup.link_us)
