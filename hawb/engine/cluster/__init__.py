"""Nodes, links and the metadata store: start, stop, join, leave, node failures, partitions, alarms, maintenance mode.

Start with `stopping` and `booting`. For partitions start with `links`, then `partitions` and `partition_handling`.
"""
