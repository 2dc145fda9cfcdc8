"""Rules compiled as they are written.

A compiled function can call only compiled ones, so a rule of `hawb.rules` is compiled after those that it calls, each
from its own code: nothing is written a second time. So is a protocol (`hawb.raft`), whose ports have other bodies in
the kernel than in the engine (`Binding`).

Compiled functions are kept in the user's cache under a name that stands for all that they were made from: numba itself
looks only at the file of the function that it keeps, and would go on with a rule that has changed elsewhere. Only those
that Python calls are kept, since they hold all that they call in turn.
"""

from __future__ import annotations

import dis
import hashlib
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType

import numba
from llvmlite.binding import set_option
from numba import config, njit, typeof, types

from hawb import engine, raft, rules
from hawb.study.inner_compiler import InnerCompiler

HERE = Path(__file__).parent
INNER = {
    "pipeline_class": InnerCompiler, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "error_model": "numpy",
}  # fmt: skip
"""How functions are compiled that only compiled ones call, and Python never."""
RULES, RAFT, ENGINE = (Path(room.__file__).parent for room in (rules, raft, engine))
BESIDE = ("compiled", "inner_compiler", "draws", "renewals", "histories", "engine_trial")
"""Other modules of studies from which compiled functions are made."""


def fingerprint() -> str:
    """A digest of numba and of all that is compiled: rules, Raft, constants of the engine, the kernel and its
    histories."""
    told = hashlib.sha256(numba.__version__.encode())
    files = [file for room in (RULES, RAFT, ENGINE, HERE / "kernel") for file in sorted(room.rglob("*.py"))]
    for file in (*files, *(HERE / f"{name}.py" for name in BESIDE)):
        told.update(file.read_bytes())
    return told.hexdigest()[:16]


# In a folder that NUMBA_CACHE_DIR names, too, the fingerprint keeps kernels of different versions apart.
config.CACHE_DIR = str(Path(config.CACHE_DIR or Path.home() / ".cache") / "hawb" / fingerprint())

# The kernel's loops go over a few nodes or rows, so that code for eight at once is longer and never pays; and most of
# its functions do so little that calling them takes as long. So LLVM is to call less, and to unroll no loop of which it
# does not know the length.
config.LOOP_VECTORIZE = 0
for option in ("-inline-threshold=4000", "-unroll-runtime=0", "-unroll-allow-partial=0"):
    set_option("hawb", option)


def compiled(function: FunctionType, kept: bool = True) -> Callable:
    """The decorator of compiled functions that Python calls while its other threads run."""
    return once(njit(cache=kept, nogil=True, error_model="numpy")(function))


def inner(function: FunctionType) -> Callable:
    """The decorator of functions that only compiled ones call, and that neither make nor return arrays or lists, so
    that no references have to be counted."""
    return once(njit(**INNER, _nrt=False)(function))


def with_arrays(function: FunctionType) -> Callable:
    """The decorator of functions that only compiled ones call, and that make, take or return arrays or lists."""
    return once(njit(**INNER, _nrt=True)(function))


