"""Placement of a new queue's master.

Source: `rabbit_queue_location_client_local`, `_min_masters`, `_random`, `rabbit_queue_master_location_misc`. Plain
functions over integers, see `hawb.rules.mirror_placement`. A locator in a queue's arguments that does not exist ends
the channel, because its caller does not handle the error (`get_location` of an error with three elements). In 4.0
`rabbit_queue_location` places queues of every type: any locator but client-local is balanced, which is min-masters by
another name (`leader_locator0`, `leader_node`), and one that does not exist is client-local.
"""

from hawb.rules.mirror_placement import NODES

CLIENT_LOCAL = 0
MIN_MASTERS = 1
RANDOM = 2

LOCATORS = {"client-local": CLIENT_LOCAL, "min-masters": MIN_MASTERS, "random": RANDOM}
"""The strategies by a classic queue's locator, until 4.0."""
LEADER_LOCATORS = {"client-local": CLIENT_LOCAL} | dict.fromkeys(
    ("balanced", "random", "least-leaders", "min-masters"), MIN_MASTERS
)
"""The strategies by a leader locator: for quorum queues from 3.10 on, for queues of every type in 4.0. Only 4.0 takes
min-masters there; an unknown one counts as client-local."""


def master_candidates(mode, listed, client, running):
    """Return the nodes among which min-masters and random choose, in alphabetical order.

    Under ha-mode nodes these are the running listed nodes and the declaring node: without a synchronised mirror the
    `nodes` rule adds the master to its list, and at this moment the declaring node stands in for the master. If that
    leaves no mirror, or in any other mode (`mode` below 0: not mirrored), all running nodes are candidates.
    """
    if mode == NODES:
        wanted = [node for node in running if node in listed or node == client]
        if len(wanted) > 1:
            return wanted
    return list(running)


def locate(strategy, client, candidates, masters_count, random_index):
    """Return the node for the master.

    `masters_count[node]` counts the queues mastered there, over all virtual hosts and queue types; ties go to the first
    in alphabetical order, as they do up to OTP 25 (4.0.5 runs on a later one, whose maps list nodes in an order that
    RabbitMQ does not report). `random_index` is a number below `len(candidates)`. There is always a candidate: the
    declaring node runs.
    """
    if strategy == CLIENT_LOCAL:
        return client
    if strategy == RANDOM:
        return candidates[random_index]
    chosen = candidates[0]
    for node in candidates:
        if masters_count[node] < masters_count[chosen]:
            chosen = node
    return chosen
