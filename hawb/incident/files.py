"""The files of logs: which there are, how they are opened, and which node a name tells of.

Files are those of strangers: one that cannot be read is told with the reason, and a compressed one that breaks off
gives what there is.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

from hawb.scenario.inputs import check_there, opened

LOG = re.compile(r"\.(?:log|journal\.json|jsonl)(?:[.-][\w-]+)*(?:\.(?:gz|bz2|xz))?$|^journal", re.IGNORECASE)
"""The names of files that are read where a folder was given: logs as RabbitMQ and logrotate name them."""
OPENERS: dict[bytes, Callable[..., IO[bytes]]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
"""What opens a file, by its first bytes."""
LONGEST_LINE = 1 << 20
"""Where a line is cut, in bytes: what has no line breaks is no log."""
NODE_IN_NAME = re.compile(r"(?P<node>[A-Za-z][\w-]*@[\w-]+(?:\.[\w-]+)*?)(?:_upgrade|-sasl|_daemon)?\.(?:log|json)")


def log_files(paths: Iterable[Path]) -> list[Path]:
    """The files that were given, and those below a folder that was given, by their names, in order. Raises OSError."""
    found: set[Path] = set()
    for path in paths:
        if path.is_dir():
            found |= {file for file in path.rglob("*") if LOG.search(file.name) and file.is_file()}
        else:
            check_there(path)
            found.add(path)
    return sorted(found)


def lines(file: Path) -> Iterator[str]:
    """The lines of a file, unpacked, as text. What is no UTF-8 is replaced. Raises OSError; EOFError or another error
    of the unpackers where a compressed file breaks off."""
    with opened(file) as packed:
        begins = packed.read(8)
        packed.seek(0)
        opener = next((opener for magic, opener in OPENERS.items() if begins.startswith(magic)), None)
        stream = packed if opener is None else opener(packed, "rb")
        while line := stream.readline(LONGEST_LINE):
            yield line.decode(errors="replace")


def node_in_name(file: Path) -> str | None:
    """The node that a file's name tells of, as RabbitMQ names its logs; None if it tells of none."""
    found = NODE_IN_NAME.search(file.name)
    return found["node"] if found else None


def last_change(file: Path) -> datetime:
    """When a file was written last: no line of it is later. For a file that is gone: now."""
    try:
        return datetime.fromtimestamp(0, UTC) + timedelta(seconds=file.stat().st_mtime)
    except (OSError, OverflowError):
        return datetime.now(UTC)
