"""Check, before a command starts, that the extra of hawb that it needs is installed.

A command or an option that is not listed in `TAKEN` needs only what `pip install hawb` installs.
"""

from __future__ import annotations

import functools
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

import click

from hawb.cli.files import refuse
from hawb.cli.pages import page_asked

if TYPE_CHECKING:
    from hawb.study.question import Study


class Taken(NamedTuple):
    """An extra that a command needs: always, only with an option, or only with a certain value of the option."""

    command: str
    extra: str
    option: str | None = None
    value: str | None = None

    def by(self, command: str, given: dict[str, object]) -> bool:
        """Return True if a command that is called with these options needs the extra."""
        asked = page_asked(command, given) if self.option == "output" else given.get(self.option or "")
        return command == self.command and (not self.option or (asked is not None and self.value in (None, asked)))

    def __str__(self) -> str:
        words = (f"hawb {self.command}", self.option and f"--{self.option}", self.value)
        return " ".join(filter(None, words))


TAKEN = (
    Taken("run", "broker", "on", "broker"),
    Taken("compare", "broker"),
    Taken("record", "broker"),
    Taken("fuzz", "broker"),
    Taken("upgrade", "figures", "gantt"),
    Taken("upgrade", "figures", "output"),
    Taken("replicas", "study"),
    Taken("replicas", "figures", "output"),
    Taken("rates", "study"),
    Taken("rates", "figures", "output"),
    Taken("explore", "study", "master"),
    Taken("study", "study"),
    Taken("audit", "study"),
    Taken("lab", "lab"),
    Taken("lessons", "lab"),
)
MODULES = {
    "broker": ("covertable", "pika"),
    "figures": ("matplotlib",),
    "lab": ("anywidget", "ipywidgets", "jupyterlab", "matplotlib", "pandas", "voila"),
    "study": ("filelock", "llvmlite", "numba", "numpy", "pandas", "psutil", "pyarrow", "pyspark"),
}
"""The modules that hawb imports from each extra. hawb does not check packages whose programs it only starts."""


def asked_first(command: click.Command) -> click.Command:
    """Make a command check, before it starts, that the extras that it needs are installed; return the command."""
    played = command.callback

    @functools.wraps(played)
    def checked(**given: object) -> object:
        for taken in TAKEN:
            if taken.by(command.name, given) and (lacking := missing(taken.extra)):
                install = f"pip install 'hawb[{taken.extra}]'"
                reason = f"{taken} needs the extra `{taken.extra}` ({lacking[0]} is not installed): {install}"
                raise SystemExit(refuse(reason))
        return played(**given)

    command.callback = checked
    return command


def missing(extra: str) -> list[str]:
    """Return the modules of an extra that are not installed."""
    return [module for module in MODULES[extra] if not _installed(module)]


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def compile_first(study: Study) -> None:
    """Compile the kernel's functions for a study. Announce this, unless an earlier run has left them in the cache."""
    from hawb.study import trial_rows

    if not trial_rows.is_compiled(study):
        click.echo("compiling the simulation; this takes a minute or two, and later runs skip it", err=True)
    trial_rows.compile_kernel(study)
