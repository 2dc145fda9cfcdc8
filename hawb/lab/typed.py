"""Parse the texts that the user types into the lab."""

from __future__ import annotations

import re
from pathlib import Path

SUFFIX = ".yaml"
NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,9})?")


def file_named(name: str) -> Path:
    """Return the file of that name, relative to the kernel's folder; `.yaml` may be left out.

    Raise ValueError for a text that is no file name.
    """
    path = Path(name.strip())
    if "\0" in name or path.name in ("", ".."):
        raise ValueError("not the name of a file")
    return path if path.suffix else path.with_suffix(SUFFIX)


def number(text: str) -> object:
    """Return the decimal number in a text, or else the text, which is refused where a number is needed."""
    text = text.strip()
    if not NUMBER.fullmatch(text):
        return text
    return float(text) if "." in text else int(text)
