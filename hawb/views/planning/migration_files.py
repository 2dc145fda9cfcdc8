"""A plan for moving to quorum queues as files: made from a cluster's files, and written to others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from hawb.exports.routing import read_routing
from hawb.planning import inventory
from hawb.planning.crossing import crossed
from hawb.planning.migrated_definitions import beside, definitions
from hawb.planning.migration import Migration
from hawb.study.draining import drains
from hawb.views.planning import migration as view
from hawb.views.planning.migration_runbook import BESIDE, DEFINITIONS, STANDING, runbook
from hawb.views.rules.features import matrix

RUNBOOK, REPORT = "runbook.md", "report.html"


def planned(sources: Sequence[str | Path], to: str) -> Migration:
    """The plan for the cluster of a definitions export and listings, or either alone, with the road to a newer release.
    Raises ImportRefused for other files, KeyError for a version without a profile."""
    return crossed(inventory.of_files(sources), to, matrix(), read_routing(sources))


def texts(plan: Migration) -> dict[str, str]:
    """The texts of a plan, by the names of their files."""
    first = plan.crossing.before if plan.crossing else None
    moving, steps = plan.moving, _runbook(plan)
    standing = {} if first is None else {STANDING: json.dumps(definitions(first), indent=1) + "\n"}
    return {
        DEFINITIONS: json.dumps(definitions(plan), indent=1) + "\n",
        **standing,
        BESIDE: json.dumps(definitions(moving, beside(plan).__getitem__, new=True), indent=1) + "\n",
        RUNBOOK: steps,
        REPORT: view.page(plan, steps),
    }


def page(plan: Migration, files: Sequence[str]) -> str:
    """The plan as one page; `files` are those that it was made of."""
    return view.page(plan, _runbook(plan), files)


def _runbook(plan: Migration) -> str:
    return runbook(plan, drains(move.queue for move in plan.moving.moved), matrix())
