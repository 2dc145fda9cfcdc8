"""The forms in which commands answer, as the option `--format` has them; `--json` is short for one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

import click

Command = TypeVar("Command", bound=Callable)
TEXT = "text"


def of_formats(*forms: str, json: str | None = None, told: str = "The format of the answer.") -> Callable:
    """The options of a command that answers in several forms; it is called with the chosen one as `form`, empty for
    none. `json` says what its JSON is, if it has any, `told` what there is to know of the forms."""

    def options(command: Command) -> Command:
        @functools.wraps(command)
        def chosen(*arguments: object, form: str | None, as_json: bool = False, **others: object) -> object:
            return command(*arguments, form="json" if as_json else form or "", **others)

        if json is not None:
            chosen = click.option("--json", "as_json", is_flag=True, help=f"{json}; short for --format json.")(chosen)
        return click.option("--format", "form", type=click.Choice(forms), help=told)(chosen)

    return options


CI_FORMS = ("sarif", "junit")
"""The forms that systems for continuous integration show: findings beside the lines of files, and cases that fail."""
