"""Signs that a console lacks. Windows gives a pipe, and an old console, a code page with few signs, and some locales
elsewhere do so too; an answer is to be read there all the same, and not to end at its first glyph."""

from __future__ import annotations

import codecs
import os
import sys
from io import TextIOWrapper

from hawb.views.formatting import END_ISOLATE, ISOLATE

PLAIN = {
    "■": "#", "●": "*", "◍": "*", "○": "o", "◌": "o", "◔": "o", "◑": "o", "◕": "o", "⬢": "#", "⬡": "o", "✕": "x",
    "✓": "+", "▼": "v", "▲": "^", "↻": "@", "‖": "=", "≠": "/", "·": ".", "×": "x", "→": "->", "−": "-", "–": "-",
    "…": "...", "√": "sqrt ", "±": "+-", "²": "^2", ISOLATE: "", END_ISOLATE: "",
}  # fmt: skip
"""What stands for a sign that cannot be written. A word stands beside each glyph, so shapes may be alike here."""

NAME = "hawb.plain"


def plain(error: UnicodeError) -> tuple[str, int]:
    """What is written in place of signs that an encoding lacks; letters of names as escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    escaped = (PLAIN.get(sign, sign).encode("ascii", "backslashreplace").decode() for sign in lacking)
    return "".join(escaped), error.end


def make_legible() -> None:
    """Lets standard output and standard error write something for every sign."""
    codecs.register_error(NAME, plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=NAME)


def open_closed_streams() -> None:
    """Open each standard stream that was closed on the null device, the wrong way round: a file that is opened later
    cannot take its number, and to read from it, or to write to it, fails as it would on a closed one."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            reads = mode == "r" or name == "stderr"  # what would be said of an error is dropped
            opened = os.open(os.devnull, os.O_WRONLY if reads else os.O_RDONLY)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - it stays
