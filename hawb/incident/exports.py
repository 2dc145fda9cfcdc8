"""Separate a cluster's exports from its logs, by the files' contents and not by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import msgspec

from hawb.exports.definitions import holds_export
from hawb.exports.resources import SUFFIXES
from hawb.exports.untrusted import ImportRefused
from hawb.incident import documents, files
from hawb.incident.reading import BROKEN_OFF
from hawb.scenario import inputs

LISTED = re.compile(r"\[\s*[{\]]")
"""Beginning of a listing in JSON; a log line may begin with a level in brackets."""
OF_LOGS = frozenset({*documents.SAID, *documents.INNER})
"""Keys of a log's line of JSON: RabbitMQ's own, journald's, a container's."""
OF_LISTINGS = frozenset({"items", "running_nodes", "object_totals"})
HEAD_LINES = 5
"""Column names of a text listing, which one of its first lines contains."""


def parted(paths: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Return the logs and folders of logs, and the exports (definitions and listings).

    Raise OSError for a path that does not exist.
    """
    logs: list[Path] = []
    exports: list[Path] = []
    for path in paths:
        (exports if not path.is_dir() and is_export(path) else logs).append(path)
    return logs, exports


def is_export(file: Path) -> bool:
    """Return True if a file holds a definitions export, resources that are read as one, or a listing.

    Raise OSError if it does not exist.
    """
    inputs.check_there(file)
    try:
        head = [*islice(files.lines(file), HEAD_LINES)]
    except (OSError, *BROKEN_OFF):
        return False
    begin = "".join(head).lstrip("\ufeff \t\r\n")
    if LISTED.match(begin):
        return True
    if begin.startswith("{"):
        return not OF_LOGS & _keys(begin.splitlines()[0]) and (
            _holds_export(file) or bool(OF_LISTINGS & _keys(inputs.content(file)))
        )
    columns = (line.rstrip("\r\n").split("\t") for line in head)
    return any(len(names) > 1 and "name" in names for names in columns) or (
        file.suffix in SUFFIXES and _holds_export(file))  # fmt: skip


def _keys(text: str | bytes) -> set[str]:
    """Return the keys of a JSON object; none if the text is no such object."""
    try:
        return {*msgspec.json.decode(text, type=dict[str, msgspec.Raw])}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return set()


def _holds_export(file: Path) -> bool:
    try:
        return holds_export(file)
    except ImportRefused:
        return False
