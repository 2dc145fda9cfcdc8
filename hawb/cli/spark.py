"""The commands that always use Spark, `hawb audit` and `hawb study`, and the Spark session of the others."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hawb import process
from hawb.cli.extra import compile_first
from hawb.cli.files import Destination, Source, refuse, write_scenario
from hawb.cli.formats import of_formats
from hawb.cli.pages import of_pages, write_page
from hawb.scenario.inputs import as_files, is_stream
from hawb.scenario.saving import Kind
from hawb.views.formatting import shown

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hawb.study.numbers import Numbers
    from hawb.study.question import Study
    from hawb.study.trial_rows import Slow

on_master = click.option(
    "--master",
    default="local[*]",
    metavar="URL",
    show_default=True,
    envvar="HAWB_MASTER",
    show_envvar=True,
    help="The address of Spark: local, the URL of a Spark master, or a Spark Connect server (sc://HOST:PORT).",
)

_SETTING = re.compile(r"(spark\.[A-Za-z0-9_.-]+)=([^\x00-\x1f\x7f]*)\Z")
_TAKEN = {
    "spark.master": "use --master",
    "spark.submit.deployMode": "the driver is this process",
    "spark.sql.session.timeZone": "hawb's times are in UTC",
}
"""Settings that cannot be changed, and why."""


def settings_of(_context: click.Context, _option: click.Parameter, given: Iterable[str]) -> dict[str, str]:
    """Return settings of Spark, each given as KEY=VALUE.

    Raise BadParameter, which names the key but never the value, because the value may be a password or a token.
    """
    found: dict[str, str] = {}
    for place, setting in enumerate(given, 1):
        match = _SETTING.match(setting)
        if match is None:
            raise click.BadParameter(f"number {place} is not KEY=VALUE; accepted: keys that begin with spark.")
        key, value = match.groups()
        if key in _TAKEN:
            raise click.BadParameter(f"{key}: you cannot set this: {_TAKEN[key]}")
        if key in found:
            raise click.BadParameter(f"{key}: is set twice")
        found[key] = value
    return found


with_settings = click.option(
    "--conf", "settings", metavar="KEY=VALUE", multiple=True, callback=settings_of,
    help="A Spark setting, as for spark-submit. Repeatable. Put secrets into SPARK_CONF_DIR instead.",
)  # fmt: skip


def on_spark(command: Callable) -> Callable:
    """Add `--master` and `--conf` to a command."""
    return on_master(with_settings(command))


class Tables(Destination):
    """The type of a parameter that names a folder on a local or shared disk; Spark's other file systems are refused."""

    name = "directory"

    def convert(self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path, also of `file:///…`."""
        from hawb.study.folders import local_folder

        try:
            return local_folder(value)
        except ValueError as refused:
            self.fail(shown(str(refused)), param, ctx)


ROWS_PER_FILE = 1_000_000
"""Rows in each file that `--compact` writes, unless `--rows-per-file` gives another number."""


@click.command()
@click.argument("paths", type=Source(), nargs=-1, required=True)
@of_pages
@click.option("--tables", type=Tables(Kind.NEW_FOLDER), help="Write the tables into this new folder.")
@of_formats("text", "json", "prometheus", json="Print the summary as one JSON object", help_text="prometheus: gauges.")
@on_spark
def audit(
    paths: tuple[Path, ...], page: Path | None, tables: Path | None, form: str, master: str,
    settings: Mapping[str, str],
) -> None:  # fmt: skip
    """Find queues at risk in many clusters.

    PATHS are exported definitions and queue listings (.json, .txt), YAML resources of Kubernetes operators (.yaml), or
    folders of these. All files in the folder of a definitions.json belong to one cluster. So do files whose names are
    the same up to the first dot. If hawb cannot read a file, it lists that file and audits the rest. --tables writes
    Parquet tables of queues, clusters, findings and refused files.

    Exit status: 0, the clusters were audited, whatever the findings are; 2, no file could be read.
    """
    from hawb.study.fleet import clusters

    paths, base = for_spark(paths)
    try:
        found = clusters(paths, base)
    except OSError as error:
        raise SystemExit(refuse(error)) from None
    if not found:
        raise SystemExit(refuse(f"{paths[0]}: no .json, .txt or operator's .yaml file found"))
    made = tempfile.TemporaryDirectory(prefix="audit-", dir=process.folder())
    with made as aside, spark_session(master, settings) as spark:
        from hawb.study import audit as room
        from hawb.study.failures import SparkFailed
        from hawb.views.study import audit as view
        from hawb.views.terminal import for_terminal

        folder = tables or Path(aside, "audit")
        try:
            room.audit(spark, paths, folder, base=base.absolute())
            summary = room.summary(spark, folder)
        except SparkFailed as failed:
            raise SystemExit(refuse(failed)) from None
    if page is not None:
        write_page(page, view.page(summary))
    if form == "prometheus":
        from hawb.views.prometheus import exposition
        from hawb.views.study.audit import gauges

        click.echo(exposition(gauges(summary)).encode(), nl=False)
    else:
        as_json = form == "json"
        click.echo(json.dumps(view.plain(summary), indent=1) if as_json else for_terminal(view.report_of(summary)))
    raise SystemExit(0 if summary.clusters else 2)


def for_spark(paths: Sequence[Path]) -> tuple[Sequence[Path], Path]:
    """Return paths that other processes can open, and the folder that relative paths are relative to.

    Streams are copied into a folder that is removed when the command ends. Raise OSError.
    """
    if not any(map(is_stream, paths)):
        return paths, Path()
    aside = Path(click.get_current_context().with_resource(tempfile.TemporaryDirectory(prefix="hawb-streams-")))
    files = as_files(paths, aside)
    return [file.relative_to(aside) if file.is_relative_to(aside) else file.absolute() for file in files], aside


def on_disk(files: Sequence[Path]) -> list[Path]:
    """Return files that other processes can open. Raise OSError."""
    files, base = for_spark(files)
    return [base / file for file in files]


def of_trials(table: str) -> Callable:
    """Return the option that makes a study also write a table of its trials."""
    return click.option(f"--{table}", type=click.IntRange(min=1), metavar="N", help=f"Also write the {table} of the"
                        " first N trials of each design and environment.")  # fmt: skip


@click.command()
@click.argument("file", type=Source())
@click.option("--output", type=Tables(Kind.FOLDER), required=True,
              help="The folder for the study's tables. To continue a study that was stopped, give the same folder"
                   " again.")  # fmt: skip
@click.option(
    "--numbers",
    type=Source(),
    help="Use the numbers in this file in every environment. hawb import and hawb rates write such a file.",
)
@click.option("--baseline", metavar="DESIGN", help="Compare the other designs with this one.  [default: the first]")
@click.option("--vary", "varied", metavar="PATH", multiple=True,
              help="Also run the study with half and with twice the number at this path, such as timing.election_s."
                   " Repeatable.")  # fmt: skip
@click.option("--rows-per-file", type=click.IntRange(1, 10**7), metavar="N",
              help="How many trials a task simulates and writes to one file.  [default: depends on their cost, at most"
                   " 25,000]")  # fmt: skip
@click.option("--compact", is_flag=True,
              help="At the end, merge many small files into fewer: each has at most 1,000,000 rows, or as many as"
                   " --rows-per-file says.")  # fmt: skip
@of_trials("faults")
@of_trials("losses")
@click.option(
    "--keep",
    "to_keep",
    type=Destination(),
    help="Write the estimates, and how they were made, to this file, such as data/studies/results/NAME.json.",
)
@click.option("-o", "--report", "page", metavar="PAGE", type=Destination(), help="Write the answer as an HTML page.")
@click.option("--json", "as_json", is_flag=True, help="Print the estimates as a JSON array.")
@on_spark
def study(
    file: Path, output: Path, numbers: Path | None, baseline: str | None, varied: tuple[str, ...],
    rows_per_file: int | None, compact: bool, faults: int | None, losses: int | None,
    to_keep: Path | None, page: Path | None, as_json: bool, master: str, settings: Mapping[str, str],
) -> None:  # fmt: skip
    """Run the study in FILE and show each figure with its interval.

    hawb keeps the trials and their settings in the folder given with --output, as Parquet tables that data/tables.md
    describes. You can stop a study at any time. The next run simulates only the trials that are missing, even if FILE
    has changed.

    With --numbers, the answer ends with two tables: the inputs that were measured, and the inputs that are assumed. A
    file that hawb rates wrote also contains draws: sets of rates that all fit the logs. With draws, the intervals
    include the uncertainty of the rates.

    Exit status: 0, the study was completed, whatever its answer; 2, the input is refused.
    """
    process.note_when_stopped(process.GOES_ON)
    from hawb.study.numbers import settings as numbers_of
    from hawb.study.sensitivity import check_path
    from hawb.study.trial_rows import slow
    from hawb.views.study import study_report as view
    from hawb.views.terminal import for_terminal

    asked, own, at_draws = asked_with(file, numbers)
    if baseline is None:
        baseline = next(iter(asked.designs))
    elif baseline not in asked.designs:
        raise SystemExit(
            refuse(f"--baseline: {baseline!r} is not a design of the study; accepted: {', '.join(asked.designs)}")
        )
    for path in varied:
        try:
            check_path(asked, path)
        except ValueError as error:
            raise SystemExit(refuse(f"--vary {shown(str(error))}")) from None
    for one in slow(asked):
        click.echo(by_engine(one, asked.trials + (asked.control.pairs if asked.control else 0)), err=True)
    if master.startswith("local"):
        compile_first(asked)
    with spark_session(master, settings) as spark:
        from hawb.cli.trials import compacted, estimated
        from hawb.study.cells import label_of

        tables = {"faults": faults, "losses": losses}
        rows, last = estimated(spark, asked, at_draws, output, own, label_of(file), baseline, tables, varied,
                               rows_per_file)  # fmt: skip
        if compact:
            compacted(spark, output, asked, rows_per_file or ROWS_PER_FILE, label_of(file))
    if to_keep is not None:
        from hawb.study.kept import as_text

        laid = "" if numbers is None else f" --numbers {numbers}"
        command = f"hawb study {file} --output {output}{laid} --keep {to_keep}"
        write_scenario(to_keep, as_text(asked, command, rows, last.played, last.elapsed_s, baseline))
    laid_over = () if own is None else (*view.rates_part(rows), *view.origins(own.numbers, numbers_of(asked, own)))
    currency = own and own.prices and own.prices.currency
    command = f"hawb study {file} --output {output}"
    found = view.report_of(asked.study, rows, baseline, currency, laid_over, command, asked.split_brains,
                           view.defaults(asked))  # fmt: skip
    if page is not None:
        write_page(page, view.page(found, rows))
    click.echo(json.dumps(rows, indent=1) if as_json else for_terminal(found))


def by_engine(one: Slow, trials: int) -> str:
    """Return a sentence that says which pairs the engine plays, why, and how long that takes."""
    from hawb.views.formatting import left

    pairs = ", ".join(f"{design} in {environment}" for design, environment in one.pairs)
    few = one.trials_in_a_minute
    return (
        f"The compiled kernel does not support {one.reason}, so the slower engine simulates {pairs}. {trials:,} trials"
        f" of each take about {left(trials * one.one_of_each_s)} on one core, and `trials: {few}` takes about"
        f" {left(few * one.one_of_each_s)}."
    )


def asked_with(file: Path, numbers: Path | None) -> tuple[Study, Numbers | None, Study | None]:
    """Return (the study with the numbers of a file, these numbers, the study with each draw of the numbers).

    The last is None if the numbers have no draws. Raise ScenarioRefused, which names the file.
    """
    from hawb.study.load import load
    from hawb.study.numbers import lay_over, left_out
    from hawb.study.own_draws import drawn

    given = load(file)
    if numbers is None:
        return given, None, None
    asked, own = lay_over(given, numbers)
    if names := left_out(asked, own):
        unused = f"{numbers}: not used, because no environment of the study has it: {', '.join(names)}"
        click.echo(shown(unused), err=True)
    return asked, own, drawn(given, own) if own.draws else None


@contextlib.contextmanager
def spark_session(master: str, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Open a Spark session for a command; standard error names each executor that is lost.

    End the program if the session cannot be opened or Spark fails.
    """
    from hawb.study.executors import reporting_executors
    from hawb.study.failures import FAILURES, SparkFailed
    from hawb.study.java import JavaNotFoundError
    from hawb.study.spark import SparkRefused, session

    process.adopt_orphans()
    try:
        spark = session(master=master, **settings)
        try:
            with reporting_executors(spark, lambda line: click.echo(f"\n{shown(line)}", err=True)):
                yield spark
        finally:
            spark.stop()
            process.end_children()
    except (JavaNotFoundError, SparkRefused) as error:
        raise SystemExit(refuse(error)) from None
    except FAILURES as error:
        raise SystemExit(refuse(SparkFailed(error))) from None
