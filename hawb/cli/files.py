"""Read scenarios and write files for commands.

If a command refuses its input, it writes the reason to standard error and ends with exit status 2. hawb writes a
command's files once the answer is printed: all of the files, or none.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hawb import process
from hawb.cli.console import make_legible, open_closed_streams
from hawb.cli.exits import name_of, of_fault, refuse
from hawb.rules.patterns import Budget, TooSlow
from hawb.scenario.document import Scenario
from hawb.scenario.inputs import STDIN, is_stream, read_once
from hawb.scenario.load import load
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.run import Run
from hawb.scenario.saving import Kind, Outputs
from hawb.scenario.size import are_limited
from hawb.views.formatting import one_line, shown

if TYPE_CHECKING:
    from hawb.exports.imported import Live

Done = TypeVar("Done")


OUTPUTS = "hawb.outputs"
"""Key in a command's context: the files to write once its answer is printed."""
SAID = "hawb.said"
"""Key in a command's context: the lines for standard error once these files are written."""
WRITTEN = (None, 0, 1, 3)
"""The exit statuses with which hawb writes the files. With any other status, all files stay as they were."""
FEWER_SEARCHES = 20_000
"""The number of new objects after which Python looks for unused ones that refer to each other.

A run makes many objects, but hardly any that refer to each other. Python's default of 700 would therefore make it look
often and find nothing.
"""


class Source(click.Path):
    """The type of a parameter that names a file or folder to read."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(path_type=Path, **settings)


class Destination(click.Path):
    """The type of a parameter that names a file or folder to write.

    `hawb.cli.destinations` checks it before the command starts.
    """

    def __init__(self, kind: Kind = Kind.FILE) -> None:
        super().__init__(path_type=Path)
        self.kind = kind


class Refusing(click.Group):
    """A group of commands, each of which writes all of its files or none.

    If a command refuses its input or cannot write a file, it ends with a message on standard error and exit status 2.
    """

    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        """Play the command line of this process; a signal ends it."""
        gc.set_threshold(FEWER_SEARCHES)
        with process.listening():
            return self.main(*arguments, **settings)

    def main(self, *arguments: Any, **settings: Any) -> Any:
        """Play a command line, and turn any exception into an exit status."""
        open_closed_streams()
        make_legible()
        try:
            with read_once():
                return super().main(*arguments, **settings)
        except Exception as fault:
            sys.exit(of_fault(fault))

    def invoke(self, ctx: click.Context) -> object:
        """Run the command, then write its files."""
        outputs = ctx.meta[OUTPUTS] = Outputs()
        try:
            with Budget().in_force():
                found = super().invoke(ctx)
        except KeyboardInterrupt:
            process.interrupted()
            raise
        except (ScenarioRefused, TooSlow) as refused:
            ctx.exit(refuse(refused))
        except SystemExit as ended:
            if ended.code in WRITTEN:
                place(outputs)
            raise
        except BrokenPipeError:  # the reader of the pipe has closed it
            place(outputs)
            raise
        place(outputs)
        return found


def place(outputs: Outputs) -> None:
    """Write a command's files. If one cannot be written, write none and end the program with exit status 2."""
    try:
        outputs.place()
    except OSError as error:
        raise SystemExit(refuse(unwritten(error))) from None
    context = click.get_current_context(silent=True)
    for line in () if context is None else context.meta.pop(SAID, ()):
        click.echo(line, err=True)


def say_when_written(line: str) -> None:
    """Write a line to standard error once a command's files are written."""
    click.get_current_context().meta.setdefault(SAID, []).append(line)


def unwritten(error: OSError) -> str:
    """Return which output cannot be written, and why."""
    return f"{name_of(error)}: cannot be written: {error.strerror}"


def verdict(file: Path, title: str, differences: Sequence[object]) -> int:
    """Print a file's line and its differences; return the exit status. Control characters in the title are escaped."""
    click.echo(f"{'differs' if differences else 'ok     '}  {shown(file)}: {shown(one_line(title))}")
    for difference in differences:
        click.echo(f"         {shown(difference)}")
    return 1 if differences else 0


