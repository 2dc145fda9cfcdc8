"""A real RabbitMQ: its exports and listings read into a scenario, and a cluster of it driven through one."""
