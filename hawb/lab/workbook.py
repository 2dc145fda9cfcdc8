"""Copy hawb's notebooks and data into the reader's folder, and make a notebook for the reader's own cluster.

A newer hawb does not overwrite files that the reader has changed: HANDED_OUT records the digest of each file as it was
written. A deleted file is written again the next time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path

from hawb.scenario import checkout
from hawb.scenario.saving import write

PARTS = ("notebooks", "data")
HANDED_OUT = ".hawb-workbook.json"
"""The file with the digest of each file as it was written, by its path in the folder."""

ANSWERS = "hawb-answers.json"
"""The reader's own answers, which a checkout has beside its notebooks once lessons were read there."""

OWN = "own"
CELLS = ("# {}\n\nRun the cell with `show()`: Shift+Enter.", "from hawb.lab import show\n\nshow({})")


def hand_out(
    folder: Path, made: Mapping[str, bytes] | None = None, then: Callable[[Path], object] = lambda _: None
) -> list[str]:
    """Update a folder's notebooks and data, and the files `made` for this reader.

    Return the paths of files that were kept because the reader has changed them. `then` is called with each file that
    was written. In a checkout only `made` is written. Raise OSError.
    """
    folder, made = folder.resolve(), made or {}
    paths = [*(() if folder == checkout.OWN else brought()), *made]
    if not paths:
        return []
    noted = folder / HANDED_OUT
    before = json.loads(noted.read_text(encoding="utf-8")) if noted.exists() else {}
    given, kept = {}, []
    for path in paths:
        content = made[path] if path in made else (checkout.OWN / path).read_bytes()
        place = folder / path
        given[path] = _digest(content)
        there = _digest(place.read_bytes()) if place.exists() else None
        if there not in (None, before.get(path), given[path]):
            kept.append(path)
        elif there != given[path]:
            place.parent.mkdir(parents=True, exist_ok=True)
            write(place, content, synchronised=False)  # no fsync: each can be written again
            then(place)
    write(noted, json.dumps(before | given, indent=0))
    return kept


def trust(notebooks: Iterable[Path]) -> None:
    """Sign notebooks for this user's Jupyter, as `jupyter trust` does: JupyterLab shows no SVG of unsigned ones."""
    from nbformat import read
    from nbformat.sign import NotebookNotary

    notary = NotebookNotary()
    for file in notebooks:
        notary.sign(read(file, as_version=4))


def brought() -> Iterator[str]:
    """Yield the paths of hawb's notebooks and data, without hidden files and the reader's answers in a checkout."""
    for part in PARTS:
        for file in sorted((checkout.OWN / part).rglob("*")):
            path = file.relative_to(checkout.OWN)
            if file.is_file() and file.name != ANSWERS and not any(name.startswith(".") for name in path.parts):
                yield path.as_posix()


def own_notebook(folder: Path, name: str, scenario: str) -> Path:
    """Write a notebook in which the lab opens with a scenario, given as its file's text, and return its path.

    If another or a changed scenario has the name, a number is appended. Raise OSError.
    """
    own = folder / OWN
    own.mkdir(parents=True, exist_ok=True)
    for number in count(1):
        file = own / (f"{name}.yaml" if number == 1 else f"{name}-{number}.yaml")
        if not file.exists():
            write(file, scenario)
        if file.read_bytes() == scenario.encode():
            break
    notebook = file.with_suffix(".ipynb")
    if not notebook.exists():
        write(notebook, _notebook(name, file.name))
    return notebook


def _notebook(title: str, file: str) -> str:
    heading, shown = (cell.format(given) for cell, given in zip(CELLS, (title, json.dumps(file)), strict=True))
    cells = [
        {"cell_type": "markdown", "id": "title", "metadata": {"tags": ["notebook-only"]}, "source": heading},
        {"cell_type": "code", "id": "lab", "metadata": {}, "source": shown, "outputs": [], "execution_count": None},
    ]
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
