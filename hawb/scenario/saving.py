"""Write files: each whole or not at all, and only those that were named.

Decisions:

* A regular file is written under another name in its folder, synchronised to the disk and renamed, so neither a reader
  nor a full disk meets half of it. It keeps its mode and, where the system allows it, its owner; a new file obeys the
  umask. A symbolic link stays, and the file that it leads to is written.
* A file that is not regular (a device, a FIFO), and a name of an open file of this process (/dev/stdout), is written to
  directly: renaming a file over it would replace it.
* The outputs of one answer (`Outputs`) are all placed or none: if one fails, those placed before it are taken back.
* Lines end the same way on every system.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from enum import Enum
from pathlib import Path
from typing import NamedTuple

OPENED = os.O_WRONLY | getattr(os, "O_BINARY", 0)
NOT_SYNCHRONISED = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}
"""The errors of a file system that cannot synchronise a file or a folder."""
MOST_LINKS = 40

Place = Callable[[ExitStack], None]
"""A function that puts a prepared output in its place, and pushes the undo of that on the stack."""


def write(file: Path, content: str | bytes, replace: bool = True, synchronised: bool = True) -> None:
    """Write text, or bytes, to a file.

    The file is `synchronised` to the disk unless its content can be had again. Raise FileExistsError if one exists and
    is not to be replaced, and other OSErrors, each with the file's name.
    """
    outputs = Outputs()
    outputs.add(file, content, replace, synchronised)
    outputs.place()


class Outputs:
    """Files and folders that are written together: all of them or none."""

    def __init__(self) -> None:
        self._files: list[_File] = []
        self._folders: list[_Folder] = []

    def add(self, file: Path, content: str | bytes, replace: bool = True, synchronised: bool = True) -> None:
        """Add a file; nothing is written yet. Raise OSError as `check` does."""
        place = target(file, replace)
        if place is not None and place in [one.target for one in self._files]:
            raise OSError(errno.EINVAL, "two outputs would be written to this file; name another file for one"
                                        " output", str(file))
        self._files.append(_File(file, place, _bytes(content), replace, synchronised))

    def add_folder(self, folder: Path, contents: Mapping[str, str | bytes]) -> None:
        """Add a new folder with files, by their paths in it; nothing is written yet. Raise OSError as `check` does."""
        check(folder, Kind.NEW_FOLDER)
        self._folders.append(_Folder(folder, {name: _bytes(content) for name, content in contents.items()}))

    def place(self) -> None:
        """Write all files and folders that were added, or none.

        Raise OSError with the name of the output that cannot be written.
        """
        with ExitStack() as aside, ExitStack() as undo:
            files = sorted(self._files, key=lambda file: file.target is not None)  # a stream cannot be taken back
            every: Sequence[_File | _Folder] = (*files, *self._folders)
            self._files, self._folders = [], []
            ready: list[tuple[_File | _Folder, Place]] = []
            for one in every:
                with _naming(one.named):
                    ready.append((one, one.prepare(aside)))
            for one, place in ready:
                with _naming(one.named):
                    place(undo)
            undo.pop_all()


class Kind(Enum):
    """A kind of destination: a file or a folder, and whether it may exist already."""

    FILE = "a file"
    NEW_FILE = "a new file"
    FOLDER = "a folder"
    NEW_FOLDER = "a new folder"


def check(place: Path, kind: Kind) -> None:
    """Raise OSError if it is clear that a place cannot be written to.

    If a folder is the reason, it is the error's second name.
    """
    if kind in (Kind.FILE, Kind.NEW_FILE):
        target(place, kind is Kind.FILE)
        return
    if kind is Kind.NEW_FOLDER and os.path.lexists(place):
        raise _error(errno.EEXIST, place)
    real = Path(os.path.realpath(place))
    folder = real if kind is Kind.FOLDER else real.parent
    while not os.path.lexists(folder):  # it is made
        folder = folder.parent
    _check_folder(folder, place)


def target(file: Path, replace: bool = True) -> Path | None:
    """Return the regular file that is written where `file` was named, at the end of symbolic links.

    Return None if `file` is to be written to directly. Raise OSError as `check` does.
    """
    if descriptor(file) is not None:
        return None
    try:
        there = file.stat()
    except (FileNotFoundError, NotADirectoryError):
        there = None
    real = Path(os.path.realpath(file))
    if there is not None:
        if stat.S_ISDIR(there.st_mode):
            raise _error(errno.EISDIR, file)
        regular = stat.S_ISREG(there.st_mode) and _is(real, there)
        if regular and not replace:
            raise _error(errno.EEXIST, file)
        if not os.access(file, os.W_OK):
            raise _error(errno.EACCES, file)
        if not regular:
            return None
    _check_folder(real.parent, file)
    return real


def _check_folder(folder: Path, named: Path) -> None:
    if not folder.is_dir():
        raise _error(errno.ENOTDIR if os.path.lexists(folder) else errno.ENOENT, named, folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _error(errno.EACCES, named, folder)


def descriptor(file: Path) -> int | None:
    """Return the open file of this process that a name stands for: 1 for /dev/stdout; None for any other name."""
    own = re.compile(rf"/dev/fd|/proc/{os.getpid()}/(?:task/\d+/)?fd")
    place = file.absolute()
    for _ in range(MOST_LINKS):
        place = Path(os.path.realpath(place.parent), place.name)
        if place.name.isdecimal() and own.fullmatch(str(place.parent)):
            return int(place.name)
        try:
            place = place.parent / place.readlink()
        except OSError:
            return None
    return None


class _File(NamedTuple):
    named: Path
    target: Path | None
    content: bytes
    replace: bool
    synchronised: bool

    def prepare(self, aside: ExitStack) -> Place:
        """Write the content beside its place."""
        if self.target is None:
            return self._send
        written, before = _beside(self.target, aside), _found(self.target)
        _fill(written, self.content, before, self.synchronised)
        return lambda undo: self._place(written, self.target, before, undo, aside)

    def _send(self, _undo: ExitStack) -> None:
        """Write to a file that is not regular."""
        number = descriptor(self.named)
        for stream in (sys.stdout, sys.stderr):  # what is printed comes first
            if stream is not None:
                stream.flush()
        opened = os.open(self.named, OPENED) if number is None else os.dup(number)
        try:
            _write_all(opened, self.content)
        finally:
            os.close(opened)

    def _place(
        self, written: Path, place: Path, before: os.stat_result | None, undo: ExitStack, aside: ExitStack
    ) -> None:  # fmt: skip
        if not self.replace:
            place.hardlink_to(written)
            undo.callback(_remove, place)
        elif before is None:
            written.replace(place)
            undo.callback(_remove, place)
        else:
            old = _beside(place, aside)
            with contextlib.suppress(OSError, NotImplementedError):  # not every file system has hard links
                old.hardlink_to(place)
                undo.callback(_bring_back, old, place)
            written.replace(place)
        if self.synchronised:
            _synchronise_folder(place.parent)


class _Folder(NamedTuple):
    named: Path
    contents: Mapping[str, bytes]

    def prepare(self, aside: ExitStack) -> Place:
        """Write a folder beside its place, whose parents are made."""
        place = Path(os.path.realpath(self.named))
        made = [parent for parent in place.parents if not parent.exists()]
        written = _beside(made[-1] if made else place, aside)
        inside = written.joinpath(*place.parts[len(made[-1].parts) :]) if made else written
        inside.mkdir(parents=True)
        for name, content in self.contents.items():
            file = inside / name
            file.parent.mkdir(parents=True, exist_ok=True)
            _fill(file, content, None)
        for folder in {inside, *((inside / name).parent for name in self.contents)}:
            _synchronise_folder(folder)
        return lambda undo: self._place(written, made[-1] if made else place, undo)

    def _place(self, written: Path, place: Path, undo: ExitStack) -> None:
        if os.path.lexists(place):
            raise _error(errno.EEXIST, place)
        written.rename(place)
        undo.callback(_remove, place)
        _synchronise_folder(place.parent)


def _beside(place: Path, aside: ExitStack) -> Path:
    """Return a new name in the folder of `place`; a file of that name is removed at the end."""
    name = place.with_name(f".hawb-{os.urandom(8).hex()}")
    aside.callback(_remove, name)
    return name


def _fill(file: Path, content: bytes, like: os.stat_result | None, synchronised: bool = True) -> None:
    """Write a new file, with mode and owner of the file that it replaces, and bring it to the disk."""
    mode = 0o666 if like is None else stat.S_IMODE(like.st_mode)
    opened = os.open(file, OPENED | os.O_CREAT | os.O_EXCL, mode & 0o777)
    try:
        _write_all(opened, content)
        if like is not None:
            if sys.platform != "win32":
                with contextlib.suppress(OSError):  # root alone gives a file to another user
                    os.chown(file, like.st_uid, like.st_gid)
            file.chmod(mode)
        if synchronised:
            _synchronise(opened)
    finally:
        os.close(opened)


def _write_all(opened: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(opened, rest) :]


def _synchronise(opened: int) -> None:
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in NOT_SYNCHRONISED:
            raise


def _synchronise_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk; Windows has no call for it."""
    if sys.platform == "win32":
        return
    try:
        opened = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder may be written to and not read
        return
    try:
        _synchronise(opened)
    finally:
        os.close(opened)


def _remove(place: Path) -> None:
    """Remove a file, or a folder with all in it, if it is there."""
    with contextlib.suppress(OSError):
        place.unlink(missing_ok=True)
    if place.is_dir():
        import shutil

        shutil.rmtree(place, ignore_errors=True)


def _bring_back(old: Path, place: Path) -> None:
    with contextlib.suppress(OSError):
        old.replace(place)


def _found(file: Path) -> os.stat_result | None:
    try:
        return file.stat()
    except FileNotFoundError:
        return None


def _is(file: Path, there: os.stat_result) -> bool:
    found = _found(file)
    return found is not None and os.path.samestat(found, there)


def _bytes(content: str | bytes) -> bytes:
    """Return the bytes of a text; an incomplete surrogate pair, as in a file's name that is not UTF-8, is escaped."""
    return content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content


@contextlib.contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Give an OSError the name of the output in place of another or none."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or "it failed", str(file)) from None


def _error(number: int, file: Path, folder: Path | None = None) -> OSError:
    return OSError(number, os.strerror(number), str(file), None, None if folder is None else str(folder))
