"""Find and open log files, and read a node's name from a file name.

The files are untrusted. A file that cannot be read is reported with the reason. A compressed file that is truncated, or
that unpacks to more than its `Limits`, yields its lines up to there: a few megabytes may unpack to a terabyte.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

from msgspec import Struct

from hawb.scenario.inputs import check_there, opened

LOG = re.compile(r"\.(?:log|journal\.json|jsonl)(?:[.-][\w-]+)*(?:\.(?:gz|bz2|xz))?$|^journal", re.IGNORECASE)
"""Names of the files that are read in a folder: logs as RabbitMQ and logrotate name them."""
OPENERS: dict[bytes, Callable[..., IO[bytes]]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
"""Functions that open a file, by its first bytes."""
LONGEST_LINE = 1 << 20
"""Maximum length of a line, in bytes; longer ones are cut, since a file without line breaks is no log."""
CHUNK_LINES, CHUNK_BYTES = 10_000, 4 << 20
"""Maximum lines and bytes that are in memory while a file is read backwards."""
NODE_IN_NAME = re.compile(r"(?P<node>[A-Za-z][\w-]*@[\w-]+(?:\.[\w-]+)*?)(?:_upgrade|-sasl|_daemon)?\.(?:log|json)")


def log_files(paths: Iterable[Path]) -> list[Path]:
    """Return the given files and the log files in the given folders, sorted. Raise OSError if a path does not exist."""
    found: set[Path] = set()
    for path in paths:
        if path.is_dir():
            found |= {file for file in path.rglob("*") if LOG.search(file.name) and file.is_file()}
        else:
            check_there(path)
            found.add(path)
    return sorted(found)


def pipes(paths: Iterable[Path]) -> list[Path]:
    """Return the named pipes in the given folders that have a log's name. They are not read: that could block."""
    return sorted(file for path in paths if path.is_dir() for file in path.rglob("*")
                  if LOG.search(file.name) and file.is_fifo())  # fmt: skip


class Limits(Struct, frozen=True):
    """Limits for unpacking the compressed logs of a cluster.

    `unpacked_mb` limits all files together, in megabytes. `unpacked_ratio` limits each file that unpacks to more than
    `AT_ANY_RATIO` bytes, in unpacked bytes per packed byte.
    """

    unpacked_mb: float = 80
    unpacked_ratio: float = 200


class Unpacking:
    """Count the bytes that the compressed logs of a cluster unpack to, and enforce the limits."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._bytes = 0

    def of_file(self, packed: IO[bytes], unpacked: IO[bytes]) -> Iterator[bytes]:
        """Yield the lines of the next file. Raise UnpackedTooMuch when it exceeds a limit."""
        size, limits = 0, self._limits
        while line := unpacked.readline(LONGEST_LINE):
            size += len(line)
            self._bytes += len(line)
            if self._bytes > limits.unpacked_mb * 1_000_000:
                which = "it unpacks" if self._bytes == size else "it and the files before it unpack"
                raise UnpackedTooMuch(f"{which} to more than {limits.unpacked_mb:g} MB; --unpacked-mb allows more")
            if size > max(AT_ANY_RATIO, limits.unpacked_ratio * packed.tell()):
                raise UnpackedTooMuch(
                    f"it unpacks to more than {limits.unpacked_ratio:g} times its size; --unpacked-ratio allows more"
                )
            yield line


AT_ANY_RATIO = 16_000_000
"""Bytes to which each compressed file may unpack, whatever its ratio."""


class UnpackedTooMuch(OSError):  # noqa: N818 - it reads as what happened
    """A compressed file unpacks to more than its limits. The text says which limit, and the option that raises it."""


def lines(file: Path, unpacking: Unpacking | None = None) -> Iterator[str]:
    """Yield the lines of a file, unpacked, as text. Bytes that are not UTF-8 are replaced.

    Raise OSError if the file cannot be read, UnpackedTooMuch (an OSError) after the last line within the limits, and
    EOFError or another error of the unpackers if a compressed file is truncated.
    """
    for line in _raw_lines(file, unpacking or Unpacking()):
        yield line.decode(errors="replace")


def _raw_lines(file: Path, unpacking: Unpacking) -> Iterator[bytes]:
    with opened(file) as packed:
        begins = packed.read(8)
        packed.seek(0)
        opener = next((opener for magic, opener in OPENERS.items() if begins.startswith(magic)), None)
        if opener is None:
            while line := packed.readline(LONGEST_LINE):
                yield line
            return
        with opener(packed, "rb") as stream:
            yield from unpacking.of_file(packed, stream)


def backwards(lines: Iterable[str]) -> tuple[Iterator[str], int]:
    """Return an iterator over the lines from last to first, and their number. A temporary file holds the lines."""
    kept = tempfile.TemporaryFile()  # noqa: SIM115 - it is read later, and gone once nothing refers to it
    places, in_chunk, from_byte, size, total = [0], 0, 0, 0, 0
    for line in lines:
        if in_chunk >= CHUNK_LINES or size - from_byte >= CHUNK_BYTES:
            places.append(size)
            in_chunk, from_byte = 0, size
        written = line.encode(errors="surrogatepass")
        size += kept.write(len(written).to_bytes(4, "big") + written)
        in_chunk, total = in_chunk + 1, total + 1
    return _from_the_end(kept, [*places, size]), total


def _from_the_end(kept: IO[bytes], places: list[int]) -> Iterator[str]:
    with kept:
        for begin, end in zip(reversed(places[:-1]), reversed(places[1:]), strict=True):
            kept.seek(begin)
            chunk, found, at = kept.read(end - begin), [], 0
            while at < len(chunk):
                length = int.from_bytes(chunk[at : at + 4], "big")
                found.append(chunk[at + 4 : at + 4 + length].decode(errors="surrogatepass"))
                at += 4 + length
            yield from reversed(found)


def node_in_name(file: Path) -> str | None:
    """Return the node in a file's name, as RabbitMQ names its logs; None if there is none."""
    found = NODE_IN_NAME.search(file.name)
    return found["node"] if found else None


def last_change(file: Path) -> datetime:
    """Return when a file was last written, which no line can be later than; if the file is missing, now."""
    try:
        return datetime.fromtimestamp(0, UTC) + timedelta(seconds=file.stat().st_mtime)
    except (OSError, OverflowError):
        return datetime.now(UTC)
