"""Where commands write: each place is looked at before anything is done, and an answer is printed before it is
written, so that a place that cannot be written to costs no work and no answer."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import click

from hawb.cli.files import STDIN, refuse
from hawb.views.formatting import shown


class Kind(Enum):
    """What a command writes at a place, and whether something may stand there."""

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
    Written("run", "report"),
    Written("safe", "output"),
    Written("lint", "report"),
    Written("explore", "output"), Written("explore", "report"),
    Written("upgrade", "output"), Written("upgrade", "rehearsal"), Written("upgrade", "gantt"),
    Written("upgrade", "report"),
    Written("migrate", "output", Kind.NEW_FOLDER),
    Written("replicas", "output"),
    Written("import", "output"), Written("import", "numbers", Kind.NEW_FILE),
    Written("watch", "output"),
    Written("incident", "output"), Written("incident", "scenario"),
    Written("rates", "numbers", Kind.NEW_FILE), Written("rates", "report"),
    Written("study", "output", Kind.FOLDER), Written("study", "to_keep"), Written("study", "report"),
    Written("audit", "output", Kind.NEW_FOLDER), Written("audit", "report"),
    Written("record", "to", Kind.FOLDER), Written("record", "logs", Kind.FOLDER),
    Written("fuzz", "out", Kind.FOLDER), Written("fuzz", "keep", Kind.FOLDER),
)  # fmt: skip


def looked_at_first(command: click.Command) -> click.Command:
    """Return the command, which first looks at each place that it is to write to."""
    played = command.callback
    kinds = {one.option: one.kind for one in WRITTEN if one.command == command.name}
    names = {option.name: option.opts[-1] for option in command.params}

    @functools.wraps(played)
    def checked(**given: object) -> object:
        read = {*_files(value for name, value in given.items() if name not in kinds)}
        taken: dict[Path, str] = {}
        for option, kind in kinds.items():
            place = given.get(option)
            if isinstance(place, Path) and str(place) != STDIN:
                if reason := _refusal(place, kind, names[option], read, taken):
                    raise SystemExit(refuse(f"{shown(str(place))}: {reason}"))
                taken[place.resolve()] = names[option]
        return played(**given)

    command.callback = checked
    return command


def answer(text: str | bytes, *writes: Callable[[], object]) -> None:
    """Print an answer, then write its files, though nobody reads what is printed. Raise OSError."""
    failed = None
    try:
        click.echo(text, nl=isinstance(text, str))
    except OSError as error:
        failed = error
    for write in writes:
        write()
    if failed is not None:
        raise failed


def _refusal(place: Path, kind: Kind, option: str, read: set[Path], taken: dict[Path, str]) -> str | None:
    """Return why nothing can be written at a place; None if it can."""
    try:
        real = place.resolve()
        if real in taken:
            return f"is given for {taken[real]} already; {option} takes another place"
        if real in read and real.is_file():
            return f"is read by this command; {option} takes another place"
        if kind in (Kind.NEW_FILE, Kind.NEW_FOLDER) and os.path.lexists(place):
            return f"is there already; {option} takes {kind.value}"
        if kind is Kind.FILE and real.is_dir():
            return f"is a folder; {option} takes {kind.value}"
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
        return f"there is no folder {shown(str(folder))}; make it first"
    if not folder.is_dir():
        return f"{shown(str(folder))} is no folder"
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
