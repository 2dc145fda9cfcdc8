"""Plan the move to quorum queues as part of an upgrade path: the upgrade's steps, the move, and what is refused.

Mirrored queues have to be moved before the step to 4.0, and so by the rules of the last release before it. A queue that
only a later release can hold as a quorum queue is not moved then: it is upgraded as a classic queue with one replica
and moved at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from hawb.exports.routing import Routing
from hawb.planning.inventory import Inventory
from hawb.planning.migration import Crossing, Migration, Move, migrate, redeclare_clashes
from hawb.planning.refused_there import refused_there
from hawb.rules.feature_matrix import Feature
from hawb.rules.upgrade_road import NoRoad, is_older, road, rules_of, series_of

RELEASE_UNKNOWN = "no file says which release runs, so the upgrade steps are unknown: name it with --from"


def crossed(
    inventory: Inventory, to: str, matrix: Mapping[str, Feature], routing: Routing | None = None,
    via: Sequence[str] | None = None,
) -> Migration:  # fmt: skip
    """Return the plan that moves a cluster to a version, with the upgrade path if that version is newer.

    `via` are the releases to stop at, by default as few as possible. Raise NoRoad if there is no path, and KeyError for
    an unknown version.
    """
    plan = migrate(inventory, to, matrix, routing)
    if inventory.release is None:
        if via is not None:
            raise NoRoad(RELEASE_UNKNOWN)
        return replace(plan, notes=[*plan.notes, RELEASE_UNKNOWN])
    start = series_of(inventory.release)
    if via is None and (start is None or not is_older(start, to)):
        return plan
    legs = road(start or inventory.release, to, via)
    move_before = next((leg for leg in legs if leg.drops_mirrors), None)
    before = None
    if move_before is not None:
        before = migrate(inventory, rules_of(move_before.older.series), matrix, routing)
        plan = _as_declared_then(plan, before)
    return replace(plan, crossing=Crossing(legs, refused_there(inventory, plan.target), before))


def _as_declared_then(plan: Migration, before: Migration) -> Migration:
    """Return the plan with the results of declarations under the rules of the release at the time of the move."""
    moves = [replace(move, redeclaration=there.redeclaration or move.redeclaration)
             for move, there in zip(plan.moves, before.moves, strict=True)]  # fmt: skip
    others = [clash for clash in plan.clashes if clash.code != "redeclare"]
    return replace(plan, moves=moves, clashes=[*others, *redeclare_clashes(moves)])


def later(plan: Migration) -> list[Move]:
    """Return the queues that can only be moved at the end of the upgrade path."""
    before = plan.crossing.before if plan.crossing else None
    if before is None:
        return []
    stay = {move.queue.full_name for move in before.with_verdict("not")}
    return [move for move in plan.moved if move.queue.full_name in stay]
