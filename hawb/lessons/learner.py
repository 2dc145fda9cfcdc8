"""The learner's edition of the notebooks: solutions taken out, outputs cleared.

A solution stands in a cell between a line `# solution` and a line `# end of solution`, in prose between
`<!-- solution -->` and `<!-- end of solution -->`. A cell that was nothing but a solution is left out.

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
    """A cell's text without what stands between the markers. Raises ValueError for a marker without its partner."""
    kept, inside = [], False
    for line in source.splitlines():
        mark = MARK.fullmatch(line)
        if mark is None:
            kept += [] if inside else [line]
        elif (mark[1] == "solution") is inside:
            raise ValueError(f"a marker out of order: {line.strip()!r}")
        else:
            inside = not inside
    if inside:
        raise ValueError("a solution has no end")
    return "\n".join(kept).strip("\n")


def learners(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The learner's edition of a notebook. Raises ValueError as `without_solutions` does."""
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
    """Writes the learner's edition of each notebook into a folder; the files written."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        write(folder / file.name, nbformat.writes(learners(nbformat.read(file, as_version=4))) + "\n")
    return [folder / file.name for file in files]


if __name__ == "__main__":
    into, *notebooks = map(Path, sys.argv[1:])
    for written in build(notebooks, into):
        print(written)
