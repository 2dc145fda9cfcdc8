"""The commands that start Spark: `hawb audit` and `hawb study`, and how others start it."""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hawb import process
from hawb.cli.extra import compile_first
from hawb.cli.files import refuse, write_scenario
from hawb.cli.formats import of_formats
from hawb.cli.pages import of_pages, write_page
from hawb.scenario.inputs import as_files, is_stream
from hawb.views.formatting import shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from hawb.study.numbers import Numbers
    from hawb.study.progress import Progress
    from hawb.study.question import Study
    from hawb.study.trial_rows import Slow

on_spark = click.option(
    "--master",
    default="local[*]",
    metavar="URL",
    show_default=True,
    envvar="HAWB_MASTER",
    show_envvar=True,
    help="The Spark that does it: this machine's own, any master, or a Spark Connect server (sc://HOST:PORT).",
)


@click.command()
@click.argument("paths", type=click.Path(path_type=Path), nargs=-1, required=True)
@of_pages
@click.option("--tables", type=click.Path(path_type=Path), help="A new folder for the tables of queues and clusters.")
@of_formats("text", "json", "prometheus", json="The summary as one JSON object", told="prometheus: gauges.")
@on_spark
def audit(paths: tuple[Path, ...], page: Path | None, tables: Path | None, form: str, master: str) -> None:
    """Find what is risky about the queues of many clusters.

    PATHS are definitions exports and queue listings, or folders of them (.json, .txt, and .yaml of operators). Files
    beside a definitions.json are one cluster, and so are files whose names agree up to the first dot. A file that
    cannot be read is listed and stops nothing. --tables writes tables of queues, clusters, findings and refused files,
    as Parquet.
    Exit status 2: nothing could be read.
    """
    from hawb.study.fleet import clusters

    paths, base = for_spark(paths)
    try:
        found = clusters(paths, base)
    except OSError as error:
        raise SystemExit(refuse(error)) from None
    if not found:
        raise SystemExit(refuse(f"{paths[0]}: no .json, no .txt and no operators' .yaml file in it"))
    with tempfile.TemporaryDirectory(prefix="audit-", dir=process.folder()) as aside, spark_session(master) as spark:
        from hawb.study import audit as room
        from hawb.study.failures import SparkFailed
        from hawb.views.study import audit as view
        from hawb.views.terminal import told

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
        from hawb.views.study.audit_metrics import gauges

        click.echo(exposition(gauges(summary)).encode(), nl=False)
    else:
        click.echo(json.dumps(view.plain(summary), indent=1) if form == "json" else told(view.report_of(summary)))
    raise SystemExit(0 if summary.clusters else 2)


def for_spark(paths: Sequence[Path]) -> tuple[Sequence[Path], Path]:
    """Return paths that other processes can open, and the folder at which relative ones begin: streams are copied into
    a folder that lasts as long as the command. Raise OSError."""
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
    """An option for a table that is also written."""
    return click.option(f"--{table}", type=click.IntRange(min=1), metavar="N",
                        help=f"Also write the {table} of the first N trials of each pair, a row each.")  # fmt: skip


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--output", type=click.Path(path_type=Path), required=True,
              help="The folder of its tables; a study that was stopped goes on there.")  # fmt: skip
@click.option("--numbers", type=click.Path(path_type=Path),
              help="A file of your own numbers, laid over every environment; hawb import begins one.")  # fmt: skip
@click.option("--baseline", metavar="DESIGN", help="The design that others are compared with.  [default: the first]")
@of_trials("faults")
@of_trials("losses")
@click.option("--keep", "to_keep", type=click.Path(path_type=Path),
              help="A file for the estimates and how they were made: data/studies/results/NAME.json.")  # fmt: skip
@click.option("--report", "page", type=click.Path(path_type=Path), help="Write the answer as one page, HTML.")
@click.option("--json", "as_json", is_flag=True, help="The estimates as a JSON array.")
@on_spark
def study(
    file: Path, output: Path, numbers: Path | None, baseline: str | None, faults: int | None, losses: int | None,
    to_keep: Path | None, page: Path | None, as_json: bool, master: str,
) -> None:  # fmt: skip
    """Play a study FILE and show each figure with its interval.

    Tables are kept in --output as Parquet: trials, a row each, and cells, the settings that they were played with
    (data/tables.md). Stop it whenever you like: nothing that is there is played again, and a file that asks for more,
    or for something else, adds to it. With --numbers the answer ends with what of it was measured and what is assumed;
    where numbers have draws, as those of hawb rates, intervals take in how well they are known.
    """
    process.note_when_stopped(process.GOES_ON)
    from hawb.study.numbers import settings
    from hawb.study.trial_rows import slow
    from hawb.views.study import study_report as view
    from hawb.views.terminal import told

    asked, own, at_draws = asked_with(file, numbers)
    if baseline is None:
        baseline = next(iter(asked.designs))
    elif baseline not in asked.designs:
        raise SystemExit(refuse(f"--baseline {baseline}: is none of {', '.join(asked.designs)}"))
    for one in slow(asked):
        click.echo(by_engine(one, asked.trials), err=True)
    if master.startswith("local"):
        compile_first(asked)
    with spark_session(master) as spark:
        from hawb.study.cells import label_of

        tables = {"faults": faults, "losses": losses}
        rows, last = estimated(spark, asked, at_draws, output, own, label_of(file), baseline, tables)
    if to_keep is not None:
        from hawb.study.kept import as_text

        laid = "" if numbers is None else f" --numbers {numbers}"
        command = f"hawb study {file} --output {output}{laid} --keep {to_keep}"
        write_scenario(to_keep, as_text(asked, command, rows, last.played, last.elapsed_s))
    laid_over = () if own is None else (*view.rates_part(rows), *view.origins(own.numbers, settings(asked, own)))
    currency = own and own.prices and own.prices.currency
    command = f"hawb study {file} --output {output}"
    found = view.report_of(asked.study, rows, baseline, currency, laid_over, command, asked.split_brains)
    if page is not None:
        write_page(page, view.page(found, rows))
    click.echo(json.dumps(rows, indent=1) if as_json else told(found))


