"""Rules compiled as they are written.

A compiled function can call only compiled ones, so a rule of `hawb.rules` is compiled after those that it calls, each
from its own code: nothing is written a second time.

What was compiled is kept in the user's cache under a name that stands for all that it was made from: numba itself looks
only at the file of the function that it keeps, and would go on with a rule that has changed elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType

import numba
from numba import config, njit

from hawb import engine, rules

HERE = Path(__file__).parent


def fingerprint() -> str:
    """What stands for numba and all that is compiled: rules, constants of the engine, the kernel and its histories."""
    told = hashlib.sha256(numba.__version__.encode())
    folders = (Path(rules.__file__).parent, Path(engine.__file__).parent, HERE / "kernel")
    files = [file for folder in folders for file in sorted(folder.glob("*.py"))]
    for file in (*files, *(HERE / f"{name}.py" for name in ("compiled", "draws", "histories", "played"))):
        told.update(file.read_bytes())
    return told.hexdigest()[:16]


config.CACHE_DIR = config.CACHE_DIR or str(Path.home() / ".cache" / "hawb" / fingerprint())

compiled = njit(cache=True)
"""The decorator of what is compiled in studies and called from Python."""

inner = njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""The decorator of what only compiled functions call: it takes half as long to compile."""


@cache
def rule(function: FunctionType) -> Callable:
    """A rule, compiled with compiled forms of the rules that it calls."""
    names = function.__code__.co_names
    called = {name: function.__globals__[name] for name in names if name in function.__globals__}
    bound = {name: rule(other) for name, other in called.items() if isinstance(other, FunctionType)}
    code = FunctionType(function.__code__, function.__globals__ | bound, function.__name__)
    return njit(code, no_cpython_wrapper=True, no_cfunc_wrapper=True)
