"""The command that reads a cluster's own logs: `hawb incident`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hawb.cli.files import refuse, write_scenario
from hawb.cli.formats import of_formats

if TYPE_CHECKING:
    from hawb.incident.understanding import Incident


def zone_asked(context: click.Context, option: click.Parameter, name: str) -> tzinfo:
    """The zone of a name. Raises BadParameter."""
    from hawb.incident.entries import zone_of

    try:
        return zone_of(name)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--zone", default="UTC", show_default=True, callback=zone_asked,
              help="The zone of times that have none, as those of RabbitMQ 3.8.")  # fmt: skip
@click.option("--after", multiple=True, type=click.Path(path_type=Path, exists=True, dir_okay=False),
              help="An export of after the incident, where FILES has those of before; repeatable.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="The file for a report, HTML.")
@click.option("--scenario", type=click.Path(path_type=Path, dir_okay=False),
              help="The file for the story as a scenario, to be played and changed; - prints it.")  # fmt: skip
@click.option("--events", is_flag=True, help="Every event in the order of time, in place of what they come to.")
@click.option("--clients", is_flag=True, help="With --events: clients too, with their users, names and addresses.")
@of_formats("text", "json", json="What happened and what came of it, with all events, as JSON")
def incident(
    files: tuple[Path, ...], zone: tzinfo, after: tuple[Path, ...], output: Path | None, scenario: Path | None,
    events: bool, clients: bool, form: str,
) -> None:  # fmt: skip
    """What happened, and what was lost, by the logs of a cluster's nodes?

    FILES are logs, and folders of them: RabbitMQ's own, as text or JSON, rotated or compressed; of containers and of
    journald. Beside them, if there are any: a definitions export of the cluster and listings of its queues, which are
    known by what they hold. Whether they are of before the incident or of after it is found out; where there are both,
    --after has those of after it. What the logs tell is put in the order of time, told in sentences that name their
    lines, and played as a scenario by RabbitMQ's rules: what is lost follows from that. Clients are not named.
    """
    if clients and not events:
        raise click.UsageError("--clients goes with --events")
    logs, exports = parted(files)
    if events:
        click.echo(listed(logs, zone, clients, form))
        return
    found = understood(logs, exports, after, zone)
    answer(found, output, scenario, form)


def parted(files: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The logs and the exports among files. A path that is not there is refused."""
    from hawb.incident.exports import parted as by_content

    try:
        logs, exports = by_content(files)
    except OSError as error:
        raise SystemExit(refuse(f"{error.filename}: {error.strerror}")) from None
    if not logs:
        raise SystemExit(refuse(no_log(files[0])))
    return logs, exports


def no_log(path: Path) -> str:
    """The refusal where there is no log."""
    return f"{path}: no log; accepted are files, and folders with files such as rabbit@a.log"


def listed(logs: Sequence[Path], zone: tzinfo, clients: bool, form: str) -> str:
    """The events as text or JSON."""
    from hawb.incident.reading import read_logs
    from hawb.views.incident.timeline import plain, text
    from hawb.views.terminal import terminal

    reading = read_logs(logs, zone, clients)
    if not reading.files:
        raise SystemExit(refuse(no_log(logs[0])))
    return json.dumps(plain(reading), sort_keys=True) if form == "json" else text(reading, clients, *terminal())


def understood(logs: Sequence[Path], exports: Sequence[Path], after: Sequence[Path], zone: tzinfo) -> Incident:
    """What logs and exports come to."""
    from hawb.broker.untrusted import ImportRefused
    from hawb.incident.understanding import understand

    try:
        found = understand(logs, exports, zone, later=after)
    except ImportRefused as refused:
        raise SystemExit(refuse(refused)) from None
    if not found.reading.files:
        raise SystemExit(refuse(no_log(logs[0])))
    return found


def answer(found: Incident, output: Path | None, scenario: Path | None, form: str) -> None:
    """Writes the page and the scenario, if they are asked for, and the answer in its form."""
    from hawb.scenario.dump import dump
    from hawb.views.incident import incident_report
    from hawb.views.incident.incident_json import plain
    from hawb.views.terminal import told

    account = incident_report.account(found)
    if output is not None:
        from hawb.views.incident.incident_page import page

        write_scenario(output, page(account))
    if scenario is not None:
        if found.retold is None:
            raise SystemExit(refuse(f"--scenario: there is none: {found.untold}"))
        write_scenario(scenario, dump(found.retold.scenario))
        if str(scenario) == "-":
            return
    click.echo(json.dumps(plain(account), sort_keys=True) if form == "json"
               else told(incident_report.report_of(account)))  # fmt: skip
