"""The option `-o`, with which a command writes its answer as an HTML page.

In earlier releases, `-o` of some commands wrote something else, which now has its own option (`OWN`). With a file name
that does not end in .html or .htm, `-o` still writes that. `--report` is the old name of `-o`. For both old forms, a
note at the end names the new option.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import click

from hawb.cli.files import STDIN, Destination, say_when_written, write_scenario
from hawb.views.formatting import shown

Command = TypeVar("Command", bound=Callable)
PAGES = (".html", ".htm")
OWN = {"upgrade": "runbook", "migrate": "plan", "explore": "scenario", "audit": "tables"}
"""The option that replaces the old meaning of `-o`, by command."""


def of_pages(command: Command) -> Command:
    """Add `-o` and its old name `--report` to a command. The command gets the file as the argument `page`."""

    @functools.wraps(command)
    def chosen(*arguments: object, output: Path | None, report: Path | None, **others: object) -> object:
        name = click.get_current_context().command.name or ""
        own = None if output is None or is_page(name, output) else OWN[name]
        if own is not None:
            if others[own] is not None:
                raise click.UsageError(f"-o with a name that does not end in .html means --{own}: give --{own} alone.")
            others[own], output = output, None
            here = shown(others[own])
            at_the_end(f"note: -o writes an HTML page; {here} does not end in .html, so hawb took it as --{own} {here}")
        if report is not None:
            if output is not None:
                raise click.UsageError("--report is the old name of -o: give -o alone.")
            at_the_end(f"note: --report is the old name of -o; use -o {shown(report)}")
        return command(*arguments, page=output or report, **others)

    a_file = Destination()
    chosen = click.option("--report", type=a_file, hidden=True)(chosen)
    return click.option("-o", "--output", type=a_file, metavar="PAGE", help="Write the answer as an HTML page.")(chosen)


def is_page(command: str, file: Path) -> bool:
    """Return True if the file given with `-o` is the HTML page of a command's answer."""
    return command not in OWN or file.suffix.lower() in PAGES


def page_asked(command: str, given: Mapping[str, object]) -> object:
    """Return the file for the HTML page, from a command's options; None if no page is asked for."""
    output = given.get("output")
    return output if isinstance(output, Path) and is_page(command, output) else given.get("report")


def write_page(file: Path, text: str) -> None:
    """Write a page. Once it is written, name it on standard error."""
    write_scenario(file, text)
    if str(file) != STDIN:
        say_when_written(f"{shown(file)}: the answer as a page")


def at_the_end(line: str) -> None:
    """Write a line to standard error once the command has answered."""
    click.get_current_context().call_on_close(functools.partial(click.echo, line, err=True))
