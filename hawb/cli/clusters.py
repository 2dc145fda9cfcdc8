"""The commands that turn a cluster into a scenario: `hawb import` and `hawb watch`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hawb.cli.files import refuse, write_scenario
from hawb.scenario.refused import ScenarioRefused

if TYPE_CHECKING:
    from hawb.broker.imported import Imported


@click.command(name="import")
@click.argument("definitions")
@click.option("--queues", "listings", multiple=True, metavar="FILE", help="A listing of queues or nodes; repeatable.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The scenario to write, or -.")
def import_command(definitions: str, listings: tuple[str, ...], output: Path) -> None:
    """Turn a cluster's exported DEFINITIONS, and listings of its queues, into a scenario.

    A file may be written VHOST=FILE where it does not say which virtual host it is about. What the files do not tell,
    and what a scenario cannot carry, is listed on standard error.
    """
    from hawb.broker.imported import import_cluster
    from hawb.broker.untrusted import ImportRefused

    try:
        write_imported(output, import_cluster(definitions, listings))
    except (ImportRefused, ScenarioRefused) as refused:
        raise SystemExit(refuse(refused)) from None


@click.command()
@click.option("--api", required=True, metavar="URL", help="Where its management listens, as http://HOST:15672.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The scenario to write, or -.")
def watch(api: str, output: Path) -> None:
    """Turn a running cluster, as it stands now, into a scenario.

    Policies, queues and nodes are read over its management HTTP API; nothing is written to it. The user, for whom the
    tag `monitoring` is enough, and the password are taken from HAWB_API_USER and HAWB_API_PASSWORD or asked for, and
    kept nowhere. What a scenario cannot carry is listed on standard error.
    """
    from hawb.broker.untrusted import ImportRefused
    from hawb.broker.watch import ApiRefused, Login
    from hawb.broker.watch import watch as read_cluster

    user = os.environ.get("HAWB_API_USER") or click.prompt("user", err=True)
    password = os.environ.get("HAWB_API_PASSWORD") or click.prompt("password", hide_input=True, err=True)
    try:
        write_imported(output, read_cluster(api, Login(user, password)))
    except (ApiRefused, ImportRefused, ScenarioRefused) as refused:
        raise SystemExit(refuse(refused)) from None


def write_imported(output: Path, imported: Imported) -> None:
    """Writes an imported cluster as a scenario, and its notes to standard error. Raises ScenarioRefused."""
    from hawb.scenario.dump import dump
    from hawb.scenario.load import read_scenario

    write_scenario(output, dump(read_scenario(imported.scenario)))
    for note in imported.notes:
        click.echo(f"note: {note}", err=True)
