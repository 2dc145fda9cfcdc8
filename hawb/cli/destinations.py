"""Check, before a command starts, each file and folder that it will write, so that no work is lost.

hawb writes the files once the answer is printed (`hawb.cli.files`); `hawb.scenario.saving` then checks them again.
"""

from __future__ import annotations

import errno
import functools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from hawb.cli.files import STDIN, Destination, refuse
from hawb.cli.pages import OWN, is_page
from hawb.scenario.saving import Kind, check
from hawb.views.formatting import shown

THERE = {errno.EEXIST: "exists already", errno.EISDIR: "is a folder"}
"""Reasons to name another file."""
OF_A_FOLDER = {
    errno.ENOENT: "the folder {} does not exist; create it first",
    errno.ENOTDIR: "{} is not a folder",
    errno.EACCES: "the folder {} cannot be written to",
}
"""Reasons why no file can be created in a folder."""


def destinations(command: click.Command) -> dict[str, Kind]:
    """Return the kind of file or folder that a command writes, by the parameter that names it."""
    return {one.name: one.type.kind for one in command.params if one.name and isinstance(one.type, Destination)}


def looked_at_first(command: click.Command) -> click.Command:
    """Make a command check, before it starts, each file and folder that it will write; return the command."""
    played = command.callback
    kinds = destinations(command)
    own = kinds.get(OWN.get(command.name or "", ""), Kind.FILE)
    names = {option.name: option.opts[-1] for option in command.params}

    @functools.wraps(played)
    def checked(**given: object) -> object:
        read = {*_files(value for name, value in given.items() if name not in kinds)}
        taken: dict[str, str] = {}
        for option, kind in kinds.items():
            place = given.get(option)
            if isinstance(place, Path) and str(place) != STDIN:
                if option == "output" and not is_page(command.name or "", place):
                    kind = own  # `-o` in its older sense
                if reason := _refusal(place, kind, names[option], read, taken):
                    raise SystemExit(refuse(f"{shown(str(place))}: {reason}"))
                taken[os.path.realpath(place)] = names[option]
        return played(**given)

    command.callback = checked
    return command


def _refusal(place: Path, kind: Kind, option: str, read: set[str], taken: dict[str, str]) -> str | None:
    """Return why a file or folder cannot be written; None if it can."""
    try:
        real = os.path.realpath(place)
        if real in taken:
            return f"{taken[real]} names it already; give {option} another name"
        if real in read and os.path.isfile(real):  # noqa: PTH113 - a text
            return f"it is an input of this command; give {option} another name"
        check(place, kind)
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", None)
        if number in THERE:
            return f"{THERE[number]}; {option} needs {kind.value}"
        folder = getattr(error, "filename2", None)
        if folder is not None and number in OF_A_FOLDER:
            return OF_A_FOLDER[number].format(shown(folder))
        return f"cannot be written: {getattr(error, 'strerror', None) or error}"
    return None


def _files(values: Iterable[object]) -> Iterator[str]:
    """Yield the real path of each file that an argument names, as FILE or as VHOST=FILE."""
    for value in values:
        if isinstance(value, tuple):
            yield from _files(value)
        elif isinstance(value, (str, Path)):
            for name in {str(value), str(value).rpartition("=")[2]}:
                if name and "\0" not in name:
                    yield os.path.realpath(name)
