"""Define the questions about the reader's own cluster in a notebook.

A question reads the cluster's files and shows its answer. It refuses files with a reason (ImportRefused,
ScenarioRefused). Its files to download are those that the command of the same name writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from hawb.exports.imported import import_files, imported_of
from hawb.planning import inventory
from hawb.planning.beforehand import beforehand
from hawb.planning.lint import Report, lint
from hawb.planning.safe_to_stop import Forecast, Outlook, outlook
from hawb.rules.profiles import PROFILES
from hawb.scenario.load import read_scenario
from hawb.study.replicas import TRIALS, WhatIf, what_if
from hawb.views.planning import finding_tables, findings, forecast_page, migration, migration_files, upgrade_page
from hawb.views.planning.forecast import Table as ForecastTable
from hawb.views.planning.planned_upgrade import PlannedUpgrade, upgrade_of
from hawb.views.rules.features import matrix
from hawb.views.study import replica_costs, replica_page

Shown = Any
"""An object with `_repr_html_`."""


class Question(Struct, frozen=True):
    """A question: the label of its button, a description, and functions that answer it.

    `ask` reads the files and returns an answer with `notes` on what the files do not say, `show` returns what the
    notebook displays of it, and `texts` the files to download. `choices` are further parameters of `ask` by name: the
    accepted values, the default first.
    """

    verb: str
    tells: str
    ask: Callable[..., Any]
    show: Callable[[Any], Sequence[Shown]]
    texts: Callable[[Any], Mapping[str, str]]
    choices: Mapping[str, tuple[Any, ...]] = {}


class Linted(Struct, frozen=True):
    """The linter's report, and notes on what the files do not say."""

    report: Report
    notes: Sequence[str]


def linted(files: Sequence[Path]) -> Linted:
    """Return the linter's report on a definitions export and listings. Raise ImportRefused."""
    read = inventory.of_files(files)
    return Linted(lint(read), read.notes)


class Safety(Struct, frozen=True):
    """The forecast for each node, the cluster's title, notes on what its files do not say, and these files."""

    title: str
    found: Outlook
    notes: Sequence[str] = ()
    files: Sequence[str] = ()

    @property
    def forecasts(self) -> list[Forecast]:
        """Return the forecast for each node."""
        return [*self.found.forecasts]


def safety_of(files: Sequence[str | Path]) -> Safety:
    """Return the forecasts for the cluster of an export and listings. Raise ImportRefused, ScenarioRefused."""
    imported = imported_of(files)
    scenario = read_scenario(imported.scenario)
    found = outlook(scenario, live=imported.live)[1]
    return Safety(scenario.scenario, found, imported.notes, [*map(str, files)])


def _safety_shown(found: Safety) -> list[Shown]:
    return [forecast_page.by_queue(found.forecasts), ForecastTable(found.found)]


def _safety_texts(found: Safety) -> dict[str, str]:
    return {"report.html": forecast_page.page(found.title, found.found, found.notes, found.files)}


def _upgrade(files: Sequence[Path], nodes: str = "") -> PlannedUpgrade:
    return upgrade_of(files, at_once=nodes == AT_ONCE)


def _replicas(files: Sequence[Path], failures: int = 1) -> WhatIf:
    imported = import_files(files)
    before = beforehand(read_scenario(imported.scenario), [*map(str, files)], imported.live, failures)
    return what_if(inventory.of_files(files), matrix(), failures, TRIALS, before=before)


def _replicas_shown(found: WhatIf) -> Sequence[Shown]:
    costs, columns, advice = replica_costs.tables(found)
    return advice, costs, columns


ONE_BY_ONE, AT_ONCE = "one after the other", "all at once"

MOVE = Question(
    "plan the move", "what becomes of each queue, and which upgrades lead there", migration_files.planned,
    lambda plan: [*migration.tables(plan), *migration.road_tables(plan)], migration_files.texts,
    {"to": tuple(reversed(PROFILES))},
)  # fmt: skip
LINT = Question(
    "lint", "what is found in policies, queues and nodes", linted, lambda found: finding_tables.tables(found.report),
    lambda found: {"report.txt": findings.report(found.report)},
)  # fmt: skip
SAFE = Question(
    "is it safe to stop?", "what a controlled stop and a kill of each node would do to each queue", safety_of,
    _safety_shown, _safety_texts,
)  # fmt: skip
UPGRADE = Question(
    "plan the upgrade", "in which order nodes go, and what is waited for", _upgrade, PlannedUpgrade.tables,
    upgrade_page.texts, {"nodes": (ONE_BY_ONE, AT_ONCE)},
)  # fmt: skip
REPLICAS = Question(
    "how many replicas?", "what one to seven replicas cost and bring; it takes seconds, or minutes the first time",
    _replicas, _replicas_shown, lambda found: {"report.html": replica_page.page(found)}, {"failures": (1, 2, 3, 0)},
)  # fmt: skip
