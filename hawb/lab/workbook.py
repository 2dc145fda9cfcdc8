"""The workbook: hawb's notebooks and data in a folder of its reader's, and a notebook for a cluster of the reader's.

What the reader has changed stays as it is, whatever a newer hawb brings: beside the files stands what each was when it
was handed out. A file that is deleted comes back the next time, as hawb has it.
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
"""The digest of each file as it was handed out, by its path in the folder."""

ANSWERS = "hawb-answers.json"
"""A reader's own answers, which stand beside the notebooks of a checkout in which lessons were read."""

OWN = "own"
CELLS = ("# {}\n\nRun the cell with `show()`: Shift+Enter.", "from hawb.lab import show\n\nshow({})")


def hand_out(
    folder: Path, made: Mapping[str, bytes] | None = None, then: Callable[[Path], object] = lambda _: None
) -> list[str]:
    """Brings a folder's notebooks and data up to date, with what is `made` for this reader; the paths of those that
    its owner has changed, which stay. `then` is called with each file that was written. A checkout has its own
    notebooks and data already. Raises OSError."""
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
            write(place, content, synchronised=False)  # thousands of files, of which hawb has each
            then(place)
    write(noted, json.dumps(before | given, indent=0))
    return kept


def trust(notebooks: Iterable[Path]) -> None:
    """Sign notebooks for this user's Jupyter, as `jupyter trust` does: JupyterLab shows no SVG of others."""
    from nbformat import read
    from nbformat.sign import NotebookNotary

    notary = NotebookNotary()
    for file in notebooks:
        notary.sign(read(file, as_version=4))


def brought() -> Iterator[str]:
    """The paths of the notebooks and data that hawb has; a checkout has hidden files and answers of
    its reader's among them, which are left out."""
    for part in PARTS:
        for file in sorted((checkout.OWN / part).rglob("*")):
            path = file.relative_to(checkout.OWN)
            if file.is_file() and file.name != ANSWERS and not any(name.startswith(".") for name in path.parts):
                yield path.as_posix()


def own_notebook(folder: Path, name: str, scenario: str) -> Path:
    """A notebook in which the lab opens with a scenario, given as the text of its file. A name that another scenario
    has, or a changed one, is numbered. Raises OSError."""
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
    told, shown = (cell.format(given) for cell, given in zip(CELLS, (title, json.dumps(file)), strict=True))
    cells = [
        {"cell_type": "markdown", "id": "title", "metadata": {"tags": ["notebook-only"]}, "source": told},
        {"cell_type": "code", "id": "lab", "metadata": {}, "source": shown, "outputs": [], "execution_count": None},
    ]
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
