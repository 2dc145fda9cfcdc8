"""How a command ends that fails: exit status 2 where the system refuses to read or to write, and 70 for a fault of
hawb's own, which no input may lead to."""

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
"""Why a stream without a name, which is standard output, cannot be written to."""


def refuse(reason: object) -> int:
    """Write why input is refused, a line of it as one line; return the exit status for it."""
    with suppress(OSError):  # a standard error that cannot be written to leaves the exit status
        click.echo("\n".join(shown(line.expandtabs(2)) for line in str(reason).split("\n")), err=True)
    return 2


def of_fault(fault: Exception) -> int:
    """Write in one line what a command has failed of; return the exit status for it. A message of Python's may hold a
    value of an input, so it is shown on request alone."""
    if isinstance(fault, OSError) and (fault.filename is not None or fault.errno in OF_STREAMS):
        if fault.filename is None:
            drop_the_rest()
        return refuse(f"{name_of(fault)}: {fault.strerror}")
    if os.environ.get(VARIABLE):
        traceback.print_exception(fault)
    *_, last = traceback.extract_tb(fault.__traceback__)
    place = f"{Path(last.filename).name}:{last.lineno}"
    refuse(f"hawb failed: {type(fault).__name__} in {place}. This is a fault of hawb, not of the input: please report"
           f" this line with the traceback that {VARIABLE}=1 prints")  # fmt: skip
    return SOFTWARE


def name_of(fault: OSError) -> str:
    """Return the name of the file that the system refused."""
    return "standard output" if fault.filename is None else os.fsdecode(fault.filename)


def drop_the_rest() -> None:
    """Drop the rest of standard output: Python would try to write it again at its end, and report the failure."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
