"""Puts several tables in their place together or not at all.

Spark's writers put one table in its place at a time, so that of an audit that is killed some tables would be there and
others not, or of another day.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
