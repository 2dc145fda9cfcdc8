"""The forms in which commands answer, as the option `--format` has them; `--json` is short for one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

import click

Command = TypeVar("Command", bound=Callable)
TEXT = "text"


def of_formats(*forms: str, json: str, told: str = "The form of the answer.") -> Callable:
    """The options of a command that answers in several forms; it is called with the chosen one as `form`, empty for
    none. `json` says what its JSON is, `told` what there is to know of the forms."""

    def options(command: Command) -> Command:
        @functools.wraps(command)
        def chosen(*arguments: object, form: str | None, as_json: bool, **others: object) -> object:
            return command(*arguments, form="json" if as_json else form or "", **others)

        as_json = click.option("--json", "as_json", is_flag=True, help=f"{json}; short for --format json.")
        form = click.option("--format", "form", type=click.Choice(forms), help=told)
        return form(as_json(chosen))

    return options
