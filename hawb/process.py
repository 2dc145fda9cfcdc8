"""This process: its temporary folder, the processes that it starts, and its end at a signal.

A signal ends the processes that were started first, since what waits for an answer of theirs would wait on; then an
exception (`Stopped`) leaves every `with` and `finally` on its way out, so that files half written are removed where
they were made. From the signal on nothing but the last line goes to standard error: what other libraries and other
processes say about being cut off helps no reader.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import FrameType

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that stop a command: Ctrl-C, a request to end, a closed terminal. Windows has no SIGHUP."""

PATIENCE_S = 10
"""The most seconds that an exception may take to leave the program before the process ends without it."""

GOES_ON = "the finished part is kept; run the same command again to continue"
"""The note of a command that keeps what it has done and does no more than the rest when it is given again."""

SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of Linux: orphans of processes that this one started become its own children."""


class Stopped(SystemExit):
    """The end of a command by a signal; its code is 128 and the signal's number, as shells have it."""


class _Listening:
    """The state of the signal handlers: the `number` of the received signal, and a `note` for the last line."""

    owner: int | None = None
    number: int | None = None
    note = ""
    ends_children = True
    standard_error: int | None = None


_now = _Listening()
_folders: list[Path] = []


# The temporary folder


def folder() -> Path:
    """Return the temporary folder of this process, which is removed when the process ends. Raise OSError."""
    import tempfile
    from pathlib import Path

    if not _folders or not _folders[-1].is_dir():
        _folders.append(Path(tempfile.gettempdir(), f"hawb-{os.urandom(8).hex()}"))  # known before it is made
        _folders[-1].mkdir(mode=0o700)
        atexit.register(remove_folder, os.getpid())
    return _folders[-1]


def remove_folder(owner: int) -> None:
    """Remove the temporary folder, unless this is a forked copy of the process `owner`, which still needs it."""
    import shutil

    if os.getpid() == owner:
        for made in _folders:
            shutil.rmtree(made, ignore_errors=True)


# The processes that were started


def end_children() -> None:
    """Kill all child processes and their descendants, and wait until they have ended.

    Do nothing unless this process handles signals itself (`listens`): otherwise the children may belong to the program
    that called hawb. Switch logging off first, since libraries log an error when a process ends that they talked to.
    """
    if not listens() or "subprocess" not in sys.modules:
        return
    if "logging" in sys.modules:
        sys.modules["logging"].disable(sys.maxsize)
    try:
        import psutil
    except ImportError:  # it comes with the extras whose commands start processes
        return
    this = psutil.Process()
    for _ in range(PATIENCE_S):
        found = [child for child in this.children(recursive=True) if child.pid != this.pid]
        if not found:
            return
        for child in found:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(found, timeout=1)


def adopt_orphans() -> None:
    """Make orphaned descendants children of this process on Linux, so that `end_children` finds them."""
    if sys.platform == "linux" and listens():
        import ctypes

        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


# Signals


@contextmanager
def listening(program: bool = False) -> Iterator[None]:
    """End the process at a signal with one line and status 130, 143 or 129, in the block and what it calls.

    A signal that is ignored stays ignored, as `nohup` and shells ask for. Within another such block it does nothing.
    Behind the block of a whole `program` signals are ignored: only Python's own end is left, in which the temporary
    folder is removed.
    """
    if listens():
        yield
        return
    _now.owner, _now.number, _now.note = os.getpid(), None, ""
    unraisable, sys.unraisablehook = sys.unraisablehook, _unraisable
    former = _listen()
    try:
        yield
    finally:
        if _now.number is not None:
            finish()
        for number, handler in former.items():
            signal.signal(number, signal.SIG_IGN if program else handler)
        sys.unraisablehook, _now.owner = unraisable, None


def listens() -> bool:
    """Return True in the block of `listening`, where this process handles the signals."""
    return _now.owner == os.getpid()


def interrupted() -> None:
    """Take a KeyboardInterrupt, which a library's handler raised in place of ours, as SIGINT; raise Stopped."""
    if listens() and _now.number is None:
        _stop(signal.SIGINT, None)


@contextmanager
def unwinding() -> Iterator[None]:
    """Do not end child processes at a signal within this block: the code around it ends them in order.

    SIGTERM and SIGHUP raise `Stopped` here in any process, and SIGINT in one that listens.
    """
    former = {}
    if not listens():
        former = {number: signal.signal(number, _stop) for number in SIGNALS if number != signal.SIGINT}
    before, _now.ends_children = _now.ends_children, False
    try:
        yield
    finally:
        _now.ends_children = before
        for number, handler in former.items():
            signal.signal(number, handler)


def note_when_stopped(note: str) -> None:
    """Set the text that follows "stopped" in the last line."""
    _now.note = note


def _listen() -> dict[int, Callable | int | None]:
    former = {number: signal.getsignal(number) for number in SIGNALS}
    asked = {number: handler for number, handler in former.items() if handler is not signal.SIG_IGN}
    for number in asked:
        signal.signal(number, _stop)
    return asked


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    """Begin to end the process: no further signal, no further word, no further child."""
    if _now.owner is not None and not listens():
        os._exit(128 + number)  # a forked child that has not yet begun its own program
    if listens():
        for other in SIGNALS:
            signal.signal(other, signal.SIG_IGN)
        _now.number = number
        _now.standard_error = _mute()
        if _now.ends_children:
            _end_within(PATIENCE_S)
            end_children()
    raise Stopped(128 + number)


def _mute() -> int | None:
    """Let standard error lead nowhere; return a descriptor of where it led."""
    with suppress(OSError):
        kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)
        return kept
    return None


def _end_within(seconds: int) -> None:
    """End the process even if a library catches the exception and goes on."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda *_: finish())
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _unraisable(raised: sys.UnraisableHookArgs) -> None:
    """End the process if the exception was raised where Python drops exceptions, as in a destructor."""
    if _now.number is not None and raised.exc_type is not None and issubclass(raised.exc_type, Stopped):
        finish()
    sys.__unraisablehook__(raised)


def finish() -> NoReturn:
    """End child processes, remove the temporary folder, write that the command was stopped, and exit."""
    number = _now.number or signal.SIGINT
    for other in SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    end_children()
    if _now.owner is not None:
        remove_folder(_now.owner)
    place = 2 if _now.standard_error is None else _now.standard_error
    line = f"stopped; {_now.note}\n" if _now.note else "stopped\n"
    with suppress(OSError):
        os.write(place, (b"\n" if os.isatty(place) else b"") + line.encode())
    os._exit(128 + number)


@cache
def spare_the_collector() -> None:
    """Have Python's garbage collector leave out the objects that there are now, in a Python worker of Spark.

    The worker has it go through all objects after each task. Those of pandas, numba and the kernel stay, and going
    through them takes several times as long as everything else that a task costs.
    """
    gc.freeze()
