"""The checkout that a kernel runs in, or that hawb itself runs from: `data` is no part of the package.

A class gets the lessons' notebooks without the rest of the checkout, wherever its readers put them. Where hawb is
installed from a checkout, as `make setup` does it, the data of that checkout is found all the same.
"""

from __future__ import annotations

from pathlib import Path

OWN = Path(__file__).resolve().parents[2]
"""The folder that has the package in it: the checkout, unless hawb was installed without one."""


def data_folder(folder: Path | None = None) -> Path | None:
    """`data` of `folder` or of the nearest folder above that has scenarios in it; None where there is none.

    By default the search begins in the current folder, and ends with the checkout that hawb runs from.
    """
    here = (folder or Path.cwd()).resolve()
    searched = (here, *here.parents, *(() if folder else (OWN,)))
    return next((each / "data" for each in searched if (each / "data" / "scenarios").is_dir()), None)


def data_folder_for(what: str) -> Path:
    """`data_folder()`. Raises FileNotFoundError, which says that `what` is missed, where there is none."""
    found = data_folder()
    if found is None:
        raise FileNotFoundError(f"{what}: part of hawb's checkout, and no data/scenarios is here, above or beside hawb")
    return found
