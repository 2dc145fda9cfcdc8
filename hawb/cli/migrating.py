"""The commands that plan how queues are replicated: `hawb migrate` and `hawb replicas`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hawb.cli.extra import compile_first
from hawb.cli.files import Destination, Source, is_scenario, play, print_notes, refuse, refused_in, write_folder
from hawb.cli.pages import of_pages, write_page
from hawb.cli.roads import VIA_HELP, known_release, stops
from hawb.rules.profiles import PROFILES
from hawb.scenario.saving import Kind

if TYPE_CHECKING:
    from hawb.exports.imported import Live
    from hawb.exports.routing import Routing
    from hawb.planning.inventory import Inventory
    from hawb.planning.migration import Migration
    from hawb.rules.feature_matrix import Feature
    from hawb.scenario.document import Scenario
    from hawb.scenario.run import Run


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--to", type=click.Choice(list(PROFILES)), default="4.0", show_default=True, help="The release to move to."
)
@click.option("--from", "runs", metavar="RELEASE",
              help="The release that runs now, such as 3.12.14; overrides the release in FILES.")  # fmt: skip
@click.option("--via", metavar="LIST", help=VIA_HELP)
@of_pages
@click.option("--plan", type=Destination(Kind.NEW_FOLDER),
              help="Write the plan into a new folder: definitions to import, a runbook and a page.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the plan as one JSON object.")
def migrate(
    files: tuple[str, ...], to: str, runs: str | None, via: str | None, plan: Path | None, page: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Plan the move to quorum queues and to a newer release.

    FILES are a definitions export and listings of one cluster, or a scenario (.yaml). For each queue, the answer says
    whether it is ready to move, is ready after some changes, cannot be moved, or stays as it is. --plan writes
    definitions to import, a runbook and a page. None of the files that hawb writes contains users, passwords,
    permissions or parameters.

    Exit status: 0, every queue that has to move can be moved; 1, at least one queue cannot be moved; 2, the input is
    refused; 3, cannot tell: the files lack a fact that the answer depends on.
    """
    from hawb.planning.crossing import RELEASE_UNKNOWN, crossed
    from hawb.rules.upgrade_road import NoRoad
    from hawb.views.planning import migration as view
    from hawb.views.terminal import for_terminal

    inventory, routing = cluster(files, known_release("--from", runs))
    try:
        planned = crossed(inventory, to, features(), routing, stops(via))
    except NoRoad as refused:
        raise SystemExit(refuse(refused)) from None
    if RELEASE_UNKNOWN in planned.notes:
        print_notes([RELEASE_UNKNOWN])
    if plan is not None:
        write_plan(plan, planned)
    if page is not None:
        from hawb.views.planning import migration_files

        write_page(page, migration_files.page(planned, files))
    report = view.report_of(planned, files)
    click.echo(json.dumps(view.plain(planned), indent=1) if as_json else for_terminal(report))
    raise SystemExit(report.verdict.exit_status)


def write_plan(output: Path, plan: Migration) -> None:
    """Write the files of a plan into a new folder."""
    from hawb.views.planning.migration_files import texts

    write_folder(output, texts(plan))


def features() -> dict[str, Feature]:
    """Return the matrix of features. End the program if hawb's data is not installed."""
    from hawb.views.rules.features import matrix

    try:
        return matrix()
    except FileNotFoundError as missing:
        raise SystemExit(refuse(missing)) from None


def cluster(files: tuple[str, ...], release: str | None = None, notes: bool = True) -> tuple[Inventory, Routing]:
    """Return one cluster from its files, or from a scenario, with its bindings.

    `release` overrides the one in the files. With `notes`, standard error lists what the files lack. Raise
    ScenarioRefused; end the program if the files are refused.
    """
    from hawb.exports.routing import Routing, read_routing
    from hawb.exports.untrusted import ImportRefused
    from hawb.planning import inventory

    scenarios = [*filter(is_scenario, files)]
    if scenarios and len(files) > 1:
        raise SystemExit(refuse(f"{files[1]}: a scenario describes a whole cluster; give no other file with it"))
    try:
        if scenarios and release is not None:
            raise SystemExit(
                refuse(f"--from: {files[0]} is a scenario, which names its release itself (cluster.version)")
            )
        if scenarios:
            return inventory.of_run(play(Path(files[0]))[1]), Routing()
        found = inventory.of_files(files, release), read_routing(files)
    except ImportRefused as refused:
        raise SystemExit(refuse(refused)) from None
    print_notes(found[0].notes if notes else ())
    return found


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--failures", type=click.IntRange(0, 3), default=1, show_default=True,
              help="How many failed nodes each queue must survive.")  # fmt: skip
