"""The command that plans an upgrade: `hawb upgrade`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hawb.cli.files import STDIN, Destination, Source, cluster_of, print_notes, refuse, refused_in, write_scenario
from hawb.cli.pages import of_pages, write_page
from hawb.cli.roads import VIA_HELP, known_release, release_of, stops

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hawb.planning.beforehand import Beforehand
    from hawb.planning.upgrade import Task
    from hawb.planning.upgrade_search import OnLevel
    from hawb.rules.upgrade_road import Leg
    from hawb.scenario.run import Run
    from hawb.study.own_upgrade import OwnTimes
    from hawb.views.planning.planned_upgrade import PlannedUpgrade
    from hawb.views.planning.road_upgrade import RoadUpgrade

MEASURES = ("lost_confirmed", "lost", "outage_s", "skew", "duration_s")
WAITS = ("none", "ready", "quorum + 1", "synced", "synced, quorum + 1")
FORMATS = (".svg", ".png", ".pdf")
UNDATED = {"svg": ("Date", "Creator"), "pdf": ("CreationDate",)}
"""Metadata that matplotlib would write into a figure: the date, and the address of its web page."""


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--objective", metavar="LIST", default=",".join(MEASURES), show_default=True,
              help="The measures to minimise, the most important first. skew: the difference in the number of masters"
                   " and leaders between the nodes, at the end.")  # fmt: skip
@click.option("--wait", "waits", type=click.Choice(WAITS), multiple=True,
              help="A condition that the plan may wait for before it stops the next node. Repeatable.  [default: every"
                   " condition except `none`]")  # fmt: skip
@click.option("--order", metavar="LIST", help="Upgrade the nodes in this order; do not search for another.")
@click.option("--away-s", type=click.FloatRange(0, 86_400), help="Seconds that a node is down for its upgrade, not"
              " counting its stop and its boot.  [default: from --numbers, or 30]")  # fmt: skip
@click.option("--numbers", type=Source(),
              help="Take times from this file, such as one that hawb rates --numbers wrote.")  # fmt: skip
@click.option("--drain", is_flag=True, help="Put each node into maintenance mode before it stops.")
@click.option("--to", metavar="RELEASE", help="Plan every step on the way to this release, such as 4.3.")
@click.option("--from", "runs", metavar="RELEASE", help="With --to: the release that runs now, such as 3.12.14;"
              " overrides the release in FILES.")  # fmt: skip
@click.option("--via", metavar="LIST", help=f"With --to: {VIA_HELP[0].lower()}{VIA_HELP[1:]}")
@click.option(
    "--full-stop", is_flag=True, help="Plan to stop all nodes and start them again, in an order that cannot deadlock."
)
@of_pages
@click.option("--runbook", type=Destination(), help="Write the runbook, in Markdown; - prints it.")
@click.option(
    "--scenario", "rehearsal", type=Destination(), help="Write the plan as a scenario, for hawb run."
)
@click.option("--gantt", type=Destination(), help="Draw the plan as a Gantt chart, in a .svg, .png or .pdf file.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as one JSON object.")
def upgrade(
    files: tuple[str, ...], objective: str, waits: tuple[str, ...], order: str | None, away_s: float | None,
    numbers: Path | None, drain: bool, to: str | None, runs: str | None, via: str | None, full_stop: bool,
    page: Path | None, runbook: Path | None, rehearsal: Path | None, gantt: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Plan a rolling upgrade: the order of nodes and the waits.

    FILES are a scenario (.yaml, - for standard input), or a definitions export and listings of one cluster. The plan
    starts from the state of the cluster, or from the state at the end of the scenario. hawb searches for the best plan,
    and compares it with upgrades without a plan.

    With --to, hawb plans an upgrade to each release on the way, by the rules of that release, and lists what each
    upgrade requires. With --numbers, hawb uses the restart times and synchronisation rates in that file. If the file
    has draws (sets of numbers that all fit the logs), the answer gives 95 % intervals.

    Exit status: 0, yes: nothing is lost, though queues may be unavailable for a while; 1, no: the best plan loses
    messages, a node does not come back, or a queue is unavailable before the upgrade; 2, the input is refused; 3,
    cannot tell: the files lack a fact that the answer depends on.
    """
    from hawb.planning.beforehand import beforehand
    from hawb.planning.upgrade import task_of
    from hawb.rules.nearest_profile import profile_for
    from hawb.scenario.run import Run
    from hawb.views.planning.planned_upgrade import unplanned
    from hawb.views.terminal import for_terminal

    measures = _listed("--objective", objective, MEASURES)
    if gantt is not None and gantt.suffix not in FORMATS:
        raise SystemExit(refuse(f"--gantt: '{gantt}' does not end in .svg, .png or .pdf"))
    legs = _legs(files, to, runs, via)
    alone = {"--full-stop": full_stop or None, "--scenario": rehearsal, "--gantt": gantt, "--numbers": numbers}
    if legs and (given := next((option for option, value in alone.items() if value is not None), None)):
        raise SystemExit(refuse(f"{given}: cannot be used with --to, which makes a plan for each release on the way"))
    scenario, notes, live = cluster_of(files)
    own = None if numbers is None else _own_times(numbers, away_s)
    away = away_s if own is None else own.times.away_s
    before = refused_in(files[0], beforehand, scenario, files, live)
    profile = profile_for(scenario.cluster.version)
    answered = unplanned(profile, before, files[0], notes, "upgrade" if to is None else f"upgrade --to {to}")
    if answered is not None:
        if page is not None:
            from hawb.views.page import report_page

            write_page(page, report_page(answered))
        click.echo(for_terminal(answered), err=as_json)
        raise SystemExit(answered.verdict.exit_status)
    run = Run.of(scenario if own is None else own.times.over(scenario))
    task = task_of(run, drain=drain, **({} if away is None else {"away_s": away}))
    orders = () if order is None else (_listed("--order", order, task.nodes, every=True),)
    if as_json or str(runbook) == STDIN:
        print_notes(notes)
    if legs:
        answer = _along(run, legs, task, measures, waits, orders, notes, before)
    else:
        answer = (_full_stop if full_stop else _rolling)(run, task, measures, waits, orders, notes, before)
        answer = answer if own is None else answer.by(own, scenario)
        _write_plan(answer, rehearsal, gantt)
    if runbook is not None:
        write_scenario(runbook, answer.runbook())
    if page is not None:
        from hawb.views.planning import upgrade_page

        write_page(page, upgrade_page.page(answer))
    if as_json:
        click.echo(json.dumps(answer.plain(), sort_keys=True))
    elif str(runbook) != STDIN:
        click.echo(for_terminal(answer.report()))
    raise SystemExit(answer.verdict().exit_status)


