"""The commands that turn a cluster into a scenario or into numbers: `hawb import` and `hawb watch`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hawb.cli.files import Destination, print_notes, refuse, write_scenario
from hawb.cli.live import read_live
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.saving import Kind

if TYPE_CHECKING:
    from hawb.exports.imported import Imported


@click.command(name="import")
@click.argument("definitions")
@click.option(
    "--queues", "listings", multiple=True, metavar="FILE",
    help="A queue listing or node listing, such as rabbitmqctl list_queues prints. Repeatable.",
)
@click.option("-o", "--output", type=Destination(), help="Write the scenario to this file; - prints it.")
@click.option(
    "--numbers",
    type=Destination(Kind.NEW_FILE),
    help="Write this cluster's rates and sizes to a new file, for hawb study --numbers; - prints them.",
)
@click.option(
    "--queue",
    metavar="NAME",
    help="With --numbers: write the rates and sizes of this queue (VHOST::NAME).  [default: the busiest queue]",
)
def import_command(
    definitions: str, listings: tuple[str, ...], output: Path | None, numbers: Path | None, queue: str | None
) -> None:
    """Turn exported DEFINITIONS and listings into a scenario.

    With --numbers, hawb writes the rates and sizes that it finds in these files to a new file for hawb study. The new
    file says for each number whether it was measured or assumed. Replace each number for which you know a better value.

    If a file does not name its virtual host, give it as VHOST=FILE. Standard error lists the facts that the files lack,
    and the contents that a scenario cannot express.
    """
    from hawb.exports.imported import import_cluster
    from hawb.exports.untrusted import ImportRefused

    if output is None and numbers is None:
        raise click.UsageError("Give -o FILE, --numbers FILE, or both.")
    if queue is not None and numbers is None:
        raise click.UsageError("--queue needs --numbers.")
    if output == numbers:
        raise click.UsageError("-o and --numbers name the same file: name two different files.")
    try:
        imported = None if output is None else import_cluster(definitions, listings)
        if numbers is not None:
            write_numbers(numbers, definitions, listings, queue)
        if imported is not None:
            write_imported(output, imported)
    except (ImportRefused, ScenarioRefused) as refused:
        raise SystemExit(refuse(refused)) from None


@click.command()
@click.option(
    "--api", required=True, metavar="URL", help="The address of the management API, such as http://HOST:15672."
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=Destination(),
    help="Write the scenario to this file; - prints it.",
)
def watch(api: str, output: Path) -> None:
    """Turn the current state of a running cluster into a scenario.

    hawb reads policies, queues and nodes over the management HTTP API, and changes nothing in the cluster. The
    environment variables HAWB_API_USER and HAWB_API_PASSWORD contain the user and the password. If one is not set,
    hawb asks for it. hawb stores neither the user nor the password. The user needs the tag `monitoring`. Standard error
    lists the parts of the cluster that a scenario cannot express.
    """
    write_imported(output, read_live(api))


def write_numbers(file: Path, definitions: str, listings: Sequence[str], queue: str | None) -> None:
    """Write a cluster's numbers to a new file, and notes to standard error. Raise ImportRefused.

    An existing file is never overwritten: its user may have edited it.
    """
    from hawb.study.measured import begin

    begun = begin(definitions, listings, queue)
    write_scenario(file, begun.text, replace=False)
    print_notes(begun.notes)


def write_imported(output: Path, imported: Imported) -> None:
    """Write an imported cluster as a scenario, and its notes to standard error. Raise ScenarioRefused."""
    from hawb.scenario.dump import dump
    from hawb.scenario.load import read_scenario

    write_scenario(output, dump(read_scenario(imported.scenario)))
    print_notes(imported.notes)
