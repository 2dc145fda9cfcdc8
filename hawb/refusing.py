"""How a command ends when its input is refused: why on standard error, and exit status 2."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import click

from hawb.scenario.refused import ScenarioRefused


def refusing(command: Callable) -> Callable:
    """Lets a command end with a message on standard error and exit status 2 when its input is refused."""

    @wraps(command)
    def guarded(*args, **kwargs):
        try:
            return command(*args, **kwargs)
        except ScenarioRefused as refused:
            raise SystemExit(refuse(refused)) from None

    return guarded


def refuse(reason: object) -> int:
    """Writes why input is refused; the exit status for it."""
    click.echo(str(reason), err=True)
    return 2
