"""The nodes that should hold a replica: the three ha-modes.

Source: `rabbit_mirror_queue_misc:suggested_queue_nodes` and `rabbit_mirror_queue_mode_all`, `_exactly`, `_nodes`.

Plain functions over integers, so that they also compile: nodes are indices in alphabetical order of their names,
replicas are ordered sequences of them (mirrors oldest first, synchronised mirrors newest first), and where RabbitMQ
shuffles, the shuffled order is an argument. Each returns the wanted replicas as a list, the wanted master first.

The wanted master decides only which replicas are kept: the failover rule (`hawb.rules.promotion.candidate`) decides
which one becomes master, and takes the oldest mirror that is kept.
"""

ALL = 0
EXACTLY = 1
NODES = 2


def wanted_replicas(mode, count, listed, master, mirrors, synchronised, available, shuffled):
    """Return the replicas that a policy asks for, given those that exist.

    `mode` is ALL, EXACTLY or NODES; `count` and `listed` are its ha-params; `available` are the running nodes in
    alphabetical order; `shuffled` are the available nodes without a replica, in the order in which EXACTLY takes them.
    """
    if mode == ALL:
        return all_nodes(master, available)
    if mode == EXACTLY:
        return exactly(count, master, mirrors, shuffled)
    return listed_nodes(listed, master, synchronised, available)


def all_nodes(master, available):
    """Return the replicas of ha-mode all: the master stays, every other running node is a mirror."""
    return [master] + [node for node in available if node != master]


def exactly(count, master, mirrors, shuffled):
    """Return the replicas for ha-mode exactly: keep the existing mirrors, then add nodes chosen at random.

    Mirrors are kept oldest first, whether they are synchronised or not. With fewer nodes than `count` every node holds
    a replica, and mirrors are added when nodes join.
    """
    kept = [mirrors[i] for i in range(min(count - 1, len(mirrors)))]
    missing = count - 1 - len(kept)
    return [master] + kept + [shuffled[i] for i in range(min(missing, len(shuffled)))]


def listed_nodes(listed, master, synchronised, available):
    """Return the replicas of ha-mode nodes: the listed nodes that run.

    While no mirror is synchronised, the master is added to the list, which then loses its order. So it stays until
    another replica holds all messages. If no listed node runs, only the master is kept. A master that is not listed
    gives way to the first listed node that is synchronised, or else to the mirror that was synchronised last, listed or
    not. So either the master is available or a mirror is synchronised: without both there is nothing to choose from.
    """
    if len(synchronised) == 0:
        candidates = [node for node in available if node in listed or node == master]
    else:
        candidates = [node for node in listed if node in available]
    candidates = without_repeats(candidates)
    if len(candidates) == 0:
        return [master]
    new_master = master
    if master not in candidates:
        new_master = synchronised[0]
        for node in candidates:
            if node in synchronised:
                new_master = node
                break
    return [new_master] + [node for node in candidates if node != new_master]


def without_repeats(nodes):
    """Return `nodes`, each at its first place only."""
    return [nodes[i] for i in range(len(nodes)) if nodes[i] not in nodes[:i]]
