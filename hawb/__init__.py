"""hawb, the High Availability WorkBook: RabbitMQ's replicated queues, simulated so that they can be tried out.

`hawb.Cluster` is the way in from Python; the command `hawb` plays scenario files; `notebooks/` holds the lab.
"""

__version__ = "0.1.0"


def __getattr__(name: str):
    """`Cluster` on first use, so that `import hawb.rules` costs no more than the rules."""
    if name == "Cluster":
        from hawb.cluster import Cluster

        return Cluster
    raise AttributeError(f"module 'hawb' has no attribute {name!r}")
