"""Promotion: which replica becomes master when replicas go down, and which may not.

Source: `rabbit_mirror_queue_misc:remove_from_queue` and `promote_slave`, `rabbit_mirror_queue_master:terminate`,
`rabbit_mirror_queue_misc:store_updated_slaves` and `update_recoverable`, `rabbit_amqqueue:forget_all_durable`. Plain
functions over integers, see `hawb.rules.mirror_placement`.
"""

NO_NODE = -1
WHEN_SYNCED = 0
ALWAYS = 1


def candidate(master, mirrors, alive):
    """Return the first of master and mirrors, oldest first, that is alive; NO_NODE if none is.

    Synchronisation is not consulted: the oldest mirror is only the one most likely to be synchronised.
    """
    if master in alive:
        return master
    for node in mirrors:
        if node in alive:
            return node
    return NO_NODE


def refuses_on_failure(synchronised_count, promote_on_failure):
    """Return True if a mirror that should be promoted after its master's death deletes its copy instead.

    `synchronised_count` counts the synchronised mirrors in the record before the dead ones are removed: a synchronised
    mirror that went down together with the master still counts, and allows the promotion of an unsynchronised one.
    """
    return synchronised_count == 0 and promote_on_failure == WHEN_SYNCED


def takes_mirrors_down(synchronised_count, promote_on_shutdown):
    """Return True if a master that is shut down in a controlled way stops all its mirrors.

    They then delete their copies.
    """
    return synchronised_count == 0 and promote_on_shutdown == WHEN_SYNCED


def recoverable_mirrors(recoverable, mirrors, running):
    """Return the mirrors that could be recovered offline, oldest first, after mirrors changed.

    Running nodes without a mirror are removed; nodes that host a mirror are added at the end; stopped nodes stay.
    """
    kept = [node for node in recoverable if node in mirrors or node not in running]
    return kept + [node for node in mirrors if node not in recoverable]


def offline_candidate(recoverable, forgotten, members, running):
    """Return the node that recovers a queue from its own disk when its master's node is forgotten; NO_NODE if none may.

    It is the oldest recoverable mirror whose node is a member and does not run: a running node has deleted its copy.
    The guide says it is the mirror that stopped most recently; the broker does not consider that.
    """
    for node in recoverable:
        if node != forgotten and node in members and node not in running:
            return node
    return NO_NODE