def _own_times(numbers: Path, away_s: float | None) -> OwnTimes:
    """Return the times in a file of numbers; `away_s` overrides the file's, also in draws. Raise ScenarioRefused."""
    from hawb.study.own_upgrade import read_times

    own = read_times(numbers)
    return own if away_s is None else own.with_away(away_s)


def _legs(files: tuple[str, ...], to: str | None, runs: str | None, via: str | None) -> tuple[Leg, ...]:
    """Return the upgrades on the way to a release; none without `--to`. End the program if no upgrade leads there."""
    from hawb.rules.upgrade_road import NoRoad, road, series_of

    if to is None:
        if runs is not None or via is not None:
            raise SystemExit(refuse(f"{'--from' if runs is not None else '--via'}: needs --to"))
        return ()
    known_release("--to", to)
    start, goal = series_of(release_of(files, runs)), series_of(to)
    try:
        legs = road(start or "", goal or "", stops(via))
    except NoRoad as refused:
        raise SystemExit(refuse(refused)) from None
    if not legs:
        raise SystemExit(refuse(f"--to: {to!r}: this release runs already; accepted: a newer release"))
    return legs


def _along(
    run: Run, legs: tuple[Leg, ...], task: Task, measures: tuple[str, ...], waits: tuple[str, ...], orders: tuple,
    notes: Sequence[str], before: Beforehand,
) -> RoadUpgrade:  # fmt: skip
    from hawb.cli.migrating import features
    from hawb.views.planning.road_upgrade import along

    return along(run, legs, features(), task.away_s, task.drain, measures, waits, _progress(task), orders, notes,
                 before)  # fmt: skip


def _progress(task: Task) -> OnLevel:
    def show(nodes: int, plans: int, tried: int) -> None:
        if sys.stderr.isatty():
            line = f"{nodes} of {len(task.nodes)} nodes: {plans:,} plans, {tried:,} turns played"
            click.echo(f"\r\x1b[K{line}", nl=nodes == len(task.nodes), err=True)

    return show


def _rolling(
    run: Run, task: Task, measures: tuple[str, ...], waits: tuple[str, ...], orders: tuple, notes: Sequence[str],
    before: Beforehand,
) -> PlannedUpgrade:  # fmt: skip
    from hawb.views.planning.planned_upgrade import rolling

    return rolling(run, task, measures, waits, _progress(task), orders, notes, before)


def _full_stop(
    run: Run, task: Task, measures: tuple[str, ...], waits: tuple[str, ...], orders: tuple, notes: Sequence[str],
    before: Beforehand,
) -> PlannedUpgrade:  # fmt: skip
    from hawb.views.planning.planned_upgrade import all_at_once

    if waits or orders or task.drain:
        raise click.UsageError("--wait, --order and --drain cannot be used with --full-stop")
    return all_at_once(run, task, measures, notes, before)


def _listed(option: str, given: str, accepted: tuple[str, ...], every: bool = False) -> tuple[str, ...]:
    """Return the names in an option's list. End the program if one is not accepted or is named twice."""
    names = tuple(name.strip() for name in given.split(","))
    strangers = [name for name in names if name not in accepted]
    if strangers or len(set(names)) < len(names) or (every and len(names) < len(accepted)):
        problem = f"'{strangers[0]}' is not accepted" if strangers else "name each one exactly once"
        raise SystemExit(refuse(f"{option}: {given!r}: {problem}; accepted: {', '.join(accepted)}"))
    return names


def _write_plan(answer: PlannedUpgrade, rehearsal: Path | None, gantt: Path | None) -> None:
    """Write the scenario that rehearses a plan, and the plan's figure, if asked for. Plans with `--to` have neither."""
    if rehearsal is not None:
        write_scenario(rehearsal, answer.rehearsal())
    if gantt is not None:
        from hawb.views.planning.upgrade_figure import upgrade_figure

        _save(gantt, upgrade_figure(answer.plan.stages, answer.plan.rehearsal.scenario))


def _save(file: Path, figure: Figure) -> None:
    """Write a figure. The same figure gives the same bytes each time."""
    import matplotlib as mpl

    drawn, form = BytesIO(), file.suffix.removeprefix(".")
    with mpl.rc_context({"svg.hashsalt": "hawb"}):
        figure.savefig(drawn, format=form, dpi=120, metadata=dict.fromkeys(UNDATED.get(form, ())))
    write_scenario(file, drawn.getvalue())
