"""What RabbitMQ decides, as tables of features, and policies as commands."""
