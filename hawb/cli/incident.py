"""The command that reads a cluster's own logs: `hawb incident`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from hawb.cli.files import Destination, Source, print_notes, refuse, write_scenario
from hawb.cli.formats import of_formats
from hawb.cli.pages import of_pages, write_page
from hawb.incident.files import Limits, pipes

if TYPE_CHECKING:
    from hawb.incident.asked import When
    from hawb.incident.reading import Reading
    from hawb.incident.understanding import Incident


UNPACKED = Limits()


def zone_asked(context: click.Context, option: click.Parameter, name: str) -> tzinfo:
    """Return the time zone with a name. Raise BadParameter."""
    from hawb.incident.entries import zone_of

    try:
        return zone_of(name)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def moment_asked(context: click.Context, option: click.Parameter, text: str | None) -> When | None:
    """Return the time in `--since` or `--until`; None without one. Raise BadParameter."""
    from hawb.incident.asked import when

    try:
        return None if text is None else when(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def of_unpacking(command: Callable) -> Callable:
    """Add the options that limit the size of unpacked logs to a command."""
    for name, accepted, help_text in (
        (
            "--unpacked-ratio",
            click.FloatRange(min=1),
            "Unpack each compressed log to at most N times its compressed size, or to 16 MB if that is more",
        ),
        (
            "--unpacked-mb",
            click.FloatRange(min=0),
            "Unpack all compressed logs of a cluster to at most N megabytes in total",
        ),
    ):
        default = getattr(UNPACKED, name[2:].replace("-", "_"))
        command = click.option(
            name, type=accepted, default=default, show_default=True, metavar="N", help=f"{help_text}."
        )(command)
    return command


@click.command()
@click.argument("files", nargs=-1, required=True, type=Source())
@click.option("--zone", default="UTC", show_default=True, callback=zone_asked,
              help="The time zone of log lines that do not name one, such as those of RabbitMQ 3.8.")  # fmt: skip
@click.option(
    "--after",
    multiple=True,
    type=Source(exists=True, dir_okay=False),
    help="A definitions export or listing that was taken after the incident, if those in FILES were taken before it."
    " Repeatable.",
)
@click.option(
    "--since",
    metavar="TIME",
    callback=moment_asked,
    help="The start of the incident: a date, a date with a time, or a time of day. If it names no time zone, --zone"
    " applies.",
)
@click.option("--until", metavar="TIME", callback=moment_asked,
              help="The end of the incident; a date means the end of that day.")  # fmt: skip
@of_pages
@click.option("--scenario", type=Destination(),
              help="Write the incident as a scenario, which you can change and play again; - prints it.")  # fmt: skip
@click.option("--events", is_flag=True, help="List every event in time order, without conclusions.")
@click.option(
    "--clients", is_flag=True, help="With --events: also list clients, with their users, names and addresses."
)
@of_unpacking
@of_formats("text", "json", json="Print what happened and what was lost, with all events, as JSON")
def incident(
    files: tuple[Path, ...], zone: tzinfo, after: tuple[Path, ...], since: When | None, until: When | None,
    page: Path | None, scenario: Path | None, events: bool, clients: bool, form: str,
    unpacked_mb: float, unpacked_ratio: float,
) -> None:  # fmt: skip
    """Reconstruct from the nodes' logs what happened and what was lost.

    FILES are logs, or folders of logs: RabbitMQ's log files (text or JSON, also rotated or compressed), or logs of
    containers or journald. Add a definitions export and queue listings if you have them; hawb recognises each file by
    its content. hawb finds out whether the export and the listings were taken before or after the incident. If some
    were taken before the incident and some after it, name the later ones with --after.

    hawb sorts the events of all logs by time, and describes each event in a sentence that cites the log lines. It then
    plays the events as a scenario, by RabbitMQ's rules, to find what was lost. The answer does not name clients.

    Exit status: 0, nothing is lost or broken; 1, something is lost or broken; 2, the input is refused; 3, cannot tell.
    With --events or `--scenario -`, hawb prints only the events or the scenario, and the exit status is 0.

    To examine one incident in months of logs, use --since and --until. hawb still reads all lines, because earlier
    lines show the cluster's state at the start of the incident.
    """
    if clients and not events:
        raise click.UsageError("--clients needs --events")
    logs, exports = parted(files)
    limits = Limits(unpacked_mb, unpacked_ratio)
    if events:
        click.echo(listed(logs, zone, since, until, clients, form, limits))
        return
    found = replace(understood(logs, exports, after, zone, since, until, limits), paths=tuple(map(str, logs)))
    raise SystemExit(answer(found, page, scenario, form))


def parted(files: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return the logs and the exports among files. End the program if a path does not exist or no file is a log."""
    from hawb.incident.exports import parted as by_content

    try:
        note_pipes(files)
        logs, exports = by_content(files)
    except OSError as error:
        raise SystemExit(refuse(f"{error.filename}: {error.strerror}")) from None
    if not logs:
        raise SystemExit(refuse(no_log(files[0])))
    return logs, exports


