"""How commands read scenarios and write them, and how they end when their input is refused: why on standard error, and
exit status 2."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from errno import ENOSPC
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hawb.cli.console import make_legible
from hawb.rules.patterns import Budget, TooSlow
from hawb.scenario.document import Scenario
from hawb.scenario.load import load
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.run import Run
from hawb.scenario.saving import write
from hawb.views.formatting import one_line, shown

if TYPE_CHECKING:
    from hawb.broker.imported import Live

STDIN = "-"
Done = TypeVar("Done")


class Refusing(click.Group):
    """Commands that end with a message on standard error and exit status 2 when their input is refused, or when there
    is no room for what they write."""

    def main(self, *arguments: Any, **settings: Any) -> Any:
        make_legible()
        return super().main(*arguments, **settings)

    def invoke(self, ctx: click.Context) -> object:
        try:
            with Budget().in_force():
                return super().invoke(ctx)
        except (ScenarioRefused, TooSlow) as refused:
            ctx.exit(refuse(refused))
        except OSError as error:
            if error.errno != ENOSPC:
                raise
            if error.filename is None:
                drop_the_rest()
            ctx.exit(refuse(f"{error.filename or 'standard output'}: {error.strerror}"))


def drop_the_rest() -> None:
    """Drops the rest of standard output: Python would try to write it again at its end, and report the failure."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def refuse(reason: object) -> int:
    """Writes why input is refused; returns the exit status for it."""
    click.echo(str(reason), err=True)
    return 2


def verdict(file: Path, title: str, differences: Sequence[object]) -> int:
    """Writes a file's line, and below it the differences; returns the exit status for it. A title may hold anything."""
    click.echo(f"{'differs' if differences else 'ok     '}  {shown(file)}: {shown(one_line(title))}")
    for difference in differences:
        click.echo(f"         {difference}")
    return 1 if differences else 0


def read(file: Path) -> Scenario:
    """Return the scenario of a file, or of standard input. Raise ScenarioRefused, which names the file and, if it holds
    no scenario, the command for what it holds."""
    if str(file) == STDIN:
        return load(sys.stdin.buffer.read(), "standard input")
    try:
        return load(file)
    except ScenarioRefused as refused:
        from hawb.cli.other_files import instead

        raise instead(refused, file) from None


def is_scenario(file: str) -> bool:
    """Whether a file is a scenario by its name, and holds no resources of Kubernetes' operators, which are read as an
    export is."""
    from hawb.broker.resources import SUFFIXES, manifests

    return file == STDIN or (file.endswith(SUFFIXES) and not manifests(Path(file)))


def cluster_of(files: Sequence[str]) -> tuple[Scenario, Sequence[str], Live]:
    """The scenario of a file, or of a definitions export and listings, notes on what these do not tell, and what they
    tell of the cluster as it runs. Raises ScenarioRefused."""
    from hawb.broker.imported import Live, imported_of
    from hawb.broker.untrusted import ImportRefused
    from hawb.scenario.load import read_scenario

    if any(map(is_scenario, files)):
        if len(files) > 1:
            raise SystemExit(refuse(f"{files[1]}: one scenario, or an export and listings, not both"))
        return read(Path(files[0])), (), Live()
    try:
        imported = imported_of(files)
    except ImportRefused as refused:
        raise SystemExit(refuse(refused)) from None
    return read_scenario(imported.scenario), imported.notes, imported.live


def tell_notes(notes: Sequence[str]) -> None:
    """Writes notes to standard error, for answers that do not end with them."""
    for note in notes:
        click.echo(f"note: {note}", err=True)


def play(file: Path) -> tuple[Scenario, Run]:
    """A scenario file and its run. Raises ScenarioRefused, which names the file."""
    scenario = read(file)
    return scenario, refused_in(file, Run.of, scenario)


def refused_in(file: str | Path, work: Callable[..., Done], *arguments: object) -> Done:
    """Does some work with a file's scenario; returns its result. Raises ScenarioRefused, which names the file."""
    try:
        return work(*arguments)
    except ScenarioRefused as refused:
        refused.file = str(file)
        raise


of_reports = click.option(
    "--report", type=click.Path(path_type=Path, dir_okay=False), help="The answer as one page, HTML."
)
"""The option of commands whose -o is something else."""


def write_scenario(output: Path, text: str, replace: bool = True) -> None:
    """Writes a scenario, or another text, to a file or to standard output; over another file only if told so."""
    if str(output) == STDIN:
        click.echo(text.encode(), nl=False)  # a file's bytes, whatever a console can show
        return
    try:
        write(output, text, replace)
    except OSError as error:
        raise SystemExit(refuse(f"{output}: the file cannot be written: {error.strerror}")) from None
