"""The place of notebooks and data: the checkout that hawb runs from, or the copy in its wheel.

A kernel's own folder comes first: a class gets the lessons' notebooks wherever its readers put them, and `hawb lab`
copies both, which their owner may change.
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
BROUGHT = PACKAGE / "workbook"
"""The part of the checkout that a wheel has beside the code, as pyproject.toml says."""

OWN = BROUGHT if BROUGHT.is_dir() else PACKAGE.parent
"""The folder that has `data` and `notebooks` in it."""


def data_folder(folder: Path | None = None) -> Path | None:
    """Return `data` of `folder` or of the nearest folder above that has scenarios in it; None if there is none.

    By default the search begins in the current folder, and ends with hawb's own copy.
    """
    here = (folder or Path.cwd()).resolve()
    searched = (here, *here.parents, *(() if folder else (OWN,)))
    return next((each / "data" for each in searched if (each / "data" / "scenarios").is_dir()), None)


def data_folder_for(what: str) -> Path:
    """Return `data_folder()`. Raise FileNotFoundError, which names `what` is missing, if there is none."""
    found = data_folder()
    if found is None:
        raise FileNotFoundError(f"{what}: this is part of hawb's data, but there is no data/scenarios in this"
                                " folder, in a folder above it, or in the installed hawb")
    return found
