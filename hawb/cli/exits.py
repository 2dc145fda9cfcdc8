"""End a command that fails.

The exit status is 2 if hawb refuses the input, or if the system refuses to read or write a file. It is 70 for a bug in
hawb, which no input may cause.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path

import click

from hawb.views.formatting import shown

VARIABLE = "HAWB_TRACEBACK"
SOFTWARE = 70
"""`EX_SOFTWARE` of sysexits.h: an internal error."""
OF_STREAMS = {errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC}
"""Errors of a write to standard output, which has no file name."""


def refuse(reason: object) -> int:
    """Write to standard error why hawb refuses the input, with control characters escaped; return exit status 2."""
    with suppress(OSError):  # a standard error that cannot be written to leaves the exit status
        click.echo("\n".join(shown(line.expandtabs(2)) for line in str(reason).split("\n")), err=True)
    return 2


def of_fault(fault: Exception) -> int:
    """Write one line about the exception that ended a command; return the exit status.

    Python's message may contain a value of the input. hawb therefore prints it only if `HAWB_TRACEBACK` is set.
    """
    if isinstance(fault, OSError) and (fault.filename is not None or fault.errno in OF_STREAMS):
        if fault.filename is None:
            drop_the_rest()
        return refuse(f"{name_of(fault)}: {fault.strerror}")
    if os.environ.get(VARIABLE):
        traceback.print_exception(fault)
    *_, last = traceback.extract_tb(fault.__traceback__)
    place = f"{Path(last.filename).name}:{last.lineno}"
    refuse(f"hawb failed: {type(fault).__name__} in {place}. This is a bug in hawb, not a mistake in the input."
           f" Please report this line, with the traceback that hawb prints if you set {VARIABLE}=1")  # fmt: skip
    return SOFTWARE


def name_of(fault: OSError) -> str:
    """Return the name of the file that the system refused."""
    return "standard output" if fault.filename is None else os.fsdecode(fault.filename)


def drop_the_rest() -> None:
    """Drop the rest of standard output; otherwise Python would try to write it at exit, and report the failure."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
