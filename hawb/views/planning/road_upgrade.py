"""Rolling upgrades across several releases: a plan for each release on the way, by its rules, and a runbook.

The roll away from a release is planned with the rules of that release, or of the newest profile that is not newer
(`hawb.rules.upgrade_road.rules_of`); steps with the same rules and the same queues share a plan. From the step that
ends mirroring, mirrored queues count as migrated (`hawb.planning.standing`). The simulation does not mix two releases:
what does not work while both run is listed for each step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hawb.planning.beforehand import Beforehand, beforehand
from hawb.planning.standing import standing_at
from hawb.planning.upgrade import MEASURES, task_of
from hawb.planning.upgrade_search import CAREFUL, OnLevel
from hawb.rules.feature_matrix import Feature
from hawb.rules.profiles import PROFILES
from hawb.rules.upgrade_road import Leg, rules_of
from hawb.scenario.run import Run
from hawb.views.formatting import sentence
from hawb.views.hawb_commands import asking
from hawb.views.markdown import plain
from hawb.views.page import LIMITS
from hawb.views.planning import road_runbook
from hawb.views.planning.migration import plain_leg
from hawb.views.planning.planned_upgrade import PlannedUpgrade, in_no_plan, rolling
from hawb.views.report import Part, Report, ToDo, Verdict
from hawb.views.tables import Table
from hawb.views.verdicts.safe import before_a_plan, out_verdict
from hawb.views.verdicts.upgrade import road_verdict, written

WRITTEN = """\
hawb wrote this plan from simulations, each with the rules of one release and the times of a model. For what happens to
mirrored queues, and for the whole move to quorum queues, use `hawb migrate` with the same files."""
MOVED = """\
Mirrored queues have been moved before this step. The plan treats them as quorum queues, or as `hawb migrate` says."""
UNPLAYED = """\
By then metadata is in Khepri, which these rules do not cover. The predictions for queues still hold; declarations are
not included."""
MEANWHILE = ("step", "while both releases run")


class Roll(Struct, frozen=True):
    """A plan and its steps; `version` gives the rules, and `moved` is True if mirrored queues count as migrated."""

    legs: tuple[Leg, ...]
    version: str
    moved: bool
    planned: PlannedUpgrade

    @property
    def title(self) -> str:
        """Return the names of the steps, and the release whose rules were used."""
        return f"{', '.join(leg.name for leg in self.legs)}: by the rules of {PROFILES[self.version].release}"


class RoadUpgrade(Struct, frozen=True):
    """The plans of an upgrade across several releases, and the title of its cluster.

    `notes` say what the cluster's files lack, `mirrored` is True if the cluster has mirrored queues, and `before` is
    the state of the cluster before the upgrade.
    """

    rolls: tuple[Roll, ...]
    title: str
    notes: tuple[str, ...] = ()
    mirrored: bool = False
    before: Beforehand = Beforehand()

    @property
    def moves(self) -> bool:
        """Return True if mirrored queues have to be migrated on the way."""
        return self.mirrored and any(leg.drops_mirrors for leg in self.legs)

    @property
    def legs(self) -> list[Leg]:
        """Return the steps in order."""
        return [leg for roll in self.rolls for leg in roll.legs]

    def verdict(self) -> Verdict:
        """Return the verdict on the plans' cost; no if a queue is out of use before them."""
        judged = [(", ".join(leg.name for leg in roll.legs), roll.planned.verdict()) for roll in self.rolls]
        return out_verdict(self.before) or road_verdict(len(self.legs), judged)

    def report(self) -> Report:
        """Return the report, for a page and a terminal."""
        road, *_, meanwhile = self.tables()
        rolls = [part for roll in self.rolls for part in roll.planned.parts(f"{roll.title}. ")]
        return Report(
            f"Can it be upgraded to {self.legs[-1].newer.series}?", self.title, self.verdict(), self.todo(),
            (Part("The steps", road), *rolls, Part(meanwhile.caption, meanwhile)),
            (*(f"{roll.title}. {sentence(roll.planned.remarks()[-1])}" for roll in self.rolls),
             *map(_in_line, [MOVED] if self.moves else []), _in_line(WRITTEN), *in_no_plan(self.before), LIMITS),
            self.notes,
        )  # fmt: skip

    def todo(self) -> tuple[ToDo, ...]:
        """Return the to-dos.

        They are: improvements of the cluster beforehand, the migration of mirrored queues if a step needs it, the
        command that writes the runbook, and the to-dos of the worst plan.
        """
        goal, files = f"--to {self.legs[-1].newer.series}", self.before.files
        moved = [ToDo("Move mirrored queues to quorum queues before the step that ends mirroring.",
                      asking("migrate", files, goal, "--plan plan/"))]  # fmt: skip
        read = ToDo("Take one step after the other, each with its flags and checks. The runbook has each command.",
                    written(files, goal))  # fmt: skip
        worst = min(self.rolls, key=lambda roll: ("no", "unknown", "but", "yes").index(roll.planned.verdict().answer))
        rest = [replace(one, what=f"{worst.title}. {one.what}") for one in worst.planned.todo()[1:]]
        return before_a_plan(self.before, [*(moved if self.moves else []), read, *rest])

    def steps(self) -> list[list[str]]:
        """Return a row for each step: the target release, and what has to be done before."""
        return [[leg.name, f"{leg.newer.latest}, Erlang {leg.newer.erlang} to {leg.newer.erlang_most}.x",
                 "; ".join(_before(leg)) or "nothing"] for leg in self.legs]  # fmt: skip

    def meanwhile(self) -> list[list[str]]:
        """Return a row for each thing that does not work while two releases run, with the steps that it concerns."""
        found: dict[str, list[str]] = {}
        for leg in self.legs:
            for fact in leg.mixed:
                found.setdefault(fact.what, []).append(leg.name)
        every = len(self.legs)
        return [["every step" if len(steps) == every > 1 else ", ".join(steps), what] for what, steps in found.items()]

    def plain(self) -> dict[str, Any]:
        """Return the plans as JSON values."""
        rolls = [
            {"steps": [leg.name for leg in roll.legs], "rules": roll.version, "moved": roll.moved,
             **roll.planned.plain()}
            for roll in self.rolls
        ]  # fmt: skip
        return {"road": [plain_leg(leg) for leg in self.legs], "rolls": rolls}

    def runbook(self) -> str:
        """Return the runbook, in Markdown."""
        title = f"# Upgrades, one after the other: {plain(self.title)}"
        parts = [title, WRITTEN, *road_runbook.overview(self.legs, None)]
        number = 0
        for roll in self.rolls:
            nodes, first = roll.planned.task.nodes, number + 1
            for leg in roll.legs:
                number += 1
                moved = [MOVED] if leg.drops_mirrors and roll.moved else []
                parts += [f"## Step {number}: {leg.name}", *road_runbook.before(leg, nodes, moved)]
                book = f"### Node by node\n\nAs in step {first}: the same order, the same waits, the same commands."
                rules = f"The rolling restart is planned by the rules of {PROFILES[roll.version].release}."
                parts += [f"{rules} {UNPLAYED}" if leg.moves_metadata else rules]
                parts += [_lower(roll.planned.runbook()) if number == first else book]
                parts += [*road_runbook.meanwhile(leg), *road_runbook.afterwards(leg)]
        return "\n\n".join(part.strip("\n") for part in parts) + "\n"

    def tables(self) -> list[Table]:
        """Return the steps, the tables of each plan, and what does not work while two releases run."""
        found = [Table("The steps", ("step", "to", "before it"), [tuple(row) for row in self.steps()])]
        for roll in self.rolls:
            found += [one._replace(caption=f"{roll.title}. {one.caption}") for one in roll.planned.tables()]
        meanwhile = [tuple(row) for row in self.meanwhile()]
        return [*found, Table("What does not work during the upgrade", MEANWHILE, meanwhile)]


