"""RabbitMQ's rules as tables of features, and policies as commands."""
