"""Compile rules from their own source with numba.

A compiled function can call only compiled ones, so a rule of `hawb.rules` is compiled after those that it calls, each
from its own code: no rule has a second implementation. The same holds for a protocol (`hawb.raft`), whose ports have
different implementations in kernel and engine (`Binding`).

Compiled functions are kept in the user's cache under a name that identifies all their sources: numba itself checks only
the file of the function that it keeps, and would miss that a rule in another file has changed. Only functions that
Python calls are kept, since they contain all that they call.
"""

from __future__ import annotations

import dis
import hashlib
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType

from filelock import FileLock
from llvmlite.binding import set_option
from numba import config, njit, typeof, types
from numba.core.compiler_lock import global_compiler_lock

from hawb.study.inner_compiler import InnerCompiler
from hawb.study.same_code import COMPILED, digest

HERE = Path(__file__).parent
INNER = {
    "pipeline_class": InnerCompiler, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "error_model": "numpy",
}  # fmt: skip
"""Options for functions that only compiled functions call, never Python."""

# With NUMBA_CACHE_DIR, too, the digest separates kernels of different versions.
config.CACHE_DIR = str(Path(config.CACHE_DIR or Path.home() / ".cache") / "hawb" / digest(COMPILED))

# The kernel's loops go over a few nodes or rows: code for eight at once is longer and never faster. Most of its
# functions are so short that a call takes as long as the work. So LLVM inlines more, and unrolls no loop of unknown
# length.
config.LOOP_VECTORIZE = 0
for option in ("-inline-threshold=4000", "-unroll-runtime=0", "-unroll-allow-partial=0"):
    set_option("hawb", option)


def compiled(function: FunctionType, kept: bool = True) -> Callable:
    """Compile a function that Python calls while its other threads run. A decorator."""
    dispatcher = once(njit(cache=kept, nogil=True, error_model="numpy")(function))
    return by_one_process(dispatcher) if kept and not config.DISABLE_JIT else dispatcher


def inner(function: FunctionType) -> Callable:
    """Compile a function that only compiled functions call, without arrays or lists. A decorator.

    It neither makes nor returns any, so it needs no reference counts.
    """
    return once(njit(**INNER, _nrt=False)(function))


def with_arrays(function: FunctionType) -> Callable:
    """Compile a function that only compiled functions call, with arrays or lists. A decorator.

    It makes, takes or returns them.
    """
    return once(njit(**INNER, _nrt=True)(function))