def by_engine(one: Slow, trials: int) -> str:
    """What of a study the engine plays, how long that takes, and how many trials take a minute."""
    from hawb.views.formatting import left

    pairs = ", ".join(f"{design} in {environment}" for design, environment in one.pairs)
    few = one.trials_in_a_minute
    return (
        f"The engine plays {pairs}, since the kernel does not play {one.reason}. {trials:,} trials of each take it"
        f" about {left(trials * one.one_of_each_s)} on one core; with trials: {few} it takes"
        f" {left(few * one.one_of_each_s)}."
    )


def asked_with(file: Path, numbers: Path | None) -> tuple[Study, Numbers | None, Study | None]:
    """(a study with the numbers of a file laid over it, these numbers, the study in each of their draws). Raises
    ScenarioRefused, which names the file."""
    from hawb.study.load import load
    from hawb.study.numbers import lay_over, left_out
    from hawb.study.own_draws import drawn

    given = load(file)
    if numbers is None:
        return given, None, None
    asked, own = lay_over(given, numbers)
    if names := left_out(asked, own):
        told = f"{numbers}: left out, for it happens in no environment: {', '.join(names)}"
        click.echo(shown(told), err=True)
    return asked, own, drawn(given, own) if own.draws else None


def estimated(
    spark: SparkSession, asked: Study, at_draws: Study | None, output: Path, own: Numbers | None, name: str,
    baseline: str, tables: Mapping[str, int | None],
) -> tuple[list[dict], Progress]:  # fmt: skip
    """The estimates of a study, wider where there are draws of `own` numbers, and how far its trials were at the end;
    `tables` of so many trials are written, too. Ends the program where it is refused."""
    from hawb.study.estimates import compared
    from hawb.study.failures import StudyFailed
    from hawb.study.own_draws import widened
    from hawb.study.pipeline import write_of_trials
    from hawb.study.tables import TableRefused

    try:
        trials, last = play_on(spark, asked, output, own, name)
        for table, count in tables.items():
            if count:
                write_of_trials(spark, asked, output, table, count, name)
        rows = compared(trials, baseline)
        if at_draws is not None:
            others, _ = play_on(spark, at_draws, output, own, name, "Trials at other rates")
            rows = widened(rows, compared(others, baseline, in_batches=True))
    except (StudyFailed, TableRefused) as refused:
        raise SystemExit(refuse(refused)) from None
    return rows, last


def play_on(
    spark: SparkSession, asked: Study, output: Path, own: Numbers | None, name: str, label: str = "Trials"
) -> tuple[DataFrame, Progress]:
    """The trials of a study under its file's `name`, with their price if `own` numbers have prices, and how far they
    were at the end; a bar grows meanwhile. Raises StudyFailed and TableRefused."""
    from hawb.study.pipeline import run
    from hawb.study.prices import with_price
    from hawb.views.study.study_report import rate

    with click.progressbar(
        length=asked.trials * len(asked.cells), label=label, show_eta=False, item_show_func=rate, file=sys.stderr
    ) as bar:
        trials = run(spark, asked, output, lambda now: bar.update(now.done - bar.pos, now), name)
        priced = own is not None and own.prices is not None
        return with_price(trials, asked, own.prices) if priced else trials, bar.current_item


@contextlib.contextmanager
def spark_session(master: str) -> Iterator[SparkSession]:
    """A Spark session while a command runs. Ends the program where there is none to be had, or where Spark fails."""
    from hawb.study.failures import FAILURES, SparkFailed
    from hawb.study.java import JavaNotFoundError
    from hawb.study.spark import SparkRefused, session

    process.adopt_orphans()
    try:
        spark = session(master=master)
        process.listen_again()  # Spark has its own handler for SIGINT
        try:
            yield spark
        finally:
            spark.stop()
            process.end_children()
    except (JavaNotFoundError, SparkRefused) as error:
        raise SystemExit(refuse(error)) from None
    except FAILURES as error:
        raise SystemExit(refuse(SparkFailed(error))) from None
