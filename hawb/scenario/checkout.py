"""The checkout that a kernel runs in, if it runs in one: `data` is no part of the package."""

from __future__ import annotations

from pathlib import Path


def data_folder(folder: Path | None = None) -> Path | None:
    """`data` of `folder` (the current one by default) or of the nearest folder above that has scenarios in it; None
    where there is none."""
    here = (folder or Path.cwd()).resolve()
    return next((above / "data" for above in (here, *here.parents) if (above / "data" / "scenarios").is_dir()), None)
