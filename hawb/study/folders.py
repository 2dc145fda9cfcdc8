"""Folders of tables: which are accepted, and how several tables are put in their place together or not at all.

A folder has a path on each machine: this one's disk, or a share that all of them mount. A study takes a lock in it
that the operating system gives back when a process dies, counts rows by the metadata of files, and puts partitions in
place by renaming. Object stores have neither locks nor renames, so other file systems of Hadoop are refused.

Spark's writers put one table in its place at a time, so that of an audit that is killed some tables would be there and
others not, or of another day.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from urllib.parse import unquote, urlsplit

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def local_folder(place: str | PathLike[str]) -> Path:
    """Return the path of a folder that is given as a path or as `file:///…`.

    Raise ValueError for the address of another file system, such as `s3a://…`, also where a Path has made `s3a:/…` of
    it.
    """
    text = fspath(place)
    if not _ADDRESS.match(text):
        return Path(text)
    address = urlsplit(text)
    if address.scheme == "file" and address.netloc in ("", "localhost"):
        return Path(unquote(address.path))
    raise ValueError(
        f"{text}: tables are written to a folder that every machine has under this path, such as /mnt/studies or"
        f" file:///mnt/studies, and not to {address.scheme}: there neither locks nor renames keep two runs apart"
    )


@contextmanager
def written_whole(folder: Path) -> Iterator[Path]:
    """A new folder to write into, which becomes `folder` when all went well, in place of what was there.

    Nobody finds half of it: it has another name until it is complete, and if writing fails, what was there stays.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as aside:
        complete = Path(aside, "new")
        yield complete
        if folder.exists():
            folder.rename(Path(aside, "old"))
        complete.rename(folder)
