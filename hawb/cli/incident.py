"""The command that reads a cluster's own logs: `hawb incident`."""

from __future__ import annotations

import json
from datetime import tzinfo
from pathlib import Path

import click

from hawb.cli.files import refuse
from hawb.cli.formats import of_formats


def zone_asked(context: click.Context, option: click.Parameter, name: str) -> tzinfo:
    """The zone of a name. Raises BadParameter."""
    from hawb.incident.entries import zone_of

    try:
        return zone_of(name)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command()
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--zone", default="UTC", show_default=True, callback=zone_asked,
              help="The zone of times that have none, as those of RabbitMQ 3.8.")  # fmt: skip
@click.option("--clients", is_flag=True, help="Tell of clients too, with their users, names and addresses.")
@of_formats("text", "json", json="Events, clocks, and what no rule knows, as JSON")
def incident(logs: tuple[Path, ...], zone: tzinfo, clients: bool, form: str) -> None:
    """What happened, by the logs of a cluster's nodes?

    LOGS are files, and folders of them: RabbitMQ's own, as text or JSON, rotated or compressed; of containers and of
    journald. What they tell is put in the order of time, once the nodes' clocks have been compared by what several of
    them saw. Each event names the file and line of its message. Clients are not named unless asked for.
    """
    from hawb.incident.reading import read_logs
    from hawb.views.incident.timeline import plain, text
    from hawb.views.terminal import terminal

    try:
        reading = read_logs(logs, zone, clients)
    except OSError as error:
        raise SystemExit(refuse(f"{error.filename}: {error.strerror}")) from None
    if not reading.files:
        raise SystemExit(refuse(f"{logs[0]}: no log; accepted are files, and folders with files such as rabbit@a.log"))
    click.echo(json.dumps(plain(reading), sort_keys=True) if form == "json" else text(reading, clients, *terminal()))
