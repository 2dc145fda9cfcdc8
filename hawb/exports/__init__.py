"""Definitions and listings of a RabbitMQ cluster, and its management API, read into a scenario.

Start with `imported`. `definitions`, `listings` and `resources` each read one kind of file, `watch` a running cluster.
"""