def once(dispatcher: Callable) -> Callable:
    """Make numba compile a function once for each combination of types.

    By itself numba compiles it anew for each combination of constants in its calls, which takes half as long again.
    """
    if config.DISABLE_JIT:
        return dispatcher
    by_constants = dispatcher.get_call_template

    def by_types(args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> tuple:
        return by_constants(tuple(map(of_any_value, args)), {name: of_any_value(kws[name]) for name in kws})

    dispatcher.get_call_template = by_types
    return dispatcher


def by_one_process(dispatcher: Callable) -> Callable:
    """Have one process compile a kept function while others wait, who then load it.

    All of Spark's workers on a machine need the same kernel at once, and it takes a minute to compile.
    """
    compile_it, plain = dispatcher.compile, dispatcher.py_func
    place = Path(config.CACHE_DIR) / f"{name_of(plain)}-{plain.__code__.co_firstlineno}.lock"

    def alone(signature: tuple[types.Type, ...]) -> Callable:
        # numba's own lock comes first for each thread, so that no two wait for each other.
        with global_compiler_lock, _locked(place):
            return compile_it(signature)

    dispatcher.compile = alone
    return dispatcher


def _locked(place: Path) -> AbstractContextManager:
    """Return a file's lock, acquired; none where nothing can be written, since numba keeps nothing there either."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(place).acquire()
    except OSError:
        return nullcontext()


def of_any_value(given: types.Type) -> types.Type:
    """Return the type of a constant, or of a default, without its value."""
    return typeof(given.value) if isinstance(given, types.Omitted) else types.unliteral(given)


@cache
def rule(function: FunctionType) -> Callable:
    """Return a rule, compiled with compiled forms of the rules that it calls."""
    names = function.__code__.co_names
    called = {name: function.__globals__[name] for name in names if name in function.__globals__}
    bound = {name: rule(other) for name, other in called.items() if isinstance(other, FunctionType)}
    code = FunctionType(function.__code__, function.__globals__ | bound, function.__name__)
    return with_arrays(code)


class Binding:
    """Compile shared functions with a module's implementations of their ports.

    `bodies` is the module that implements `ports`, by name; `others` implement further ports. All other functions that
    a shared function calls are compiled too.
    """

    def __init__(self, ports: Iterable[str], bodies: ModuleType, *others: Binding):
        self._bodies = {name: body for other in others for name, body in other._bodies.items()}
        self._bodies |= {name: getattr(bodies, name) for name in ports}
        self._known = {rule: form for other in others for rule, form in other._known.items()}

    def of(self, function: FunctionType) -> Callable:
        """Return a compiled shared function, for other compiled functions to call.

        Raise TypeError if it calls a rule of its own module by the name of a port.
        """
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
    """Return a compiled function that calls other `parts` in place of some functions, at any depth.

    The function, and each function between it and a part, is compiled anew from its own code.
    """
    return Assembly(parts).of(function)


class Assembly:
    """Compile functions with other parts in place of some that they call.

    numba caches a compiled function by its name and types alone. So a function with other parts gets a name that
    identifies them. It is cached only if all of them are in the kernel's folder, which the cache's own name identifies.
    """

    def __init__(self, parts: dict[Callable, Callable]):
        self._parts, self._known, self._open = parts, {}, set()
        pairs = sorted(f"{name_of(part)}={name_of(other)}" for part, other in parts.items())
        self._mark = hashlib.sha256(" ".join(pairs).encode()).hexdigest()[:16]
        self._kept = all(map(is_part, parts.values()))

    def of(self, function: Callable) -> Callable:
        """Return a function, or the part in its place, compiled with these parts.

        It is the same function if it calls none of them.
        """
        return self._bound(self._parts.get(function, function))

    def _bound(self, function: Callable) -> Callable:
        """Return a function with its calls bound to the parts.

        A part calls the other parts, and where it names the function that it replaces, that function. Raise TypeError
        for a function that calls itself through its parts.
        """
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
        """Compile the code of a function with these parts, with the function's own options."""
        if is_entry(function):
            return compiled(code, kept=self._kept)
        return with_arrays(code) if getattr(function, "targetoptions", {}).get("_nrt") else inner(code)


def names_in(function: FunctionType) -> set[str]:
    """Return the names of its module that a function reads, without attributes."""
    return {read.argval for read in dis.get_instructions(function) if read.opname == "LOAD_GLOBAL"}


def is_beside(function: FunctionType, name: str) -> bool:
    """Return True if the function that another calls by a name is in the same module."""
    return getattr(function.__globals__[name], "__globals__", None) is function.__globals__


def name_of(function: Callable) -> str:
    """Return module and name of a function, compiled or not."""
    plain = getattr(function, "py_func", function)
    return f"{plain.__module__}.{plain.__qualname__}"


def is_part(given: object) -> bool:
    """Return True for a function of the kernel, or of a protocol as the kernel compiles it."""
    return callable(given) and is_compiled(getattr(given, "py_func", given))


def is_compiled(plain: object) -> bool:
    """Return True for a function of the kernel or of a shared module.

    The kernel names only those functions of a shared module that it has compiled.
    """
    return isinstance(plain, FunctionType) and (folder_of(plain) == HERE / "kernel" or is_shared(plain))


def is_shared(function: FunctionType) -> bool:
    """Return True if engine and kernel share a function: its module has `SHARED = True`.

    The engine runs it as it is, the kernel compiles it with its own ports.
    """
    return function.__globals__.get("SHARED", False)


def folder_of(function: FunctionType) -> Path:
    """Return the folder of a function's source file."""
    return Path(function.__code__.co_filename).parent


def is_kept(function: Callable) -> bool:
    """Return True if the cache has a file of a compiled function.

    The file is named after the function, its line and Python's version.
    """
    if config.DISABLE_JIT:
        return True
    plain, (major, minor, *_) = function.py_func, sys.version_info
    name = f"*.{plain.__qualname__}-{plain.__code__.co_firstlineno}.py{major}{minor}*.nbi"
    return any(Path(function.stats.cache_path).glob(name))


def is_entry(function: Callable) -> bool:
    """Return True if Python calls a compiled function."""
    return not getattr(function, "targetoptions", {}).get("no_cpython_wrapper", False)
