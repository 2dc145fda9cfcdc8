"""Which nodes should hold a replica: the three ha-modes.

Source: `rabbit_mirror_queue_misc:suggested_queue_nodes` and `rabbit_mirror_queue_mode_all`, `_exactly`, `_nodes`.

Plain functions over integers, so that they also compile: nodes are indices in alphabetical order of their names,
replicas are ordered sequences of them (mirrors oldest first, synchronised mirrors newest first), and where RabbitMQ
shuffles, the shuffled order is an argument. Each returns the wanted replicas as a list, the wanted master first.

The wanted master decides only which replicas are kept: who really becomes master is the failover rule
(`hawb.rules.promotion.candidate`), which takes the oldest mirror that is kept.
"""

ALL = 0
EXACTLY = 1
NODES = 2


def wanted_replicas(mode, count, listed, master, mirrors, synchronised, available, shuffled):
    """The replicas that a policy asks for, given those that exist.

    `mode` is ALL, EXACTLY or NODES; `count` and `listed` are its ha-params; `available` are the running nodes in
    alphabetical order; `shuffled` are the available nodes without a replica, in the order in which EXACTLY takes them.
    """
    if mode == ALL:
        return all_nodes(master, available)
    if mode == EXACTLY:
        return exactly(count, master, mirrors, shuffled)
    return listed_nodes(listed, master, synchronised, available)


def all_nodes(master, available):
    """The master stays, every other running node is a mirror."""
    return [master] + [node for node in available if node != master]


def exactly(count, master, mirrors, shuffled):
    """Existing mirrors are kept, oldest first and whatever their synchronisation; only additions are random.

    With fewer nodes than `count` every node holds a replica and the rest waits for nodes to come.
    """
    kept = [mirrors[i] for i in range(min(count - 1, len(mirrors)))]
    missing = count - 1 - len(kept)
    return [master] + kept + [shuffled[i] for i in range(min(missing, len(shuffled)))]


def listed_nodes(listed, master, synchronised, available):
    """The listed nodes that are running.

    While no mirror is synchronised the master is added to the list (and the list loses its order), so that it stays
    until somebody holds all it holds. With no listed node running the master is kept alone. A master that is not listed
    gives way to the first listed node that is synchronised, or else to the most recently synchronised mirror, listed or
    not. So either the master is available or a mirror is synchronised: without both there is nothing to choose from.
    """
    if len(synchronised) == 0:
        candidates = [node for node in available if node in listed or node == master]
    else:
        candidates = [node for node in listed if node in available]
    candidates = without_repeats(candidates)
    if len(candidates) == 0:
        return [master]
    heir = master
    if master not in candidates:
        heir = synchronised[0]
        for node in candidates:
            if node in synchronised:
                heir = node
                break
    return [heir] + [node for node in candidates if node != heir]


def without_repeats(nodes):
    """`nodes` with each only where it stands first."""
    return [nodes[i] for i in range(len(nodes)) if nodes[i] not in nodes[:i]]
