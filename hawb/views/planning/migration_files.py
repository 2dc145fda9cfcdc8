"""A plan for moving to quorum queues as files: made from a cluster's files, and written to others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from hawb.broker.routing import read_routing
from hawb.planning import inventory
from hawb.planning.migrated_definitions import beside, definitions
from hawb.planning.migration import Migration, migrate
from hawb.study.draining import drains
from hawb.views.planning import migration as view
from hawb.views.planning.migration_runbook import BESIDE, DEFINITIONS, runbook
from hawb.views.rules.features import matrix

RUNBOOK, REPORT = "runbook.md", "report.html"


def planned(sources: Sequence[str | Path], to: str) -> Migration:
    """The plan for the cluster of a definitions export and listings, or either alone. Raises ImportRefused for other
    files, KeyError for a version without a profile."""
    return migrate(inventory.of_files(sources), to, matrix(), read_routing(sources))


def texts(plan: Migration) -> dict[str, str]:
    """The texts of a plan, by the names of their files."""
    steps = runbook(plan, drains(move.queue for move in plan.moved), matrix())
    return {
        DEFINITIONS: json.dumps(definitions(plan), indent=1) + "\n",
        BESIDE: json.dumps(definitions(plan, beside(plan).__getitem__), indent=1) + "\n",
        RUNBOOK: steps,
        REPORT: view.page(plan, steps),
    }
