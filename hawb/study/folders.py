"""How results come to stand in their place whole or not at all."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


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


def write_parquet(file: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Writes batches as one Parquet file, which has its name only when it is complete: a task that is killed leaves
    nothing that is read, and one that is tried again leaves the same bytes.

    What is not complete begins with a dot, which Spark passes over.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_name(f".{file.name}-{uuid.uuid4().hex}")
    try:
        with pq.ParquetWriter(aside, schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_batch(batch)
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)
