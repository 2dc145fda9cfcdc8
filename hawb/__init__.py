"""hawb, the High Availability WorkBook: a simulator of RabbitMQ's replicated queues.

In Python, start with `hawb.Cluster`. `hawb.show(cluster)` opens a cluster in the lab. The command `hawb` plays
scenario files. `notebooks/` has the lab and the lessons.
"""

from importlib import import_module

__version__ = "0.1.0"


__all__ = ["Cluster", "RefusedWarning", "show"]
_HOMES = {"Cluster": "hawb.cluster", "RefusedWarning": "hawb.cluster", "show": "hawb.lab"}


def __getattr__(name: str):
    """Import what hawb offers at its first use, so that `import hawb.rules` costs no more than the rules."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'hawb' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List what hawb offers."""
    return [*__all__, "__version__"]
