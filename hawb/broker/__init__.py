"""A real RabbitMQ: its definitions exports and listings, read into a scenario."""
