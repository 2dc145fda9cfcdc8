"""Quorum queues: how many members decide, on which nodes they are, and which of them leads first.

Source: `rabbit_quorum_queue` (`select_quorum_nodes`, `filter_quorum_critical`), from 3.10 on `rabbit_queue_location`,
`ra_server`. Plain functions over integers, see `hawb.rules.selection`. The leader of a new queue is chosen by
`hawb.rules.locators.locate`, with `leader_strategy` and among `leader_candidates`.
"""

from hawb.rules.locators import MIN_MASTERS, RANDOM

ALL_MEMBERS = 0
MANY_QUEUES = 1000


def majority(members_count):
    """How many members must agree. Members that are down count: it is a majority of the list."""
    return members_count // 2 + 1


def tolerated_failures(members_count):
    """How many members may fail with the queue still available."""
    return members_count - majority(members_count)


def is_critical(online_count, members_count):
    """Whether the queue would lose its majority, or already has, if one more of its members that are online failed."""
    return online_count <= majority(members_count)


def members(wanted, client, nodes, others):
    """The nodes that get a member of a new queue: the one that declares, and as many `others` as are missing.

    All nodes, down or not, if there are no more than `wanted`, or `wanted` is ALL_MEMBERS. `others` are all nodes but
    the declaring one in the order in which they are taken: shuffled, whether they run or not, in 3.8; from 3.10 on
    `others_by_load`, or with MANY_QUEUES queues of any type `others_by_chance`.
    """
    if wanted == ALL_MEMBERS or len(nodes) <= wanted:
        return list(nodes)
    return [client] + [others[i] for i in range(wanted - 1)]


def others_by_load(client, nodes, running, members_count):
    """All nodes but the declaring one: those that run, those that do not, both with the fewest members first and of
    equals in alphabetical order. `members_count[node]` counts the members of quorum queues of all virtual hosts."""
    ranked = sorted([(0 if node in running else 1, members_count[node], node) for node in nodes if node != client])
    return [node for _, _, node in ranked]


def others_by_chance(shuffled, running):
    """All nodes but the declaring one, `shuffled`: those that run first."""
    return [node for node in shuffled if node in running] + [node for node in shuffled if node not in running]


def leader_strategy(strategy, queues_count):
    """How the leader is located with so many queues of any type: with MANY_QUEUES nobody counts where leaders are."""
    return RANDOM if strategy == MIN_MASTERS and queues_count >= MANY_QUEUES else strategy


def leader_candidates(new_members, running, drained):
    """The members among which a balancing locator chooses the leader, in alphabetical order: those on running nodes
    that are not drained, or if there are none on running nodes, or else all. `drained` are nodes."""
    inside = sorted(new_members)
    up = [node for node in inside if node in running]
    undrained = [node for node in up if node not in drained]
    if len(undrained) > 0:
        return undrained
    return up if len(up) > 0 else inside


MAX_UNANSWERED = 4096
"""How many entries a leader sends a member before that answers (Ra, DEFAULT_MAX_PIPELINE_COUNT)."""


def is_sent_all(last_index, match_index):
    """Whether a leader has sent a member all that it has, of which it knows that the member has it up to `match_index`:
    not where too much of it is unanswered (`ra_server:handle_leader`, which looks what it would send next)."""
    return last_index - match_index <= MAX_UNANSWERED
