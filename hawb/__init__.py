"""hawb, the High Availability WorkBook: what RabbitMQ replication does when nodes fail.

Importing the package loads nothing else; each room is imported by name: `hawb.engine`, `hawb.scenario`, `hawb.lab`.
"""

__version__ = "0.1.0"
