"""What commands need of hawb's extra `study`: that it is installed, and that the kernel is compiled before it plays."""

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
    """Ends the program where what is imported is not installed."""
    try:
        yield
    except ModuleNotFoundError as missing:
        reason = f"studies take hawb's extra `study`, which is not installed: {missing.name} is missing"
        raise SystemExit(refuse(reason)) from None


def compile_first(study: Study) -> None:
    """Compiles what a study takes of the kernel, and says so before unless it is kept from an earlier time."""
    from hawb.study import trial_rows

    if not trial_rows.is_compiled(study):
        click.echo("the kernel is compiled first, which takes a minute or two, and kept for the next time", err=True)
    trial_rows.compile_kernel(study)
