"""Comparisons of the model with a real RabbitMQ: recordings, rates of agreement, and texts."""