def _before(leg: Leg) -> list[str]:
    conditions = [f"{leg.older.series} at {leg.least} or later"] if leg.least else []
    conditions += ["mirrored queues moved"] if leg.drops_mirrors else []
    conditions += ["Erlang changed in the same stop"] if leg.erlang_together else []
    conditions += [f"flags: {', '.join(leg.flags)}"] if leg.flags else []
    return conditions


def _in_line(text: str) -> str:
    return " ".join(text.split())


def _lower(text: str) -> str:
    """Return a runbook as part of another: with headings two levels lower, and commands unchanged."""
    lines, fence = [], ""
    for line in text.splitlines():
        if fence:
            fence = "" if line == fence else fence
        elif line.startswith("```"):
            fence = line.removesuffix("bash")
        elif line.startswith("#"):
            line = f"##{line}"
        lines.append(line)
    return "\n".join(lines)


def along(
    run: Run, legs: Sequence[Leg], matrix: Mapping[str, Feature], away_s: float = 30.0, drain: bool = False,
    objective: Sequence[str] = MEASURES, waits: Sequence[str] = CAREFUL, on_level: OnLevel | None = None,
    orders: Sequence[tuple[str, ...]] = (), notes: Sequence[str] = (), before: Beforehand | None = None,
) -> RoadUpgrade:  # fmt: skip
    """Return the best plan for each release on the way.

    Raise ScenarioRefused if a later release refuses something that the cluster has.
    """
    grouped: dict[tuple[str, bool], list[Leg]] = {}
    for number, leg in enumerate(legs):
        moved = any(each.drops_mirrors for each in legs[: number + 1])
        grouped.setdefault((rules_of(leg.older.series), moved), []).append(leg)
    rolls = []
    for (version, moved), those in grouped.items():
        scenario = standing_at(run, version, moved, matrix)
        there = run if scenario == run.scenario else Run.of(scenario)
        task = task_of(there, away_s=away_s, drain=drain)
        planned = rolling(there, task, objective, waits, on_level, orders, before=Beforehand())
        rolls.append(Roll(tuple(those), version, moved, planned))
    mirrored = any(queue.mirrored for queue in run.moment().state.queues.values())
    return RoadUpgrade(tuple(rolls), run.scenario.scenario, tuple(notes), mirrored, before or beforehand(run.scenario))
