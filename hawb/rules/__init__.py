"""RabbitMQ's decisions: small pure functions over small values, each with the source of its rule.

No clock, no network, no log and no random draw: where RabbitMQ shuffles or reads a clock, the result is an argument.
"""
