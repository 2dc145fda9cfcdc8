"""The option `--format` of commands that answer in several formats, and its short form `--json`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

import click

Command = TypeVar("Command", bound=Callable)
TEXT = "text"


def of_formats(*forms: str, json: str | None = None, help_text: str = "The format of the answer.") -> Callable:
    """Add `--format`, and `--json` if `json` is given, to a command.

    The command is called with the chosen format as `form`, "" without the option. `json` is the help of `--json`,
    `help_text` that of `--format`.
    """

    def options(command: Command) -> Command:
        @functools.wraps(command)
        def chosen(*arguments: object, form: str | None, as_json: bool = False, **others: object) -> object:
            return command(*arguments, form="json" if as_json else form or "", **others)

        if json is not None:
            chosen = click.option("--json", "as_json", is_flag=True, help=f"{json}; short for --format json.")(chosen)
        return click.option("--format", "form", type=click.Choice(forms), help=help_text)(chosen)

    return options


CI_FORMS = ("sarif", "junit")
"""Formats for continuous integration: findings beside the lines of files, and failed test cases."""
