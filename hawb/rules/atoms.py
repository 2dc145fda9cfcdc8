"""Erlang atoms that the names of quorum queues use up. Atoms are never freed, and a node without free atoms stops.

Source: `rabbit_quorum_queue:qname_to_rname`, from 3.10 on `rabbit_queue_type_util:qname_to_internal_name`. By default
a node has room for 5,000,000 atoms (RABBITMQ_MAX_NUMBER_OF_ATOMS in `rabbitmq-env`).
"""

from __future__ import annotations

from collections.abc import Iterable

LONGEST_ATOM = 255


def ra_name(vhost: str, queue: str) -> str:
    """Return the name under which the members of a quorum queue are registered.

    Queues of two virtual hosts can share one, as `b_c` of `a` and `c` of `a_b` do.
    """
    return f"{'%2F' if vhost == '/' else vhost}_{queue}"


def atoms_used(declared: Iterable[tuple[str, str]]) -> int:
    """Return how many atoms each node needs for quorum queues that are declared one after another.

    `declared` are pairs of virtual host and name. Deleting queues in between frees no atom. A name that was there
    before takes none; but from 3.10 on one of more than LONGEST_ATOM bytes is replaced by a new name each time (before,
    it cannot be declared).
    """
    names = [ra_name(vhost, queue) for vhost, queue in declared]
    short = {name for name in names if len(name.encode()) <= LONGEST_ATOM}
    return len(short) + sum(len(name.encode()) > LONGEST_ATOM for name in names)
