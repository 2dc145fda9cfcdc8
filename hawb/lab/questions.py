"""Define the questions about the reader's own cluster in a notebook.

A question reads the cluster's files and shows its answer. It refuses files with a reason (ImportRefused,
ScenarioRefused, QuestionRefused). Its files to download are those that the command of the same name writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from hawb.exports.imported import import_files, imported_of
from hawb.incident.exports import parted
from hawb.incident.not_logs import refusal
from hawb.incident.understanding import understand
from hawb.languages import N_, _
from hawb.planning import explore, inventory
from hawb.planning.beforehand import beforehand
from hawb.planning.explore_kinds import Worst, worst_of_kinds
from hawb.planning.lint import Report, lint
from hawb.planning.moves import Spent
from hawb.planning.safe_to_stop import Forecast, Outlook, outlook
from hawb.rules.profiles import PROFILES
from hawb.scenario.dump import dump
from hawb.scenario.load import read_scenario
from hawb.study.replicas import TRIALS, WhatIf, what_if
from hawb.views.formatting import listing
from hawb.views.incident import incident_page
from hawb.views.incident.incident_report import Account, account
from hawb.views.planning import exploration, findings, forecast_page, migration_files, upgrade_page
from hawb.views.planning.planned_upgrade import PlannedUpgrade, upgrade_of
from hawb.views.rules.features import matrix
from hawb.views.study import replica_page

EXPORTS = N_("A definitions export and, if you have them, the answers of /api/queues and /api/nodes of the same"
             " cluster.")
LOGS = N_("The logs of all nodes and, if you have them, a definitions export and a listing of queues.")


class QuestionRefused(ValueError):  # noqa: N818 - it reads as what happened
    """Files that a question cannot be asked about; the text says why."""


class Question(Struct, frozen=True):
    """A question: the label of its button, a description, and functions that answer it.

    `ask` reads the files and returns an answer, and `texts` returns its files to download; `report.html` is the page
    that the notebook shows. `choices` are further parameters of `ask` by name: the accepted values, the default first.
    `files` says which files to give.
    """

    verb: str
    description: str
    ask: Callable[..., Any]
    texts: Callable[[Any], Mapping[str, str]]
    choices: Mapping[str, tuple[Any, ...]] = {}
    files: str = EXPORTS


class Linted(Struct, frozen=True):
    """The linter's report, notes on what the files do not say, and the names of the files."""

    report: Report
    notes: Sequence[str]
    files: Sequence[str]


def linted(files: Sequence[Path]) -> Linted:
    """Return the linter's report on a definitions export and listings. Raise ImportRefused."""
    read = inventory.of_files(files)
    return Linted(lint(read), read.notes, [Path(file).name for file in files])


class WorstCase(Struct, frozen=True):
    """The worst case of each kind of queue of a cluster, and notes on what its files do not say."""

    found: Worst
    notes: Sequence[str]


def worst_case(
    files: Sequence[str | Path], goal: str = "", queues: str = "", faults: int = 1, operations: int = 1
) -> WorstCase:
    """Return the shortest story that ends in a goal (of ENDS), from the cluster of an export and listings.

    By default that is the loss of confirmed messages of a replicated queue. Raise ImportRefused, ScenarioRefused, and
    QuestionRefused without such a queue.
    """
    imported = imported_of(files)
    asked = explore.Question(ENDS.get(goal, "lost-confirmed"), Spent(faults, operations))
    found = worst_of_kinds(read_scenario(imported.scenario), asked, STATES, replicated=queues != ALL_QUEUES)
    if found is None:
        raise QuestionRefused(_("The files name no queue, or no queue with replicas."))
    return WorstCase(found, imported.notes)


def _worst_texts(case: WorstCase) -> dict[str, str]:
    found, story = case.found, case.found.answer.story
    files = exploration.Files("cluster.yaml", "" if story is None else "worst.yaml")
    page = exploration.page(found.question, found.answer, files, [*exploration.of_kinds(found), *case.notes])
    texts = {"report.html": page, files.scenario: dump(found.worst.begins)}
    return texts if story is None else texts | {files.story: dump(story)}


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


def _safety_texts(found: Safety) -> dict[str, str]:
    return {"report.html": forecast_page.page(found.title, found.found, found.notes, found.files)}


def _upgrade(files: Sequence[Path], nodes: str = "") -> PlannedUpgrade:
    return upgrade_of(files, at_once=nodes == AT_ONCE)


def _replicas(files: Sequence[Path], failures: int = 1) -> WhatIf:
    imported = import_files(files)
    before = beforehand(read_scenario(imported.scenario), [*map(str, files)], imported.live, failures)
    return what_if(inventory.of_files(files), matrix(), failures, TRIALS, before=before)


def _incident(files: Sequence[Path]) -> Account:
    logs, exports = parted([*map(Path, files)])
    found = understand(logs, exports) if logs else None
    if found is None or (reason := refusal(found.reading)):
        raise QuestionRefused(reason if found else _("None of the files is a log."))
    return account(found)


STATES = 300
"""The most states that a notebook searches for each kind of queue: all within a fault and an operation."""
ENDS = {
    N_("loss of confirmed messages"): "lost-confirmed",
    N_("a queue out of use"): "unavailable",
    N_("different messages in two partitions"): "diverged",
}
"""The goals of a search (`hawb.planning.goals.GOALS`), by their names in the notebook."""
REPLICATED, ALL_QUEUES = N_("queues with replicas"), N_("all queues")
ONE_BY_ONE, AT_ONCE = N_("one after the other"), N_("all at once")

MOVE = Question(
    N_("plan the move"), N_("what happens to each queue, and which upgrades are needed"), migration_files.planned,
    migration_files.texts, {N_("to"): tuple(reversed(PROFILES))},
)  # fmt: skip
LINT = Question(
    N_("lint"), N_("mistakes in policies, queues and nodes"), linted,
    lambda found: {"report.html": findings.page(listing(found.files), found.report, found.notes),
                   "report.txt": findings.report(found.report)},
)  # fmt: skip
SAFE = Question(
    N_("is it safe to stop?"), N_("what a controlled stop and a kill of each node would do to each queue"), safety_of,
    _safety_texts,
)  # fmt: skip
UPGRADE = Question(
    N_("plan the upgrade"), N_("in which order to restart the nodes, and what to wait"
                               " for"), _upgrade, upgrade_page.texts,
    {N_("nodes"): (ONE_BY_ONE, AT_ONCE)},
)  # fmt: skip
REPLICAS = Question(
    N_("how many replicas?"),
    N_("what one to seven replicas cost and achieve; this takes seconds, or minutes the first time"),
    _replicas, lambda found: {"report.html": replica_page.page(found)}, {N_("failures"): (1, 2, 3, 0)},
)  # fmt: skip
WORST = Question(
    N_("what is the worst that can happen?"), N_("the shortest story of faults and operations that ends in"
                                                 " harm"), worst_case,
    _worst_texts,
    {N_("goal"): tuple(ENDS), N_("queues"): (REPLICATED, ALL_QUEUES), N_("faults"): (1, 2, 0),
     N_("operations"): (1, 2, 0)},
)  # fmt: skip
INCIDENT = Question(
    N_("what happened?"), N_("what happened, what was lost, and what would have prevented the loss"), _incident,
    lambda found: {"report.html": incident_page.page(found)}, files=LOGS,
)  # fmt: skip
