"""Nodes that have lost sight of other nodes: which of them pause, and which side wins.

Source: `rabbit_node_monitor` (`majority`, `in_preferred_partition`), `rabbit_autoheal:make_decision`. Plain functions
over integers, see `hawb.rules.mirror_placement`.
"""


def has_majority(seen_count, member_count):
    """Return True if a node that sees `seen_count` members of the cluster goes on under pause_minority.

    The node itself is among them. Exactly half is no majority, and members that are down count.
    """
    return 2 * seen_count > member_count


def is_preferred(seen, preferred):
    """Return True if a node that sees the members `seen`, itself among them, goes on under pause_if_all_down.

    It does if it is one of the preferred nodes or sees one. Without any preferred node that is a member, all go on.
    Both sets are bits.
    """
    return preferred == 0 or seen & preferred != 0


def wins(connections, nodes_count, most, largest):
    """Return True if a side beats those before it under autoheal, the best of which has `most` and `largest`.

    These are its connections of clients and its nodes. The winning side has the most connections; among equals it has
    the most nodes, and among those it is the last. Sides are in the order of their first nodes' names.
    """
    return connections > most or (connections == most and nodes_count >= largest)