@click.option("--trials", type=click.IntRange(0, 100_000), default=1_000, show_default=True,
              help="How many years to simulate for each number of replicas, to estimate losses and outages; 0: simulate"
                   " nothing. If the simulation cannot be compiled, hawb simulates fewer years, and the answer says"
                   " so.")  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="The seed of the simulated years."
)
@click.option(
    "--numbers",
    type=Source(),
    help="Take failure rates and times from this file, such as one that hawb rates --numbers wrote.",
)
@of_pages
@click.option("--json", "as_json", is_flag=True, help="Print the answer as one JSON object.")
def replicas(
    files: tuple[str, ...], failures: int, trials: int, seed: int, numbers: Path | None, page: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Calculate what 1 to 7 replicas cost and how many you need.

    FILES are a definitions export and listings of one cluster, or a scenario (.yaml). The first run compiles the
    simulation, which takes some minutes.

    Exit status: 0, yes, every queue and stream survives the failure of --failures nodes; 1, no: at least one of
    them does not survive this failure, or is already unavailable; 2, the input is refused; 3, cannot tell: no file
    says how many replicas there are.
    """
    from hawb.planning.beforehand import beforehand
    from hawb.study.numbers import lay_over
    from hawb.study.replicas import MOST, TYPES, study, what_if
    from hawb.views.study import replica_costs as view
    from hawb.views.terminal import for_terminal
    from hawb.views.verdicts.replicas import verdict

    inventory, scenario, live, played = standing(files, notes=as_json)
    before = refused_in(files[0], beforehand, scenario, files, live, failures, played)
    own = None
    if asked := study(inventory, trials, seed):
        if numbers is not None:
            asked, own = lay_over(asked, numbers)
        compile_first(asked)
    elif numbers is not None:
        raise SystemExit(refuse(f"{numbers}: --numbers has no effect without trials; give --trials"))
    rows = len(TYPES) * MOST if inventory.profile.mirroring else MOST + 1
    with click.progressbar(length=rows, label="Rows", file=sys.stderr) as bar:
        found = what_if(inventory, features(), failures, trials, seed, lambda done: bar.update(done - bar.pos), own,
                        before)  # fmt: skip
    if page is not None:
        from hawb.views.study import replica_page

        write_page(page, replica_page.page(found))
    click.echo(json.dumps(view.plain(found), indent=1) if as_json else for_terminal(view.report_of(found)))
    raise SystemExit(verdict(found).exit_status)


def standing(files: tuple[str, ...], notes: bool) -> tuple[Inventory, Scenario, Live, Run | None]:
    """Return (inventory, scenario, live state, run) of one cluster. Raise ScenarioRefused.

    `cluster` returns the same inventory. The live state is what the files say about the running cluster. The run is the
    run of a scenario file; None for an export.
    """
    from hawb.exports.imported import ALL_KNOWN, import_files
    from hawb.exports.untrusted import ImportRefused
    from hawb.planning import inventory
    from hawb.scenario.load import read_scenario

    if len(files) == 1 and is_scenario(files[0]):
        scenario, run = play(Path(files[0]))
        return inventory.of_run(run), scenario, ALL_KNOWN, run
    found, _ = cluster(files, notes=notes)
    try:
        imported = import_files(files)
    except ImportRefused as refused:
        raise SystemExit(refuse(refused)) from None
    return found, refused_in(files[0], read_scenario, imported.scenario), imported.live, None
