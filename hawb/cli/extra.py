"""What commands that use hawb's extra `study` do first: see that it is installed, and compile the kernel."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from hawb.cli.files import refuse

if TYPE_CHECKING:
    from hawb.study.question import Study


@contextlib.contextmanager
def of_the_extra() -> Iterator[None]:
    """Ends the program where a module that the block imports is not installed."""
    try:
        yield
    except ModuleNotFoundError as missing:
        reason = f"studies take hawb's extra `study`, which is not installed: {missing.name} is missing"
        raise SystemExit(refuse(reason)) from None


def compile_first(study: Study) -> None:
    """Compiles the kernel's functions for a study, and says so first, unless they are kept from an earlier time."""
    from hawb.study import trial_rows

    if not trial_rows.is_compiled(study):
        click.echo("the kernel is compiled first, which takes a minute or two, and kept for the next time", err=True)
    trial_rows.compile_kernel(study)
