"""What nodes do that have lost sight of others: who pauses, and whose side wins.

Source: `rabbit_node_monitor` (`majority`, `in_preferred_partition`), `rabbit_autoheal:make_decision`. Plain functions
over integers, see `hawb.rules.selection`.
"""


def has_majority(seen_count, member_count):
    """Whether a node that sees `seen_count` of the cluster's members, itself among them, goes on under pause_minority.
    Exactly half is no majority, and members that are down count."""
    return 2 * seen_count > member_count


def is_preferred(seen, preferred):
    """Whether a node that sees the members `seen`, itself among them, goes on under pause_if_all_down: it is one of the
    preferred nodes or sees one. Without any preferred node that is a member, all go on. Both sets are bits."""
    return preferred == 0 or seen & preferred != 0


def wins(connections, nodes_count, most, largest):
    """Whether a side beats those before it under autoheal, of which the best has `most` connections of clients and
    `largest` nodes: the side that the others join is the one with most connections, among these the one with most
    nodes, and among these the last. Sides are in the order of their first nodes' names."""
    return connections > most or (connections == most and nodes_count >= largest)
