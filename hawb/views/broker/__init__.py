"""A real RabbitMQ beside the model: its recordings, how often both agree, and what it says."""
