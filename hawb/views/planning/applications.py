"""The applications that must change how they declare queues, on each way of the migration: a table and a to-do.

Queues with the same answers share a row.
"""

from __future__ import annotations

from collections import defaultdict

from hawb.planning.migration import Migration, Move
from hawb.rules.queue_types import QUORUM, TYPE
from hawb.rules.redeclaration import RELAXED_SETTING
from hawb.views.formatting import listing
from hawb.views.report import ToDo
from hawb.views.tables import Table

CAPTION = "Applications that declare the queues"
COLUMNS = ("queues", "send", "in new virtual hosts", "in place, or in a new cluster", "in place, with relaxed"
                                                                                      " equivalence checks")
UNCHANGED, NO_CHECKS = "need not change", "not available in this release"
PERHAPS = "need not change, unless they send x-queue-type classic"
SENDS = {
    "no type": "no x-queue-type",
    "a type": "x-queue-type",
    "perhaps a type": "perhaps x-queue-type: RabbitMQ fills it in, so no file says whether the application sends it",
}

NOTE = (
    "An application declares its queues again whenever it starts, and RabbitMQ refuses a declaration that differs"
    " from the queue, with 406. A new virtual host of this plan has the default queue type quorum, if the release has"
    " default types (3.10.8 and later): RabbitMQ then fills in x-queue-type quorum for a durable queue that is"
    f" neither exclusive nor auto-delete. Relaxed checks are {RELAXED_SETTING} = true in rabbitmq.conf of each node"
    " (3.11.16 and later): with them, RabbitMQ compares less of a declaration with x-queue-type classic, sent or"
    " filled in. 4.0 and later also do this if an application sends no x-queue-type."
)


def rows(plan: Migration) -> list[tuple[str, ...]]:
    """Return a row for each group of queues with the same answers; applications that must change come first."""
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for move in plan.moves:
        if move.redeclaration is not None:
            groups[_cells(move)].append(move.queue.full_name)
    ordered = sorted(groups.items(), key=lambda group: (group[0][1].startswith(UNCHANGED), group[0]))
    return [(f"{len(names):,}: {listing(sorted(names))}", *cells) for cells, names in ordered]


def table(plan: Migration) -> Table:
    """Return the table of applications; it has no rows if no queue is redeclared."""
    return Table(CAPTION, COLUMNS, rows(plan))


def _cells(move: Move) -> tuple[str, ...]:
    found = move.redeclaration
    beside, in_place = (_must(move, keys, new) for keys, new in ((found.in_new_vhost, True), (found.in_place, False)))
    relaxed = NO_CHECKS if found.relaxed is None else _must(move, found.relaxed, new=False)
    return SENDS[found.sends], beside, in_place, relaxed


def _must(move: Move, keys: tuple[str, ...], new: bool) -> str:
    """Return how an application has to declare the queue in a new virtual host, or in place, after 406 for `keys`."""
    found = move.redeclaration
    if keys:
        return f"must {', '.join(_otherwise(move, key, new) for key in keys)}"
    if found.if_created:
        return f"{UNCHANGED} while the queue exists: {listing(found.if_created)} would be refused if it were created"
    if new and found.sends == "perhaps a type" and found.type == QUORUM:
        return PERHAPS
    return UNCHANGED


def _otherwise(move: Move, key: str, new: bool) -> str:
    found = move.redeclaration
    if key == TYPE:
        or_none = " or none" if new and found.sends == "a type" and found.type == QUORUM else ""
        return f"send {key} {found.type}{or_none}"
    return f"send {key} as the queue has it" if key in move.arguments else f"leave {key} out"


def todo(plan: Migration) -> list[ToDo]:
    """Return the to-do about applications, if there is one.

    It names the applications that must change on every way of the migration, or else the way on which no application
    must change.
    """
    declared = [move for move in plan.moves if move.redeclaration is not None]
    must = [move for move in declared if move.redeclaration.in_new_vhost]
    if must:
        names = listing(move.queue.full_name for move in must)
        others = " In new virtual hosts, no other application must change." if len(must) < len(declared) else ""
        return [ToDo(f"Change the applications that declare {names}: RabbitMQ refuses their old declarations.{others}")]
    if any(move.redeclaration.in_place for move in declared):
        return [ToDo("Move to new virtual hosts: there, applications that send no x-queue-type need not change their"
                     " declarations. In place and in a new cluster, RabbitMQ refuses these declarations.")]  # fmt: skip
    return []
