"""The costs of quorum queues: memory and disk of their members, and the log that has to be kept.

Source: `rabbit_fifo` (`evaluate_memory_limit`, `maybe_store_dehydrated_state`, `maybe_store_release_cursor`,
`update_smallest_raft_index`, `#requeue{}`; 4.0 `do_checkpoints`), the quorum queue guide's sections on resource use and
sustained requeues. Plain functions over integers, see `hawb.rules.mirror_placement`; what differs between releases is
an argument, see `hawb.rules.quorum_profiles`. Bytes are those of message bodies.
"""

NO_LIMIT = -1
NOTHING = 0


def disk_bytes(messages_count, size_bytes, members_count):
    """Return the bytes of a backlog on the disks of all members together: every member keeps every message."""
    return messages_count * size_bytes * members_count


def memory_bytes(messages_count, size_bytes, max_length, max_bytes):
    """Return the bytes of an undelivered backlog that each member, up to 3.9, holds in memory.

    All messages have one size. A message stays out of memory if `max_length` are there already, or if it would bring
    their bytes above `max_bytes`; either may be NO_LIMIT. From 3.10 on no member holds bodies once they are on disk.
    """
    held = messages_count
    if max_length != NO_LIMIT:
        held = min(held, max_length)
    if max_bytes != NO_LIMIT and size_bytes > 0:
        held = min(held, max_bytes // size_bytes)
    return held * size_bytes


def snapshot_interval(messages_count, every, at_most):
    """Return how many messages are written before the next index up to which the log may be cut.

    The longer the queue, the fewer such places.
    """
    return min(max(messages_count, every), at_most)


def cut_up_to(places, smallest_index, last_index):
    """Return the last index of the log that is no longer needed; NOTHING if every entry is.

    `smallest_index` is the index of the oldest message in the queue, delivered or not, NOTHING if the queue is empty:
    then the whole log goes. Otherwise it is cut at the last of the `places`, indices in ascending order, before that.
    """
    if smallest_index == NOTHING:
        return last_index
    last = NOTHING
    for place in places:
        if place < smallest_index:
            last = place
    return last
