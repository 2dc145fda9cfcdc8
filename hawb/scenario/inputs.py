"""Open the files that a command was given, each as often as it is needed.

A pipe, a FIFO, a process substitution and standard input give their bytes once. So the first reader of such a stream
takes all of it, and within `read_once`, which a command is, every later reader gets the same bytes. They are not
written to the disk. A regular file is opened as it stands.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO

STDIN = "-"
"""The name of standard input."""
MOST_STREAMED = 512 * 2**20
"""The most bytes of a stream that are kept."""

_Kept = dict[tuple[int, int], bytes]
_kept: _Kept | None = None


@contextmanager
def read_once() -> Iterator[None]:
    """Keep the contents of streams until the end of a command, in which `-` is standard input."""
    global _kept
    before, _kept = _kept, {}
    try:
        yield
    finally:
        _kept = before


def opened(file: Path) -> IO[bytes]:
    """Open an input at its beginning. Raise OSError, with the name of the input."""
    if not is_stream(file):
        return file.open("rb")
    if _kept is None:
        return BytesIO(_read(file))
    key = _key(file)
    if key not in _kept:
        _kept[key] = _read(file)
    return BytesIO(_kept[key])


def content(file: Path, most: int | None = None) -> bytes:
    """Return the bytes of an input, at most `most` of them. Raise OSError."""
    with opened(file) as stream:
        return stream.read() if most is None else stream.read(most)


def is_stream(file: Path) -> bool:
    """Return True if an input is there and gives its bytes once."""
    if _is_stdin(file):
        return True
    try:
        mode = file.stat().st_mode
    except (OSError, ValueError):
        return False
    if stat.S_ISREG(mode):
        return os.path.realpath(file).startswith("/dev/fd/")  # macOS shares the place in the file with its opener
    return not stat.S_ISDIR(mode)


def check_there(file: Path) -> None:
    """Raise OSError if an input is not there."""
    if not _is_stdin(file):
        file.stat()


def as_files(files: Iterable[Path], folder: Path) -> list[Path]:
    """Return inputs as files that other processes can open. Raise OSError.

    A stream is copied to a file below a folder, under its own name.
    """
    found = []
    for file in files:
        place = file
        if is_stream(file):
            name = "stdin" if _is_stdin(file) else str(file.absolute()).lstrip(os.sep)
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content(file))
        found.append(place)
    return found


def _is_stdin(file: Path) -> bool:
    return _kept is not None and str(file) == STDIN


def _key(file: Path) -> tuple[int, int]:
    """Return a key that is the same for all names of a stream."""
    try:
        found = os.fstat(sys.stdin.fileno()) if _is_stdin(file) else file.stat()
    except (OSError, ValueError, AttributeError):  # a standard input that is no file of the system's
        return -1, 0
    return found.st_dev, found.st_ino


def _read(file: Path) -> bytes:
    try:
        if _is_stdin(file):
            found = sys.stdin.buffer.read(MOST_STREAMED + 1)
        else:
            with file.open("rb") as stream:
                found = stream.read(MOST_STREAMED + 1)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file)) from None
    if len(found) > MOST_STREAMED:
        most = f"a stream of more than {MOST_STREAMED // 2**20} MiB; write it to a file first"
        raise OSError(errno.EFBIG, most, str(file))
    return found
