"""The commands that turn a cluster into a scenario or into numbers: `hawb import` and `hawb watch`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hawb.cli.files import Destination, refuse, tell_notes, write_scenario
from hawb.cli.live import read_live
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.saving import Kind

if TYPE_CHECKING:
    from hawb.broker.imported import Imported


@click.command(name="import")
@click.argument("definitions")
@click.option("--queues", "listings", multiple=True, metavar="FILE", help="A listing of queues or nodes; repeatable.")
@click.option("-o", "--output", type=Destination(), help="The scenario to write, or -.")
@click.option("--numbers", type=Destination(Kind.NEW_FILE),
              help="A new file to write, or -: the numbers of this cluster for hawb study --numbers.")  # fmt: skip
@click.option("--queue", metavar="NAME",
              help="Whose rates and sizes --numbers takes, as VHOST::NAME.  [default: the busiest]")  # fmt: skip
def import_command(
    definitions: str, listings: tuple[str, ...], output: Path | None, numbers: Path | None, queue: str | None
) -> None:
    """Turn exported DEFINITIONS and listings into a scenario.

    The same files give numbers for studies.

    A file may be written VHOST=FILE where it does not say which virtual host it is about. What the files do not tell,
    and what a scenario cannot carry, is listed on standard error. Of numbers each says whether it was measured or is
    assumed: replace what you know better.
    """
    from hawb.broker.imported import import_cluster
    from hawb.broker.untrusted import ImportRefused

    if output is None and numbers is None:
        raise click.UsageError("Missing option '-o' / '--output', or '--numbers'.")
    if queue is not None and numbers is None:
        raise click.UsageError("Option '--queue' goes with '--numbers'.")
    if output == numbers:
        raise click.UsageError("Options '-o' / '--output' and '--numbers' are two files.")
    try:
        imported = None if output is None else import_cluster(definitions, listings)
        if numbers is not None:
            write_numbers(numbers, definitions, listings, queue)
        if imported is not None:
            write_imported(output, imported)
    except (ImportRefused, ScenarioRefused) as refused:
        raise SystemExit(refuse(refused)) from None


@click.command()
@click.option("--api", required=True, metavar="URL", help="Where its management listens, as http://HOST:15672.")
@click.option("-o", "--output", required=True, type=Destination(), help="The scenario to write, or -.")
def watch(api: str, output: Path) -> None:
    """Turn a running cluster, as it stands now, into a scenario.

    Policies, queues and nodes are read over its management HTTP API; nothing is written to it. The user, for whom the
    tag `monitoring` is enough, and the password are taken from HAWB_API_USER and HAWB_API_PASSWORD or asked for, and
    kept nowhere. What a scenario cannot carry is listed on standard error.
    """
    write_imported(output, read_live(api))


def write_numbers(file: Path, definitions: str, listings: Sequence[str], queue: str | None) -> None:
    """Begins a file of a cluster's numbers, which is not written over: somebody has gone on with it. Raises
    ImportRefused."""
    from hawb.study.measured import begin

    begun = begin(definitions, listings, queue)
    write_scenario(file, begun.text, replace=False)
    tell_notes(begun.notes)


def write_imported(output: Path, imported: Imported) -> None:
    """Writes an imported cluster as a scenario, and its notes to standard error. Raises ScenarioRefused."""
    from hawb.scenario.dump import dump
    from hawb.scenario.load import read_scenario

    write_scenario(output, dump(read_scenario(imported.scenario)))
    tell_notes(imported.notes)
