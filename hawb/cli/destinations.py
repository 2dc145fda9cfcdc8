"""Check each place that a command writes to before anything is done, so that a place that cannot be written to costs no
work. Files are written once the answer is printed (`hawb.cli.files`)."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import click

from hawb.cli.files import STDIN, refuse
from hawb.cli.pages import OWN, is_page
from hawb.views.formatting import shown

WITH_PAGES = ("run", "safe", "lint", "explore", "upgrade", "migrate", "replicas", "incident", "rates", "audit")
"""Commands whose answer `-o` writes as a page (`hawb.cli.pages`)."""


class Kind(Enum):
    """A kind of destination: a file or a folder, and whether it may exist already."""

    FILE = "a file"
    NEW_FILE = "a new file"
    FOLDER = "a folder"
    NEW_FOLDER = "a new folder"


class Written(NamedTuple):
    """A place that a command writes to, by the option's name."""

    command: str
    option: str
    kind: Kind = Kind.FILE


WRITTEN = (
    *(Written(command, option) for command in WITH_PAGES for option in ("output", "report")),
    Written("import", "output"), Written("watch", "output"),
    Written("upgrade", "runbook"), Written("upgrade", "rehearsal"), Written("upgrade", "gantt"),
    Written("migrate", "plan", Kind.NEW_FOLDER),
    Written("explore", "scenario"),
    Written("incident", "scenario"),
    Written("import", "numbers", Kind.NEW_FILE),
    Written("rates", "numbers", Kind.NEW_FILE),
    Written("study", "output", Kind.FOLDER), Written("study", "to_keep"), Written("study", "page"),
    Written("audit", "tables", Kind.NEW_FOLDER),
    Written("record", "to", Kind.FOLDER), Written("record", "logs", Kind.FOLDER),
    Written("fuzz", "out", Kind.FOLDER), Written("fuzz", "keep", Kind.FOLDER),
)  # fmt: skip


def looked_at_first(command: click.Command) -> click.Command:
    """Return the command, which first looks at each place that it is to write to."""
    played = command.callback
    kinds = {one.option: one.kind for one in WRITTEN if one.command == command.name}
    own = kinds.get(OWN.get(command.name or "", ""), Kind.FILE)
    names = {option.name: option.opts[-1] for option in command.params}

    @functools.wraps(played)
    def checked(**given: object) -> object:
        read = {*_files(value for name, value in given.items() if name not in kinds)}
        taken: dict[Path, str] = {}
        for option, kind in kinds.items():
            place = given.get(option)
            if isinstance(place, Path) and str(place) != STDIN:
                if option == "output" and not is_page(command.name or "", place):
                    kind = own  # `-o` in its older sense
                if reason := _refusal(place, kind, names[option], read, taken):
                    raise SystemExit(refuse(f"{shown(str(place))}: {reason}"))
                taken[place.resolve()] = names[option]
        return played(**given)

    command.callback = checked
    return command


def _refusal(place: Path, kind: Kind, option: str, read: set[Path], taken: dict[Path, str]) -> str | None:
    """Return why nothing can be written at a place; None if it can."""
    try:
        real = place.resolve()
        if real in taken:
            return f"is already named by {taken[real]}; give {option} another name"
        if real in read and real.is_file():
            return f"is an input of this command; give {option} another name"
        if kind in (Kind.NEW_FILE, Kind.NEW_FOLDER) and os.path.lexists(place):
            return f"exists already; {option} needs {kind.value}"
        if kind is Kind.FILE and real.is_dir():
            return f"is a folder; {option} needs {kind.value}"
        if kind is Kind.FILE and real.exists() and not real.is_file():
            return None if os.access(real, os.W_OK) else "cannot be written to"
        return _no_room(real if kind is Kind.FOLDER else real.parent, kind in (Kind.FOLDER, Kind.NEW_FOLDER))
    except (OSError, ValueError) as error:
        return f"cannot be written: {getattr(error, 'strerror', None) or error}"


def _no_room(folder: Path, made: bool) -> str | None:
    """Return why nothing can be put into a folder, which is `made` with its parents if it is not there; else None."""
    while made and not os.path.lexists(folder):
        folder = folder.parent
    if not folder.exists():
        return f"the folder {shown(str(folder))} does not exist; create it first"
    if not folder.is_dir():
        return f"{shown(str(folder))} is not a folder"
    return None if os.access(folder, os.W_OK | os.X_OK) else f"the folder {shown(str(folder))} cannot be written to"


def _files(values: Iterable[object]) -> Iterator[Path]:
    """Return the files that are named in what a command is given, also as VHOST=FILE."""
    for value in values:
        if isinstance(value, tuple):
            yield from _files(value)
        elif isinstance(value, (str, Path)):
            for name in {str(value), str(value).rpartition("=")[2]}:
                if name and "\0" not in name:
                    yield Path(name).resolve()
