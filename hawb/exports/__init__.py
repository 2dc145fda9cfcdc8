"""Read definitions, listings and the management API of a RabbitMQ cluster into a scenario.

Start with `imported`. `definitions`, `listings` and `resources` each read one kind of file, `watch` a running cluster.
"""
