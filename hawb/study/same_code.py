"""Digests of hawb's source: of what the kernel is compiled from, and of all that decides the row of a trial.

Compiled functions are kept under the first one (`hawb.study.compiled`). Each of Spark's tasks compares the second one
with that of the command: machines of a cluster may have different releases of hawb, whose rows must not be mixed.
"""

from __future__ import annotations

import hashlib
import platform
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

from hawb import __version__

COMPILED = (
    "rules", "raft", "engine", "study/kernel", "study/compiled.py", "study/inner_compiler.py", "study/draws.py",
    "study/renewals.py", "study/histories.py", "study/engine_trial.py",
)  # fmt: skip
"""The folders and files of hawb from which functions are compiled."""
PLAYED = ("rules", "raft", "engine", "scenario", "study")
"""The folders of hawb that decide the row of a trial."""


class OtherCode(RuntimeError):  # noqa: N818 - it reads as what happened
    """A machine has another hawb, Python or numba than the process that asks for its rows."""


@cache
def digest(places: tuple[str, ...]) -> str:
    """Return a digest of numba's version and of the Python files at these places in hawb: files or whole folders."""
    found = hashlib.sha256(version("numba").encode())
    for place in (Path(__file__).parents[1] / name for name in places):
        for file in [place] if place.is_file() else sorted(place.rglob("*.py")):
            found.update(file.read_bytes())
    return found.hexdigest()[:16]


def described() -> str:
    """Return the versions and the digest, such as `hawb 0.1.0 (1a2b3c4d5e6f7a8b), Python 3.11, numba 0.68.0`."""
    python = ".".join(map(str, sys.version_info[:2]))
    return f"hawb {__version__} ({digest(PLAYED)}), Python {python}, numba {version('numba')}"


def require(asked: str) -> None:
    """Raise OtherCode if `asked`, another process's `described()`, is not this one's."""
    own = described()
    if own != asked:
        here = platform.node()
        raise OtherCode(f"{here} has {own}, and this study asks for {asked}: install the same version on all machines")
