"""Group files into clusters, by their names alone.

Files in a folder with a `definitions.json` are one cluster, named after the folder. Elsewhere files whose names agree
up to the first dot are one cluster: berlin.definitions.json, berlin.queues.json and berlin.nodes.json belong together,
and a file with a unique name is a cluster of its own. Of YAML files only resources of Kubernetes' operators are taken.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from hawb.exports import resources

DEFINITIONS = "definitions.json"
SUFFIXES = (".json", ".txt")
"""The suffixes of files taken from a folder: exports and listings as RabbitMQ's tools write them."""


class ClusterFiles(Struct, frozen=True):
    """A cluster: its name, which is a path, its files, and their total size."""

    name: str
    files: tuple[str, ...]
    size_bytes: int


def clusters(paths: Iterable[Path], base: Path = Path()) -> list[ClusterFiles]:
    """Return the clusters of files and of folders with all below them, by name. Raise FileNotFoundError.

    Relative paths begin at `base`; names begin as the paths do.
    """
    groups: dict[str, dict[Path, int]] = defaultdict(dict)
    for path in paths:
        for file in _files(base / path):
            name = _name(file)
            groups[readable(name if path.is_absolute() else name.relative_to(base))][file] = file.stat().st_size
    return [
        ClusterFiles(name, tuple(str(file.absolute()) for file in sorted(files)), sum(files.values()))
        for name, files in sorted(groups.items())
    ]


def _files(path: Path) -> Iterable[Path]:
    if not path.is_dir():
        if not path.exists():
            raise FileNotFoundError(f"{path}: no such file or folder")
        return [path]
    return (file for file in path.rglob("*") if file.is_file() and _is_taken(file))


def _is_taken(file: Path) -> bool:
    return file.suffix in SUFFIXES or (file.suffix in resources.SUFFIXES and bool(resources.manifests(file)))


def _name(file: Path) -> Path:
    return file.parent if (file.parent / DEFINITIONS).exists() else file.parent / file.name.partition(".")[0]


def readable(file: Path) -> str:
    """Return a file's name as text: on Unix it may be any bytes."""
    return os.fsencode(file).decode("utf-8", "backslashreplace")
