"""Replace characters that a console's encoding lacks.

On Windows, pipes and old consoles use a code page with few characters; some locales on other systems do so too. Without
a replacement, hawb would raise UnicodeEncodeError when it writes the first glyph of an answer.
"""

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
"""The replacement of each character. Several glyphs may have the same one, because a word stands beside each glyph."""

NAME = "hawb.plain"


def plain(error: UnicodeError) -> tuple[str, int]:
    """Return replacements for the characters that an encoding lacks; escapes for characters without a replacement."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    escaped = (PLAIN.get(sign, sign).encode("ascii", "backslashreplace").decode() for sign in lacking)
    return "".join(escaped), error.end


def make_legible() -> None:
    """Make standard output and standard error write a replacement for each character that their encoding lacks."""
    codecs.register_error(NAME, plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=NAME)


def open_closed_streams() -> None:
    """Open the null device for each standard stream that is closed: stdin for writing, stdout and stderr for reading.

    So no file that is opened later gets the number of a standard stream. Reading from the stream, or writing to it,
    still fails, as on a closed stream.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            reads = mode == "r" or name == "stderr"  # messages to a closed stderr are dropped, not failures
            opened = os.open(os.devnull, os.O_WRONLY if reads else os.O_RDONLY)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - it stays
