"""The digest of the code that decides the row of a trial: equal digests, equal rows.

The compiled kernel is kept under it (`hawb.study.compiled`). And each of Spark's tasks compares it with that of the
process that asks for a study: machines of a cluster may have different releases of hawb installed, and their rows would
be mixed without an error.
"""

from __future__ import annotations

import hashlib
import platform
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

from hawb import __version__

ROOMS = ("rules", "raft", "engine", "study/kernel")
MODULES = ("same_code", "compiled", "inner_compiler", "draws", "renewals", "histories", "engine_trial")
"""The modules of `hawb.study`, beside those in ROOMS, from which trials are played."""


class OtherCode(RuntimeError):  # noqa: N818 - it reads as what happened
    """A machine has another hawb, Python or numba than the process that asks for its rows."""


@cache
def digest() -> str:
    """Return a digest of numba's version and of all files from which trials are played."""
    found = hashlib.sha256(version("numba").encode())
    hawb = Path(__file__).parents[1]
    files = [file for room in ROOMS for file in sorted((hawb / room).rglob("*.py"))]
    for file in (*files, *(hawb / "study" / f"{name}.py" for name in MODULES)):
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


def described() -> str:
    """Return the digest with versions that a person can compare: `hawb 0.1.0 (1a2b3c4d), Python 3.11, numba 0.68.0`."""
    python = ".".join(map(str, sys.version_info[:2]))
    return f"hawb {__version__} ({digest()}), Python {python}, numba {version('numba')}"


def require(asked: str) -> None:
    """Raise OtherCode if `asked`, another process's `described()`, is not this one's."""
    own = described()
    if own != asked:
        here = platform.node()
        raise OtherCode(f"{here} has {own}, and this study asks for {asked}: install the same on all machines")
