"""Masters that `rabbitmq-queues rebalance` moves, and their destinations.

Source: `rabbit_amqqueue:rebalance`, `iterative_rebalance`, `maybe_migrate`. Plain functions over integers, see
`hawb.rules.mirror_placement`: `masters[queue]` is the node of a queue's master, `lengths[queue]` its messages, or
its log's entries.
"""

NOTHING = -1


def most_masters(queues_count, nodes_count):
    """Return how many masters a node may keep: the replicated queues shared out evenly, rounded up."""
    return (queues_count + nodes_count - 1) // nodes_count


def next_to_move(masters, lengths, tried, most, nodes):
    """Return the queue to move next; NOTHING when every node has at most `most` masters or only queues already tried.

    It is the shortest queue not tried yet, of equals the first, of the first node, in alphabetical order, with more
    than `most` masters.
    """
    for node in nodes:
        count = 0
        shortest = NOTHING
        for queue in range(len(masters)):
            if masters[queue] == node:
                count += 1
                if tried[queue] == 0 and (shortest == NOTHING or lengths[queue] < lengths[shortest]):
                    shortest = queue
        if count > most and shortest != NOTHING:
            return shortest
    return NOTHING


def destination(candidates, masters):
    """Return the candidate with the fewest masters, of equals the first; NOTHING without candidates."""
    chosen = NOTHING
    for node in candidates:
        if chosen == NOTHING or masters_on(node, masters) < masters_on(chosen, masters):
            chosen = node
    return chosen


def masters_on(node, masters):
    """Return how many masters a node has."""
    return len([master for master in masters if master == node])