def read(file: Path) -> Scenario:
    """Return the scenario of a file, or of standard input.

    Raise ScenarioRefused, which names the file. If hawb recognises the file as something other than a scenario, the
    error also names the command for it.
    """
    try:
        return load(file, "standard input" if str(file) == STDIN else None, limited=are_limited())
    except ScenarioRefused as refused:
        from hawb.cli.other_files import instead

        raise instead(refused, file) from None


def is_scenario(file: str) -> bool:
    """Return True if a file is a scenario: a .yaml file, unless it contains resources of a Kubernetes operator.

    hawb reads such resources like a definitions export. hawb recognises a stream by its content.
    """
    from hawb.exports.resources import SUFFIXES, manifests

    if not file.endswith(SUFFIXES) and is_stream(Path(file)):
        from hawb.cli.other_files import is_other

        return not is_other(Path(file))
    return file.endswith(SUFFIXES) and not manifests(Path(file))


def cluster_of(files: Sequence[str]) -> tuple[Scenario, Sequence[str], Live]:
    """Return (scenario, notes, live state) of one scenario file, or of a definitions export and listings.

    The notes say what the files lack. The live state is what the files say about the running cluster. Raise
    ScenarioRefused; end the program if the files are refused.
    """
    from hawb.exports.imported import Live, imported_of
    from hawb.exports.untrusted import ImportRefused
    from hawb.scenario.load import read_scenario

    if any(map(is_scenario, files)):
        if len(files) > 1:
            raise SystemExit(refuse(f"{files[1]}: give one scenario, or one definitions export with its listings"))
        scenario = read(Path(files[0]))
        return scenario, version_notes(scenario), Live()
    try:
        imported = imported_of(files)
    except ImportRefused as refused:
        raise SystemExit(refuse(refused)) from None
    return refused_in(files[0], read_scenario, imported.scenario), imported.notes, imported.live


def version_notes(scenario: Scenario) -> tuple[str, ...]:
    """Return a note if a scenario's version has no profile of its own."""
    from hawb.exports.imported import nearest_note
    from hawb.rules.profiles import PROFILES

    version = scenario.cluster.version
    return () if version in PROFILES else (nearest_note(version),)


def print_notes(notes: Sequence[str]) -> None:
    """Write notes to standard error, for answers that do not end with them."""
    for note in notes:
        click.echo(f"note: {shown(note)}", err=True)


def play(file: Path) -> tuple[Scenario, Run]:
    """Return the scenario of a file and its run. Raise ScenarioRefused, which names the file."""
    scenario = read(file)
    return scenario, refused_in(file, partial(Run.of, limited=are_limited()), scenario)


def refused_in(file: str | Path, work: Callable[..., Done], *arguments: object) -> Done:
    """Return `work(*arguments)`. A ScenarioRefused that it raises names the file."""
    try:
        return work(*arguments)
    except ScenarioRefused as refused:
        refused.file = str(file)
        raise


def write_scenario(output: Path, text: str | bytes, replace: bool = True) -> None:
    """Write a scenario, or another text, to a file or to standard output.

    The file is written once the command's answer is printed. Without `replace` an existing file is refused.
    """
    if str(output) == STDIN:
        click.echo(text.encode() if isinstance(text, str) else text, nl=False)  # whatever a console can show
        return
    _add(lambda outputs: outputs.add(output, text, replace))


def write_folder(output: Path, texts: Mapping[str, str | bytes]) -> None:
    """Write files into a new folder once the answer is printed. The folder appears with all of them or not at all."""
    _add(lambda outputs: outputs.add_folder(output, texts))


def _add(add: Callable[[Outputs], None]) -> None:
    context = click.get_current_context(silent=True)
    kept = None if context is None else context.meta.get(OUTPUTS)
    outputs = Outputs() if kept is None else kept
    try:
        add(outputs)
    except OSError as error:
        raise SystemExit(refuse(unwritten(error))) from None
    if kept is None:
        place(outputs)
