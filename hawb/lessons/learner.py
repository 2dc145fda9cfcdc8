"""Make the learner's edition of notebooks: without solutions and outputs.

A solution is marked by the lines `# solution` and `# end of solution` in code, and in prose by `<!-- solution -->` and
`<!-- end of solution -->`. A cell that contains only a solution is left out.

    python -m hawb.lessons.learner FOLDER NOTEBOOK...
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import nbformat

from hawb.scenario.saving import write

MARK = re.compile(r"\s*(?:#|<!--) ?(solution|end of solution)(?: ?-->)?\s*")


def without_solutions(source: str) -> str:
    """Return a cell's text without its solutions. Raise ValueError for a marker without its partner."""
    return _lines(source, solved=False)


def solutions(source: str) -> str:
    """Return the solutions in a cell's text; "" without any. Raise ValueError for a marker without its partner."""
    return _lines(source, solved=True)


def _lines(source: str, solved: bool) -> str:
    """Return the lines inside or outside the solutions."""
    kept, inside = [], False
    for line in source.splitlines():
        mark = MARK.fullmatch(line)
        if mark is None:
            kept += [line] if inside is solved else []
        elif (mark[1] == "solution") is inside:
            raise ValueError(f"a marker out of order: {line.strip()!r}")
        else:
            inside = not inside
    if inside:
        raise ValueError("a solution has no end")
    return "\n".join(kept).strip("\n")


def learners(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return the learner's edition of a notebook. Raise ValueError for a marker without its partner."""
    edition = nbformat.from_dict(notebook)
    edition.cells = []
    for cell in notebook.cells:
        source = without_solutions(cell.source)
        if not source and cell.source:
            continue
        bare = nbformat.from_dict(cell | {"source": source})
        if bare.cell_type == "code":
            bare.outputs, bare.execution_count = [], None
        edition.cells.append(bare)
    return edition


def build(files: Sequence[Path], folder: Path) -> list[Path]:
    """Write the learner's edition of each notebook into a folder, and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        write(folder / file.name, nbformat.writes(learners(nbformat.read(file, as_version=4))) + "\n")
    return [folder / file.name for file in files]


if __name__ == "__main__":
    into, *notebooks = map(Path, sys.argv[1:])
    for written in build(notebooks, into):
        print(written)
