"""A real RabbitMQ cluster driven through a scenario: its nodes, links and clients, and what it did.

Start with `real`, then `drive` and the table `actions.ACTIONS`. `recordings` are what real clusters did, kept.
"""
