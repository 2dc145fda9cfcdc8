"""Drive a real RabbitMQ cluster through a scenario: nodes, links, clients and the outcome.

Start with `real`, then `drive` and the table `actions.ACTIONS`. `recordings` keeps outcomes of real clusters.
"""
