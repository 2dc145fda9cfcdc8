"""Where notebooks and data are: in the checkout that hawb runs from, or in what its wheel brings beside the code.

A kernel's own folder comes first: a class gets the lessons' notebooks wherever its readers put them, and `hawb lab`
hands out both, which their owner may go on with.
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
BROUGHT = PACKAGE / "workbook"
"""What a wheel has of the checkout beside the code, as pyproject.toml says."""

OWN = BROUGHT if BROUGHT.is_dir() else PACKAGE.parent
"""The folder that has `data` and `notebooks` in it."""


def data_folder(folder: Path | None = None) -> Path | None:
    """`data` of `folder` or of the nearest folder above that has scenarios in it; None where there is none.

    By default the search begins in the current folder, and ends with what hawb has itself.
    """
    here = (folder or Path.cwd()).resolve()
    searched = (here, *here.parents, *(() if folder else (OWN,)))
    return next((each / "data" for each in searched if (each / "data" / "scenarios").is_dir()), None)


def data_folder_for(what: str) -> Path:
    """`data_folder()`. Raises FileNotFoundError, which says that `what` is missed, where there is none."""
    found = data_folder()
    if found is None:
        raise FileNotFoundError(f"{what}: part of hawb's data, and no data/scenarios is here, above or with hawb")
    return found
