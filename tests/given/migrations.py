"""Plans of migrations to quorum queues, for made-up clusters and for the real one, and a cluster in use."""

from __future__ import annotations

from inventories import FILES, queue

from hawb.cluster import Cluster
from hawb.exports.routing import read_routing
from hawb.planning import inventory
from hawb.planning.migration import Migration, migrate
from hawb.rules.profiles import PROFILES
from hawb.views.rules.features import matrix

MATRIX = matrix()
VERSIONS = tuple(PROFILES)
BOTH = [queue("q.moves"), queue("q.stays", durable=False), queue("q.is", type="quorum")]
"""What moves, what stays, and what is a quorum queue already."""

OLD = "orders"


def planned(inventory, to: str = "4.0") -> Migration:
    """Return the plan of a migration to a release."""
    return migrate(inventory, to, MATRIX)


def real(to: str = "4.0") -> Migration:
    """Return the plan for the cluster in data/real."""
    return migrate(inventory.of_files(FILES), to, MATRIX, read_routing(FILES))


def at_work() -> Cluster:
    """Return a mirrored queue with a backlog, a publisher and a consumer that is twice as fast."""
    made = Cluster("a", "b", "c", version="3.13").set_policy("ha", "^orders$", {"ha-mode": "all"})
    made.declare(OLD, node="a").publish(OLD, 600).publisher("shop", OLD, rate=10, node="b")
    return made.consume("worker", OLD, rate=20, prefetch=10, node="c").wait(10)
