"""A plan for a migration to quorum queues: for a terminal, for programs, and as one page.

Queues with the same verdict and reasons share a row. The value of an argument that was left out is never shown.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import asdict, replace

from hawb.engine.core.naming import join_queue
from hawb.planning.crossing import later
from hawb.planning.migrated_definitions import definitions
from hawb.planning.migration import VERDICTS, Crossing, Migration, Move
from hawb.planning.policy_split import Split
from hawb.rules.upgrade_road import Leg
from hawb.views import bars
from hawb.views.formatting import counted, listing, shown
from hawb.views.hawb_commands import asking
from hawb.views.page import closed, report_page
from hawb.views.planning import applications
from hawb.views.report import Part, Report
from hawb.views.tables import Table
from hawb.views.verdicts import migrate

ROAD, REFUSED = ("step", "what"), ("refused there", "what, and what to do")
QUEUES_HEAD = "What happens to each queue"
QUEUES, POLICIES, CLASHES = ("verdict", "queues", "what"), ("policy", "becomes"), ("conflict", "where", "what")
NOTHING = {"ready": "only the type changes"}

LEFT_OUT = (
    "No file contains users, passwords, permissions, parameters or limits: set them by hand. No file says what"
    " applications do (prefetch, consumer priorities, confirms). The rules are those of the releases that hawb"
    " models; plugins are left out."
)

def summary(plan: Migration) -> str:
    """Return the number of queues with each verdict."""
    counts = plan.counts
    counts_text = ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in VERDICTS)
    return f"To RabbitMQ {plan.target.release}, {counted(len(plan.moves), 'queue')}: {counts_text}"

def report_of(plan: Migration, files: Sequence[str] = ()) -> Report:
    """Return the report on a plan; `files`, from which it was made, go into the command that writes the runbook."""
    declared = applications.table(plan)
    declarations = [declared] if declared.rows else []
    shown_tables = [(table, ()) for table in (*tables(plan), *declarations, *road_tables(plan))]
    if shown_tables and plan.moves:
        queues, *others = (table for table, _ in shown_tables)
        shown_tables = [(queues, tuple(str(row[0]) for row in queues.rows)), *((table, ()) for table in others)]
    command = asking("migrate", files, f"--to {plan.target.version}", "--plan plan/")
    release = plan.target.release
    return Report(
        f"Can the queues be quorum queues of RabbitMQ {release}?", summary(plan), migrate.verdict(plan),
        migrate.todo(plan, command),
        tuple(Part(QUEUES_HEAD if each.columns == QUEUES else each.caption, each, kinds=kinds)
              for each, kinds in shown_tables),
        (LEFT_OUT, *([applications.NOTE] if declared.rows else []),
         f"The running release is treated as {plan.runs}."), tuple(plan.notes),
    )  # fmt: skip

def queue_rows(plan: Migration) -> list[list[str]]:
    """Return a row for each group of queues with the same verdict and reasons."""
    groups: dict[tuple[int, str], list[str]] = defaultdict(list)
    for move in plan.moves:
        said = "; ".join(one.what for one in move.reasons) or NOTHING.get(move.verdict, "")
        groups[VERDICTS.index(move.verdict), said].append(move.queue.full_name)
    return [
        [VERDICTS[verdict], f"{len(names):,}: {listing(sorted(names))}", shown(said)]
        for (verdict, said), names in sorted(groups.items())
    ]

def policy_rows(plan: Migration) -> list[list[str]]:
    """Return a row for each policy with the policies that replace it."""
    return [[shown(join_queue(one.policy.vhost, one.policy.name)), _becomes(one)] for one in plan.splits]

def _becomes(split: Split) -> str:
    parts = [
        f"{shown(part.policy.name)} ({part.policy.apply_to}, priority {part.policy.priority}):"
        f" {', '.join(part.policy.definition)}"
        for part in split.parts
    ]
    return "; ".join(parts) or shown(f"is removed: it contained {split.said}")

def clash_rows(plan: Migration) -> list[list[str]]:
    """Return a row for each clash."""
    return [[one.code, shown(one.name), shown(one.what)] for one in plan.clashes]

def road_rows(crossing: Crossing, moves: bool = True) -> list[list[str]]:
    """Return a row for each step of the upgrade; the migration of the queues is one of them if `moves` is True."""
    rows = []
    for number, leg in enumerate(crossing.legs):
        if number == crossing.moves_before and moves:
            rows.append(["the move", f"to quorum queues, while {leg.older.series} runs"])
        conditions = [f"to {leg.newer.latest}, Erlang {leg.newer.erlang} to {leg.newer.erlang_most}.x"]
        conditions += [f"{counted(len(leg.flags), 'flag')} enabled before"] if leg.flags else []
        conditions += ["metadata in Khepri before"] if leg.moves_metadata else []
        rows.append([leg.name, "; ".join(conditions)])
    return rows


def refused_rows(crossing: Crossing) -> list[list[str]]:
    """Return a row for each thing that the target release refuses."""
    return [[f"{len(one.names):,}: {listing(sorted(one.names))}", f"{one.what}; {one.do}"] for one in crossing.refused]


def sources(plan: Migration) -> Table:
    """Return the sources of the reasons and clashes."""
    by_text = {one.what: one.source for move in plan.moves for one in move.reasons}
    by_text |= {clash.code: clash.source for clash in plan.clashes}
    by_text |= {one.what: one.source for one in plan.crossing.refused} if plan.crossing else {}
    return Table("Sources", ("source", "of"), [(source, what) for what, source in by_text.items()])

def plain(plan: Migration) -> dict[str, object]:
    """Return the whole plan as JSON values."""
    return {
        "to": plan.target.version,
        "release": plan.target.release,
        "from": plan.source.version,
        "counts": plan.counts,
        "queues": [_plain_move(move) for move in plan.moves],
        "policies": [
            {
                "policy": join_queue(one.policy.vhost, one.policy.name),
                "operator": one.operator,
                "becomes": [
                    {"name": part.policy.name, "apply_to": part.policy.apply_to, "priority": part.policy.priority,
                     "pattern": part.policy.pattern, "definition": part.policy.definition, "stands_in": part.stands_in}
                    for part in one.parts
                ],
            }
            for one in plan.splits
        ],
        "clashes": [asdict(one) for one in plan.clashes],
        "left_out": plan.routing.left,
        "notes": plan.notes,
        "runs": plan.release,
        "road": [plain_leg(leg) for leg in plan.crossing.legs] if plan.crossing else [],
        "refused": [asdict(one) for one in plan.crossing.refused] if plan.crossing else [],
        "moved_later": [move.queue.full_name for move in later(plan)],
        "definitions": definitions(plan),
    }  # fmt: skip

def plain_leg(leg: Leg) -> dict[str, object]:
    """Return a step of the upgrade as JSON values."""
    return {
        "from": leg.older.series,
        "to": leg.newer.series,
        "release": leg.newer.latest,
        "least": leg.least,
        "erlang": {"least": leg.newer.erlang, "most": leg.newer.erlang_most, "note": leg.newer.erlang_note},
        "flags": leg.flags,
        "flags_of_plugins": leg.flags_of_plugins,
        "new_flags": leg.new_flags,
        "removed": [{"with": series, **asdict(fact)} for series, fact in leg.removed],
        "meanwhile": [asdict(fact) for fact in leg.mixed],
        "source": leg.newer.source,
    }


def _plain_move(move: Move) -> dict[str, object]:
    return {
        "queue": move.queue.full_name,
        "verdict": move.verdict,
        "type": move.type,
        "arguments": move.arguments,
        "reasons": [asdict(one) for one in move.reasons],
        "redeclare": next(iter(move.redeclaration.in_place), None) if move.redeclaration else None,
        "redeclaration": asdict(move.redeclaration) if move.redeclaration else None,
    }

def tables(plan: Migration) -> list[Table]:
    """Return queues, policies and clashes as tables for a notebook and a page; empty tables are left out."""
    found = [
        Table(summary(plan), QUEUES, [tuple(row) for row in queue_rows(plan)]),
        Table("Policies", POLICIES, [tuple(row) for row in policy_rows(plan)]),
        Table("Conflicts", CLASHES, [tuple(row) for row in clash_rows(plan)]),
    ]
    return [each for each in found if each.rows]


def road_tables(plan: Migration) -> list[Table]:
    """Return the steps to the target release, and what it refuses; empty tables are left out."""
    if plan.crossing is None:
        return []
    found = [
        Table("The steps", ROAD, [tuple(row) for row in road_rows(plan.crossing, bool(plan.moving.moved))]),
        Table(f"What {plan.target.release} refuses", REFUSED, [tuple(row) for row in refused_rows(plan.crossing)]),
    ]
    return [each for each in found if each.rows]


def every_queue(plan: Migration) -> Table:
    """Return a row for each queue, with the arguments for its new declaration."""
    rows = [
        (move.queue.full_name, move.verdict, move.type, json.dumps(move.arguments, ensure_ascii=False))
        for move in plan.moves
    ]
    return Table("All queues", ("queue", "verdict", "is to be", "declared with"), rows)


def counts(plans: Sequence[Migration]) -> Table:
    """Return the number of queues with each verdict, a row for each plan."""
    rows = [(plan.target.release, *(plan.counts[verdict] for verdict in VERDICTS)) for plan in plans]
    return Table("Queues by verdict", ("to", *VERDICTS), rows)


def page(plan: Migration, text: str, files: Sequence[str] = ()) -> str:
    """Return one page with the report, every queue and the runbook `text`; the page fetches and runs nothing."""
    report, every = report_of(plan, files), every_queue(plan)
    where = sources(plan)
    parts = (*report.parts, Part("Queue by queue", every, kinds=tuple(str(row[1]) for row in every.rows)),
             *([Part(where.caption, where)] if where.rows else []))  # fmt: skip
    numbers = {verdict: number for verdict, number in plan.counts.items() if number}
    drawn = [bars.figure(numbers, "Queues by verdict")] if numbers else []
    return report_page(replace(report, parts=parts), drawn, [closed("The runbook", text)])
