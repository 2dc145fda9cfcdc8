"""Folders of tables: which are accepted, and how to replace several tables together or not at all.

A folder has the same path on each machine: a local disk, or a share that all of them mount. A study takes a file lock
in it, which the operating system releases when a process dies, counts rows by the metadata of files, and puts
partitions in place by renaming. Object stores have neither locks nor renames, so Hadoop's other file systems are
refused.

Spark's writers replace one table at a time. An audit that is killed would leave some tables missing, or of another day.
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
        f" file:///mnt/studies, and not to {address.scheme}: object stores have no locks or renames that keep two"
        " runs apart"
    )


@contextmanager
def written_whole(folder: Path) -> Iterator[Path]:
    """Yield a new folder to write into, which replaces `folder` if the block succeeds.

    Readers never see a partial result: the folder has another name until it is complete. If writing fails, the old
    content stays.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as aside:
        complete = Path(aside, "new")
        yield complete
        if folder.exists():
            folder.rename(Path(aside, "old"))
        complete.rename(folder)
