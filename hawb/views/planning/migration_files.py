"""Make a plan for a migration to quorum queues from a cluster's files, and write it to other files."""

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
    """Return the plan for a cluster given by a definitions export, listings, or both, and the upgrades on the way.

    Raise ImportRefused for other files, KeyError for a version without a profile.
    """
    return crossed(inventory.of_files(sources), to, matrix(), read_routing(sources))


def texts(plan: Migration) -> dict[str, str]:
    """Return the content of a plan's files by file name."""
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
    """Return the plan as one page; `files` are those from which it was made."""
    return view.page(plan, _runbook(plan), files)


def _runbook(plan: Migration) -> str:
    return runbook(plan, drains(move.queue for move in plan.moving.moved), matrix())
