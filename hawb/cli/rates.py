"""The command that measures how often clusters fail: `hawb rates`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hawb.cli.files import STDIN, Destination, Source, refuse, write_scenario
from hawb.cli.formats import of_formats
from hawb.cli.incident import moment_asked, note_pipes, of_unpacking, zone_asked
from hawb.cli.pages import of_pages, write_page
from hawb.cli.spark import on_disk, spark_session, with_settings
from hawb.incident.files import Limits
from hawb.scenario.saving import Kind

if TYPE_CHECKING:
    from hawb.incident.asked import Asked, When
    from hawb.incident.fleets import Fleet


@click.command()
@click.argument("logs", nargs=-1, required=True, type=Source())
@click.option("--zone", default="UTC", show_default=True, callback=zone_asked,
              help="The time zone of log lines that do not name one, such as those of RabbitMQ 3.8.")  # fmt: skip
@click.option(
    "--since",
    metavar="TIME",
    callback=moment_asked,
    help="The start of the period: a date, or a date with a time. If it names no time zone, --zone applies.",
)
@click.option("--until", metavar="TIME", callback=moment_asked,
              help="The end of the period; a date means the end of that day.")  # fmt: skip
@click.option("--numbers", type=Destination(Kind.NEW_FILE),
              help="Write the rates to a new file, for hawb study --numbers; - prints them.")  # fmt: skip
@of_unpacking
@of_pages
@of_formats("text", "json", json="Print rates, shares and numbers as one JSON object")
@click.option(
    "--master", metavar="URL", help="Read the logs on the Spark cluster at this address.  [default: in this process]"
)
@with_settings
def rates(
    logs: tuple[Path, ...], zone: tzinfo, since: When | None, until: When | None, numbers: Path | None,
    page: Path | None, form: str, master: str | None, settings: Mapping[str, str],
    unpacked_mb: float, unpacked_ratio: float,
) -> None:  # fmt: skip
    """Measure from logs how often nodes fail and how long they are down.

    LOGS are folders. A folder that contains log files is one cluster. In a folder without log files, each subfolder is
    one cluster. If you name log files instead of folders, hawb reads them as the logs of one cluster.

    Each rate has a 95 % interval. If an outage has not ended when the logs end, hawb counts its length up to the end of
    the logs. If several nodes fail at once, for example with their rack, hawb reports these failures separately.

    --numbers writes the rates to a file for other commands. The intervals that these commands give then include the
    uncertainty of the rates. --since and --until limit the measurement to a period, such as the time since an upgrade.

    Exit status: 0, the logs were read, whatever the rates are; 2, the input is refused.
    """
    from hawb.incident.asked import SpanRefused, asked
    from hawb.incident.fleets import clusters
    from hawb.incident.own_numbers import own_numbers
    from hawb.incident.rates import rates as rates_of
    from hawb.scenario.dump import dump
    from hawb.views.incident import rates_report as view
    from hawb.views.incident.times import between
    from hawb.views.terminal import for_terminal

    try:
        note_pipes(logs)
        files = clusters(logs)
        if not files:
            raise SystemExit(refuse(f"{logs[0]}: no log found; accepted: folders with files such as rabbit@a.log"))
        span = asked(since, until, zone)
        fleet = read(files, zone, master, settings, span, Limits(unpacked_mb, unpacked_ratio))
        if not fleet.spans and fleet.refused:
            raise SystemExit(refuse("{}: could not be read to the end: {}".format(*fleet.refused[0])))
        found = rates_of(fleet.spans)
    except OSError as error:
        raise SystemExit(refuse(f"{error.filename}: {error.strerror}")) from None
    except SpanRefused as refused:
        raise SystemExit(refuse(refused)) from None
    except ValueError as error:
        raise SystemExit(refuse(f"{logs[0]}: {error}")) from None
    title = f"the logs of {', '.join(str(one) for one in logs[:3])}{', …' if len(logs) > 3 else ''}{between(span)}"
    own = own_numbers(found, title)
    if numbers is not None:
        write_scenario(numbers, dump(own), replace=False)
    own_file = None if numbers is None or str(numbers) == STDIN else str(numbers)
    answer = view.report_of(title, found, fleet, own_file, tuple(map(str, logs)), study_file())
    if page is not None:
        from hawb.views.incident import rates_page

        write_page(page, rates_page.page(answer, found))
    if form == "json":
        click.echo(json.dumps(view.plain(found, fleet, own), sort_keys=True))
    elif numbers is None or str(numbers) != STDIN:
        click.echo(for_terminal(answer))


def study_file() -> str:
    """Return the path of a study to use the numbers with: relative, if the current folder has hawb's data."""
    from hawb.scenario.checkout import data_folder_for
    from hawb.views.incident.rates_report import STUDY

    return STUDY if Path(STUDY).exists() else str(data_folder_for(STUDY).parent / STUDY)


def read(
    files: dict[str, list[Path]], zone: tzinfo, master: str | None, settings: Mapping[str, str], span: Asked,
    limits: Limits,
) -> Fleet:  # fmt: skip
    """Return when the nodes of each cluster ran, within a period; read in this process or on Spark. Raise OSError."""
    from hawb.incident.fleets import Fleet, collected, read_fleet, spans_on

    if master is None:
        with click.progressbar(length=len(files), label="Clusters", file=sys.stderr) as bar:
            return read_fleet(files, zone, lambda _: bar.update(1), span, limits)
    with spark_session(master, settings) as spark:
        on_disks = {name: on_disk(logs) for name, logs in files.items()}
        found = collected(spans_on(spark, on_disks, str(zone), span, limits))
    return Fleet(found, sum(map(len, files.values())), [])