def once(dispatcher: Callable) -> Callable:
    """Makes numba compile a function once for each combination of types. By itself numba compiles it anew for each
    combination of constants in its calls, which would be half as much again."""
    if config.DISABLE_JIT:
        return dispatcher
    by_constants = dispatcher.get_call_template

    def by_types(args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> tuple:
        return by_constants(tuple(map(of_any_value, args)), {name: of_any_value(kws[name]) for name in kws})

    dispatcher.get_call_template = by_types
    return dispatcher


def of_any_value(given: types.Type) -> types.Type:
    """The type of a constant, or of a default, without its value."""
    return typeof(given.value) if isinstance(given, types.Omitted) else types.unliteral(given)


@cache
def rule(function: FunctionType) -> Callable:
    """A rule, compiled with compiled forms of the rules that it calls."""
    names = function.__code__.co_names
    called = {name: function.__globals__[name] for name in names if name in function.__globals__}
    bound = {name: rule(other) for name, other in called.items() if isinstance(other, FunctionType)}
    code = FunctionType(function.__code__, function.__globals__ | bound, function.__name__)
    return with_arrays(code)


class Binding:
    """Compiles shared functions with the `bodies` that a module has for their `ports`, by name, and with
    compiled forms of whatever else they call; `others` have bodies for further ports."""

    def __init__(self, ports: Iterable[str], bodies: ModuleType, *others: Binding):
        self._bodies = {name: body for other in others for name, body in other._bodies.items()}
        self._bodies |= {name: getattr(bodies, name) for name in ports}
        self._known = {rule: form for other in others for rule, form in other._known.items()}

    def of(self, function: FunctionType) -> Callable:
        """One such function, for other compiled functions to call."""
        if function not in self._known:
            names = names_in(function) & function.__globals__.keys()
            if mistaken := [name for name in names & self._bodies.keys() if is_beside(function, name)]:
                raise TypeError(f"{name_of(function)} calls a rule beside it by the name of a port: {mistaken}")
            bound = {name: self._bound(name, function.__globals__[name]) for name in names}
            code = FunctionType(function.__code__, function.__globals__ | bound, function.__name__)
            code.__module__ = function.__module__
            self._known[function] = inner(code)
        return self._known[function]

    def _bound(self, name: str, value: object) -> object:
        if name in self._bodies:
            return self._bodies[name]
        if not isinstance(value, FunctionType):
            return value
        return self.of(value) if is_shared(value) else rule(value)


def with_parts(function: Callable, parts: dict[Callable, Callable]) -> Callable:
    """A compiled function with other `parts` in place of some functions that it calls, at whatever depth: compiled anew
    from its own code, as is all in between."""
    return Assembly(parts).of(function)


class Assembly:
    """Compiles functions with other parts in place of some that they call.

    numba keeps what it has compiled by the function's name and types alone. So a function with other parts is named
    after them, and kept only where all of them stand in the kernel's folder, which the cache's own name stands for.
    """

    def __init__(self, parts: dict[Callable, Callable]):
        self._parts, self._known, self._open = parts, {}, set()
        pairs = sorted(f"{name_of(part)}={name_of(other)}" for part, other in parts.items())
        self._mark = hashlib.sha256(" ".join(pairs).encode()).hexdigest()[:16]
        self._kept = all(map(is_part, parts.values()))

    def of(self, function: Callable) -> Callable:
        """A function, or the part in its place, compiled with these parts; the same one if it calls none of them."""
        return self._bound(self._parts.get(function, function))

    def _bound(self, function: Callable) -> Callable:
        """What a function is bound to: a part calls the other parts, but where it names the function in whose place it
        stands, that function."""
        if function in self._open:
            raise TypeError(f"{name_of(function)} calls itself by way of its parts")
        if function not in self._known:
            self._open.add(function)
            self._known[function] = function
            plain = getattr(function, "py_func", function)
            called = {name: plain.__globals__.get(name) for name in names_in(plain)} if is_compiled(plain) else {}
            bound = {
                name: self._bound(part) if self._parts.get(part) is function else self.of(part)
                for name, part in called.items() if is_part(part)
            }  # fmt: skip
            if any(bound[name] is not called[name] for name in bound):
                code = FunctionType(plain.__code__, plain.__globals__ | bound, plain.__name__, plain.__defaults__)
                code.__qualname__, code.__module__ = f"{plain.__qualname__}_{self._mark}", plain.__module__
                self._known[function] = self._compiled(function, code)
            self._open.remove(function)
        return self._known[function]

    def _compiled(self, function: Callable, code: FunctionType) -> Callable:
        """The code of a function with these parts, compiled with the function's own options."""
        if is_entry(function):
            return compiled(code, kept=self._kept)
        return with_arrays(code) if getattr(function, "targetoptions", {}).get("_nrt") else inner(code)


def names_in(function: FunctionType) -> set[str]:
    """The names of its module that a function reads, without attributes."""
    return {read.argval for read in dis.get_instructions(function) if read.opname == "LOAD_GLOBAL"}


def is_beside(function: FunctionType, name: str) -> bool:
    """Whether what a function calls by a name stands in its own module."""
    return getattr(function.__globals__[name], "__globals__", None) is function.__globals__


def name_of(function: Callable) -> str:
    """Module and name of a function, compiled or not."""
    plain = getattr(function, "py_func", function)
    return f"{plain.__module__}.{plain.__qualname__}"


def is_part(given: object) -> bool:
    """Whether something is a function of the kernel, or of a protocol as the kernel has it."""
    return callable(given) and is_compiled(getattr(given, "py_func", given))


def is_compiled(plain: object) -> bool:
    """Return True for a function of the kernel, and for one of a shared module, of which the kernel names only what it
    has compiled."""
    return isinstance(plain, FunctionType) and (folder_of(plain) == HERE / "kernel" or is_shared(plain))


def is_shared(function: FunctionType) -> bool:
    """Return True if engine and kernel share a function: its module says `SHARED = True`. The engine runs it as it
    stands, the kernel compiles it with ports of its own."""
    return function.__globals__.get("SHARED", False)


def folder_of(function: FunctionType) -> Path:
    """The folder of the file in which a function stands."""
    return Path(function.__code__.co_filename).parent


def is_kept(function: Callable) -> bool:
    """Whether the cache has a file of a compiled function, which is named after the function, its line and Python."""
    if config.DISABLE_JIT:
        return True
    plain, (major, minor, *_) = function.py_func, sys.version_info
    name = f"*.{plain.__qualname__}-{plain.__code__.co_firstlineno}.py{major}{minor}*.nbi"
    return any(Path(function.stats.cache_path).glob(name))


def is_entry(function: Callable) -> bool:
    """Whether Python calls a compiled function."""
    return not getattr(function, "targetoptions", {}).get("no_cpython_wrapper", False)
