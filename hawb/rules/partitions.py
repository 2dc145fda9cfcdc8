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
    preferred nodes or sees one. Without any preferred node that is a member, all go on."""
    for node in preferred:
        if node in seen:
            return True
    return len(preferred) == 0


def winner(connections, sizes):
    """The side that the others join under autoheal: the one with most client connections, among these the one with most
    nodes, and among these the last. Sides are in the order of their first nodes' names."""
    best = 0
    for side in range(1, len(connections)):
        if connections[side] > connections[best] or (
            connections[side] == connections[best] and sizes[side] >= sizes[best]
        ):
            best = side
    return best
