"""Quorum queues: how many members decide, on which nodes they are, and which of them leads first.

Source: `rabbit_quorum_queue` (`select_quorum_nodes`, `filter_quorum_critical`), from 3.10 on `rabbit_queue_location`,
`ra_server`. Plain functions over integers, see `hawb.rules.mirror_placement`. `hawb.rules.locators.locate` chooses the
leader of a new queue, with `leader_strategy` and among `leader_candidates`.
"""

from hawb.rules.locators import MIN_MASTERS, RANDOM

ALL_MEMBERS = 0
MANY_QUEUES = 1000


def majority(members_count):
    """Return how many members must agree: a majority of all members, including those that are down."""
    return members_count // 2 + 1


def tolerated_failures(members_count):
    """Return how many members may fail while the queue stays available."""
    return members_count - majority(members_count)


def is_critical(online_count, members_count):
    """Return True if the queue has no majority, or would lose it if one more of its online members failed."""
    return online_count <= majority(members_count)


def members(wanted, client, nodes, others):
    """Return the nodes that get a member of a new queue: the declaring one, and as many `others` as are missing.

    These are all nodes, down or not, if there are no more than `wanted`, or `wanted` is ALL_MEMBERS. `others` are all
    nodes but the declaring one in the order in which they are taken: shuffled, running or not, in 3.8; from 3.10 on
    `others_by_load`, or with MANY_QUEUES queues of any type `others_by_chance`.
    """
    if wanted == ALL_MEMBERS or len(nodes) <= wanted:
        return list(nodes)
    return [client] + [others[i] for i in range(wanted - 1)]


def others_by_load(client, nodes, running, members_count):
    """Return all nodes except the node that declares the queue: running nodes first, then the nodes that are down.

    In both groups nodes with the fewest members come first, and equals in alphabetical order. `members_count[node]`
    counts the members of quorum queues of all virtual hosts.
    """
    ranked = sorted([(0 if node in running else 1, members_count[node], node) for node in nodes if node != client])
    return [node for _, _, node in ranked]


def others_by_chance(shuffled, running):
    """Return all nodes but the declaring one, `shuffled`, running ones first."""
    return [node for node in shuffled if node in running] + [node for node in shuffled if node not in running]


def leader_strategy(strategy, queues_count):
    """Return the strategy that places the leader with so many queues of any type.

    With MANY_QUEUES queues RabbitMQ does not count leaders, and min-masters is random.
    """
    return RANDOM if strategy == MIN_MASTERS and queues_count >= MANY_QUEUES else strategy


def leader_candidates(new_members, running, drained):
    """Return the members among which a balancing locator chooses the leader, in alphabetical order.

    They are the members on running nodes that are not drained, or else those on running nodes, or else all. `drained`
    are nodes.
    """
    inside = sorted(new_members)
    up = [node for node in inside if node in running]
    undrained = [node for node in up if node not in drained]
    if len(undrained) > 0:
        return undrained
    return up if len(up) > 0 else inside


MAX_UNANSWERED = 4096
"""The most entries that a leader sends a member before it answers (Ra, DEFAULT_MAX_PIPELINE_COUNT)."""


def is_sent_all(last_index, match_index):
    """Return True if a leader has sent a member all its entries, of which the member has those up to `match_index`.

    It has not if too many are unanswered (`ra_server:handle_leader`, which computes the entry that it would send next).
    """
    return last_index - match_index <= MAX_UNANSWERED
