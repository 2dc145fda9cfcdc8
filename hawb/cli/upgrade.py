"""The command that plans an upgrade: `hawb upgrade`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hawb.cli.files import STDIN, cluster_of, refuse, write_scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hawb.planning.upgrade import Task
    from hawb.scenario.run import Run
    from hawb.views.planning.planned_upgrade import PlannedUpgrade

MEASURES = ("lost_confirmed", "lost", "outage_s", "skew", "duration_s")
WAITS = ("none", "ready", "quorum + 1", "synced", "synced, quorum + 1")
FORMATS = (".svg", ".png", ".pdf")


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--objective", metavar="LIST", default=",".join(MEASURES), show_default=True,
              help="What is to be least, the first counts most.")  # fmt: skip
@click.option("--wait", "waits", type=click.Choice(WAITS), multiple=True,
              help="A wait that may be chosen; repeatable. All but none by default.")  # fmt: skip
@click.option("--order", metavar="LIST", help="The nodes in the only order that comes into question.")
@click.option("--away-s", type=click.FloatRange(0, 86_400), default=30.0, show_default=True,
              help="How long a node is away for its upgrade, beside its stop and its boot.")  # fmt: skip
@click.option("--drain", is_flag=True, help="Put each node into maintenance mode before it stops.")
@click.option("--full-stop", is_flag=True, help="All nodes stop and start again, in an order that cannot deadlock.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The runbook to write, in Markdown; - prints it.")
@click.option("--scenario", "rehearsal", type=click.Path(path_type=Path), help="The scenario that rehearses the plan.")
@click.option("--gantt", type=click.Path(path_type=Path), help="The plan over time as a figure: .svg, .png or .pdf.")
@click.option("--report", type=click.Path(path_type=Path), help="All of it as one page, HTML.")
@click.option("--json", "as_json", is_flag=True, help="The plan as one JSON object.")
def upgrade(
    files: tuple[str, ...], objective: str, waits: tuple[str, ...], order: str | None, away_s: float, drain: bool,
    full_stop: bool, output: Path | None, rehearsal: Path | None, gantt: Path | None, report: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Plan a rolling upgrade: the order of nodes, what to wait for before each, and what comes of it.

    FILES are a scenario (.yaml, - for standard input), which is gone on from where it ends, or a definitions export and
    listings of its cluster. The best plan is searched for, and compared with what is done without one. Exit status 1:
    the plan loses messages or leaves a node behind.
    """
    from hawb.planning.upgrade import task_of
    from hawb.scenario.run import Run

    measures = _listed("--objective", objective, MEASURES)
    if gantt is not None and gantt.suffix not in FORMATS:
        raise SystemExit(refuse(f"--gantt: '{gantt}' is none of {', '.join(FORMATS)}"))
    run = Run.of(cluster_of(files))
    task = task_of(run, away_s=away_s, drain=drain)
    if not task.nodes:
        raise SystemExit(refuse(f"{files[0]}: no node runs there"))
    orders = () if order is None else (_listed("--order", order, task.nodes, every=True),)
    if skipped := [name for name in run.settings.names if name not in task.nodes]:
        click.echo(f"note: not running, and so in no plan: {', '.join(skipped)}", err=True)
    answer = (_full_stop if full_stop else _rolling)(run, task, measures, waits, orders)
    if output is not None:
        write_scenario(output, answer.runbook())
    if rehearsal is not None:
        write_scenario(rehearsal, answer.rehearsal())
    if report is not None:
        write_scenario(report, answer.page())
    if gantt is not None:
        _save(gantt, answer.figure())
    if as_json:
        click.echo(json.dumps(answer.plain(), sort_keys=True))
    elif output is None or str(output) != STDIN:
        click.echo(answer.text())
    raise SystemExit(1 if answer.hurts else 0)


def _rolling(run: Run, task: Task, measures: tuple[str, ...], waits: tuple[str, ...], orders: tuple) -> PlannedUpgrade:
    from hawb.views.planning.planned_upgrade import rolling

    def told(nodes: int, plans: int, tried: int) -> None:
        if sys.stderr.isatty():
            line = f"{nodes} of {len(task.nodes)} nodes: {plans:,} plans, {tried:,} turns played"
            click.echo(f"\r\x1b[K{line}", nl=nodes == len(task.nodes), err=True)

    return rolling(run, task, measures, waits, told, orders)


def _full_stop(
    run: Run, task: Task, measures: tuple[str, ...], waits: tuple[str, ...], orders: tuple
) -> PlannedUpgrade:
    from hawb.views.planning.planned_upgrade import all_at_once

    if waits or orders or task.drain:
        raise click.UsageError("--wait, --order and --drain do not go with --full-stop")
    return all_at_once(run, task, measures)


def _listed(option: str, given: str, accepted: tuple[str, ...], every: bool = False) -> tuple[str, ...]:
    """The names of a list with commas, each accepted and none twice."""
    names = tuple(name.strip() for name in given.split(","))
    strangers = [name for name in names if name not in accepted]
    if strangers or len(set(names)) < len(names) or (every and len(names) < len(accepted)):
        problem = f"'{strangers[0]}' is none of them" if strangers else "each once, and none missing"
        raise SystemExit(refuse(f"{option}: {given!r}: {problem}; accepted: {', '.join(accepted)}"))
    return names


def _save(file: Path, figure: Figure) -> None:
    try:
        figure.savefig(file, dpi=120, metadata={"Date": None} if file.suffix == ".svg" else None)
    except OSError as error:
        raise SystemExit(refuse(f"{file}: the file cannot be written: {error.strerror}")) from None
