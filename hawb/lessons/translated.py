"""Translate lessons: the same notebooks, with paragraphs and cells' strings from the catalogue `lessons`.

The catalogues are in `hawb.languages`. An edition is made on demand and not stored in hawb. It is written into a folder
of its language's name beside `notebooks`, without outputs: the reader's run prints them in the reader's language, which
the first code cell sets. A link to a notebook without an edition leads to the original.

    python -m hawb.lessons.translated LANGUAGE FOLDER
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import nbformat

from hawb.languages import LESSONS, catalogue, named
from hawb.lessons.pieces import of_code, of_markdown
from hawb.scenario import checkout
from hawb.scenario.saving import write

TRANSLATED = (
    "10-mirrored-queues.ipynb", "11-a-node-dies.ipynb", "13-stop-or-kill.ipynb", "17-quorum-queues-and-raft.ipynb",
    "19-classic-and-quorum.ipynb",
)  # fmt: skip
"""The lessons that are available in other languages, in their order."""

SPEAKS = '\nfrom hawb.languages import speak\n\nspeak("{}")'
"""The lines that are appended to the first code cell."""

LINK = re.compile(r"(?<=\]\()[\w.-]+\.ipynb(?=\))")


def original(name: str) -> nbformat.NotebookNode:
    """Return a lesson as it is stored, in English."""
    return nbformat.read(checkout.OWN / "notebooks" / name, as_version=4)


def edition(notebook: nbformat.NotebookNode, language: str) -> nbformat.NotebookNode:
    """Return a notebook in another language, which its first code cell sets, with links to other editions."""
    made = with_texts_in(notebook, language)
    for cell in made.cells:
        if cell.cell_type == "markdown":
            cell.source = LINK.sub(_leads_to, cell.source)
    first = next(cell for cell in made.cells if cell.cell_type == "code")
    first.source += SPEAKS.format(language)
    return made


def with_texts_in(notebook: nbformat.NotebookNode, language: str) -> nbformat.NotebookNode:
    """Return a notebook without outputs, with its texts in another language. Texts that the catalogue lacks stay."""
    made = nbformat.from_dict(notebook)
    for cell in made.cells:
        cell.source = in_language(cell.source, language, of_code if cell.cell_type == "code" else of_markdown)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return made


def in_language(source: str, language: str, pieces) -> str:
    """Return a cell's source in another language; the function `pieces` splits it."""
    texts = catalogue(language, LESSONS)
    return "".join(before + (text and texts.gettext(text)) + after for before, text, after in pieces(source))


def _leads_to(link: re.Match) -> str:
    return link[0] if link[0] in TRANSLATED else f"../notebooks/{link[0]}"


def editions(language: str) -> dict[str, bytes]:
    """Return the translated lessons in a language, by their paths in a reader's folder; none for English."""
    if not catalogue(language, LESSONS).texts:
        return {}
    return {f"{language}/{name}": f"{nbformat.writes(edition(original(name), language))}\n".encode()
            for name in TRANSLATED}  # fmt: skip


if __name__ == "__main__":
    for path, content in editions(named(sys.argv[1])).items():
        file = Path(sys.argv[2]) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file, content)
        print(file)
