"""Play the trials of a study with progress bars, and estimate its answer (`hawb study`)."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hawb.cli.files import refuse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from hawb.study.numbers import Numbers
    from hawb.study.progress import Progress
    from hawb.study.question import Study


def estimated(
    spark: SparkSession, asked: Study, at_draws: Study | None, output: Path, own: Numbers | None, name: str,
    baseline: str, tables: Mapping[str, int | None], varied: Sequence[str] = (),
    rows_per_file: int | None = None,
) -> tuple[list[dict], Progress]:  # fmt: skip
    """Play a study; return its estimates, and how far its trials were at the end.

    `tables` has the further tables to write, each with its number of trials. hawb also plays the study with other
    values of the numbers at the paths `varied`; without them, at `sensitivity.DEFAULT` if that takes only seconds.
    Draws of `own` numbers widen the intervals. End the program if the study fails or a table is refused.
    """
    from hawb.study import sensitivity
    from hawb.study.comparisons import judged
    from hawb.study.estimates import compared
    from hawb.study.failures import StudyFailed
    from hawb.study.markov_chain import with_exact
    from hawb.study.own_draws import widened
    from hawb.study.pipeline import write_of_trials
    from hawb.study.quantiles import with_quantiles
    from hawb.study.question import in_columns
    from hawb.study.tables import TableRefused
    from hawb.views.study.study_report import JUDGED
    from hawb.views.verdicts.study import MEASURED

    try:
        trials, last = play_on(spark, asked, output, own, name, rows_per_file=rows_per_file)
        for table, count in tables.items():
            if count:
                write_of_trials(spark, asked, output, table, count, name)
        rows = compared(trials, baseline)
        if asked.control is not None:
            rows = with_control(spark, asked, trials, rows, output, own, name, baseline)
        if at_draws is not None:
            others, _ = play_on(spark, at_draws, output, own, name, "Trials at other rates")
            rows = widened(rows, compared(others, baseline, in_batches=True))
        rows = with_quantiles(rows, trials, MEASURED, in_columns(asked.objectives))
        for path in varied or [sensitivity.DEFAULT]:
            if len(asked.designs) > 1 and (count := sensitivity.trials_for(asked, path, bool(varied))):
                beside = output / sensitivity.FOLDER
                others, _ = play_on(spark, sensitivity.varied(asked, path, count), beside, own, name, f"Trials, {path}")
                rows = sensitivity.with_sensitivity(rows, compared(others, baseline), asked, path)
        rows = judged(with_exact(rows, asked), baseline, JUDGED, in_columns(asked.least_differences))
    except (StudyFailed, TableRefused) as refused:
        raise SystemExit(refuse(refused)) from None
    return rows, last


def with_control(
    spark: SparkSession, asked: Study, trials: DataFrame, rows: list[dict], output: Path, own: Numbers | None,
    name: str, baseline: str,
) -> list[dict]:  # fmt: skip
    """Return a study's estimates, with means from `hawb.study.controls`. Raise StudyFailed or TableRefused."""
    from hawb.study.controls import with_controls

    def play(controls: Study, folder: Path) -> DataFrame:
        return play_on(spark, controls, folder, own, name, "Trials of the control")[0]

    def show(trials: int, done: int) -> None:
        said = f"Trials that the control selected: {done:,} of {trials:,}"
        click.echo(f"\r{said}", err=True, nl=done == trials)

    priced = partial(with_own_price, asked, own)
    return with_controls(spark, asked, rows, trials, output, name, baseline, play, priced, show)


def with_own_price(asked: Study, own: Numbers | None, trials: DataFrame) -> DataFrame:
    """Return trials with a price if the `own` numbers have prices."""
    from hawb.study.prices import with_price

    return trials if own is None or own.prices is None else with_price(trials, asked, own.prices)


def play_on(
    spark: SparkSession, asked: Study, output: Path, own: Numbers | None, name: str, label: str = "Trials",
    rows_per_file: int | None = None,
) -> tuple[DataFrame, Progress]:  # fmt: skip
    """Play the trials of a study with a progress bar. Return the trials and the last progress.

    The tables have the trials under `name`. The trials have a price if the `own` numbers have prices. Raise StudyFailed
    or TableRefused.
    """
    from hawb.study.pipeline import run
    from hawb.views.study.study_report import rate

    with click.progressbar(
        length=asked.trials * len(asked.cells), label=label, show_eta=False, item_show_func=rate, file=sys.stderr
    ) as bar:
        trials = run(spark, asked, output, lambda now: bar.update(now.done - bar.pos, now), name,
                     rows_per_file=rows_per_file)  # fmt: skip
        return with_own_price(asked, own, trials), bar.current_item


def compacted(spark: SparkSession, output: Path, asked: Study, rows_per_file: int, name: str) -> None:
    """Rewrite a study's trials into fewer files. End the program if it fails or a table is refused."""
    from hawb.study.failures import StudyFailed
    from hawb.study.pipeline import compact
    from hawb.study.tables import TableRefused

    try:
        compact(spark, output, asked, rows_per_file, name)
    except (StudyFailed, TableRefused) as refused:
        raise SystemExit(refuse(refused)) from None
