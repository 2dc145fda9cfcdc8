"""A planned upgrade, rolling or with a full stop, with its tables, its runbook, and a scenario that rehearses it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hawb.exports.imported import imported_of
from hawb.exports.untrusted import ImportRefused
from hawb.planning.beforehand import Beforehand, beforehand
from hawb.planning.full_stop import FullStop, Stopped, plan_full_stop
from hawb.planning.upgrade import MEASURES, Plan, Task, task_of
from hawb.planning.upgrade_search import CAREFUL, Answer, OnLevel, search
from hawb.rules.profiles import Profile
from hawb.scenario.document import Scenario
from hawb.scenario.dump import dump
from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run
from hawb.study.own_upgrade import OwnTimes, Within, within
from hawb.views.formatting import listing, seconds, sentence
from hawb.views.page import LIMITS
from hawb.views.planning import own_times, upgrade, upgrade_runbook
from hawb.views.planning.missing_files import missing, what_is_missing
from hawb.views.report import MOST_TO_DO, Part, Report, ToDo, Verdict
from hawb.views.tables import Table
from hawb.views.verdicts import upgrade as upgrade_verdict
from hawb.views.verdicts.safe import before_a_plan, out_verdict, remedies_todo

ROLLING = "Can the nodes be restarted one after the other?"
AWAY = "Each node is down for {} s, plus the time of its stop and its boot."
RUNBOOK, REHEARSAL, REPORT = "runbook.md", "rehearsal.yaml", "report.html"


class PlannedUpgrade(Struct, frozen=True):
    """An upgrade plan with the task that it solves and the title of its cluster.

    `notes` say what the cluster's files lack, `own` are the cluster's own times, `within` the ranges from their draws,
    and `before` the state of the cluster before the upgrade.
    """

    found: Answer | Stopped
    task: Task
    title: str
    notes: tuple[str, ...] = ()
    own: OwnTimes | None = None
    within: Within | None = None
    before: Beforehand = Beforehand()

    @property
    def plan(self) -> Plan | FullStop:
        """Return the plan of the answer."""
        return self.found.plan

    def verdict(self) -> Verdict:
        """Return the verdict on the plan's cost; no if a queue is out of use before it."""
        planned = upgrade_verdict.verdict(self.found) if self._rolls else upgrade_verdict.stop_verdict(self.found)
        return out_verdict(self.before) or planned

    def todo(self) -> tuple[ToDo, ...]:
        """Return the to-dos: improvements of the cluster beforehand, then the plan."""
        files = self.before.files
        planned = upgrade_verdict.todo(self.found, files) if self._rolls else upgrade_verdict.stop_todo(self.found)
        return before_a_plan(self.before, planned)

    def report(self) -> Report:
        """Return the report, for a page and a terminal."""
        question = ROLLING if self._rolls else "Can all nodes stop and start again?"
        return Report(
            question, self.title, self.verdict(), self.todo(), self.parts(),
            (sentence(self.remarks()[-1]), AWAY.format(seconds(self.task.away_s)), *in_no_plan(self.before), LIMITS),
            self.notes,
        )  # fmt: skip

    def parts(self, where: str = "") -> tuple[Part, ...]:
        """Return the tables as parts of a report, with headings that begin with `where`."""
        *others, last = self.tables()
        more = upgrade.effects_left_out(self.plan.prediction)
        remarks = tuple(self.remarks()[:-1])
        own = {upgrade.PREDICTED: () if self.own is None else own_times.sentences(self.own, self.within)}
        parts = [Part(where + table.caption, table, own.get(table.caption, ())) for table in (*others, last)]
        parts[-1] = Part(where + last.caption, last, (*parts[-1].notes, *filter(None, [more])))
        return (*parts, *([Part(f"{where}Other remarks", None, remarks)] if remarks else []))

    def plain(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        found = upgrade.plain_answer(self.found) if self._rolls else upgrade.plain_stop(self.found)
        return found if self.own is None else found | {"own_times": own_times.plain(self.own, self.within)}

    def runbook(self) -> str:
        """Return the runbook, in Markdown."""
        written = upgrade_runbook.runbook if self._rolls else upgrade_runbook.stop_runbook
        return written(self.found, self.task, self.title, own_times.paragraph(self.own, self.within))

    def rehearsal(self) -> str:
        """Return the scenario that plays the plan, as the text of its file."""
        return dump(self.plan.rehearsal)

    def tables(self) -> list[Table]:
        """Return the plan, its comparison with other plans, and the affected queues, as tables."""
        return upgrade.tables(self.found) if self._rolls else upgrade.stop_tables(self.found)

    def remarks(self) -> list[str]:
        """Return remarks that go with the tables; the last one says what was searched."""
        if self._rolls:
            return [*filter(None, [upgrade.never(self.found)]), upgrade.extent(self.found)]
        return [*upgrade.orders(self.found).splitlines(), f"{upgrade.stop_extent(self.found)}."]

    def by(self, own: OwnTimes, scenario: Scenario) -> PlannedUpgrade:
        """Return the plan with the cluster's own times, by which it was made, and the ranges of its figures.

        The ranges come from playing the plan with each draw of these times, from the end of the scenario. Raise
        ScenarioRefused if a rehearsal is refused.
        """
        return replace(self, own=own, within=within(scenario, self.task, self.plan, own))

    @property
    def _rolls(self) -> bool:
        return isinstance(self.found, Answer)


def in_no_plan(before: Beforehand) -> tuple[str, ...]:
    """Return a sentence about nodes that do not run and so are not in the plan."""
    return (f"Not running, so not in the plan: {listing(before.down)}.",) if before.down else ()


def rolling(
    run: Run, task: Task, objective: Sequence[str] = MEASURES, waits: Sequence[str] = CAREFUL,
    on_level: OnLevel | None = None, orders: Sequence[tuple[str, ...]] = (), notes: Sequence[str] = (),
    before: Beforehand | None = None,
) -> PlannedUpgrade:  # fmt: skip
    """Return the best plan for nodes that restart one after the other (`upgrade_search.search`)."""
    found = search(run, task, objective, waits or CAREFUL, on_level, orders)
    return PlannedUpgrade(found, task, run.scenario.scenario, tuple(notes), before=before or beforehand(run.scenario))


def all_at_once(
    run: Run, task: Task, objective: Sequence[str] = MEASURES, notes: Sequence[str] = (),
    before: Beforehand | None = None,
) -> PlannedUpgrade:  # fmt: skip
    """Return the best full stop and start (`full_stop.plan_full_stop`)."""
    found = plan_full_stop(run, task, objective)
    return PlannedUpgrade(found, task, run.scenario.scenario, tuple(notes), before=before or beforehand(run.scenario))


def unplanned(
    profile: Profile, before: Beforehand, title: str, notes: Sequence[str], command: str
) -> Report | None:
    """Return the report for a cluster without a plan: a decisive file is missing, or no node runs.

    Return None if a plan is possible.
    """
    live, mirrors = before.live, profile.mirroring
    if live.known and before.runs:
        return None
    unknown = Verdict("no", "no node runs") if live.known else Verdict("unknown", what_is_missing(live))
    asked = (*missing(live, before.files, command, mirrors), *remedies_todo(before))
    return Report(ROLLING, title, out_verdict(before) or unknown, asked[:MOST_TO_DO], missing=tuple(notes))


def upgrade_of(files: Sequence[str | Path], at_once: bool = False) -> PlannedUpgrade:
    """Return the plan for the cluster of a definitions export and listings, with the default assumptions.

    Raise ImportRefused for unusable files or if no node runs, and ScenarioRefused if the cluster is refused.
    """
    imported = imported_of(files)
    scenario, notes = read_scenario(imported.scenario), imported.notes
    run = Run.of(scenario)
    task = task_of(run)
    if not task.nodes:
        raise ImportRefused(Path(files[0]), "nodes", "none that runs", "a cluster with a node that runs")
    before = beforehand(scenario, [*map(str, files)], imported.live)
    return (all_at_once if at_once else rolling)(run, task, notes=notes, before=before)
