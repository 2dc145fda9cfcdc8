"""RabbitMQ's two checks of whether a node may be stopped; the first one uses `hawb.rules.quorum.is_critical`.

Source: `check_if_node_is_quorum_critical` and `check_if_node_is_mirror_sync_critical` of rabbitmq-diagnostics, with
`rabbit_quorum_queue:list_with_minimum_quorum` and `rabbit_amqqueue:
list_local_mirrored_classic_without_synchronised_mirrors`. In 4.0, without mirrors, the second has nothing to find. From
3.13 on the first counts streams, and the coordinator of streams once there is one
(`rabbit_upgrade_preparation:list_with_minimum_quorum_for_cli`, `rabbit_stream_queue:list_with_minimum_quorum`).
"""

from hawb.rules.streams import STREAM_PROFILES

COUNTS_DRAINED = ("3.8",)
"""The versions in which the first check counts a node in maintenance mode like any other: since 3.8.10 that passes."""


def types_counted(version):
    """Return the types of queue that the first check counts."""
    known = STREAM_PROFILES.get(version)
    return ("quorum", "stream") if known is not None and known.checked else ("quorum",)


def quorum_check_applies(nodes_count, drained, version):
    """Return True if the first check looks at a node at all.

    A cluster of one node passes, and so does a node in maintenance mode, from which leaders have moved away.
    """
    return nodes_count > 1 and (not drained or version in COUNTS_DRAINED)


def mirror_check_applies(nodes_count):
    """Return True if the second check looks at a node at all: a cluster of one node passes."""
    return nodes_count > 1