def note_pipes(given: Iterable[Path]) -> None:
    """Write a note for each pipe that hawb does not read because it is in a folder."""
    print_notes([f"{pipe}: pipes in a folder are not read; name the pipe itself" for pipe in pipes(given)])


def no_log(path: Path) -> str:
    """Return the refusal of a path without a log."""
    return f"{path}: no log found; accepted: log files, and folders with files such as rabbit@a.log"


def listed(
    logs: Sequence[Path], zone: tzinfo, since: When | None, until: When | None, clients: bool, form: str,
    limits: Limits,
) -> str:  # fmt: skip
    """Return the events between `since` and `until` as text or JSON."""
    from hawb.incident.asked import SpanRefused, asked
    from hawb.incident.reading import read_logs
    from hawb.views.incident.timeline import plain, text
    from hawb.views.terminal import terminal

    reading = read_logs(logs, zone, clients, limits)
    refuse_other_files(reading, logs)
    try:
        reading = asked(since, until, zone, reading).of(reading)
    except SpanRefused as refused:
        raise SystemExit(refuse(refused)) from None
    return json.dumps(plain(reading), sort_keys=True) if form == "json" else text(reading, clients, *terminal())


def understood(
    logs: Sequence[Path], exports: Sequence[Path], after: Sequence[Path], zone: tzinfo, since: When | None,
    until: When | None, limits: Limits,
) -> Incident:  # fmt: skip
    """Return the incident that logs and exports show between `since` and `until`. End the program if one is refused."""
    from hawb.exports.untrusted import ImportRefused
    from hawb.incident.asked import SpanRefused
    from hawb.incident.understanding import understand

    try:
        found = understand(logs, exports, zone, later=after, since=since, until=until, limits=limits)
    except (ImportRefused, SpanRefused) as refused:
        raise SystemExit(refuse(refused)) from None
    refuse_other_files(found.reading, logs)
    return found


def refuse_other_files(reading: Reading, logs: Sequence[Path]) -> None:
    """End with exit status 2 if none of the files is a RabbitMQ log."""
    from hawb.incident.not_logs import refusal

    if not reading.files:
        raise SystemExit(refuse(no_log(logs[0])))
    if reason := refusal(reading):
        raise SystemExit(refuse(reason))


def answer(found: Incident, page: Path | None, scenario: Path | None, form: str) -> int:
    """Write the page and the scenario, if they are asked for, and print the answer; return the exit status."""
    from hawb.scenario.dump import dump
    from hawb.views.incident import incident_report
    from hawb.views.incident.incident_json import plain
    from hawb.views.terminal import for_terminal
    from hawb.views.verdicts.incident import verdict

    account = incident_report.account(found)
    if page is not None:
        from hawb.views.incident import incident_page

        write_page(page, incident_page.page(account))
    if scenario is not None:
        if found.reconstructed is None:
            raise SystemExit(refuse(f"--scenario: there is no scenario to write: {found.no_scenario}"))
        write_scenario(scenario, dump(found.reconstructed.scenario))
        if str(scenario) == "-":
            return 0
    click.echo(json.dumps(plain(account), sort_keys=True) if form == "json"
               else for_terminal(incident_report.report_of(account)))  # fmt: skip
    return verdict(found, account.names).exit_status
