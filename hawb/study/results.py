"""The folder of a study's results: what was asked, and the blocks that are done.

A folder belongs to one question. Whoever goes on with it may ask for more trials, or for more designs and environments,
but what is there already must have been played under the same: the same numbers in the same cells, and rows that come
out the same when some of them are played again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq

from hawb.study.blocks import Block, Records, done, missing, rows_of
from hawb.study.question import Study

QUESTION = "study.json"
PLAYED_AGAIN = 16
"""How many trials of each cell are played again before anything is added to it."""


class FolderRefused(ValueError):  # noqa: N818 - it reads as what happened
    """A folder that holds results of something else: which, what there is and what is accepted."""

    def __init__(self, folder: Path, given: str, accepted: str) -> None:
        super().__init__(f"{folder}: results of another question\n  given: {given}\n  accepted: {accepted}")


def open_results(study: Study, folder: Path, records: Records) -> tuple[list[Block], list[Block]]:
    """(blocks that are done, blocks to be played) of a study in a folder, which is made where there is none. Raises
    FolderRefused."""
    asked, file = _asked(study), folder / QUESTION
    found = done(folder)
    if file.exists():
        _check_same(folder, msgspec.json.decode(file.read_bytes()), asked, found)
        _check_rows(study, folder, records, found)
    elif folder.exists() and any(folder.iterdir()):
        raise FolderRefused(folder, f"a folder with other things, without {QUESTION}", "a new or an empty folder")
    folder.mkdir(parents=True, exist_ok=True)
    for litter in folder.rglob(".*.parquet-*"):
        litter.unlink(missing_ok=True)
    aside = file.with_name(f".{QUESTION}")
    aside.write_bytes(msgspec.json.format(msgspec.json.encode(asked), indent=1))
    aside.replace(file)
    return found, missing(study, found)


def _asked(study: Study) -> dict[str, Any]:
    """What decides the rows."""
    told = msgspec.to_builtins(study)
    return {name: told[name] for name in ("study", "seed", "horizon_days", "designs", "environments", "trials")}


def _check_same(folder: Path, before: dict, asked: dict, found: list[Block]) -> None:
    for name in ("seed", "horizon_days"):
        if before[name] != asked[name]:
            raise FolderRefused(folder, f"{name}: {asked[name]}", f"{before[name]}, or another folder")
    for block in found:
        for name, label in (("designs", block.design), ("environments", block.environment)):
            if asked[name].get(label) != before[name].get(label):
                given = "changed" if label in asked[name] else "missing"
                raise FolderRefused(folder, f"{name}.{label}: {given}", "as it was, or another folder")
        if block.last >= asked["trials"]:
            raise FolderRefused(folder, f"trials: {asked['trials']}", f"at least {block.last + 1}, or another folder")


def _check_rows(study: Study, folder: Path, records: Records, found: list[Block]) -> None:
    """The first rows of each cell, played again."""
    firsts: dict[tuple[str, str], Block] = {}
    for block in found:
        firsts.setdefault((block.design, block.environment), block)
    for block in firsts.values():
        count = min(block.count, PLAYED_AGAIN)
        again = rows_of(Block(block.design, block.environment, block.first, block.first + count - 1), study, records)
        kept = pq.ParquetFile(folder / block.file).read().slice(0, count).combine_chunks().to_batches()[0]
        if not again.equals(kept):
            where = f"trials {block.first} to {block.first + count - 1} of {block.design} in {block.environment}"
            raise FolderRefused(folder, f"{where} come out otherwise than they did", "another folder")
